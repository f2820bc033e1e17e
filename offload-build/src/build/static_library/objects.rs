//! The objects of a static library: one for each source, with the device code for its targets.
//!
//! Object names contain the targets, and objects for earlier lists of targets remain, so returning
//! to an earlier list compiles nothing. Each source is compiled separately for each target, so
//! after a change of the list, the build compiles only the device code for the new targets and,
//! with clang, the host part.

use super::check_images;
use super::device_link::is_by_nvcc;
use crate::build::missing_tool::{MissingTool, NotMade};
use crate::build::run::Run;
use crate::compile::cache::{self, Before};
use crate::compile::nvcc_part::{self, Makes};
use crate::compile::object::{DeviceImage, FatBinary};
use crate::compile::sdk::Sdk;
use crate::compile::{Compilation, Compilations};
use crate::output::{image_file_name, write_if_changed, write_layout};
use crate::pack::image::Image;
use crate::pack::layout;
use crate::plan::PlannedModule;
use crate::request::Recipe;
use crate::targets::Target;
use crate::toolchain::compilers::{Clang, Nvcc, Rocm};
use crate::toolchain::{ContentHash, Error, ErrorKind, Seen};
use offload_format::target::Vendor;
use offload_pack::pack_index::Origin;
use std::io;
use std::path::{Path, PathBuf};
use std::slice;

/// A file of a static library: an object, or device code that goes into an object.
pub(super) struct LibraryFile {
    compilation: Compilation,
    /// The hash of the file's bytes, once it exists.
    made: Option<ContentHash>,
}

impl LibraryFile {
    pub(super) fn new(compilation: Compilation) -> Self {
        Self { compilation, made: None }
    }

    /// Returns the path and the hash of the file, which must exist.
    #[inline]
    pub(super) fn done(self) -> (PathBuf, ContentHash) {
        let hash = self.hash();
        (self.compilation.image, hash)
    }

    fn hash(&self) -> ContentHash {
        self.made.expect("the file is made")
    }
}

/// The job that builds the object of one source.
pub(super) struct ObjectJob<'a> {
    module: &'a PlannedModule,
    /// The device code for each target, if each target is compiled separately.
    parts: Vec<LibraryFile>,
    /// The compilation of the whole object. If nvcc builds the parts, the first part is an object,
    /// and this compilation runs only if the parts cannot be joined. `None` if clang compiles the
    /// host part, because the host part depends on the images of all targets.
    whole: Option<Box<LibraryFile>>,
}

/// Returns the job that builds the object of a source.
#[inline]
pub(super) fn plan<'a>(
    run: &Run<'_>,
    module: &'a PlannedModule,
    vendor: Vendor,
) -> Result<ObjectJob<'a>, NotMade> {
    let source = &module.sources[0];
    if !matches!(source.recipe(&module.targets[0]), Some(Recipe::Offload(..) | Recipe::Nvcc)) {
        return Err(Error::config(format!(
            "{} is {}, which has no host code: a static library accepts only CUDA (.cu) and HIP \
             (.hip) sources",
            source.path.display(),
            source.language.name()
        ))
        .into());
    }
    let all = file_name(&module.targets);
    if is_by_nvcc(module, vendor) {
        let toolkit = run.tools.nvcc()?.map_err(MissingTool::nvcc)?;
        let sdk = Sdk::default();
        let compilations = run.compilations_for(module, &module.targets, &all, &sdk);
        return by_nvcc(run, module, &compilations, toolkit);
    }
    let compiler = LaunchCompiler::of(run, vendor)?;
    if run.request.device_link {
        let sdk = compiler.sdk(run, &module.targets)?;
        let compilations = run.compilations_for(module, &module.targets, &all, &sdk);
        let compilation = compilations.relocatable_object(compiler.clang)?;
        let whole = Some(Box::new(LibraryFile::new(compilation)));
        return Ok(ObjectJob { module, parts: Vec::new(), whole });
    }
    let mut parts = Vec::new();
    for target in &module.targets {
        let (name, targets) = (format!("device.{target}"), slice::from_ref(target));
        let sdk = compiler.sdk(run, targets)?;
        let compilation =
            run.compilations_for(module, targets, &name, &sdk).device_code(compiler.clang)?;
        parts.push(LibraryFile::new(compilation));
    }
    Ok(ObjectJob { module, parts, whole: None })
}

