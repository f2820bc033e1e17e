//! Replacements for standard library functions, for which rustc would compile much more code in
//! each program.

use alloc::string::String;

/// Returns the texts with a separator between them, like `join`.
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

/// Returns whether a text contains a non-empty part, like `str::contains`.
#[cfg(feature = "run")]
pub(crate) fn contains(text: &str, part: &str) -> bool {
    text.as_bytes().windows(part.len()).any(|bytes| bytes == part.as_bytes())
}
