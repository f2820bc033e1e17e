//! Handles differences between rustc's debug information and clang's.

use super::metadata::Node;
use offload_pack::signature::{Signatures, Type};

/// Returns the path of a file, either relative to the program's package or absolute. (Cargo starts
/// rustc in the folder of the kernels' package.)
pub(super) fn file(file: Node<'_>) -> Option<String> {
    let name = file.string("filename")?;
    let folder = file.string("directory").unwrap_or_default();
    Some(if folder.is_empty() { name } else { format!("{folder}/{name}") })
}

/// Whether a pointer type with this name, such as `*const f32` or `&f32`, is `const`.
pub(super) fn is_const(name: &str) -> bool {
    name.starts_with("*const ") || name.starts_with('&') && !name.starts_with("&mut ")
}

/// Returns the first line of a function's declaration: the line of its first attribute. `line` is
/// the number of the line with the function's name. Lines are counted from 1.
pub(super) fn declaration(source: &str, line: usize) -> usize {
    let lines: Vec<&str> = source.lines().collect();
    let mut line = line;
    while line > 1 && lines.get(line - 2).is_some_and(|it| it.trim_start().starts_with("#[")) {
        line -= 1;
    }
    line
}

/// If one of the kernels that rustc described cannot be called, returns the reason.
pub(crate) fn refusal(signatures: &Signatures) -> Option<String> {
    for kernel in &signatures.kernels {
        if kernel.symbol.starts_with("_R") || kernel.symbol.starts_with("_ZN") {
            return Some(format!(
                "the kernel {} ({}) needs #[unsafe(no_mangle)], so that programs can find it by \
                 name",
                kernel.source_name, kernel.place
            ));
        }
        for parameter in &kernel.parameters {
            if let Type::Record(_) | Type::Array { .. } = parameter.ty {
                let ty = match (&parameter.ty, parameter.ty.record(&signatures.records)) {
                    (Type::Record(_), Some(record)) => record.source_name.clone(),
                    (ty, _) => ty.to_string(),
                };
                return Some(format!(
                    "the kernel {} ({}) takes the parameter {} of type {ty} by value, but rustc \
                     passes structs, slices and arrays to kernels differently for each vendor. \
                     Pass a pointer instead: {}: *const T",
                    kernel.symbol, kernel.place, parameter.name, parameter.name
                ));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_belong_to_the_declaration() {
        let source =
            "/// Adds.\n#[unsafe(no_mangle)]\n  #[inline(never)]\npub fn add() {}\nfn f() {}\n";
        assert_eq!(declaration(source, 4), 2);
        assert_eq!(declaration(source, 5), 5);
        assert_eq!(declaration(source, 1), 1);
    }

    #[test]
    fn constant_pointers() {
        for (name, is_so) in
            [("*const f32", true), ("*mut f32", false), ("&f32", true), ("&mut k::P", false)]
        {
            assert_eq!(is_const(name), is_so, "{name}");
        }
    }
}
