//! Kernels of PTX text: `.entry` directives with their parameters.
//!
//! Source: PTX ISA 9.1, "Kernel and Function Directives: .entry", "Parameter State Space", "Performance-Tuning Directives".
//! What ptxas 12.9 and 13.5 make of it: a parameter lies at the next multiple of its alignment, which is its type's size or
//! that of `.align` if it is greater. What is aligned is the address, and the first parameter's address is no multiple of
//! every alignment. Parameters have one dimension and no vectors. A texture, sampler or surface reference takes no room and
//! has the alignment 4.
//!
//! | architecture | address of the first parameter |
//! |---|---|
//! | up to sm_6x | 0x140 |
//! | sm_7x, sm_8x | 0x160 |
//! | sm_90 | 0x210 |
//! | from sm_100 on | 0x380 |

use super::kernel::{Argument, Kernel};
use super::tokens::Tokens;
use crate::target::NvidiaArch;
use crate::{Error, ErrorKind, Result};

/// The text that is left.
#[derive(Debug, Clone)]
pub(super) struct PtxKernels<'data> {
    tokens: Tokens<'data>,
    /// The address of the first parameter.
    base: u64,
}

impl<'data> PtxKernels<'data> {
    /// The kernels of text that ends at the first NUL, if there is one.
    pub(super) fn new(data: &'data [u8], arch: NvidiaArch) -> Self {
        let text = data.split(|&byte| byte == 0).next().unwrap_or(data);
        let base = match arch.major {
            ..=6 => 0x140,
            7..=8 => 0x160,
            9 => 0x210,
            _ => 0x380,
        };
        Self { tokens: Tokens::new(text), base }
    }

    pub(super) fn next(&mut self) -> Result<Option<Kernel<'data>>> {
        let tokens = &mut self.tokens;
        while let Some((at, token)) = tokens.next() {
            if token != b".entry" {
                continue;
            }
            let wrong = Error::new(ErrorKind::Malformed, "PTX kernel", at as u64);
            let name = tokens.next().and_then(|(_, name)| str::from_utf8(name).ok()).ok_or(wrong)?;
            let mut kernel = Kernel::new(name);
            kernel.arguments_size = Some(0);
            if tokens.skip(b"(") {
                let arguments = PtxArguments { tokens: *tokens, ordinal: 0, base: self.base, end: self.base };
                kernel.arguments = arguments.clone().into();
                let mut all = arguments;
                while all.next()?.is_some() {}
                *tokens = all.tokens;
                kernel.arguments_size = Some(all.end - self.base);
            }
            // A declaration ends here; the definition follows.
            if directives(&mut kernel, tokens).ok_or(wrong)? {
                return Ok(Some(kernel));
            }
        }
        Ok(None)
    }
}

/// Reads what stands before the body, and says whether there is one; `None` if the text ends before.
fn directives(kernel: &mut Kernel<'_>, tokens: &mut Tokens<'_>) -> Option<bool> {
    loop {
        match tokens.next()?.1 {
            b"{" => return Some(true),
            b";" => return Some(false),
            b".pragma" => while tokens.next()?.1 != b";" {},
            b".maxntid" => {
                kernel.max_threads = Some(dimensions(tokens)?.into_iter().fold(1, u64::saturating_mul));
            }
            b".reqntid" => kernel.required_block = Some(dimensions(tokens)?),
            _ => {}
        }
    }
}

/// One to three numbers; those that are not there are 1.
fn dimensions(tokens: &mut Tokens<'_>) -> Option<[u64; 3]> {
    let mut dimensions = [1; 3];
    for (index, size) in dimensions.iter_mut().enumerate() {
        if index > 0 && !tokens.skip(b",") {
            break;
        }
        *size = number(tokens.next()?.1)?;
    }
    Some(dimensions)
}

/// A constant of PTX: decimal, `0x`, `0b`, octal with a leading `0`; `U` may stand behind it.
fn number(token: &[u8]) -> Option<u64> {
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

/// The parameters that are left, up to `)`.
#[derive(Debug, Clone)]
pub(super) struct PtxArguments<'data> {
    tokens: Tokens<'data>,
    /// The number of the next one.
    ordinal: u64,
    /// The address of the first one.
    base: u64,
    /// The address where the ones before end.
    end: u64,
}

const REFERENCE_ALIGN: u64 = 4;

impl<'data> PtxArguments<'data> {
    pub(super) fn next(&mut self) -> Result<Option<Argument<'data>>> {
        loop {
            let wrong = Error::new(ErrorKind::Malformed, "parameter of a PTX kernel", self.tokens.at());
            let ordinal = self.ordinal;
            self.ordinal += 1;
            match self.parameter().ok_or(wrong)? {
                Parameter::End => return Ok(None),
                Parameter::Reference => {
                    self.end = self.end.checked_next_multiple_of(REFERENCE_ALIGN).ok_or(wrong)?;
                }
                Parameter::Value { size, align } => {
                    let address = self.end.checked_next_multiple_of(align).ok_or(wrong)?;
                    self.end = address.checked_add(size).ok_or(wrong)?;
                    return Ok(Some(Argument { ordinal, offset: address - self.base, size, value_kind: None }));
                }
            }
        }
    }

    /// `.param [.align A] .type [.ptr [.space] [.align P]] name [ "[" count "]" ]`, up to the comma or the parenthesis.
    fn parameter(&mut self) -> Option<Parameter> {
        let tokens = &mut self.tokens;
        let (mut kind, mut align, mut count, mut is_pointer) = (None, 0, 1, false);
        loop {
            let before = *tokens;
            match tokens.next()?.1 {
                b")" if kind.is_none() => return Some(Parameter::End),
                b")" => {
                    // To be found again.
                    *tokens = before;
                    break;
                }
                b"," => break,
                b".param" => {}
                b".ptr" => is_pointer = true,
                b".align" => {
                    let value = number(tokens.next()?.1)?;
                    // Behind `.ptr` it is about what is pointed to.
                    align = if is_pointer { align } else { value };
                }
                b"[" => {
                    count = number(tokens.next()?.1)?;
                    if !tokens.skip(b"]") {
                        return None;
                    }
                }
                b".texref" | b".samplerref" | b".surfref" => kind = Some(0),
                token if kind.is_none() && token.starts_with(b".") => kind = type_size(token),
                _ => {}
            }
        }
        let size = kind?;
        if size == 0 {
            return Some(Parameter::Reference);
        }
        Some(Parameter::Value { size: size.checked_mul(count)?, align: align.max(size) })
    }
}

enum Parameter {
    End,
    /// A texture, sampler or surface.
    Reference,
    Value {
        size: u64,
        align: u64,
    },
}

/// The size of a type in bytes, which is also its alignment: `.u32`, `.b8`, `.bf16`.
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
