//! The name of a build in messages, and the one vendor that it may be for.

use super::target::Family;
use std::fmt;

/// The product of a build, with its name.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Product<'a> {
    Pack(&'a str),
    StaticLibrary(&'a str),
    /// Targets are asked for, and nothing is made.
    Unnamed,
}

/// Prints the name in messages.
impl fmt::Display for Product<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Product::Pack(name) => write!(f, "pack \"{name}\""),
            Product::StaticLibrary(name) => write!(f, "static library \"{name}\""),
            Product::Unnamed => f.write_str("build"),
        }
    }
}

/// The product, and the only vendor that it is for, if there is one.
#[derive(Debug)]
pub(crate) struct Scope<'a> {
    pub(crate) product: Product<'a>,
    pub(crate) only: Option<OnlyVendor>,
    /// Whether nvcc compiles for NVIDIA's GPUs.
    pub(crate) by_nvcc: bool,
}

/// The vendor that everything is for.
#[derive(Debug)]
pub(crate) struct OnlyVendor {
    pub(crate) family: Family,
    /// Why, in words that follow "is for nvidia alone: ".
    pub(crate) reason: String,
    /// A target that it can be built for.
    pub(crate) example: String,
    /// Whether a target of another vendor in `OFFLOAD_ARCH` is of no use.
    pub(crate) refuses_others: bool,
}

impl Scope<'_> {
    /// Returns the vendor, if it is for one alone.
    pub(super) fn family(&self) -> Option<Family> {
        self.only.as_ref().map(|only| only.family)
    }

    /// Returns the one vendor and the reason, as in "the pack "x" is for amd alone: all of its
    /// sources are".
    pub(super) fn sentence(&self) -> Option<String> {
        let OnlyVendor { family, reason, .. } = self.only.as_ref()?;
        Some(format!("the {} is for {family} alone: {reason}", self.product))
    }
}
