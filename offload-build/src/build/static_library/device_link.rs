//! Links the device code of a static library's sources, after checking that the compiler can do so.

use super::objects::{self, LibraryFile};
use super::retain::retain_entries;
use crate::build::missing_tool::{MissingTool, NotMade};
use crate::build::run::Run;
use crate::compile::device_link::DeviceLink;
use crate::compile::nvcc_part::name_images;
use crate::compile::relocatable_flag;
use crate::plan::PlannedModule;
use crate::request::Compiler;
use crate::targets::Target;
use crate::toolchain::compilers::Clang;
use crate::toolchain::exec::{NvccFlags, gpu_option};
use crate::toolchain::{ContentHash, Error};
use offload_format::target::Vendor;
use std::path::{Path, PathBuf};

/// The first version of clang whose `clang-linker-wrapper` links with `-r`.
const FIRST_CLANG: u32 = 19;

/// Checks that no flag adds unlisted targets or requests relocatable device code. On its own, such
/// a flag would not make the build link this code.
///
/// Returns an error that names the flag, and the source or the variable that contains it.
#[inline]
pub(super) fn check_flags(run: &Run<'_>, module: &PlannedModule) -> Result<(), Error> {
    const ADVICE: &str = "needs a device link: remove the flag and call .device_link() in \
                          build.rs, which compiles relocatable device code and links it";
    let source = &module.sources[0];
    for target in &module.targets {
        let flags = module.flags_for(source, target);
        if let Some(option) = gpu_option(&flags) {
            let targets: Vec<&str> = module.targets.iter().map(Target::as_str).collect();
            return Err(Error::config(format!(
                "the flag {option} of {} adds device code for GPUs that are not in the list of \
                 targets ({}): remove the flag and list all targets with .archs([...])",
                source.path.display(),
                targets.join(", ")
            )));
        }
        if let Some(flag) = relocatable_flag(&flags) {
            return Err(Error::config(format!(
                "the flag {flag} of {} {ADVICE}",
                source.path.display()
            )));
        }
    }
    if is_by_nvcc(module, module.targets[0].vendor()) {
        for NvccFlags { name, others, .. } in NvccFlags::set(run.cargo) {
            if let Some(flag) = relocatable_flag(&others.split_whitespace().collect::<Vec<_>>()) {
                return Err(Error::config(format!(
                    "the flag {flag} in {name}, which nvcc reads, {ADVICE}"
                )));
            }
        }
    }
    Ok(())
}

/// Checks before the compilation that the source's compiler can link device code for its targets.
#[inline]
pub(super) fn check_source(
    run: &Run<'_>,
    module: &PlannedModule,
    vendor: Vendor,
) -> Result<(), NotMade> {
    if !run.request.device_link || is_by_nvcc(module, vendor) {
        return Ok(());
    }
    if let Some(ptx) = module.targets.iter().find(|target| target.is_ptx()) {
        return Err(Error::config(format!(
            "clang cannot link PTX for .device_link(): leave {ptx} out of the targets, or let \
             nvcc compile the library with .compiler(Compiler::Nvcc)"
        ))
        .into());
    }
    let clang = clang(run, vendor)?;
    if clang.is_older_than(FIRST_CLANG) || !run.tools.has_linker_wrapper(clang) {
        return Err(MissingTool::linker_wrapper(clang).into());
    }
    Ok(())
}

pub(super) fn is_by_nvcc(module: &PlannedModule, vendor: Vendor) -> bool {
    Compiler::of(&module.options.compilers, vendor) == Compiler::Nvcc
}

#[inline]
fn clang<'a>(run: &'a Run<'_>, vendor: Vendor) -> Result<&'a Clang, NotMade> {
    if vendor != Vendor::Amd {
        // Only ROCm ships its own clang. Search for ROCm only if necessary, because each search
        // adds files that Cargo watches.
        return run.clang();
    }
    let own = run.tools.rocm().ok().and_then(|rocm| run.tools.rocm_clang(rocm));
    own.map_or_else(|| run.clang(), Ok)
}

/// Links the device code in the sources' objects, and returns the objects for the library.
/// `targets` is the union of all modules' targets.
#[inline]
pub(super) fn link(
    run: &Run<'_>,
    modules: &[&PlannedModule],
    targets: &[Target],
    vendor: Vendor,
    objects: Vec<(PathBuf, ContentHash)>,
) -> Result<Vec<(PathBuf, ContentHash)>, Error> {
    let file_name = objects::file_name(targets);
    let is_debugged = |module: &&PlannedModule| {
        module.sources[0].options.debug.or(module.options.debug) == Some(true)
    };
    let link = DeviceLink {
        targets,
        lists_differ: modules.iter().any(|module| module.targets.len() < targets.len()),
        objects: &objects,
        file_name: &file_name,
        options: &run.request.options,
        is_debugged: modules.iter().any(is_debugged),
        output: run.output,
        cargo: run.cargo,
    };
    // A toolkit is needed only to link CUDA's device code.
    let toolkit = (vendor == Vendor::Nvidia)
        .then(|| run.tools.used_nvcc().expect("the objects were compiled with its headers"));
    if let Some(nvcc) = toolkit.filter(|_| is_by_nvcc(modules[0], vendor)) {
        let ccbin = run.tools.ccbin(&run.cargo.target).expect("nvcc has compiled with it");
        let sources = modules.iter().flat_map(|module| &module.sources);
        let sources: Vec<String> =
            sources.map(|it| run.cargo.portable(&it.path.to_string_lossy())).collect();
        let name = |object: &Path| name_images(object, &sources.join(" "));
        let mut linked = LibraryFile::new(link.by_nvcc(nvcc, &ccbin));
        objects::make(run, vec![&mut linked], &name)?;
        let mut all = objects;
        all.push(linked.done());
        return Ok(all);
    }
    let clang = clang(run, vendor)?;
    let mut linked = LibraryFile::new(link.by_clang(clang, toolkit));
    objects::make(run, vec![&mut linked], &retain_entries)?;
    Ok(vec![linked.done()])
}
