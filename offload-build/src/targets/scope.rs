//! The product of a build, for messages, and its only vendor, if any.

use offload_format::target::Vendor;
use std::fmt;

/// The product of a build, with its name.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Product<'a> {
    Pack(&'a str),
    StaticLibrary(&'a str),
    /// No product. build.rs only queries the targets, and may add more targets later.
    Unnamed,
}

impl fmt::Display for Product<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Product::Pack(name) => write!(f, "pack \"{name}\""),
            Product::StaticLibrary(name) => write!(f, "static library \"{name}\""),
            Product::Unnamed => f.write_str("build so far"),
        }
    }
}

/// The product, and its only vendor, if any.
pub(crate) struct Scope<'a> {
    pub(crate) product: Product<'a>,
    pub(crate) only: Option<OnlyVendor>,
    /// Whether build.rs requests nvcc, for the build or for a module.
    pub(crate) by_nvcc: bool,
}

/// The only vendor that the product can be built for.
pub(crate) struct OnlyVendor {
    pub(crate) vendor: Vendor,
    /// The reason, as the end of the sentence "… is for nvidia alone: …".
    pub(crate) reason: String,
    /// A target that the product can be built for.
    pub(crate) example: String,
    /// Whether it is an error if `OFFLOAD_ARCH` lists only targets of other vendors.
    pub(crate) refuses_others: bool,
}

impl Scope<'_> {
    pub(super) fn vendor(&self) -> Option<Vendor> {
        self.only.as_ref().map(|only| only.vendor)
    }

    /// Returns a sentence with the vendor and the reason, such as "the pack "x" is for amd alone:
    /// all of its sources are for amd".
    pub(super) fn sentence(&self) -> Option<String> {
        let OnlyVendor { vendor, reason, .. } = self.only.as_ref()?;
        Some(format!("the {} is for {vendor} alone: {reason}", self.product))
    }
}
