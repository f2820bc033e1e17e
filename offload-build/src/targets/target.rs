//! One target of a build. Only this file of the crate parses targets from text.

use offload_format::target::{
    CanonicalArch, NvidiaArch, OLDEST_CLANG, OffloadArch, ParseError, TargetId, Vendor,
};
use std::fmt;

/// The target of one image: `gfx90a:xnack-`, `sm_90a`, `compute_80` or `cpu`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target(CanonicalArch);

impl Target {
    /// Reads a target in any spelling.
    ///
    /// Returns an error if it is malformed. Only the compiler can tell whether it knows the target.
    pub(crate) fn parse(text: &str) -> Result<Self, ParseError> {
        #[cfg(test)]
        PARSED.set(PARSED.get() + 1);
        OffloadArch::parse(text).map(|arch| Self(arch.into()))
    }

    /// Returns the parsed parts, for a `match`.
    pub(crate) fn arch(&self) -> OffloadArch<'_> {
        self.0.arch()
    }

    pub(crate) fn vendor(&self) -> Vendor {
        self.arch().vendor()
    }

    pub(crate) fn is_gpu(&self) -> bool {
        self.vendor().is_gpu()
    }

    pub(crate) fn is_ptx(&self) -> bool {
        self.arch().is_ptx()
    }

    pub(crate) fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Whether these two different targets fit the same device. If they do, it is undefined which
    /// of their images the device gets.
    pub(crate) fn conflicts_with(&self, other: &Target) -> bool {
        self != other && self.arch().conflicts_with(&other.arch())
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Returns the first version of clang that compiles for all these targets, according to the tables.
pub(crate) fn first_clang(targets: &[Target]) -> u32 {
    targets.iter().filter_map(|target| target.arch().first_clang()).fold(OLDEST_CLANG, u32::max)
}

pub(crate) fn join(targets: &[Target]) -> String {
    targets.iter().map(Target::as_str).collect::<Vec<_>>().join(", ")
}

/// Parses the name of an NVIDIA architecture from a tool or another program's variable; returns
/// `None` for other names.
pub(super) fn nvidia(name: &str) -> Option<NvidiaArch> {
    NvidiaArch::parse(name).ok()
}

/// Returns the processor of a target ID that a tool reports, without its features; `None` if it is
/// not an AMD GPU's.
pub(super) fn processor(id: &str) -> Option<String> {
    let processor = TargetId::parse(id).ok()?.processor();
    let is_amd = OffloadArch::parse(processor).is_ok_and(|arch| arch.target_id().is_some());
    is_amd.then(|| processor.to_owned())
}

#[cfg(test)]
thread_local! {
    /// The number of targets that this thread has parsed.
    pub(crate) static PARSED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}
