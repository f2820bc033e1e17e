//! Which targets a pack is built for: those of `OFFLOAD_ARCH`, else of build.rs, else of the variables that the field uses.
//!
//! Names are taken apart ([`list`]), lists of other programs read ([`field`]), `native` and `all-major` looked up ([`native`],
//! [`supported`]); what comes out are [`Target`]s, each once, in the order given.

mod foreign_variables;
mod item;
mod list;
mod native;
mod supported;
mod target;

pub(crate) use list::Wanted;
pub(crate) use native::Gpus;
#[cfg(test)]
pub(crate) use target::PARSED;
pub(crate) use target::{Family, Target, join};

use crate::cargo::Cargo;
use crate::error::Error;
use crate::toolchain::Tools;
use item::{Item, Listed};
use offload_format::target::{NvidiaCode, OffloadArch, TargetId, amdgpu};

/// The targets, each parsed once, in the order given.
///
/// Returns an error if there is none, if one is malformed, if one cannot be had in this code object version, if two may
/// not stand together, or if what is to be looked up cannot be.
pub(crate) fn resolve(
    cargo: &Cargo,
    tools: &Tools<'_>,
    wanted: &[Wanted],
    code_object_version: Option<u32>,
) -> Result<Vec<Target>, Error> {
    let mut targets: Vec<Target> = Vec::new();
    for Listed { item, origin } in list::items(cargo, wanted)? {
        for name in names(&item, &origin, cargo, tools)? {
            let target = check(&name, &origin, code_object_version)?;
            if let Some(other) = targets.iter().find(|other| other.conflicts_with(&target)) {
                return Err(conflict_error(other, &target, &origin));
            }
            if !targets.contains(&target) {
                targets.push(target);
            }
        }
    }
    if targets.is_empty() {
        return Err(list::none("there is no GPU here, and build.rs says .native_or([])"));
    }
    if let Some(ptx) = ptx_for_few(&targets) {
        cargo.warn_once(&format!(
                "{ptx} is all the PTX there is, and its letter binds it to few GPUs: later ones cannot use it, as they could {}",
                ptx.as_str().trim_end_matches(['a', 'f'])
            ));
    }
    Ok(targets)
}

/// The first PTX target, if each of them is bound to few GPUs.
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

/// Whether the list is another on another machine: its GPUs are in it, or build.rs leaves it to the environment.
pub(crate) fn are_of_this_machine(wanted: &[Wanted]) -> bool {
    let is_native = |wanted: &Wanted| match wanted {
        Wanted::Name(name) => matches!(list::ours(name), Item::Native(_)),
        Wanted::NativeOr(_) => true,
    };
    wanted.is_empty() || wanted.iter().any(is_native)
}

/// What `native` stands for.
pub(crate) fn native_gpus(cargo: &Cargo, tools: &Tools<'_>) -> Result<Gpus, Error> {
    native::find(cargo, tools, item::Vendor::Any)
}

/// The names that an item stands for.
fn names(item: &Item, origin: &str, cargo: &Cargo, tools: &Tools<'_>) -> Result<Vec<String>, Error> {
    Ok(match item {
        Item::Arch(name) => vec![name.clone()],
        Item::Native(vendor) => native::targets(cargo, tools, *vendor, origin)?,
        Item::NativeOr(others) => match native::targets_or(cargo, tools, others)? {
            Some(found) => found,
            None => {
                let others = others.iter().map(|name| names(&list::ours(name), origin, cargo, tools));
                others.collect::<Result<Vec<_>, _>>()?.concat()
            }
        },
        Item::AllMajor => supported::all_major(tools, origin)?,
        Item::All => supported::all(tools, origin)?,
    })
}

/// Parses a target that may be had.
fn check(name: &str, origin: &str, code_object_version: Option<u32>) -> Result<Target, Error> {
    let target = Target::parse(name).map_err(|error| {
        let hint = foreign_variables::hint(name).map_or(String::new(), |hint| format!("\n{hint}"));
        Error::config(format!("a target from {origin}: {error}{hint}"))
    })?;
    if let OffloadArch::Amdgpu(id) = target.arch() {
        check_amdgpu(name, id, origin, code_object_version)?;
    }
    Ok(target)
}

fn conflict_error(a: &Target, b: &Target, origin: &str) -> Error {
    Error::config(format!(
        "the targets '{a}' and '{b}' (from {origin}) may not stand in one pack: some devices fit both. \
         Name the same features in each, such as '{p}:xnack+' and '{p}:xnack-'.",
        p = a.as_str().split(':').next().unwrap_or_default()
    ))
}

fn check_amdgpu(name: &str, id: TargetId<'_>, origin: &str, version: Option<u32>) -> Result<(), Error> {
    if id.processor() == amdgpu::SPIRV {
        return Err(Error::config(format!(
            "the target '{name}' (from {origin}) is SPIR-V, which this version does not make"
        )));
    }
    if let Some(feature) = id.unsupported_feature() {
        return Err(Error::config(format!(
            "the target '{name}' (from {origin}) names the feature '{feature}', which {} does not have",
            id.processor()
        )));
    }
    match version {
        Some(version @ ..amdgpu::FIRST_GENERIC_VERSION) if amdgpu::is_generic(id.processor()) => {
            Err(Error::config(format!(
                "the target '{name}' (from {origin}) needs code object version {}, and build.rs asks for {version}",
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
            let targets: Vec<Target> = targets.iter().map(|target| Target::parse(target).unwrap()).collect();
            ptx_for_few(&targets).map(Target::to_string)
        };
        assert_eq!(few(&["gfx90a", "sm_80", "compute_90a"]).as_deref(), Some("compute_90a"));
        assert_eq!(few(&["compute_100f", "compute_90a"]).as_deref(), Some("compute_100f"));
        assert_eq!(few(&["compute_90a", "compute_80"]), None);
        assert_eq!(few(&["sm_90a", "gfx90a", "cpu"]), None);
    }
}
