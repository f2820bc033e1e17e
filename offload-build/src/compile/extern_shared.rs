//! Defines arrays declared with `extern __shared__` in images for the CPU.
//!
//! On CPUs, `__shared__` is `thread_local`, so each of these arrays is an `extern thread_local`
//! variable that no object defines. On GPUs, all these arrays share the same memory, whose size the
//! launch sets. Before linking, the build therefore reads the variables' names from the objects,
//! and defines them all at one address.
//!
//! | image | at this address | found by |
//! |---|---|---|
//! | plain | a thread-local array | `run` in `offload/schedule.h`, through a function |
//! | checked, by g++ | a thread-local byte that is never used | `__tls_get_addr` in `offload/check_shared.h`, by its name |
//! | checked, by clang | the descriptor of a variable without bytes | `__emutls_get_address` in the same header |

use super::sanitizer::Sanitizer;
use offload_format::image::GlobalSymbol;
use std::fmt::Write;

/// The size of the arrays in a plain image. No GPU offers a block more shared memory: the maximum
/// is 227 KiB on NVIDIA's GPUs, and 160 KiB on AMD's.
const SIZE: usize = 256 * 1024;

/// The symbol at the arrays' address.
const PLACE: &str = "offload_cpu_extern_shared_memory";

/// The symbol of a function that does nothing.
const INITIALIZER: &str = "offload_cpu_extern_shared_is_there";

/// clang's name prefix for descriptors of thread-local variables under `-femulated-tls`.
const EMULATED: &str = "__emutls_v.";

/// How an image defines the arrays.
pub(super) struct ExternShared {
    is_checked: bool,
    /// Whether thread-local variables are emulated. If so, the objects contain descriptors of these
    /// variables.
    is_emulated: bool,
}

impl ExternShared {
    /// Returns the form for an image with this sanitizer, or for a plain image.
    pub(super) fn new(sanitizer: Option<&Sanitizer>) -> Self {
        let is_emulated = sanitizer.is_some_and(|it| it.is_clang);
        Self { is_checked: sanitizer.is_some(), is_emulated }
    }

    /// Returns C++ code that defines the arrays among these symbols of an image's objects. Returns
    /// `None` if there are no such arrays.
    pub(super) fn source(&self, symbols: &[GlobalSymbol<'_>]) -> Option<String> {
        let names = undefined(symbols, self.is_emulated);
        (!names.is_empty()).then(|| self.definition(&names))
    }

    fn definition(&self, names: &[String]) -> String {
        let mut text = String::from(
            "// The arrays that kernels declare with `extern __shared__`.\n__asm__(\n",
        );
        let mut line = |line: &str| {
            let _ = writeln!(text, "    \"{}\\n\"", line.replace('"', "\\\""));
        };
        let size = if self.is_checked { 1 } else { SIZE };
        line(if self.is_emulated {
            ".pushsection .data"
        } else {
            ".pushsection .tbss,\"awT\",%nobits"
        });
        line(".balign 128");
        for name in [PLACE].into_iter().chain(names.iter().map(String::as_str)) {
            line(&format!(".globl {name}"));
            line(&format!(".hidden {name}"));
            line(&format!(".type {name}, %object"));
            line(&format!("{name}:"));
        }
        if self.is_emulated {
            // The descriptor consists of the size, the alignment, and two pointers.
            line(".zero 32");
        } else {
            line(&format!(".size {PLACE}, {size}"));
            line(&format!(".zero {size}"));
        }
        line(".popsection");
        // In some templates, g++ calls a variable's initialization function without checking that
        // it exists, so define one.
        for name in names {
            let name = initializer(name);
            line(&format!(".globl {name}"));
            line(&format!(".hidden {name}"));
            line(&format!(".set {name}, {INITIALIZER}"));
        }
        let _ = write!(
            text,
            ");\n#define HIDDEN __attribute__((visibility(\"hidden\")))\n\
             extern \"C\" HIDDEN __attribute__((used)) void {INITIALIZER}() {{}}\n"
        );
        if !self.is_checked {
            let _ = write!(
                text,
                "extern \"C\" HIDDEN __thread char {PLACE}[];\n\
                 extern \"C\" HIDDEN char *offload_cpu_extern_shared(__SIZE_TYPE__ *size) {{\n  \
                   *size = {SIZE};\n  return {PLACE};\n}}\n"
            );
        }
        text
    }
}

/// Returns the name of a variable's initialization function (Itanium C++ ABI, 5.1.4.4).
fn initializer(variable: &str) -> String {
    let variable = variable.strip_prefix(EMULATED).unwrap_or(variable);
    match variable.strip_prefix("_Z") {
        Some(mangled) => format!("_ZTH{mangled}"),
        None => format!("_ZTH{}{variable}", variable.len()),
    }
}

/// Returns the thread-local variables that the objects use but do not define. Omits names that an
/// assembler could misread, so the linker reports them as undefined.
fn undefined(symbols: &[GlobalSymbol<'_>], is_emulated: bool) -> Vec<String> {
    let (mut used, mut defined) = (Vec::new(), Vec::new());
    for symbol in symbols {
        let is_variable = if is_emulated {
            symbol.name.starts_with(EMULATED.as_bytes())
        } else {
            symbol.is_thread_local
        };
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.$".contains(byte);
        if is_variable && symbol.name.iter().all(is_plain) {
            let list = if symbol.is_defined { &mut defined } else { &mut used };
            list.push(String::from_utf8_lossy(symbol.name).into_owned());
        }
    }
    used.retain(|name| !defined.contains(name));
    used.sort_unstable();
    used.dedup();
    used
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initializers_have_the_names_of_the_abi() {
        assert_eq!(initializer("tile"), "_ZTH4tile");
        assert_eq!(initializer("__emutls_v.tile"), "_ZTH4tile");
        assert_eq!(initializer("_ZN2ns4tileE"), "_ZTHN2ns4tileE");
    }
}
