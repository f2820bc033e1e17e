//! Help for a device function that a compiler or linker does not find.

use offload_toolchain::error::{Error, ErrorKind};

/// Messages of compilers and linkers about a device function that they do not find.
const UNDEFINED: [&str; 3] = [
    "Unresolved extern function",
    "lld: error: undefined ",
    "nvlink error   : Undefined reference",
];

/// Adds the help to the error of a compiler or linker that does not find a device function.
pub(super) fn advise(error: Error, is_linked: bool) -> Error {
    let text = error.to_string();
    if error.kind() != ErrorKind::ToolFailed || !UNDEFINED.iter().any(|words| text.contains(words))
    {
        return error;
    }
    error.with_help(if is_linked {
            "none of the sources of this static library that support the target defines it: add the file that does, for the \
             same targets"
    } else {
            "each source of a static library is a device program of its own; call .device_link() in build.rs if another source \
             of the library defines it"
    })
}
