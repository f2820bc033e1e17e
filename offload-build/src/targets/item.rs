//! Items of lists of targets.

use std::fmt;

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
    /// NVIDIA's architectures that the compilers know: the first of each major number, and PTX of the last.
    AllMajor,
    /// All of them, and PTX of the last.
    All,
}

/// Who lists an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ListedBy {
    /// `.arch(...)` or `.archs([...])`.
    BuildScript,
    /// `.default_archs([...])`.
    Default,
    /// The environment variable of this name.
    Variable(String),
}

impl fmt::Display for ListedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ListedBy::BuildScript => "build.rs",
            ListedBy::Default => "the default of build.rs",
            ListedBy::Variable(name) => name,
        })
    }
}

/// An item, and who lists it.
#[derive(Debug, Clone)]
pub(super) struct Listed {
    pub(super) item: Item,
    pub(super) by: ListedBy,
}

/// The pieces of a list in a variable.
pub(super) fn split(value: &str) -> impl Iterator<Item = &str> {
    value.split([',', ';', ' ', '\t', '\n']).filter(|piece| !piece.is_empty())
}
