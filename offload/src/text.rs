//! Lists in messages.

use alloc::string::String;

/// Texts with a separator between them. rustc compiles `[T]::join`, which is much more code, anew
/// for each type.
pub(crate) fn joined(texts: &[impl AsRef<str>], separator: &str) -> String {
    let mut list = String::new();
    for text in texts {
        if !list.is_empty() {
            list.push_str(separator);
        }
        list.push_str(text.as_ref());
    }
    list
}
