//! The arguments of a kernel, for images of every kind.

mod argument;
mod cubin;
mod metadata;
mod ptx;

pub use argument::Argument;
pub(super) use cubin::{Attribute, Attributes, CubinArguments, LARGE_ARGUMENT};
pub(super) use metadata::{MetadataArguments, read_argument};
pub(super) use ptx::{PtxArguments, number};

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// The arguments of a kernel, in the order of the source; AMD's hidden ones are the last. Texture,
/// sampler and surface references of PTX are not among them, since a program binds them instead of
/// passing them.
///
/// The formats and their references are on the [module's page](crate::image).
#[derive(Clone)]
pub struct Arguments<'data>(Source<'data>);

impl Arguments<'_> {
    /// An empty list, for a kernel whose image records no arguments.
    pub(super) const NONE: Self = Self(Source::None);
}

#[derive(Clone)]
enum Source<'data> {
    None,
    Metadata(MetadataArguments<'data>),
    Cubin(CubinArguments<'data>),
    Ptx(PtxArguments<'data>),
    List(vec::IntoIter<Argument<'data>>),
}

impl<'data> From<MetadataArguments<'data>> for Arguments<'data> {
    fn from(arguments: MetadataArguments<'data>) -> Self {
        Self(Source::Metadata(arguments))
    }
}

impl<'data> From<CubinArguments<'data>> for Arguments<'data> {
    fn from(arguments: CubinArguments<'data>) -> Self {
        Self(Source::Cubin(arguments))
    }
}

impl<'data> From<PtxArguments<'data>> for Arguments<'data> {
    fn from(arguments: PtxArguments<'data>) -> Self {
        Self(Source::Ptx(arguments))
    }
}

impl<'data> From<Vec<Argument<'data>>> for Arguments<'data> {
    fn from(arguments: Vec<Argument<'data>>) -> Self {
        Self(Source::List(arguments.into_iter()))
    }
}

impl<'data> Iterator for Arguments<'data> {
    type Item = Argument<'data>;

    fn next(&mut self) -> Option<Self::Item> {
        // All arguments were read once when the image was parsed, so this cannot fail.
        match &mut self.0 {
            Source::None => None,
            Source::Metadata(arguments) => arguments.next().ok().flatten(),
            Source::Cubin(arguments) => arguments.next().ok().flatten(),
            Source::Ptx(arguments) => arguments.next().ok().flatten(),
            Source::List(arguments) => arguments.next(),
        }
    }
}

impl fmt::Debug for Arguments<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}
