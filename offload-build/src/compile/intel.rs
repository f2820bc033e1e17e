//! Builds the clang command lines that emit SPIR-V, for GPUs whose drivers compile it.

use super::device::{Device, link_inputs};
use super::line::Line;
use super::{Compilation, Compilations};
use crate::compile::debug_info::ir;
use crate::toolchain::compilers::Clang;
use crate::toolchain::exec::{Step, StepKind};
use offload_format::spirv::DYNAMIC_SHARED_MEMORY;
use std::fs;
use std::path::Path;

/// How many 16-byte elements the array for `extern __shared__` has in an image. The array is larger
/// than any device's shared memory, so that clang does not treat a valid access as out of bounds.
/// Each program replaces the number before it loads the image.
const ELEMENTS: usize = 1 << 20;

/// The type of the elements. No other array has this element type.
const ELEMENT: &str = "%offload_dynamic_shared_element";

/// Disables some of clang's passes. For `i & 7` and `i & 0x7fff`, the first two passes create
/// counters of 3 or 15 bits, which clang 22 emits as 8 or 16 bits in SPIR-V without masking the
/// excess bits. The other passes combine four `bool`s into an `i4`, a type on which clang crashes.
/// Drivers vectorize the code themselves. Without these passes, clang ignores some `#pragma
/// unroll`, so hide its warnings.
const WITHOUT_PASSES: [&str; 7] = [
    "-mllvm",
    "-opt-disable=indvars",
    "-mllvm",
    "-disable-lsr",
    "-fno-vectorize",
    "-fno-slp-vectorize",
    "-Wno-pass-failed",
];

impl Compilations<'_> {
    pub(crate) fn spirv(&self, clang: &Clang) -> Compilation {
        let mut compilation = self.compilation("spv", &[&clang.identity]);
        // In clang 22, a different option selects `spirv64`. For Intel's other targets, clang
        // rejects kernels and prints the reason.
        let target = match self.target().as_str() {
            "spirv64" => "--offload=spirv64".to_owned(),
            other => format!("--offload-arch={other}"),
        };
        let device = Device {
            offload: Line::default().one(target).words(&WITHOUT_PASSES),
            direct: Line::of(&["--target=spirv64-unknown-unknown"]).words(&WITHOUT_PASSES),
            version: None,
            // For this target, clang's driver does not pass on debug options.
            describe: &["-Xclang", "-debug-info-kind=standalone", "-Xclang", "-dwarf-version=5"],
            // clang compiles sources for CUDA as HIP. The header `hip.h` defines these names again.
            without_sdk: &["-U__HIP__", "-U__HIPCC__", "-U__HIP_DEVICE_COMPILE__"],
            is_for_ptxas: false,
            has_64_lanes: false,
        };
        let parts = self.compile_device(&mut compilation, clang, &device);
        // The linked module is text, because the build changes it before the last step.
        let linked = self.work("ll");
        compilation.ordered.push(linked.clone());
        let link = device
            .direct
            .clone()
            .words(&["-nogpulib", "-Wno-override-module", "-S", "-emit-llvm"])
            .words(&["-Xclang", "-disable-llvm-passes"])
            .all(link_inputs(parts));
        compilation.then(Step::new(StepKind::Link, &clang.path, link.done()).output(&linked));
        let generate = device
            .direct
            .words(&["-nogpulib", "-Wno-override-module", "-c"])
            .one(self.link_optimization())
            .one(&linked);
        let step = Step::new(StepKind::Generate, &clang.path, generate.done());
        compilation.last(step.prepare(move || amend(&linked)));
        compilation
    }
}

/// Makes changes to an LLVM IR module that clang does not support for this target. If writing the
/// file fails, removes it, so that the next step reports it as missing.
fn amend(path: &Path) {
    // If the file cannot be read, the next step reports the error.
    let Ok(ir) = fs::read(path) else { return };
    // Only comments contain non-ASCII bytes.
    let ir = String::from_utf8_lossy(&ir);
    let variables = with_variables(&ir);
    let sized = with_size(variables.as_deref().unwrap_or(&ir));
    let Some(amended) = sized.or(variables) else { return };
    if fs::write(path, amended).is_err() {
        let _ = fs::remove_file(path);
    }
}

/// Returns the module with host-accessible variables in a form that drivers support. Returns `None`
/// if there are no such variables.
///
/// clang hides these variables, so the image would not contain their names. clang also makes each
/// `__constant__` variable a `constant`, which a driver could replace with the value from the
/// source.
fn with_variables(ir: &str) -> Option<String> {
    const MARK: &str = "externally_initialized ";
    if !ir.contains(MARK) {
        return None;
    }
    let mut text = String::with_capacity(ir.len());
    for line in ir.lines() {
        if let Some((name, definition)) = line.split_once(" = ")
            && name.starts_with('@')
            && let Some((start, end)) = definition.split_once(MARK)
        {
            let start = start.replacen("hidden ", "", 1);
            text.extend([name, " = ", &start, MARK]);
            match end.strip_prefix("constant ") {
                Some(value) => text.extend(["global ", value]),
                None => text.push_str(end),
            }
        } else {
            text.push_str(line);
        }
        text.push('\n');
    }
    Some(text)
}

