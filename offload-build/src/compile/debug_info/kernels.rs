//! Finds the kernels that an LLVM IR module defines.
//!
//! | target | form of a kernel |
//! |---|---|
//! | AMD | `define … amdgpu_kernel void @name(` |
//! | SPIR-V | `define … spir_kernel void @name(` |
//! | NVIDIA, clang 20 and newer | `define … ptx_kernel void @name(` |
//! | NVIDIA, older | `!nvvm.annotations` lists it with `!"kernel"` |
//! | the CPU | `define … @name(…) … section "__TEXT,offload"`, from `offload/cpu.h` |

use super::ir;
use super::metadata::{Id, Metadata, reference, split, string};
use std::collections::HashMap;
use std::str::Lines;

/// The section by which `offload/cpu.h` marks kernels, in LLVM IR syntax.
const SECTION_ON_CPU: &str = " section \"__TEXT,offload\" ";

/// A kernel that LLVM IR defines.
pub struct Kernel {
    /// The kernel's mangled name.
    pub symbol: String,
    /// The kernel's `DISubprogram` node.
    pub subprogram: Id,
    /// The parameters in memory.
    pub stored: Vec<Stored>,
    /// The numbers of the parameters that point to shared memory, counted from 1.
    pub shared: Vec<u64>,
}

/// A parameter in memory: an argument, or a local variable to which the kernel copies the parts of
/// an argument that arrive in registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    /// The node of the parameter's type.
    pub ty: Id,
    pub align: Align,
}

/// The alignment of a type in bytes, from the IR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    Exactly(u64),
    AtMost(u64),
}

/// The smallest alignment of arguments on a CPU's stack. The type's own alignment may be smaller.
const WORD: u64 = 8;

/// Returns the kernels with debug information, in definition order.
pub fn kernels<'ir>(ir: &'ir str, metadata: &Metadata<'ir>) -> Vec<Kernel> {
    let annotated = annotated(metadata);
    // Returns the kernel that a line defines. `body` holds the lines after it.
    let kernel = |line: &'ir str, body: Lines<'ir>| {
        let Definition { name, arguments, behind, is_on_cpu, .. } = definition(line, &annotated)?;
        let subprogram = behind.split_once("!dbg ")?.1.split(' ').next().and_then(reference)?;
        let symbol = string(name).unwrap_or_else(|| name.to_owned());
        let stored = stored(&arguments, body, is_on_cpu, metadata);
        let (mut number, mut shared) = (0, Vec::new());
        for argument in arguments {
            number += 1;
            if points_to_shared(argument) {
                shared.push(number);
            }
        }
        Some(Kernel { symbol, subprogram, stored, shared })
    };
    let mut kernels = Vec::new();
    let mut lines = ir.lines();
    while let Some(line) = lines.next() {
        kernels.extend(kernel(line, lines.clone()));
    }
    kernels
}

/// The first line of a kernel's definition.
struct Definition<'ir> {
    /// The text up to the arguments.
    before: &'ir str,
    name: &'ir str,
    arguments: Vec<&'ir str>,
    behind: &'ir str,
    is_on_cpu: bool,
}

/// Returns the definition if a line defines a kernel. `annotated` lists the kernels in metadata.
fn definition<'ir>(line: &'ir str, annotated: &[&str]) -> Option<Definition<'ir>> {
    let (attributes, rest) = line.strip_prefix("define ")?.split_once('@')?;
    let name = ir::identifier(rest)?;
    let rest = &rest[name.len()..];
    let is_kernel = attributes
        .split(' ')
        .any(|word| matches!(word, "amdgpu_kernel" | "ptx_kernel" | "spir_kernel"));
    let (arguments, behind) = arguments(rest)?;
    let is_on_cpu = behind.contains(SECTION_ON_CPU);
    let before = &line[..line.len() - rest.len()];
    (is_kernel || annotated.contains(&name) || is_on_cpu).then_some(Definition {
        before,
        name,
        arguments,
        behind,
        is_on_cpu,
    })
}

