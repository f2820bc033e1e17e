//! Which targets a pack is built for.

use crate::cargo::Cargo;
use crate::error::Error;
use offload_format::target::{OffloadArch, TargetId, amdgpu};

/// The targets in canonical form, each once, in the order given: those of the environment, or else of build.rs.
///
/// Returns an error if there is none, if one is malformed, if one cannot be had in this code object version, or if two may
/// not stand together.
pub(crate) fn resolve(
    cargo: &Cargo,
    listed: &[String],
    code_object_version: Option<u32>,
) -> Result<Vec<String>, Error> {
    let (names, origin) = match cargo.package_var("OFFLOAD_ARCH") {
        Some((variable, value)) => (split_list(&value), variable),
        None => (listed.to_vec(), "build.rs".to_owned()),
    };
    if names.is_empty() {
        return Err(Error::config(format!(
            "no targets: {}. \
             List them in build.rs, as in .archs([\"gfx90a\", \"sm_80\", \"cpu\"]), or set OFFLOAD_ARCH=\"gfx90a;sm_80\". \
             Nothing is detected from the machine that builds.",
            if origin == "build.rs" {
                "build.rs names none and OFFLOAD_ARCH is not set".into()
            } else {
                format!("{origin} is an empty list")
            }
        )));
    }
    let mut canonical: Vec<String> = Vec::new();
    for name in &names {
        let arch =
            OffloadArch::parse(name).map_err(|error| Error::config(format!("a target from {origin}: {error}")))?;
        if let OffloadArch::Amdgpu(id) = arch {
            check_amdgpu(name, id, &origin, code_object_version)?;
        }
        let name = arch.to_canonical();
        for other in &canonical {
            if let (Ok(OffloadArch::Amdgpu(a)), Ok(OffloadArch::Amdgpu(b))) =
                (OffloadArch::parse(other), OffloadArch::parse(&name))
                && *other != name
                && a.conflicts_with(&b)
            {
                return Err(Error::config(format!(
                    "the targets '{other}' and '{name}' (from {origin}) may not stand in one pack: some devices fit both. \
                     Name the same features in each, such as '{p}:xnack+' and '{p}:xnack-'.",
                    p = a.processor()
                )));
            }
        }
        if !canonical.contains(&name) {
            canonical.push(name);
        }
    }
    Ok(canonical)
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

fn split_list(value: &str) -> Vec<String> {
    value.split([',', ';', ' ']).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}