/// Returns the compilation of a source's host part. The source's device code in `parts` must exist.
#[inline]
fn host(
    run: &Run<'_>,
    module: &PlannedModule,
    vendor: Vendor,
    parts: &[LibraryFile],
) -> Result<Compilation, NotMade> {
    let mut images = Vec::new();
    for part in parts {
        let Compilation { targets, image, .. } = &part.compilation;
        images.push(DeviceImage { target: &targets[0], path: image, hash: part.hash() });
    }
    let compiler = LaunchCompiler::of(run, vendor)?;
    let sdk = compiler.sdk(run, &module.targets)?;
    let name = file_name(&module.targets);
    let compilations = run.compilations_for(module, &module.targets, &name, &sdk);
    let path = run.output.images.join(image_file_name(&module.file_stem(&name), "hipfb"));
    let fat_binary = match compiler.headers {
        SdkOf::Nvidia(toolkit) => FatBinary::By(toolkit),
        SdkOf::Amd(_) => {
            let (mut bundled, mut files) = (Vec::new(), Vec::new());
            for it in &images {
                let origin = Origin::Compiled;
                bundled.push(Image::open(it.target, it.path, it.hash, origin, run.cargo)?);
                files.push(it.path.to_owned());
            }
            write_layout(&path, &layout::bundle(&bundled, 0)?, &files)?;
            FatBinary::Bundle(&path)
        }
    };
    Ok(compilations.host_object(compiler.clang, &images, fat_binary)?)
}

/// clang, and the SDK whose headers clang uses.
struct LaunchCompiler<'a> {
    clang: &'a Clang,
    headers: SdkOf<'a>,
}

/// The SDK of a vendor whose dialect has launch syntax.
enum SdkOf<'a> {
    Amd(&'a Rocm),
    Nvidia(&'a Nvcc),
}

impl<'a> LaunchCompiler<'a> {
    #[inline]
    fn of(run: &'a Run<'_>, vendor: Vendor) -> Result<Self, NotMade> {
        // The search for the SDK differs between vendors.
        if vendor == Vendor::Amd {
            let rocm = run.tools.rocm().map_err(MissingTool::rocm)?;
            let clang = run.tools.rocm_clang(rocm).map_or_else(|| run.clang(), Ok)?;
            return Ok(Self { clang, headers: SdkOf::Amd(rocm) });
        }
        let toolkit = run.tools.nvcc()?.map_err(MissingTool::nvcc)?;
        let headers = SdkOf::Nvidia(toolkit);
        Ok(Self { clang: run.clang()?, headers })
    }

    /// Returns clang's options for the vendor's headers when compiling for these targets.
    #[inline]
    fn sdk(&self, run: &Run<'_>, targets: &[Target]) -> Result<Sdk, Error> {
        match self.headers {
            SdkOf::Amd(rocm) => Ok(Sdk::rocm_for_all(rocm, self.clang, targets, run.tools)),
            SdkOf::Nvidia(toolkit) => Sdk::cuda(toolkit, run.output),
        }
    }
}

/// Returns the job that builds an object with nvcc. `all` compiles for all targets in one call.
#[inline]
fn by_nvcc<'a>(
    run: &Run<'_>,
    module: &'a PlannedModule,
    all: &Compilations<'_>,
    nvcc: &Nvcc,
) -> Result<ObjectJob<'a>, NotMade> {
    let ccbin = run.tools.ccbin(&run.cargo.target).map_err(|why| MissingTool::ccbin(nvcc, &why))?;
    let is_relocatable = run.request.device_link;
    let whole = all.nvcc_object(nvcc, &ccbin, is_relocatable)?;
    let is_fresh = |it: &Compilation| cache::fresh(it, &run.seen, run.output, run.cargo).is_some();
    let mut parts = Vec::new();
    if all.is_split(&ccbin)? {
        for (index, target) in all.targets.iter().enumerate() {
            let part = |makes, name: &str| {
                let one =
                    Compilations { targets: slice::from_ref(target), file_name: name, ..*all };
                one.nvcc_part(makes, all.targets, nvcc, &ccbin, is_relocatable)
            };
            let object = part(Makes::Object, target.as_str())?;
            // If the target was first in an earlier list, an object with its image already exists.
            let is_object = index == 0 || is_fresh(&object);
            let device = || part(Makes::FatBinary, &format!("device.{target}"));
            parts.push(LibraryFile::new(if is_object { object } else { device()? }));
        }
    }
    let is_whole_fresh = parts.is_empty() && is_fresh(&whole);
    for (index, target) in all.targets.iter().enumerate() {
        let is_made = parts.get(index).map_or(is_whole_fresh, |it| is_fresh(&it.compilation));
        let Some(arch) = target.arch().nvidia().filter(|_| !is_made) else { continue };
        let ask = || nvcc.refusal(&arch.to_string(), &ccbin, run.tools.probes());
        if let Some(text) = run.ask(format!("nvcc {arch}"), ask) {
            return Err(MissingTool::refusal(&nvcc.path, &text).into());
        }
    }
    let whole = Some(Box::new(LibraryFile::new(whole)));
    Ok(ObjectJob { module, parts, whole })
}

/// Returns the part of a file name that lists the targets, such as `sm_80.sm_90`. A long list is
/// shortened to its first target, the number of targets, and a hash.
#[inline]
pub(super) fn file_name(targets: &[Target]) -> String {
    const LONGEST: usize = 100;
    let names: Vec<&str> = targets.iter().map(Target::as_str).collect();
    let all = names.join(".");
    if all.len() <= LONGEST {
        return all;
    }
    format!("{}.{}.{}", names[0], names.len(), ContentHash::of_parts(&names))
}

