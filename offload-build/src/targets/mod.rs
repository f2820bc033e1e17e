//! Resolves a pack's targets from the first non-empty list among `OFFLOAD_ARCH`, build.rs, foreign
//! variables, and the default in build.rs.
//!
//! Foreign variables for vendors that the build excludes are ignored ([`scope`]).
//!
//! [`list`] parses names, [`foreign_variables`] reads the lists of other programs, [`native`]
//! resolves `native`, and [`all_of_nvidia`] resolves `all-major` and `all`. The result is a list of
//! [`Target`]s in the order given, without duplicates.

mod all_of_nvidia;
mod foreign_variables;
mod item;
mod list;
mod native;
mod scope;
mod target;

pub(crate) use list::RequestedTargets;
pub(crate) use native::Gpus;
pub(crate) use offload_format::target::Target;
pub(crate) use scope::{OnlyVendor, Product, Scope};
pub(crate) use target::{first_clang, join};

use crate::toolchain::compilers::Tools;
use crate::toolchain::{Cargo, Error, ErrorKind};
use item::{Item, Listed, TargetOrigin};
use offload_format::target::{NvidiaCode, OffloadArch, TargetId, Vendor, amdgpu, product, similar};

pub(crate) struct Resolved {
    /// The targets in the order given, without duplicates.
    pub(crate) targets: Vec<Target>,
    /// Whether the list may differ on another machine, because it contains the machine's own GPUs
    /// or comes from a foreign variable.
    pub(crate) is_of_this_machine: bool,
}

/// Parses the targets in the order given, without duplicates. Without tools, words that need them,
/// such as `native` and `all`, add no targets.
///
/// Returns an error if there is no target, if a word cannot be resolved, or if a target is
/// malformed, impossible in this code object version, or in conflict with another target.
pub(crate) fn resolve(
    cargo: &Cargo,
    tools: Option<&Tools<'_>>,
    requested: &RequestedTargets,
    code_object_version: Option<u32>,
    scope: &Scope<'_>,
) -> Result<Resolved, Error> {
    let mut targets: Vec<Target> = Vec::new();
    let items = list::items(cargo, tools, requested, scope)?;
    let has_others = items.iter().any(|listed| !matches!(listed.item, Item::Native(_)));
    let of_this_machine = |listed: &Listed| {
        matches!(
            (&listed.item, &listed.by),
            (Item::Native(_) | Item::NativeOr(_), _) | (_, TargetOrigin::ForeignVariable(_))
        )
    };
    let is_of_this_machine = items.iter().any(of_this_machine);
    for Listed { item, by } in &items {
        for name in names(item, by, has_others, scope.vendor(), tools)? {
            let target = check(&name, by, code_object_version)?;
            if let Some(other) =
                targets.iter().find(|other| other.arch().conflicts_with(&target.arch()))
            {
                return Err(conflict_error(other, &target, by));
            }
            if !targets.contains(&target) {
                targets.push(target);
            }
        }
    }
    if targets.is_empty() && tools.is_some() {
        return Err(list::none(
            "build.rs lists targets only in .archs_if_known, but no nvcc was found that supports \
             any of them",
            tools,
            scope,
        ));
    }
    check_vendor(cargo, scope, &targets, &items[0].by)?;
    if let Some(ptx) = ptx_for_few(&targets) {
        cargo.warn_once(&format!(
            "no PTX in the list works on later GPUs: the final letter limits {ptx} to a few GPUs, \
             but {} works on all later ones",
            ptx.as_str().trim_end_matches(['a', 'f'])
        ));
    }
    Ok(Resolved { targets, is_of_this_machine })
}