fn annotated<'ir>(metadata: &Metadata<'ir>) -> Vec<&'ir str> {
    let mut annotated = Vec::new();
    for node in metadata.named("nvvm.annotations") {
        let mut items = node.items();
        if let (Some(function), Some("!\"kernel\"")) = (items.next(), items.next())
            && let Some((_, name)) = function.rsplit_once('@')
        {
            annotated.push(name);
        }
    }
    annotated
}

fn points_to_shared(argument: &str) -> bool {
    argument.starts_with("ptr addrspace(3) ")
}

/// The symbol of dynamic shared memory, whose size a launch sets.
const SHARED: &str = "@offload_shared";

/// Replaces each parameter that points to shared memory with a 4-byte offset into dynamic shared
/// memory, and returns the IR. OpenCL's runtime can pass such pointers, but CUDA and HIP cannot.
pub fn with_offsets(ir: &str) -> String {
    let metadata = Metadata::parse(ir);
    let annotated = annotated(&metadata);
    let mut names = Vec::new();
    for line in ir.lines() {
        if let Some(kernel) = changed(line, &annotated) {
            names.push(kernel.name);
        }
    }
    if names.is_empty() {
        return ir.to_owned();
    }
    let (mut text, mut in_body, mut calls) = (String::new(), String::new(), 0);
    for line in ir.lines() {
        let kernel = changed(line, &annotated);
        let is_kernel = kernel.is_some();
        let parts = kernel.map(|it| (it.before, it.arguments, it.behind));
        let Some((before, arguments, behind)) = parts.or_else(|| call(line, &names)) else {
            text.push_str(line);
            text.push('\n');
            // The body begins with a label.
            if line.ends_with(':') {
                text.push_str(&std::mem::take(&mut in_body));
            }
            continue;
        };
        let mut passed = String::new();
        for argument in arguments {
            if !passed.is_empty() {
                passed.push_str(", ");
            }
            if !points_to_shared(argument) {
                passed.push_str(argument);
                continue;
            }
            let place = last_word(argument);
            let offset = if is_kernel {
                let offset = format!("{place}.offset");
                in_body += &format!(
                    "  {place} = getelementptr i8, ptr addrspace(3) {SHARED}, i32 {offset}\n"
                );
                offset
            } else {
                calls += 1;
                let offset = format!("%offload.{calls}");
                text += &format!(
                    "  {offset}.at = ptrtoint ptr addrspace(3) {place} to i32\n  {offset} = sub i32 {offset}.at, \
                     ptrtoint (ptr addrspace(3) {SHARED} to i32)\n"
                );
                offset
            };
            passed.push_str("i32 noundef ");
            passed.push_str(&offset);
        }
        text += &format!("{before}({passed}){behind}\n");
    }
    text += &format!("{SHARED} = external addrspace(3) global [0 x i8], align 16\n");
    text
}

/// Returns the definition of a kernel if one of its parameters points to shared memory.
fn changed<'ir>(line: &'ir str, annotated: &[&str]) -> Option<Definition<'ir>> {
    let kernel = definition(line, annotated)?;
    kernel.arguments.iter().any(|it| points_to_shared(it)).then_some(kernel)
}

/// Returns the parts of a call to one of these kernels: the text before the arguments, the
/// arguments, and the text after them. clang before version 20 allows a kernel to call another
/// kernel.
fn call<'ir>(line: &'ir str, names: &[&str]) -> Option<(&'ir str, Vec<&'ir str>, &'ir str)> {
    let (_, rest) = line.split_once(" void @").filter(|(before, _)| before.contains("call "))?;
    let name = ir::identifier(rest).filter(|name| names.contains(name))?;
    let rest = &rest[name.len()..];
    let (arguments, behind) = arguments(rest)?;
    Some((&line[..line.len() - rest.len()], arguments, behind))
}

/// Splits a text into the parenthesized arguments at its start and the rest.
fn arguments(text: &str) -> Option<(Vec<&str>, &str)> {
    let text = text.strip_prefix('(')?;
    let end = ir::length(text, b')');
    Some((split(&text[..end]).collect(), text.get(end + 1..)?))
}

