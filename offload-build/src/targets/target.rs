//! Finds the oldest clang for a list of targets, turns the list into text, and parses names that
//! tools print.

use offload_format::target::{NvidiaArch, OLDEST_CLANG, OffloadArch, Target, TargetId};

/// Returns the first version of clang that supports all these targets, according to the tables.
pub(crate) fn first_clang(targets: &[Target]) -> u32 {
    targets.iter().filter_map(|target| target.arch().first_clang()).fold(OLDEST_CLANG, u32::max)
}

pub(crate) fn join(targets: &[Target]) -> String {
    targets.iter().map(Target::as_str).collect::<Vec<_>>().join(", ")
}

/// Parses an NVIDIA architecture's name from a tool or another program's variable. Returns `None`
/// for other names.
pub(super) fn nvidia(name: &str) -> Option<NvidiaArch> {
    NvidiaArch::parse(name).ok()
}

/// Returns the processor in a tool's target ID, without features. Returns `None` for other text.
pub(super) fn processor(id: &str) -> Option<String> {
    let processor = TargetId::parse(id).ok()?.processor();
    let is_amd = OffloadArch::parse(processor).is_ok_and(|arch| arch.target_id().is_some());
    is_amd.then(|| processor.to_owned())
}
