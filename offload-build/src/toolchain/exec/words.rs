//! Splits the text of a response file or a variable into words.

/// Splits a text into words. Quotes and backslashes work as in GCC's response files.
pub fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut quote, mut has_word) = (String::new(), None, false);
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\\', _) => word.extend(chars.next()),
            (c, Some(end)) if c == end => quote = None,
            ('"' | '\'', None) => (quote, has_word) = (Some(c), true),
            (c, None) if c.is_whitespace() => {
                if has_word || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                has_word = false;
            }
            (c, _) => word.push(c),
        }
    }
    words.extend((has_word || !word.is_empty()).then_some(word));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_that_compilers_see() {
        assert_eq!(words("-a  'b c'\n\"d\"e f\\ g ''"), ["-a", "b c", "de", "f g", ""]);
    }
}