/// Returns an error if `OFFLOAD_ARCH` lists only targets of vendors that the build excludes.
fn check_vendor(
    cargo: &Cargo,
    scope: &Scope<'_>,
    targets: &[Target],
    origin: &TargetOrigin,
) -> Result<(), Error> {
    let (Some(only), TargetOrigin::OffloadArch(variable)) = (&scope.only, origin) else {
        return Ok(());
    };
    if !only.refuses_others || targets.iter().any(|target| target.vendor() == only.vendor) {
        return Ok(());
    }
    Err(Error::config(format!(
        "{variable} lists {}, but {}.\nAdd a target such as {example}, or set {}={example}, which \
         applies only to this package. Without {variable}, the list in build.rs applies.",
        join(targets),
        scope.sentence().unwrap_or_default(),
        cargo.variable_of_package("OFFLOAD_ARCH"),
        example = only.example,
    )))
}

/// Returns the first PTX target, if every PTX target's name ends in a letter that limits it to few
/// GPUs, such as `compute_90a`.
fn ptx_for_few(targets: &[Target]) -> Option<&Target> {
    let mut first = None;
    for target in targets {
        if let OffloadArch::Nvidia(arch) = target.arch()
            && arch.code == NvidiaCode::Ptx
        {
            arch.suffix?;
            first = first.or(Some(target));
        }
    }
    first
}

pub(crate) fn native_gpus(tools: &Tools<'_>) -> Result<Gpus, Error> {
    native::find(tools, None)
}

/// Returns the targets of one item in the syntax of `OFFLOAD_ARCH`, such as `gfx90a` or `native`.
/// `by` is the origin of the item, for error messages.
pub(crate) fn of_item(name: &str, by: &str, tools: &Tools<'_>) -> Result<Vec<Target>, Error> {
    let by = TargetOrigin::OffloadArch(by.to_owned());
    let names = names(&list::ours(name), &by, false, None, Some(tools))?;
    names.iter().map(|name| check(name, &by, None)).collect()
}

/// Returns the names of an item's targets. `only` is the build's vendor, if there is only one.
fn names(
    item: &Item,
    by: &TargetOrigin,
    has_others: bool,
    only: Option<Vendor>,
    tools: Option<&Tools<'_>>,
) -> Result<Vec<String>, Error> {
    match (item, tools) {
        (Item::Arch(name), _) => Ok(vec![name.clone()]),
        (_, None) => Ok(Vec::new()),
        (Item::IfKnown(name), Some(tools)) => {
            Ok(known_to_nvcc(name, by, tools)?.then(|| name.clone()).into_iter().collect())
        }
        (Item::Native(_), Some(tools)) if *by == TargetOrigin::Default && has_others => {
            native::targets_or(tools, None, &[])
        }
        (Item::Native(vendor), Some(tools)) => native::targets(tools, *vendor, by),
        (Item::NativeOr(others), Some(tools)) => {
            // Report an invalid name even on a machine with a GPU.
            for name in others {
                check(name, by, None)?;
            }
            native::targets_or(tools, only, others)
        }
        (Item::AllMajor, Some(tools)) => all_of_nvidia::all_major(tools, by),
        (Item::All, Some(tools)) => all_of_nvidia::all(tools, by),
    }
}

/// Whether this build's nvcc compiles for this target. If not, prints a note with the reason.
///
/// Returns an error if the target is not NVIDIA's, or if the probe of nvcc fails.
fn known_to_nvcc(name: &str, by: &TargetOrigin, tools: &Tools<'_>) -> Result<bool, Error> {
    let cargo = tools.cargo;
    let target = check(name, by, None)?;
    let OffloadArch::Nvidia(arch) = target.arch() else {
        return Err(Error::config(format!(
            "build.rs lists '{name}' in .archs_if_known, which is only for NVIDIA's GPUs, because \
             nvcc decides whether a target is known. List this target in .archs"
        )));
    };
    let Ok(nvcc) = tools.nvcc()? else {
        cargo.note(&format!(
            "offload-build: leaving out {name}, because no nvcc was found to check whether it is \
             supported"
        ));
        return Ok(false);
    };
    // A different nvcc may support different targets, so Cargo reruns the build script if nvcc
    // changes.
    nvcc.identity.files.iter().for_each(|file| cargo.watch(file));
    let ccbin = tools.ccbin(&cargo.target).map_err(|why| {
        let message = format!(
            "could not check whether {} supports {name}, because nvcc needs a C++ compiler for the \
             host: {why}\n\
             Install g++, or name a compiler in NVCC_CCBIN.",
            nvcc.path.display()
        );
        Error::new(ErrorKind::ToolNotFound, message)
    })?;
    let refusal = nvcc.refusal(&arch.to_string(), &ccbin, tools.probes());
    if refusal.is_some() {
        cargo.note(&format!(
            "offload-build: leaving out {name}, which {} ({}) does not support",
            nvcc.path.display(),
            nvcc.version
        ));
    }
    Ok(refusal.is_none())
}

