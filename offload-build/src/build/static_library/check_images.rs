//! Compares an object's device images with the requested targets.
//!
//! If options in build.rs or in nvcc's variables name GPUs, the build rejects or removes them
//! before a compiler starts. This check catches options from elsewhere: a compiler wrapper, a
//! compiler's configuration file, or a variable that only the compiler reads.

use crate::build::run::Run;
use crate::compile::Compilation;
use crate::pack::image;
use crate::targets::Target;
use crate::toolchain::{Error, files};
use offload_format::bundle::Bundle;
use offload_format::image::ElfSection;
use offload_format::nv_fatbin::NvFatbin;
use offload_format::offload_binary::OffloadBinary;
use offload_format::section::{DeviceSection, SectionNames};
use offload_pack::pack_index::Origin;

/// Checks that a new object or image contains device code for exactly its targets. Linked device
/// code may lack a target, because NVIDIA's drivers link PTX.
///
/// The error lists the targets found, those requested, and a possible cause of the difference.
#[inline]
pub(super) fn check(run: &Run<'_>, compilation: &Compilation) -> Result<(), Error> {
    let path = &compilation.image;
    let is_object = path.extension().is_some_and(|it| it == "o" || it == "fatbin");
    if !is_object {
        let target = &compilation.targets[0];
        return image::read_header(target, path, Origin::Compiled, run.cargo).map(drop);
    }
    let bytes = files::read(path)?;
    let asked: Vec<String> = compilation.targets.iter().map(ToString::to_string).collect();
    let found = images(&bytes);
    let is_link = compilation.reads_only_objects();
    let is_missing = |name: &String| !is_link && !found.contains(name);
    if found.iter().all(|name| asked.contains(name)) && !asked.iter().any(is_missing) {
        return Ok(());
    }
    let has = if found.is_empty() { "no target".to_owned() } else { found.join(", ") };
    let what = format!(
        "{} has device code for {has}, but the build is for {}",
        path.display(),
        asked.join(", ")
    );
    Err(image::not_asked_for(&what, run.cargo))
}

/// Returns the targets of the images in an object, or in an NVIDIA fat binary, without duplicates.
#[inline]
fn images(bytes: &[u8]) -> Vec<String> {
    let mut names = Vec::new();
    match ElfSection::all(bytes) {
        Some(sections) => sections.iter().for_each(|it| add_images(it, bytes, &mut names)),
        None => add_fatbins(bytes, &mut names),
    }
    names.sort_unstable();
    names.dedup();
    names
}

#[inline]
fn add_images(section: &ElfSection, bytes: &[u8], names: &mut Vec<String>) {
    let bytes = &bytes[section.range.clone()];
    let name = section.name.as_str();
    if [SectionNames::NV_FATBIN.name, SectionNames::NV_RELFATBIN.name].contains(&name) {
        add_fatbins(bytes, names);
    } else if name == DeviceSection::LlvmOffloading.elf_name() {
        for (_, binary) in OffloadBinary::in_a_row(bytes).flatten() {
            for image in binary.images() {
                names.extend(image.arch().and_then(canonical));
            }
        }
    } else if name == DeviceSection::HipFatbin.elf_name()
        && let Ok(bundle) = Bundle::parse(bytes)
    {
        for entry in bundle.entries() {
            if let Ok(id) = entry.id() {
                names.extend(canonical(id.target()));
            }
        }
    }
}

#[inline]
fn add_fatbins(bytes: &[u8], names: &mut Vec<String>) {
    for (_, fatbin) in NvFatbin::in_a_row(bytes).flatten() {
        for entry in fatbin.entries() {
            for image in entry.images() {
                // Only machine code and PTX have a target.
                names.extend(image.arch().map(|arch| arch.to_string()));
            }
        }
    }
}

fn canonical(name: &str) -> Option<String> {
    Target::parse(name).ok().map(|target| target.to_string())
}
