//! The oldest clang for a list of targets, the list as text, and targets that tools name.

use offload_format::target::{NvidiaArch, OLDEST_CLANG, OffloadArch, Target, TargetId};

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