/// Returns a kernel's record parameters that are in memory. The body ends with `}`.
fn stored<'ir>(
    arguments: &[&'ir str],
    body: Lines<'ir>,
    is_on_cpu: bool,
    metadata: &Metadata<'ir>,
) -> Vec<Stored> {
    let mut places: HashMap<&str, (&str, Align)> = HashMap::new();
    for argument in arguments {
        if let Some((storage, align)) = in_memory(argument) {
            let may_be_less = is_on_cpu && align <= WORD;
            let align = if may_be_less { Align::AtMost(align) } else { Align::Exactly(align) };
            places.insert(last_word(argument), (storage, align));
        }
    }
    let mut stored = Vec::new();
    for line in body {
        if line == "}" {
            break;
        }
        let line = line.trim_start();
        if let Some((name, value)) = line.split_once(" = ") {
            let place = if let Some(variable) = value.strip_prefix("alloca ") {
                aligned(variable).map(|(storage, align)| (storage, Align::Exactly(align)))
            } else {
                // On AMD's GPUs, the variable is in a different address space, so its address is
                // cast.
                let cast = value.strip_prefix("addrspacecast ");
                let from =
                    cast.and_then(|it| it.split_once(" to ")).map(|(from, _)| last_word(from));
                from.and_then(|from| places.get(from)).copied()
            };
            if let Some(place) = place {
                places.insert(name, place);
            }
        } else if let Some((_, declared)) =
            line.split_once("dbg_declare(").or_else(|| line.split_once("dbg.declare("))
            && let Some((place, rest)) = declared.split_once(", ")
            && let Some(&(storage, align)) = places.get(last_word(place))
            && let Some(variable) = rest.split(',').next().map(last_word).and_then(reference)
            && let Some(variable) = metadata.node(variable).filter(|it| it.number("arg").is_some())
            // A parameter passed by reference has a pointer as its variable, so skip it.
            && storage.starts_with('%')
        {
            stored.extend(variable.reference("type").map(|ty| Stored { ty, align }));
        }
    }
    stored
}

fn last_word(text: &str) -> &str {
    text.rsplit_once(' ').map_or(text, |(_, word)| word)
}

/// Returns the type of an argument in memory, and its alignment in bytes. Returns `None` for other
/// arguments.
fn in_memory(argument: &str) -> Option<(&str, u64)> {
    let (_, storage) = argument.split_once(" byval(").or_else(|| argument.split_once(" byref("))?;
    let (storage, align) = aligned(storage)?;
    Some((storage.strip_suffix(')')?, align))
}

