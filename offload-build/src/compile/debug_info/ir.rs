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

/// Returns the length of the name or string at the start of a text.
pub fn name_length(text: &str) -> usize {
    identifier(text).map_or(text.len(), str::len)
}

/// Returns the length of the text before the first byte `end` outside brackets and strings.
pub fn length(text: &str, end: u8) -> usize {
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0, 0);
    while at < bytes.len() && (depth != 0 || bytes[at] != end) {
        match bytes[at] {
            b'"' => at += name_length(&text[at..]) - 1,
            b'(' | b'[' | b'{' | b'<' => depth += 1,
            b')' | b']' | b'}' | b'>' => depth = usize::saturating_sub(depth, 1),
            _ => {}
        }
        at += 1;
    }
    at
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
