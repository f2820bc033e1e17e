//! The origin of an image.

use core::fmt;

/// The origin of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Compiled by this build.
    Compiled,
    /// Taken from the package's prebuilt set, because the inputs that the set records match the
    /// inputs of this build.
    Prebuilt,
    /// Taken from a file that build.rs lists, or that the program embeds by its path.
    Supplied,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Origin::Compiled => "compiled",
            Origin::Prebuilt => "prebuilt",
            Origin::Supplied => "supplied",
        })
    }
}