/// Parses a target, and checks that it is possible in this code object version.
fn check(name: &str, by: &TargetOrigin, code_object_version: Option<u32>) -> Result<Target, Error> {
    let target = Target::parse(name).map_err(|error| {
        let product = || {
            let product::Product { name, target } = product::find(name)?;
            // The table's target may name features that the product lacks, as in
            // `spirv64:float64-`. Omit them.
            let target = target.split(':').next().unwrap_or(target);
            Some(format!("{name} is a product: write its target, \"{target}\", instead"))
        };
        let similar = || similar(name).map(|known| format!("Did you mean \"{known}\"?"));
        let hint = foreign_variables::hint(name).or_else(product).or_else(similar);
        let hint = hint.map_or(String::new(), |hint| format!("\n{hint}"));
        Error::config(format!("cannot parse a target from {by}: {error}{hint}"))
    })?;
    if let OffloadArch::Amdgpu(id) = target.arch() {
        check_amdgpu(name, id, by, code_object_version)?;
    }
    Ok(target)
}

fn conflict_error(a: &Target, b: &Target, by: &TargetOrigin) -> Error {
    Error::config(format!(
        "the targets '{a}' and '{b}' (from {by}) cannot be built together: some devices match \
         both. Name the same features in each, such as '{p}:xnack+' and '{p}:xnack-'.",
        p = a.as_str().split(':').next().unwrap_or_default()
    ))
}

fn check_amdgpu(
    name: &str,
    id: TargetId<'_>,
    by: &TargetOrigin,
    version: Option<u32>,
) -> Result<(), Error> {
    if id.processor() == amdgpu::SPIRV {
        return Err(Error::config(format!(
            "the target '{name}' (from {by}) is SPIR-V for AMD, which this version of \
             offload-build cannot generate"
        )));
    }
    if let Some(feature) = id.unsupported_feature() {
        return Err(Error::config(format!(
            "the target '{name}' (from {by}) names the feature '{feature}', which {} does not have",
            id.processor()
        )));
    }
    match version {
        Some(version @ ..amdgpu::FIRST_GENERIC_VERSION) if amdgpu::is_generic(id.processor()) => {
            Err(Error::config(format!(
                "the target '{name}' (from {by}) needs code object version {}, but build.rs \
                 requests {version}",
                amdgpu::FIRST_GENERIC_VERSION
            )))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ptx_that_later_gpus_cannot_use() {
        let few = |targets: &[&str]| {
            let targets: Vec<Target> =
                targets.iter().map(|target| Target::parse(target).unwrap()).collect();
            ptx_for_few(&targets).map(Target::to_string)
        };
        assert_eq!(few(&["gfx90a", "sm_80", "compute_90a"]).as_deref(), Some("compute_90a"));
        assert_eq!(few(&["compute_100f", "compute_90a"]).as_deref(), Some("compute_100f"));
        assert_eq!(few(&["compute_90a", "compute_80"]), None);
        assert_eq!(few(&["sm_90a", "gfx90a", "cpu"]), None);
    }
}
