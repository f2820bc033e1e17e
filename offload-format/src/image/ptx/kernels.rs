//! Kernels of PTX text: `.entry` directives with their parameters.
//!
//! Source: PTX ISA 9.1, "Kernel and Function Directives: .entry", "Parameter State Space",
//! "Performance-Tuning Directives". ptxas 12.9 and 13.5 place each parameter at the next multiple
//! of its alignment, which is the size of its type, or the number after `.align` if that is
//! greater. The address is aligned, not the offset. This makes a difference, because the address of
//! the first parameter is not a multiple of every alignment. A parameter is a value or a
//! one-dimensional array, never a vector. A texture, sampler or surface reference takes up no space
//! and is aligned to 4 bytes.
//!
//! | architecture | address of the first parameter |
//! |---|---|
//! | up to sm_6x | 0x140 |
//! | sm_7x, sm_8x | 0x160 |
//! | sm_90 | 0x210 |
//! | from sm_100 on | 0x380 |

use super::arguments::{PtxArguments, number};
use super::tokens::Tokens;
use crate::image::Kernel;
use crate::image::kernels::{Arguments, Source};
use crate::target::NvidiaArch;
use crate::{Error, ErrorKind, Result};

/// The kernels in the remaining text.
#[derive(Debug, Clone)]
pub(in crate::image) struct PtxKernels<'data> {
    tokens: Tokens<'data>,
    /// The address of the first parameter.
    base: u64,
}

impl<'data> PtxKernels<'data> {
    /// Returns the kernels of a text, which ends at its first NUL, if any.
    pub(in crate::image) fn new(data: &'data [u8], arch: NvidiaArch) -> Self {
        let text = data.split(|&byte| byte == 0).next().unwrap_or(data);
        let base = match arch.major {
            ..=6 => 0x140,
            7..=8 => 0x160,
            9 => 0x210,
            _ => 0x380,
        };
        Self { tokens: Tokens::new(text), base }
    }

    pub(in crate::image) fn next(&mut self) -> Result<Option<Kernel<'data>>> {
        let tokens = &mut self.tokens;
        while let Some((at, token)) = tokens.next() {
            if token != b".entry" {
                continue;
            }
            let wrong = Error::new(ErrorKind::Malformed, "PTX kernel", at as u64);
            let name =
                tokens.next().and_then(|(_, name)| str::from_utf8(name).ok()).ok_or(wrong)?;
            let mut kernel = Kernel::new(name);
            kernel.arguments_size = Some(0);
            if tokens.skip(b"(") {
                let arguments =
                    PtxArguments { tokens: *tokens, ordinal: 0, base: self.base, end: self.base };
                kernel.arguments = Arguments(Source::Ptx(arguments.clone()));
                let mut all = arguments;
                while all.next()?.is_some() {}
                *tokens = all.tokens;
                kernel.arguments_size = Some(all.end - self.base);
            }
            // Skip declarations, which have no body; the kernel's definition follows later.
            if directives(&mut kernel, tokens).ok_or(wrong)? {
                return Ok(Some(kernel));
            }
        }
        Ok(None)
    }
}

/// Reads the directives between a kernel's parameters and its body, and returns whether there is a
/// body. Returns `None` if the text ends before the body.
fn directives(kernel: &mut Kernel<'_>, tokens: &mut Tokens<'_>) -> Option<bool> {
    loop {
        match tokens.next()?.1 {
            b"{" => return Some(true),
            b";" => return Some(false),
            b".pragma" => while tokens.next()?.1 != b";" {},
            b".maxntid" => {
                kernel.max_threads =
                    Some(dimensions(tokens)?.into_iter().fold(1, u64::saturating_mul));
            }
            b".reqntid" => kernel.required_block = Some(dimensions(tokens)?),
            _ => {}
        }
    }
}

/// Reads one to three numbers separated by commas. Missing numbers default to 1.
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
