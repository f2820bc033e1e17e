//! A kernel in the index: its name, and the limits and arguments from the image.

use super::Limits;
use crate::escape::unescape;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// A kernel of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexKernel {
    /// The kernel's name, as the image states it.
    pub name: String,
    /// The limits for launches of this kernel.
    pub limits: Limits,
    /// The arguments of a launch, in order; `None` if the image does not list them.
    pub arguments: Option<Vec<IndexArgument>>,
}

/// An argument of a kernel, from an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexArgument {
    /// The offset in bytes from the start of the arguments.
    pub offset: u64,
    /// The size in bytes.
    pub size: u64,
    /// The kind of the argument's type, as the image states it.
    pub kind: ArgumentKind,
}

/// The kind of an argument's type, from an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentKind {
    /// The image does not state the kind: the argument may have any type.
    Any,
    /// A floating-point number: PTX's `.f32`.
    Float,
    /// A pointer: AMD's `global_buffer` and `dynamic_shared_pointer`.
    Pointer,
}

impl IndexKernel {
    /// Reads a line of the text form of an [`IndexKernel`], and adds its data to `kernels`. `word`
    /// is the line's first word, and `rest` is the text after it. Returns `None` if the line does
    /// not belong to a kernel, or if it is misplaced.
    #[inline]
    pub fn read_line(kernels: &mut Vec<Self>, word: &str, rest: &str) -> Option<()> {
        match word {
            "kernel" => {
                let (name, limits) = (unescape(rest)?, Limits::UNKNOWN);
                kernels.push(Self { name, limits, arguments: None });
            }
            "limits" => {
                let kernel = kernels.last_mut()?;
                // There is only one line of limits, and it precedes the arguments.
                let is_first = kernel.limits == Limits::UNKNOWN && kernel.arguments.is_none();
                kernel.limits = Limits::parse(rest).filter(|_| is_first)?;
            }
            "arguments" => {
                let mut arguments = Vec::new();
                for word in rest.split(' ').filter(|word| !word.is_empty()) {
                    arguments.push(IndexArgument::parse(word)?);
                }
                kernels.last_mut()?.arguments.replace(arguments).is_none().then_some(())?;
            }
            _ => return None,
        }
        Some(())
    }
}

impl IndexArgument {
    #[inline]
    fn parse(word: &str) -> Option<Self> {
        let (offset, rest) = word.split_once('+')?;
        let (size, kind) =
            rest.split_once(':').map_or((rest, None), |(size, kind)| (size, Some(kind)));
        let kind = match kind {
            None => ArgumentKind::Any,
            Some("float") => ArgumentKind::Float,
            Some("pointer") => ArgumentKind::Pointer,
            Some(_) => return None,
        };
        Some(Self { offset: offset.parse().ok()?, size: size.parse().ok()?, kind })
    }
}

impl IndexArgument {
    /// Returns a description for messages: `8 bytes at offset 16 (a pointer)`.
    #[inline]
    pub fn description(&self) -> String {
        let Self { offset, size, kind } = self;
        let kind = match kind {
            ArgumentKind::Any => "",
            ArgumentKind::Float => " (a floating-point number)",
            ArgumentKind::Pointer => " (a pointer)",
        };
        format!("{size} bytes at offset {offset}{kind}")
    }
}

/// Writes the argument in the text form of the index: `8+8:pointer`.
impl fmt::Display for IndexArgument {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { offset, size, kind } = self;
        let kind = match kind {
            ArgumentKind::Any => "",
            ArgumentKind::Float => ":float",
            ArgumentKind::Pointer => ":pointer",
        };
        write!(f, "{offset}+{size}{kind}")
    }
}
