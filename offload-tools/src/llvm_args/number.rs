//! Numbers as LLVM's command lines spell them.

/// Parses a number with an optional sign and an optional prefix for its base: `0x`, `0b`, `0o`, and
/// LLVM's leading `0` for octal.
pub(super) fn parse(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let lower = digits.to_ascii_lowercase();
    let (base, digits) = match lower.as_bytes() {
        [b'0', b'x', ..] => (16, &lower[2..]),
        [b'0', b'b', ..] => (2, &lower[2..]),
        [b'0', b'o', ..] => (8, &lower[2..]),
        [b'0', second, ..] if second.is_ascii_digit() => (8, &lower[1..]),
        _ => (10, lower.as_str()),
    };
    // `from_str_radix` itself accepts a sign, so refuse a second one.
    let digits = digits.bytes().next()?.is_ascii_alphanumeric().then_some(digits)?;
    let value = i64::from_str_radix(digits, base).ok()?;
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn bases_and_signs() {
        for (text, value) in
            [("0", 0), ("12", 12), ("-1", -1), ("0x1F", 31), ("010", 8), ("0b101", 5), ("0o17", 15)]
        {
            assert_eq!(parse(text), Some(value), "{text}");
        }
        for text in ["", "-", "0x", "1x", "+1", "-+1", " 1", "08", "99999999999999999999"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