/// Splits a text before its last `align`, and returns the first part and the number after `align`.
fn aligned(text: &str) -> Option<(&str, u64)> {
    let (before, number) = text.rsplit_once(" align ")?;
    let number = number.split([' ', ',']).next()?.parse().ok()?;
    Some((before.trim_end_matches(','), number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_of_each_kind_of_compiler() {
        let ir = "define protected amdgpu_kernel void @\"a b\"(i1 noundef %b, ptr noundef byref(%\"struct.x(,\") align 8 %0) #0 !dbg !1 {\n\
                  \x20   #dbg_declare(ptr %0, !10, !DIExpression(), !9)\n\
                  }\n\
                  !10 = !DILocalVariable(arg: 2, scope: !1, type: !20)\n\
                  define dso_local ptx_kernel void @k(i32 %0) !dbg !2 {\n\
                  define void @_Z3oldi(i32 %0) #1 !dbg !3 {\n\
                  define void @device(i32 %0) #1 !dbg !4 {\n\
                  define ptx_kernel void @bare() {\n\
                  define weak_odr void @cpu(ptr noundef byval(%struct.B) align 8 %0, i64 %1, i64 %2, ptr %3) #0 section \"__TEXT,offload\" comdat !dbg !5 {\n\
                  \x20 %5 = alloca %struct.A, align 4\n\
                  \x20 %6 = alloca %struct.L, align 16, addrspace(5)\n\
                  \x20 %7 = alloca ptr, align 8\n\
                  \x20 %8 = addrspacecast ptr addrspace(5) %6 to ptr\n\
                  \x20   #dbg_declare(ptr %0, !11, !DIExpression(), !9)\n\
                  \x20   #dbg_declare(ptr %7, !12, !DIExpression(DW_OP_deref), !9)\n\
                  \x20 call void @llvm.dbg.declare(metadata ptr %5, metadata !13, metadata !DIExpression()), !dbg !9\n\
                  \x20   #dbg_declare(ptr %8, !14, !DIExpression(), !9)\n\
                  \x20   #dbg_declare(ptr %5, !15, !DIExpression(), !9)\n\
                  }\n\
                  !11 = !DILocalVariable(name: \"b\", arg: 1, scope: !5, type: !21)\n\
                  !12 = !DILocalVariable(arg: 2, scope: !5, type: !22)\n\
                  !13 = !DILocalVariable(arg: 3, scope: !5, type: !23)\n\
                  !14 = !DILocalVariable(arg: 4, scope: !5, type: !24)\n\
                  !15 = !DILocalVariable(name: \"local\", scope: !5, type: !25)\n\
                  !nvvm.annotations = !{!7, !8}\n!7 = !{ptr @_Z3oldi, !\"kernel\", i32 1}\n!8 = !{ptr @device, !\"maxnreg\", i32 1}\n";
        let found = kernels(ir, &Metadata::parse(ir));
        let names: Vec<(&str, Id)> =
            found.iter().map(|kernel| (kernel.symbol.as_str(), kernel.subprogram)).collect();
        assert_eq!(names, [("a b", 1), ("k", 2), ("_Z3oldi", 3), ("cpu", 5)]);
        let stored = |ty, align| Stored { ty, align };
        assert_eq!(found[0].stored, [stored(20, Align::Exactly(8))]);
        assert_eq!(
            found[3].stored,
            [
                stored(21, Align::AtMost(8)),
                stored(23, Align::Exactly(4)),
                stored(24, Align::Exactly(16)),
            ]
        );
    }

    #[test]
    fn pointers_to_shared_memory_become_offsets() {
        let of_others = "define void @f(ptr addrspace(3) %x) {\nentry:\n  ret void\n}\n";
        let ir = "define amdgpu_kernel void @k(ptr addrspace(1) %x, ptr addrspace(3) noundef align 4 %tile, i32 %n) #0 !dbg !1 {\n\
                  entry:\n  store i32 0, ptr addrspace(3) %tile, align 4\n  br label %end\nend:\n  ret void\n}\n";
        let found = kernels(ir, &Metadata::parse(ir));
        assert_eq!(found[0].shared, [2]);
        assert_eq!(
            with_offsets(&format!("{of_others}{ir}")),
            format!(
                "{of_others}\
                     define amdgpu_kernel void @k(ptr addrspace(1) %x, i32 noundef %tile.offset, i32 %n) #0 !dbg !1 {{\n\
                     entry:\n  %tile = getelementptr i8, ptr addrspace(3) @offload_shared, i32 %tile.offset\n  \
                     store i32 0, ptr addrspace(3) %tile, align 4\n  br label %end\nend:\n  ret void\n}}\n\
                     @offload_shared = external addrspace(3) global [0 x i8], align 16\n"
            )
        );
        assert_eq!(with_offsets(of_others), of_others);
        let caller = "define void @g() {\nentry:\n  call amdgpu_kernel void @k(ptr addrspace(1) null, ptr addrspace(3) noundef align 4 %p, i32 1) #2\n}\n";
        let called = "  %offload.1.at = ptrtoint ptr addrspace(3) %p to i32\n  \
                      %offload.1 = sub i32 %offload.1.at, ptrtoint (ptr addrspace(3) @offload_shared to i32)\n  \
                      call amdgpu_kernel void @k(ptr addrspace(1) null, i32 noundef %offload.1, i32 1) #2\n";
        assert!(with_offsets(&format!("{ir}{caller}")).contains(called));
    }
}
