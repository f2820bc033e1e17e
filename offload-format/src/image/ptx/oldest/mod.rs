//! Finds the oldest PTX version that supports everything in a text.
//!
//! A compiler writes its own PTX version into `.version`, and drivers refuse versions newer than
//! their own, although most kernels use only much older instructions. `table.rs` lists known words
//! with the versions that introduced them. If a text contains any other word, its oldest version is
//! unknown. It cannot be guessed, because a new modifier may look like an old one.
//!
//! The text is read once, word by word. PTX statements are simple: a directive, or an instruction
//! with its modifiers and operands, up to a semicolon.

mod table;

use super::PtxHeader;
use super::arguments::PtxArguments;
use super::tokens::Tokens;
use crate::target::PtxVersion;
use core::fmt;

#[doc(hidden)]
pub use table::{GROUPS, INSTRUCTIONS, Instruction};

/// Returns the oldest PTX ISA version that supports a text's target and all of its instructions,
/// modifiers, directives and special registers. Version 7.8 (CUDA 11.8) stands for all older
/// versions, too. The text ends at its first NUL, if any.
///
/// Returns an error for the first word that is not in the table.
///
/// ```
/// use offload_format::image::oldest_ptx_version;
///
/// let ptx = b".version 9.5 .target sm_80 .entry k() { .reg .b32 %r<3>; add.u32 %r1, %r1, %tid.x; ret; }";
/// assert_eq!(oldest_ptx_version(ptx).unwrap().to_string(), "7.8");
///
/// let new = b".version 9.5 .target sm_80 .entry k() { new.u32 x; }";
/// assert_eq!(oldest_ptx_version(new).unwrap_err().to_string(), "`new.u32` at offset 40");
/// ```
pub fn oldest_ptx_version(text: &[u8]) -> Result<PtxVersion, UnknownPtx<'_>> {
    let text = text.split(|&byte| byte == 0).next().unwrap_or(text);
    let unknown = UnknownPtx { word: &text[..text.len().min(16)], offset: 0 };
    let header = PtxHeader::parse(text).map_err(|_| unknown)?;
    let of_target = header.arch.first_ptx().ok_or(unknown)?;
    let mut reader = Reader {
        text,
        tokens: Tokens::new(text),
        version: of_target.max(table::OLDEST),
        registers: Registers::default(),
    };
    while reader.statement()? {}
    Ok(reader.version)
}

/// A word that is not in the table of [`oldest_ptx_version`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownPtx<'data> {
    word: &'data [u8],
    offset: usize,
}

impl UnknownPtx<'_> {
    /// Returns the offset of the word in the text.
    pub fn offset(&self) -> usize {
        self.offset
    }
}

