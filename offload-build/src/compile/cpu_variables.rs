//! Lists the variables of kernels in CPU images.
//!
//! All symbols of an image except its kernels are hidden. If variables were exported, the linker
//! could confuse one with a variable of another library, and accesses would be slower. The image
//! therefore exports a list of its variables, through which programs find them. Before linking, the
//! build reads the variables' names from the objects, and emits the list as assembly.

use offload_format::image::GlobalSymbol;
use std::fmt::Write;

/// The symbol of the list. Each entry holds the address of a variable's name, the variable's
/// address, and its size. An all-zero entry ends the list.
const LIST: &str = "offload_cpu_variables";

/// The prefix of the names in this crate's headers.
const OURS: &str = "offload_cpu";

/// Prefixes of compiler-generated names: vtables and type information, guard variables, and clang's
/// descriptors of thread-local variables.
const OF_COMPILERS: [&str; 3] = ["_ZT", "_ZGV", "__emutls_"];

/// Returns the assembly for the list of the variables among these symbols of an image's objects.
/// Returns `None` if there are no variables.
pub(super) fn source(symbols: &[GlobalSymbol<'_>]) -> Option<String> {
    // Sorted by name. If several objects define a variable, the last size is used.
    let mut variables: Vec<(String, u64)> = Vec::new();
    for symbol in symbols {
        let name = String::from_utf8_lossy(symbol.name);
        if symbol.is_defined && symbol.is_variable && is_of_source(&name) {
            match variables.binary_search_by(|(known, _)| known.as_str().cmp(&name)) {
                Ok(at) => variables[at].1 = symbol.size,
                Err(at) => variables.insert(at, (name.into_owned(), symbol.size)),
            }
        }
    }
    (!variables.is_empty()).then(|| list(&variables))
}

/// Whether a variable with this name comes from a source. Excludes names with characters that an
/// assembler could misread.
fn is_of_source(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !name.contains(OURS)
        && !OF_COMPILERS.iter().any(|start| name.starts_with(start))
}

/// Returns the list as assembly for any 64-bit processor.
fn list(variables: &[(String, u64)]) -> String {
    let mut text = format!(
        ".section .note.GNU-stack,\"\",%progbits\n.section .data.rel.ro,\"aw\",%progbits\n\
         .globl {LIST}\n.type {LIST}, %object\n.balign 8\n{LIST}:\n"
    );
    // Writing to a string cannot fail.
    for (number, (name, size)) in variables.iter().enumerate() {
        let _ = writeln!(text, ".quad .Lname{number}, {name}, {size}");
    }
    let _ = writeln!(text, ".quad 0, 0, 0\n.size {LIST}, . - {LIST}\n.section .rodata");
    for (number, (name, _)) in variables.iter().enumerate() {
        let _ = writeln!(text, ".Lname{number}: .asciz \"{name}\"");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::is_of_source;

    #[test]
    fn variables_of_the_source_are_listed() {
        for (name, is_listed) in [
            ("table", true),
            ("_ZN2ns5tableE", true),
            ("_ZTV4Base", false),
            ("_ZGVZ1kE1x", false),
            ("_ZN11offload_cpu5stateE", false),
            ("__emutls_v.tile", false),
            ("DW.ref.__gxx_personality_v0", false),
        ] {
            assert_eq!(is_of_source(name), is_listed, "{name}");
        }
    }
}
