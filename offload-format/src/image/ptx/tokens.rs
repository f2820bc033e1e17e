//! The tokens of PTX text.

/// The tokens of a text with their offsets, without white space and comments. A token is a word (a
/// directive, a name, a number), a string with its quotes, or any other single character.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tokens<'data> {
    data: &'data [u8],
    at: usize,
}

impl<'data> Tokens<'data> {
    pub(super) fn new(data: &'data [u8]) -> Self {
        Self { data, at: 0 }
    }

    /// Returns the offset where the search for the next token starts.
    pub(super) fn at(&self) -> u64 {
        self.at as u64
    }

    /// Skips the next token if it is `token`, and returns whether it was.
    pub(super) fn skip(&mut self, token: &[u8]) -> bool {
        let mut next = *self;
        let found = next.next().is_some_and(|(_, found)| found == token);
        if found {
            *self = next;
        }
        found
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._$%".contains(&byte)
}

/// Returns the size of the word at the start of `text`. A period starts a new token, even without a
/// space before it, except within a number, as in `.version 8.0.target sm_90.address_size 64`.
fn word_size(text: &[u8]) -> usize {
    let is_of_number = |at: usize| {
        text[0].is_ascii_digit()
            && !text[..at].contains(&b'.')
            && text.get(at + 1).is_some_and(u8::is_ascii_digit)
    };
    let goes_on = |at: usize| if text[at] == b'.' { is_of_number(at) } else { is_word(text[at]) };
    (1..text.len()).find(|&at| !goes_on(at)).unwrap_or(text.len())
}

impl<'data> Iterator for Tokens<'data> {
    type Item = (usize, &'data [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let rest = self.data.get(self.at..).filter(|rest| !rest.is_empty())?;
            self.at += if rest.starts_with(b"//") {
                rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len())
            } else if rest.starts_with(b"/*") {
                rest.windows(2)
                    .skip(2)
                    .position(|pair| pair == b"*/")
                    .map_or(rest.len(), |end| end + 4)
            } else if rest[0].is_ascii_whitespace() {
                1
            } else {
                let end = match rest[0] {
                    b'"' => rest
                        .iter()
                        .skip(1)
                        .position(|&byte| byte == b'"')
                        .map_or(rest.len(), |end| end + 2),
                    first if is_word(first) => word_size(rest),
                    _ => 1,
                };
                let token = &rest[..end];
                let start = self.at;
                self.at += token.len();
                return Some((start, token));
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_hide_what_is_in_them() {
        let text = b".entry/*{*/k // }\n(%r<5>)\"a{//\"\"b\" /* ";
        let tokens: alloc::vec::Vec<_> =
            Tokens::new(text).map(|(_, token)| str::from_utf8(token).unwrap()).collect();
        assert_eq!(tokens, [".entry", "k", "(", "%r", "<", "5", ">", ")", "\"a{//\"", "\"b\""]);
    }

    #[test]
    fn a_period_starts_a_word_or_is_in_a_number() {
        let text = b".version 8.0.target sm_90.address_size 64.entry k.maxntid 1.2.3 . .. 8.";
        let tokens: alloc::vec::Vec<_> =
            Tokens::new(text).map(|(_, token)| str::from_utf8(token).unwrap()).collect();
        let expected = [
            ".version",
            "8.0",
            ".target",
            "sm_90",
            ".address_size",
            "64",
            ".entry",
            "k",
            ".maxntid",
            "1.2",
            ".3",
            ".",
            ".",
            ".",
            "8",
            ".",
        ];
        assert_eq!(tokens, expected);
    }
}