impl fmt::Display for UnknownPtx<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` at offset {}", self.word.escape_ascii(), self.offset)
    }
}

impl core::error::Error for UnknownPtx<'_> {}

type Token<'data> = (usize, &'data [u8]);

struct Reader<'data> {
    text: &'data [u8],
    tokens: Tokens<'data>,
    /// The oldest version that supports everything read so far.
    version: PtxVersion,
    registers: Registers<'data>,
}

/// Registers declared with `.reg` whose names look like special registers.
#[derive(Default)]
struct Registers<'data> {
    /// The names, and whether numbers follow them: `%r<5>` declares `%r0` to `%r4`.
    names: [(&'data [u8], bool); 32],
    count: usize,
}

impl<'data> Registers<'data> {
    /// Adds a name. Returns `None` if there are too many names.
    fn add(&mut self, name: &'data [u8], has_numbers: bool) -> Option<()> {
        if !self.names[..self.count].contains(&(name, has_numbers)) {
            *self.names.get_mut(self.count)? = (name, has_numbers);
            self.count += 1;
        }
        Some(())
    }

    fn has(&self, name: &[u8]) -> bool {
        self.names[..self.count].iter().any(|(known, has_numbers)| {
            name.strip_prefix(*known).is_some_and(|number| {
                number.is_empty() != *has_numbers && number.iter().all(u8::is_ascii_digit)
            })
        })
    }
}

impl<'data> Reader<'data> {
    /// Reads a statement, or a part of one. Returns whether the text continues.
    fn statement(&mut self) -> Result<bool, UnknownPtx<'data>> {
        let Some((at, word)) = self.tokens.next() else { return Ok(false) };
        let result = match word {
            [b'{' | b'}' | b';'] => Some(()),
            [b'.', directive @ ..] => self.directive(directive),
            // The guard before an instruction, as in `@!%p1 bra done;`.
            [b'@'] => {
                self.skip(b"!");
                self.tokens.next().and_then(|(_, predicate)| self.operand(predicate))
            }
            _ if !is_name(word) => None,
            // A label.
            _ if self.skip(b":") => Some(()),
            _ => return self.instruction((at, word)).map(|()| true),
        };
        result.map(|()| true).ok_or(UnknownPtx { word, offset: at })
    }

    /// Skips the next token, which must be a number.
    fn number(&mut self) -> Option<()> {
        let (_, word) = self.tokens.next()?;
        word[0].is_ascii_digit().then_some(())
    }

    /// Skips the next token if it is `token`, and returns whether it was.
    fn skip(&mut self, token: &[u8]) -> bool {
        let tokens = &mut self.tokens;
        tokens.skip(token)
    }

    /// Skips the next token, which must be `token`.
    fn expect(&mut self, token: &[u8]) -> Option<()> {
        self.skip(token).then_some(())
    }

    /// Reads the rest of a directive after its name. Returns `None` if any word of the directive is
    /// unknown.
    fn directive(&mut self, name: &'data [u8]) -> Option<()> {
        is_one_of(name, table::DIRECTIVES).then_some(())?;
        match name {
            b"version" | b"address_size" => self.number(),
            b"target" => {
                self.tokens.next()?;
                while self.skip(b",") {
                    self.expect(b"debug")?;
                }
                Some(())
            }
            b"file" => {
                self.number()?;
                self.tokens.next().filter(|(_, path)| path[0] == b'"')?;
                while self.skip(b",") {
                    self.number()?;
                }
                Some(())
            }
            b"loc" => self.location(),
            b"section" => self.section(),
            b"pragma" => {
                let (_, text) = self.tokens.next()?;
                let text = text.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
                is_one_of(text, table::PRAGMAS).then_some(())?;
                self.expect(b";")
            }
            _ => self.declaration(name),
        }
    }

    /// Reads a directive such as `.loc 1 5 3`, optionally followed by the location where the line
    /// was inlined.
    fn location(&mut self) -> Option<()> {
        for _ in 0..3 {
            self.number()?;
        }
        if self.skip(b",") {
            self.expect(b"function_name")?;
            self.tokens.next().filter(|(_, name)| is_name(name))?;
            if self.skip(b"+") {
                self.number()?;
            }
            self.expect(b",")?;
            self.expect(b"inlined_at")?;
            for _ in 0..3 {
                self.number()?;
            }
        }
        Some(())
    }

    /// Reads a section of debug information: numbers, names and types, up to the brace.
    fn section(&mut self) -> Option<()> {
        let (_, name) = self.tokens.next()?;
        is_one_of(name.strip_prefix(b".")?, table::SECTIONS).then_some(())?;
        self.expect(b"{")?;
        loop {
            match self.tokens.next()?.1 {
                b"}" => return Some(()),
                [b'.', word @ ..] => {
                    let is_known = matches!(word, b"b8" | b"b16" | b"b32" | b"b64")
                        || is_one_of(word, table::SECTIONS);
                    is_known.then_some(())?;
                }
                [b',' | b':' | b'+' | b'-'] => {}
                word => (is_name(word) || word[0].is_ascii_digit()).then_some(())?,
            }
        }
    }

    /// Reads the declaration of a function, a variable, registers or a list of labels, up to the
    /// semicolon or the function's body.
    fn declaration(&mut self, first: &[u8]) -> Option<()> {
        if first == b"entry" {
            self.arguments()?;
        }
        let declares_registers = first == b"reg";
        let (mut is_value, mut braces) = (false, 0_u32);
        loop {
            let (_, word) = self.tokens.next()?;
            match word {
                b";" if braces == 0 => return Some(()),
                b"{" if !is_value => return Some(()),
                b"{" => braces += 1,
                b"}" => braces = braces.checked_sub(1)?,
                b"=" => is_value = true,
                b".entry" => self.arguments()?,
                [b'.', word @ ..] => is_one_of(word, table::DIRECTIVES).then_some(())?,
                [b'%', ..] if declares_registers => {
                    let has_numbers = self.skip(b"<");
                    self.registers.add(word, has_numbers)?;
                    if has_numbers {
                        self.number()?;
                        self.expect(b">")?;
                    }
                }
                [b',' | b'(' | b')' | b'[' | b']' | b'<' | b'>' | b'+' | b'-'] => {}
                _ => (is_name(word) || word[0].is_ascii_digit()).then_some(())?,
            }
        }
    }

    /// Checks the total size of a kernel's arguments before they are read as a declaration, because
    /// larger sizes need a newer version.
    fn arguments(&mut self) -> Option<()> {
        let tokens = &mut self.tokens.clone();
        tokens.next()?;
        if tokens.skip(b"(") {
            let mut arguments = PtxArguments { tokens: *tokens, ordinal: 0, base: 0, end: 0 };
            while arguments.next().ok()?.is_some() {}
            if arguments.end > table::ARGUMENTS {
                self.version = self.version.max(table::MORE_ARGUMENTS);
            }
        }
        Some(())
    }

    /// Reads an instruction up to its semicolon.
    fn instruction(&mut self, (at, name): Token<'data>) -> Result<(), UnknownPtx<'data>> {
        let mut end = at + name.len();
        // The modifiers follow without a space, as in `ld.shared::cta.u32`.
        let mut next = self.tokens;
        while let Some((at, word)) = next.next()
            && at == end
            && (matches!(word[0], b'.' | b':') || self.text[end - 1] == b':')
        {
            end = at + word.len();
            self.tokens = next;
        }
        let modifiers = &self.text[at + name.len()..end];
        let unknown = UnknownPtx { word: &self.text[at..end], offset: at };
        let operands = self.operands()?;
        let version = of_instruction(name, modifiers, operands).ok_or(unknown)?;
        self.version = self.version.max(version);
        Ok(())
    }

    /// Reads and counts the operands of an instruction.
    fn operands(&mut self) -> Result<usize, UnknownPtx<'data>> {
        let (mut count, mut depth) = (0, 0_u32);
        let end = UnknownPtx { word: b"", offset: self.text.len() };
        loop {
            let (offset, word) = self.tokens.next().ok_or(end)?;
            let known = match word {
                b";" => return if depth == 0 { Ok(count) } else { Err(end) },
                b"(" | b"[" | b"{" => {
                    depth += 1;
                    true
                }
                b")" | b"]" | b"}" => {
                    let was_open = depth > 0;
                    depth = depth.saturating_sub(1);
                    was_open
                }
                b"," => {
                    count += usize::from(depth == 0);
                    true
                }
                b"+" | b"-" | b"!" | b"|" | b".x" | b".y" | b".z" | b".w" => true,
                _ => self.operand(word).is_some(),
            };
            if !known {
                return Err(UnknownPtx { word, offset });
            }
            count = count.max(1);
        }
    }

    /// Reads a register, a name or a number. Returns `None` for an unknown special register.
    fn operand(&mut self, word: &[u8]) -> Option<()> {
        match word {
            [b'%', name @ ..] if !self.registers.has(word) => {
                let special = |(known, _): &&(&str, _)| known.as_bytes() == name;
                let (_, version) = table::SPECIAL.iter().find(special)?;
                self.version = self.version.max(*version);
                Some(())
            }
            // Only newer versions allow `_` for an unneeded vector element.
            b"_" => None,
            _ => (word[0] == b'%' || is_name(word) || word[0].is_ascii_digit()).then_some(()),
        }
    }
}

fn is_name(word: &[u8]) -> bool {
    word[0].is_ascii_alphabetic() || matches!(word[0], b'_' | b'$')
}

fn is_one_of(word: &[u8], words: &[&str]) -> bool {
    words.iter().any(|known| known.as_bytes() == word)
}

/// Returns the version that introduced an instruction with these modifiers and this many operands.
fn of_instruction(name: &[u8], modifiers: &[u8], operands: usize) -> Option<PtxVersion> {
    let first = INSTRUCTIONS.partition_point(|row| row.0.as_bytes() < name);
    let mut oldest = None;
    for row in &INSTRUCTIONS[first..] {
        if row.0.as_bytes() != name {
            break;
        }
        let count = row.3.split_ascii_whitespace().count();
        if (row.3 == "*" || count == operands) && has_modifiers(row, modifiers) {
            oldest = Some(oldest.map_or(row.1, |known: PtxVersion| known.min(row.1)));
        }
    }
    oldest
}

/// Whether a row matches these modifiers, such as `.rn.f32`. A word matches the first group that
/// contains it, which is enough because no row lists the same word in an optional group and in
/// another group.
fn has_modifiers(row: &Instruction, modifiers: &[u8]) -> bool {
    let mut words = modifiers.split(|&byte| byte == b'.');
    // Skip the empty text before the first period.
    words.next();
    let mut word = words.next();
    for group in row.2.split_ascii_whitespace() {
        let (group, may_be_missing) = match group.strip_prefix('?') {
            Some(group) => (group, true),
            None => (group, false),
        };
        let named = GROUPS.iter().find(|(name, _)| *name == group);
        let mut choices = named.map_or(group, |(_, choices)| choices).split('|');
        if word.is_some_and(|word| choices.any(|it| it.as_bytes() == word)) {
            word = words.next();
        } else if !may_be_missing {
            return false;
        }
    }
    word.is_none()
}

#[cfg(test)]
mod tests;
