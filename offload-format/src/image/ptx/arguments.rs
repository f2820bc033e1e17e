//! Kernel parameters in PTX text.

use super::tokens::Tokens;
use crate::image::Argument;
use crate::{Error, ErrorKind, Result};

/// Parses a PTX constant: decimal, `0x`, `0b`, or octal with a leading `0`; `U` may follow.
pub(super) fn number(token: &[u8]) -> Option<u64> {
    let text = str::from_utf8(token).ok()?;
    let text = text.strip_suffix('U').unwrap_or(text);
    let (digits, radix) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (text.get(2..)?, 16),
        [b'0', b'b' | b'B', ..] => (text.get(2..)?, 2),
        [b'0', _, ..] => (text, 8),
        _ => (text, 10),
    };
    u64::from_str_radix(digits, radix).ok()
}

/// The parameters not yet read, up to `)`.
#[derive(Debug, Clone)]
pub(in crate::image) struct PtxArguments<'data> {
    pub(super) tokens: Tokens<'data>,
    /// The number of the next parameter.
    pub(super) ordinal: u64,
    /// The address of the first parameter.
    pub(super) base: u64,
    /// The address where the previous parameters end.
    pub(super) end: u64,
}

const REFERENCE_ALIGN: u64 = 4;

impl<'data> PtxArguments<'data> {
    pub(in crate::image) fn next(&mut self) -> Result<Option<Argument<'data>>> {
        loop {
            let wrong =
                Error::new(ErrorKind::Malformed, "parameter of a PTX kernel", self.tokens.at());
            let ordinal = self.ordinal;
            self.ordinal += 1;
            match self.parameter().ok_or(wrong)? {
                Parameter::End => return Ok(None),
                Parameter::Reference => {
                    self.end = self.end.checked_next_multiple_of(REFERENCE_ALIGN).ok_or(wrong)?;
                }
                Parameter::Value { size, align, name, type_name } => {
                    let address = self.end.checked_next_multiple_of(align).ok_or(wrong)?;
                    self.end = address.checked_add(size).ok_or(wrong)?;
                    let offset = address - self.base;
                    return Ok(Some(Argument {
                        ordinal,
                        offset,
                        size,
                        value_kind: None,
                        name,
                        type_name,
                    }));
                }
            }
        }
    }

    /// Reads a parameter: `.param [.align A] .type [.ptr [.space] [.align P]] name [ "[" count "]"
    /// ]`, up to the comma or the parenthesis.
    fn parameter(&mut self) -> Option<Parameter<'data>> {
        let tokens = &mut self.tokens;
        let (mut kind, mut align, mut count, mut is_pointer) = (None, 0, 1, false);
        let (mut name, mut type_name) = (None, None);
        loop {
            let before = *tokens;
            match tokens.next()?.1 {
                b")" if kind.is_none() => return Some(Parameter::End),
                b")" => {
                    // Do not consume the parenthesis, so that the next call returns
                    // `Parameter::End`.
                    *tokens = before;
                    break;
                }
                b"," => break,
                b".param" => {}
                b".ptr" => is_pointer = true,
                b".align" => {
                    let value = number(tokens.next()?.1)?;
                    // After `.ptr`, `.align` applies to the memory that the parameter points to.
                    align = if is_pointer { align } else { value };
                }
                b"[" => {
                    count = number(tokens.next()?.1)?;
                    type_name = None;
                    if !tokens.skip(b"]") {
                        return None;
                    }
                }
                b".texref" | b".samplerref" | b".surfref" => kind = Some(0),
                token if kind.is_none() && token.starts_with(b".") => {
                    kind = type_size(token);
                    type_name = str::from_utf8(token).ok()?.strip_prefix('.');
                }
                token if !token.starts_with(b".") => name = str::from_utf8(token).ok(),
                _ => {}
            }
        }
        let size = kind?;
        if size == 0 {
            return Some(Parameter::Reference);
        }
        Some(Parameter::Value {
            size: size.checked_mul(count)?,
            align: align.max(size),
            name,
            type_name,
        })
    }
}

enum Parameter<'data> {
    End,
    /// A texture, sampler or surface reference, which takes up no space.
    Reference,
    Value {
        size: u64,
        align: u64,
        name: Option<&'data str>,
        type_name: Option<&'data str>,
    },
}

/// Returns the size in bytes of a type such as `.u32`, `.b8` or `.bf16`. The size is also the
/// alignment.
fn type_size(token: &[u8]) -> Option<u64> {
    let text = str::from_utf8(token).ok()?.strip_prefix('.')?;
    match text.trim_start_matches(|c: char| c.is_ascii_lowercase()) {
        "8" => Some(1),
        "16" => Some(2),
        "32" => Some(4),
        "64" => Some(8),
        "128" => Some(16),
        _ => None,
    }
}
