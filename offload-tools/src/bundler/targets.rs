//! The targets of a command line.

use super::Failure;
use super::options::{Options, Work};
use offload_format::bundle::{Composition, EntryId};
use std::collections::HashSet;

const FORMAT: &str = "Targets need to follow the format '<offload kind>-<target triple>', where '<target triple>' follows \
                      the format '<kind>-<arch>-<vendor>-<os>-<env>[-<target id>[:target features]]'.";

/// Returns the targets as bundle entry IDs, after checking each target and the combination.
pub(super) fn check(options: &Options, work: Work) -> Result<Vec<EntryId<'_>>, Failure> {
    let mut seen = HashSet::new();
    let mut ids = Vec::with_capacity(options.targets.len());
    for target in &options.targets {
        if !seen.insert(target) {
            return Err(Failure::new("Duplicate targets are not allowed"));
        }
        let id = parse(target)?;
        if is_without_environment(target, &id) {
            warn(options, target, &id);
        }
        ids.push(id);
    }
    if let Some((a, b)) = Composition::find_conflict(options.targets.iter().map(String::as_str)) {
        return Err(Failure::new(format!(
            "Cannot bundle inputs with conflicting targets: '{a}' and '{b}'"
        )));
    }
    let hosts = ids.iter().filter(|id| id.is_host()).count();
    let is_wrong = match work {
        Work::Unbundle => hosts > 1,
        _ => hosts != 1 && !ids.iter().all(EntryId::is_hip),
    };
    if is_wrong {
        Err(Failure::new(format!("expecting exactly one host target but got {hosts}")))
    } else {
        Ok(ids)
    }
}

/// Whether the target ID is in the position of the triple's environment:
/// `openmp-amdgcn-amd-amdhsa-gfx906`. LLVM stopped reading this example as gfx906 in 2025, but this
/// tool still does, because build systems and files contain such targets.
fn is_without_environment(target: &str, id: &EntryId<'_>) -> bool {
    let environment = target.split('-').nth(4).unwrap_or("");
    !environment.is_empty() && id.triple().env.is_empty() && id.target().starts_with(environment)
}

/// Warns about a target without an environment, in the words of LLVM's error for malformed targets.
fn warn(options: &Options, target: &str, id: &EntryId<'_>) {
    let program = &options.program;
    eprintln!("{program}: warning: {FORMAT}");
    eprintln!(
        "{program}: note: the target '{target}' has no <env>, so it is read as '{}'",
        id.to_canonical()
    );
}

fn parse(target: &str) -> Result<EntryId<'_>, Failure> {
    let Ok(id) = EntryId::parse_strict(target) else {
        let failure = Failure::new(FORMAT);
        return Err(match meant(target) {
            Some(meant) => {
                failure.hint(format!("the target '{target}' has no <vendor>; write '{meant}'"))
            }
            None => failure,
        });
    };
    let mut wrong = Vec::new();
    if !id.is_known_kind() {
        wrong.push(format!(", unknown offloading kind '{}'", id.kind()));
    }
    if !id.triple().is_known() {
        // The four fields after the kind, as written.
        let fields: Vec<&str> = target.splitn(6, '-').skip(1).take(4).collect();
        wrong.push(format!(", unknown target triple '{}'", fields.join("-")));
    }
    if wrong.is_empty() {
        Ok(id)
    } else {
        Err(Failure::new(format!("invalid target '{target}'{}", wrong.concat())))
    }
}

/// Returns the full spelling of a target whose triple has no vendor, such as
/// `openmp-amdgcn-amdhsa-gfx906` in old documentation.
fn meant(target: &str) -> Option<String> {
    let [kind, arch, os, rest] = target.splitn(4, '-').collect::<Vec<_>>()[..] else { return None };
    let vendor = match os {
        "amdhsa" | "amdpal" => "amd",
        "cuda" => "nvidia",
        _ => return None,
    };
    let target_id = rest.trim_start_matches('-');
    let meant =
        EntryId::parse(&format!("{kind}-{arch}-{vendor}-{os}--{target_id}")).ok()?.to_canonical();
    Some(meant)
}