/// Makes the objects of all sources, and returns them with their hashes.
#[inline]
pub(super) fn make_all(
    run: &Run<'_>,
    vendor: Vendor,
    mut jobs: Vec<ObjectJob<'_>>,
) -> Result<Vec<(PathBuf, ContentHash)>, NotMade> {
    let mut parts = Vec::new();
    for job in &mut jobs {
        parts.extend(&mut job.parts);
    }
    make(run, parts, &|_| Ok(()))?;
    let mut objects = Vec::new();
    for ObjectJob { module, parts, whole } in jobs {
        objects.push(match whole {
            Some(whole) if parts.is_empty() => *whole,
            Some(whole) => joined(parts, *whole)?,
            None => LibraryFile::new(host(run, module, vendor, &parts)?),
        });
    }
    let mut missing = Vec::new();
    for object in &mut objects {
        if object.made.is_none() {
            missing.push(object);
        }
    }
    make(run, missing, &|_| Ok(()))?;
    Ok(objects.into_iter().map(LibraryFile::done).collect())
}

/// Joins nvcc's parts into one object at the path of `whole`. If the parts cannot be joined, writes
/// nothing, so the caller compiles `whole`.
#[inline]
fn joined(mut parts: Vec<LibraryFile>, mut whole: LibraryFile) -> Result<LibraryFile, Error> {
    if parts.len() == 1 {
        return Ok(parts.remove(0));
    }
    let compilations: Vec<&Compilation> = parts.iter().map(|it| &it.compilation).collect();
    if let Some(object) = nvcc_part::join(&compilations)? {
        write_if_changed(&whole.compilation.image, &object)?;
        whole.made = Some(ContentHash::of_bytes(&*object).expect("memory can be read"));
    }
    Ok(whole)
}

/// Builds the files that are not fresh. Calls `finish` for each new file before recording its hash.
#[inline]
pub(super) fn make(
    run: &Run<'_>,
    files: Vec<&mut LibraryFile>,
    finish: &dyn Fn(&Path) -> io::Result<()>,
) -> Result<(), Error> {
    let mut stale = Vec::new();
    for file in files {
        match cache::fresh(&file.compilation, &run.seen, run.output, run.cargo) {
            Some(made) => {
                made.inputs.watch(run.cargo);
                file.made = Some(made.image);
            }
            None => stale.push(file),
        }
    }
    let compilations: Vec<&Compilation> = stale.iter().map(|it| &it.compilation).collect();
    let start = run.run_steps(&compilations);
    let start = start.map_err(|error| advise(error, run.request.device_link))?;
    let after = Seen::default();
    for file in stale {
        let (compilation, path) = (&file.compilation, &file.compilation.image);
        finish(path).map_err(|error| Error::io("finish writing", path, error))?;
        if let Some(part) = &compilation.part {
            part.finish(path)?;
        }
        check_images::check(run, compilation)?;
        let before = Before { seen: &run.seen, start: start.expect("what is stale was compiled") };
        let made = cache::record(compilation, before, &after, run.output, run.cargo)?;
        made.inputs.watch(run.cargo);
        file.made = Some(made.image);
    }
    Ok(())
}

/// Messages of compilers and linkers about a missing device function.
const UNDEFINED: [&str; 3] = [
    "Unresolved extern function",
    "lld: error: undefined ",
    "nvlink error   : Undefined reference",
];

/// Adds help to a compiler's or linker's error about a missing device function.
#[inline]
fn advise(error: Error, is_linked: bool) -> Error {
    let text = error.to_string();
    if error.kind() != ErrorKind::ToolFailed || !UNDEFINED.iter().any(|words| text.contains(words))
    {
        return error;
    }
    error.with_help(if is_linked {
        "no source of this static library defines the function for this target: add the file that \
         defines it, for the same targets"
    } else {
        "each source of a static library is a separate device program. Call .device_link() in \
         build.rs if another source of the library defines the function"
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_has_a_short_name() {
        let targets = |names: &[String]| {
            names.iter().map(|name| Target::parse(name).unwrap()).collect::<Vec<_>>()
        };
        let names = |numbers: std::ops::Range<u32>| {
            numbers.map(|number| format!("sm_{number}")).collect::<Vec<_>>()
        };
        assert_eq!(
            file_name(&targets(&["gfx90a:xnack-".to_owned(), "gfx1030".to_owned()])),
            "gfx90a:xnack-.gfx1030"
        );
        let long = file_name(&targets(&names(50..90)));
        assert!(long.starts_with("sm_50.40.") && long.len() < 60, "{long}");
        assert_ne!(long, file_name(&targets(&names(50..91))));
    }
}
