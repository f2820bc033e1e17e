//! The kernels that a module of LLVM IR defines.
//!
//! | target | is a kernel |
//! |---|---|
//! | AMD | `define … amdgpu_kernel void @name(` |
//! | NVIDIA, clang 20 and newer | `define … ptx_kernel void @name(` |
//! | NVIDIA, older | `!nvvm.annotations` lists it with `!"kernel"` |
//! | the CPU | `define … @name(…) … section "__TEXT,offload"`, from `offload/cpu.h` |

use super::metadata::{Id, Metadata, reference, split, string};

/// The text in LLVM IR for the section with which `offload/cpu.h` marks kernels.
const SECTION_ON_CPU: &str = " section \"__TEXT,offload\" ";

/// A kernel that LLVM IR defines.
#[derive(Debug)]
pub(super) struct Kernel<'ir> {
    /// The kernel's mangled name.
    pub(super) symbol: String,
    /// The text of each argument in the definition: type, attributes, name.
    pub(super) arguments: Vec<&'ir str>,
    /// The node of the kernel's `DISubprogram`.
    pub(super) subprogram: Id,
    /// Whether the kernel is for the CPU.
    pub(super) is_on_cpu: bool,
}

/// Returns the kernels in the order of their definitions. Kernels without debug information are
/// left out.
pub(super) fn kernels<'ir>(ir: &'ir str, metadata: &Metadata<'ir>) -> Vec<Kernel<'ir>> {
    let annotated: Vec<&str> = metadata
        .named("nvvm.annotations")
        .filter_map(|node| {
            let mut items = node.items();
            let (function, kind) = (items.next()?, items.next()?);
            (kind == "!\"kernel\"").then_some(function.rsplit_once('@')?.1)
        })
        .collect();
    let defined = ir.lines().filter_map(|line| {
        let (before, rest) = line.strip_prefix("define ")?.split_once('@')?;
        let end = match rest.strip_prefix('"') {
            Some(quoted) => quoted.find('"')? + 2,
            None => rest.find('(')?,
        };
        let (name, rest) = rest.split_at(end);
        let is_kernel =
            before.split(' ').any(|word| matches!(word, "amdgpu_kernel" | "ptx_kernel"));
        let (arguments, behind) = arguments(rest)?;
        let is_on_cpu = behind.contains(SECTION_ON_CPU);
        if !is_kernel && !annotated.contains(&name) && !is_on_cpu {
            return None;
        }
        let subprogram = behind.split_once("!dbg ")?.1.split(' ').next().and_then(reference)?;
        let symbol = string(name).unwrap_or_else(|| name.to_owned());
        Some(Kernel { symbol, arguments, subprogram, is_on_cpu })
    });
    defined.collect()
}

/// Splits a text into the arguments in the parentheses at its start, and the rest.
fn arguments(text: &str) -> Option<(Vec<&str>, &str)> {
    let (mut depth, mut is_string) = (0_usize, false);
    let end = text.bytes().position(|byte| {
        match byte {
            b'"' => is_string = !is_string,
            b'(' if !is_string => depth += 1,
            b')' if !is_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    })?;
    Some((split(text.get(1..end)?).collect(), &text[end + 1..]))
}

/// Returns the alignment in bytes of an argument that is passed in memory; `None` for other
/// arguments.
pub(super) fn memory_align(argument: &str) -> Option<u64> {
    if !argument.contains(" byval(") && !argument.contains(" byref(") {
        return None;
    }
    let (_, behind) = argument.rsplit_once(" align ")?;
    behind.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_of_each_kind_of_compiler() {
        let ir = "define protected amdgpu_kernel void @\"a b\"(i1 noundef %b, ptr noundef byref(%\"struct.x(,\") align 8 %0) #0 !dbg !1 {\n\
                  define dso_local ptx_kernel void @k(i32 %0) !dbg !2 {\n\
                  define void @_Z3oldi(i32 %0) #1 !dbg !3 {\n\
                  define void @device(i32 %0) #1 !dbg !4 {\n\
                  define ptx_kernel void @bare() {\n\
                  define weak_odr void @cpu(i32 %0) #0 section \"__TEXT,offload\" comdat !dbg !5 {\n\
                  !nvvm.annotations = !{!7, !8}\n!7 = !{ptr @_Z3oldi, !\"kernel\", i32 1}\n!8 = !{ptr @device, !\"maxnreg\", i32 1}\n";
        let found = kernels(ir, &Metadata::parse(ir));
        let names: Vec<(&str, Id)> =
            found.iter().map(|kernel| (kernel.symbol.as_str(), kernel.subprogram)).collect();
        assert_eq!(names, [("a b", 1), ("k", 2), ("_Z3oldi", 3), ("cpu", 5)]);
        let aligns: Vec<_> = found[0].arguments.iter().map(|it| memory_align(it)).collect();
        assert_eq!(aligns, [None, Some(8)]);
    }
}
