//! Items of lists of targets.

/// Whose GPUs are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Vendor {
    Any,
    Nvidia,
    Amd,
}

/// One item of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    /// A target's name, which nothing was checked of.
    Arch(String),
    /// The GPUs of the building machine.
    Native(Vendor),
    /// Them, or else these targets.
    NativeOr(Vec<String>),
    /// NVIDIA's architectures that the compilers know: the first of each major number, and PTX of the last.
    AllMajor,
    /// All of them, and PTX of the last.
    All,
}

/// An item, and who lists it: `build.rs`, or a variable's name.
#[derive(Debug, Clone)]
pub(super) struct Listed {
    pub(super) item: Item,
    pub(super) origin: String,
}

/// The pieces of a list in a variable.
pub(super) fn split(value: &str) -> impl Iterator<Item = &str> {
    value.split([',', ';', ' ', '\t', '\n']).filter(|piece| !piece.is_empty())
}