/// Returns the module with one array in place of all unsized arrays, which share the same memory.
/// Returns `None` if there are no unsized arrays.
///
/// SPIR-V has no unsized arrays, so clang would emit arrays of one element.
fn with_size(ir: &str) -> Option<String> {
    let is_open = |line: &str| {
        line.starts_with('@')
            && line.split_once(" = ").is_some_and(|(_, definition)| {
                definition.starts_with("external ")
                    && definition.contains("addrspace(3) global [0 x ")
            })
    };
    let mut names = Vec::new();
    for line in ir.lines() {
        if is_open(line)
            && let Some((name, _)) = line.split_once(" = ")
        {
            names.push(name);
        }
    }
    if names.is_empty() {
        return None;
    }
    let array = format!("@{DYNAMIC_SHARED_MEMORY}");
    let mut text = String::new();
    for line in ir.lines() {
        if is_open(line) {
            continue;
        }
        let mut rest = line;
        while let Some(at) = rest.find(['@', '"', ';']) {
            text.push_str(&rest[..at]);
            rest = &rest[at..];
            let length = match rest.as_bytes()[0] {
                b'@' => 1 + ir::identifier(&rest[1..]).map_or(0, str::len),
                // A quotation mark in a string is written as `\22`.
                b'"' => rest[1..].find('"').map_or(rest.len(), |end| end + 2),
                _ => rest.len(),
            };
            let (token, behind) = rest.split_at(length);
            text.push_str(if names.contains(&token) { &array } else { token });
            rest = behind;
        }
        text.push_str(rest);
        text.push('\n');
    }
    text.push_str(&format!(
        "{ELEMENT} = type {{ [16 x i8] }}\n\
         {array} = internal addrspace(3) global [{ELEMENTS} x {ELEMENT}] undef, align 128\n"
    ));
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_arrays_without_a_size_are_one() {
        let ir = "@s = external hidden addrspace(3) global [0 x i32], align 4\n\
                  @s2 = internal addrspace(3) global [4 x i32] undef, align 4\n\
                  @\"t u\" = external addrspace(3) global [0 x double], align 8\n\
                  @x = external addrspace(1) global [0 x i32], align 4\n\
                  @c = constant [3 x i8] c\"@s\\00\" ; @s\n\
                  define void @f() { store ptr @s, ptr @s2, !a !\"@s\"\n  call @g(ptr @\"t u\") }\n";
        let expected = "@s2 = internal addrspace(3) global [4 x i32] undef, align 4\n\
                  @x = external addrspace(1) global [0 x i32], align 4\n\
                  @c = constant [3 x i8] c\"@s\\00\" ; @s\n\
                  define void @f() { store ptr @offload_dynamic_shared, ptr @s2, !a !\"@s\"\n  \
                  call @g(ptr @offload_dynamic_shared) }\n\
                  %offload_dynamic_shared_element = type { [16 x i8] }\n\
                  @offload_dynamic_shared = internal addrspace(3) global [1048576 x %offload_dynamic_shared_element] \
                  undef, align 128\n";
        assert_eq!(with_size(ir).as_deref(), Some(expected));
        assert_eq!(with_size("define void @f() {}\n"), None);
    }

    #[test]
    fn variables_for_programs_are_visible_and_no_constants() {
        let ir = "@a = hidden addrspace(1) externally_initialized constant [2 x float] zeroinitializer, align 4\n\
                  @b = weak_odr hidden addrspace(1) externally_initialized global i32 2, comdat, align 4\n\
                  @\"c hidden\" = addrspace(1) externally_initialized global i32 3\n\
                  @d = internal addrspace(1) constant i32 4\n  call void @e(), ! externally_initialized constant \n";
        let expected = "@a = addrspace(1) externally_initialized global [2 x float] zeroinitializer, align 4\n\
                  @b = weak_odr addrspace(1) externally_initialized global i32 2, comdat, align 4\n\
                  @\"c hidden\" = addrspace(1) externally_initialized global i32 3\n\
                  @d = internal addrspace(1) constant i32 4\n  call void @e(), ! externally_initialized constant \n";
        assert_eq!(with_variables(ir).as_deref(), Some(expected));
        assert_eq!(with_variables("@d = internal addrspace(1) constant i32 4\n"), None);
    }
}
