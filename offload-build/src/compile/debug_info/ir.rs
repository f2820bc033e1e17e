//! Reads LLVM IR as text.

/// Returns the identifier, with any quotation marks, at the start of a text that follows `@` or
/// `%`. Returns `None` if the closing quotation mark is missing.
///
/// Source: LLVM's LangRef (22), "Identifiers".
pub fn identifier(text: &str) -> Option<&str> {
    let end = match text.strip_prefix('"') {
        // A quotation mark in an identifier is escaped as `\22`.
        Some(quoted) => quoted.find('"')? + 2,
        None => {
            let is_part = |c: char| c.is_ascii_alphanumeric() || "_.$-".contains(c);
            text.find(|c| !is_part(c)).unwrap_or(text.len())
        }
    };
    Some(&text[..end])
}

#[cfg(test)]
mod tests {
    use super::identifier;

    #[test]
    fn identifiers_end_where_other_text_begins() {
        for (text, expected) in [
            ("table = global i32 0", Some("table")),
            ("_Z1kILi-1E.1$(i32)", Some("_Z1kILi-1E.1$")),
            ("\"a b\" = global", Some("\"a b\"")),
            ("last", Some("last")),
            ("\"open", None),
        ] {
            assert_eq!(identifier(text), expected, "{text}");
        }
    }
}
