//! What the index says of a kernel of an image: its name, and the arguments that the image records.

use crate::escape::{escape, unescape};
use crate::image::{Argument, Kernel};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

/// A kernel of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexKernel {
    /// Its name, as the image has it.
    pub name: String,
    /// What a launch passes, in order; `None` if the image does not say.
    pub arguments: Option<Vec<IndexArgument>>,
}

/// An argument of a kernel, as an image records it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexArgument {
    /// Where it is among the arguments, in bytes from where they start.
    pub offset: u64,
    /// Its size in bytes.
    pub size: u64,
    /// What the image says of its type.
    pub kind: ArgumentKind,
}

/// What an image says of an argument's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentKind {
    /// Nothing: it may be of any type.
    Any,
    /// A floating-point number: PTX's `.f32`.
    Float,
    /// A pointer: AMD's `global_buffer` and `dynamic_shared_pointer`.
    Pointer,
}

impl IndexKernel {
    /// Takes over what an image says of its kernels, in alphabetical order, each once.
    pub fn in_order<'data>(kernels: impl Iterator<Item = Kernel<'data>>) -> Vec<Self> {
        let mut all: Vec<Self> = kernels.map(Self::of).collect();
        all.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        all.dedup_by(|one, other| one.name == other.name);
        all
    }

    fn of(kernel: Kernel<'_>) -> Self {
        let arguments: Vec<IndexArgument> =
            kernel.arguments.filter(|argument| !argument.is_hidden()).map(IndexArgument::of).collect();
        // Images by hand may have the size alone.
        let is_known = !arguments.is_empty() || kernel.arguments_size.is_none_or(|size| size == 0);
        Self { name: kernel.name.to_string(), arguments: is_known.then_some(arguments) }
    }

    /// Reads a line that [`IndexKernel`] is displayed as, of this first word and this rest, and takes it up. `None` if it is not
    /// one, or stands where it cannot.
    pub fn read_line(kernels: &mut Vec<Self>, word: &str, rest: &str) -> Option<()> {
        match word {
            "kernel" => kernels.push(Self { name: unescape(rest)?, arguments: None }),
            "arguments" => {
                let words = rest.split(' ').filter(|word| !word.is_empty());
                let arguments = words.map(IndexArgument::parse).collect::<Option<Vec<IndexArgument>>>()?;
                kernels.last_mut()?.arguments.replace(arguments).is_none().then_some(())?;
            }
            _ => return None,
        }
        Some(())
    }
}

impl IndexArgument {
    fn of(Argument { offset, size, value_kind, type_name, .. }: Argument<'_>) -> Self {
        let kind = match (value_kind, type_name) {
            (Some("global_buffer" | "dynamic_shared_pointer"), _) => ArgumentKind::Pointer,
            // PTX. OpenCL C has other names, and those of AMD's images have a `value_kind` too.
            (None, Some("f16" | "f32" | "f64")) => ArgumentKind::Float,
            _ => ArgumentKind::Any,
        };
        Self { offset, size, kind }
    }

    fn parse(word: &str) -> Option<Self> {
        let (offset, rest) = word.split_once('+')?;
        let (size, kind) = rest.split_once(':').map_or((rest, None), |(size, kind)| (size, Some(kind)));
        let kind = match kind {
            None => ArgumentKind::Any,
            Some("float") => ArgumentKind::Float,
            Some("pointer") => ArgumentKind::Pointer,
            Some(_) => return None,
        };
        Some(Self { offset: offset.parse().ok()?, size: size.parse().ok()?, kind })
    }
}

/// Its lines.
impl fmt::Display for IndexKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel {}", escape(&self.name))?;
        let Some(arguments) = &self.arguments else { return Ok(()) };
        f.write_str("\narguments")?;
        arguments.iter().try_for_each(|IndexArgument { offset, size, kind }| {
            write!(f, " {offset}+{size}")?;
            f.write_str(match kind {
                ArgumentKind::Any => "",
                ArgumentKind::Float => ":float",
                ArgumentKind::Pointer => ":pointer",
            })
        })
    }
}
