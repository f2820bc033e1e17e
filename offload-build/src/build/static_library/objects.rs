//! The objects of a static library: one for each source, with the device code for its targets.
//!
//! The names of the objects contain the targets. Objects for earlier lists of targets remain, so
//! that a return to an earlier list compiles nothing. A source is compiled separately for each
//! target, so another list compiles only the new targets; by clang also the host's part.

use super::check_images;
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
use crate::request::{Compiler, Dialect, Recipe};
use crate::targets::Target;
use offload_format::pack_index::Origin;
use offload_format::target::Vendor;
use offload_toolchain::compilers::{Clang, Nvcc, Rocm};
use offload_toolchain::error::{Error, ErrorKind};
use offload_toolchain::hash::ContentHash;
use offload_toolchain::read_files::seen::Seen;
use std::io;
use std::path::{Path, PathBuf};
use std::slice;

/// The compilations that make the object of one source.
#[derive(Debug)]
pub(super) enum Planned {
    /// One compilation makes the whole object.
    Whole(Box<Compilation>),
    /// One compilation for each target makes the device code. A later one compiles the host's part,
    /// with the images of all targets.
    Parts(Vec<Compilation>),
    /// nvcc compiles for each target; the first of these compilations makes an object. If the
    /// results do not fit together, the second field makes the object.
    ByNvcc(Vec<Compilation>, Box<Compilation>),
}

/// Returns the steps that make the object of a source.
pub(super) fn plan(
    run: &Run<'_>,
    module: &PlannedModule,
    vendor: Vendor,
) -> Result<Planned, NotMade> {
    let source = &module.sources[0];
    if !matches!(source.recipe(&module.targets[0]), Some(Recipe::Offload(..) | Recipe::Nvcc)) {
        return Err(Error::config(format!(
            "{} is {}, which has no host code: a static library is made of CUDA (.cu) and HIP (.hip) sources",
            source.path.display(),
            source.language.name()
        ))
        .into());
    }
    let all = file_name(&module.targets);
    let is_by_nvcc = Compiler::of(&module.options.compilers, vendor) == Compiler::Nvcc;
    if is_by_nvcc {
        let toolkit = run.tools.nvcc()?.or_missing(MissingTool::nvcc)?;
        let sdk = Sdk::default();
        return by_nvcc(run, &compilations(run, module, &module.targets, &all, &sdk), toolkit);
    }
    let compiler = LaunchCompiler::of(run, vendor)?;
    if run.request.device_link {
        let sdk = compiler.sdk(run, &module.targets)?;
        let compilations = compilations(run, module, &module.targets, &all, &sdk);
        let compilation = compilations.relocatable_object(compiler.dialect, compiler.clang)?;
        return Ok(Planned::Whole(Box::new(compilation)));
    }
    let mut parts = Vec::new();
    for target in &module.targets {
        let (name, targets) = (format!("device.{target}"), slice::from_ref(target));
        let sdk = compiler.sdk(run, targets)?;
        parts.push(
            compilations(run, module, targets, &name, &sdk)
                .device_code(compiler.dialect, compiler.clang)?,
        );
    }
    Ok(Planned::Parts(parts))
}

/// Returns the steps that compile the host's part of a source, once the device code for its targets
/// exists.
fn host(
    run: &Run<'_>,
    module: &PlannedModule,
    vendor: Vendor,
    images: &[DeviceImage],
) -> Result<Compilation, NotMade> {
    let compiler = LaunchCompiler::of(run, vendor)?;
    let sdk = compiler.sdk(run, &module.targets)?;
    let name = file_name(&module.targets);
    let compilations = compilations(run, module, &module.targets, &name, &sdk);
    if let Some(toolkit) = compiler.toolkit {
        return Ok(compilations.host_object(
            compiler.dialect,
            compiler.clang,
            images,
            FatBinary::By(toolkit),
        )?);
    }
    let mut bundled = Vec::new();
    for (target, (path, hash)) in module.targets.iter().zip(images) {
        bundled.push(Image::open(target, path, *hash, Origin::Compiled, run.cargo)?);
    }
    let files: Vec<PathBuf> = images.iter().map(|(path, _)| path.clone()).collect();
    let path = run.output.images.join(image_file_name(&module.file_stem(&name), "hipfb"));
    write_layout(&path, &layout::bundle(&bundled, 0)?, &files)?;
    Ok(compilations.host_object(
        compiler.dialect,
        compiler.clang,
        images,
        FatBinary::Bundle(&path),
    )?)
}

fn compilations<'a>(
    run: &Run<'a>,
    module: &'a PlannedModule,
    targets: &'a [Target],
    file_name: &'a str,
    sdk: &'a Sdk,
) -> Compilations<'a> {
    Compilations {
        module,
        targets,
        file_name,
        code_object_version: run.request.code_object_version,
        sdk,
        output: run.output,
        cargo: run.cargo,
    }
}

/// clang, its dialect for the GPUs of one vendor, and the SDK whose headers it uses.
struct LaunchCompiler<'a> {
    dialect: Dialect,
    clang: &'a Clang,
    rocm: Option<&'a Rocm>,
    toolkit: Option<&'a Nvcc>,
}

impl<'a> LaunchCompiler<'a> {
    fn of(run: &'a Run<'_>, vendor: Vendor) -> Result<Self, NotMade> {
        // Each vendor's SDK is searched for in its own way.
        if vendor == Vendor::Amd {
            let rocm = run.tools.rocm().or_missing(MissingTool::rocm)?;
            let clang = run.tools.rocm_clang(rocm).map_or_else(|| run.clang(), Ok)?;
            return Ok(Self { dialect: Dialect::Hip, clang, rocm: Some(rocm), toolkit: None });
        }
        let toolkit = run.tools.nvcc()?.or_missing(MissingTool::nvcc)?;
        Ok(Self { dialect: Dialect::Cuda, clang: run.clang()?, rocm: None, toolkit: Some(toolkit) })
    }

    /// Returns clang's options for the vendor's headers when it compiles for these targets.
    fn sdk(&self, run: &Run<'_>, targets: &[Target]) -> Result<Sdk, Error> {
        match (self.rocm, self.toolkit) {
            (Some(rocm), _) => {
                Ok(Sdk::rocm_for_all(rocm, self.clang, targets, run.tools, run.cargo))
            }
            (None, Some(toolkit)) => Sdk::cuda(toolkit, run.output),
            (None, None) => Ok(Sdk::default()),
        }
    }
}

/// Returns the steps with which nvcc makes an object: `all` describes the compilation for all
/// targets in one call.
fn by_nvcc(run: &Run<'_>, all: &Compilations<'_>, nvcc: &Nvcc) -> Result<Planned, NotMade> {
    let ccbin = run.tools.ccbin(&run.cargo.target).map_err(|why| MissingTool::ccbin(nvcc, &why))?;
    let is_relocatable = run.request.device_link;
    let whole = Box::new(all.nvcc_object(nvcc, &ccbin, is_relocatable)?);
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
            // The object of a target that was the first of an earlier list has its image, too.
            let is_object = index == 0 || is_fresh(&object);
            let device = || part(Makes::FatBinary, &format!("device.{target}"));
            parts.push(if is_object { object } else { device()? });
        }
    }
    let is_whole_fresh = parts.is_empty() && is_fresh(&whole);
    for (index, target) in all.targets.iter().enumerate() {
        let is_made = parts.get(index).map_or(is_whole_fresh, is_fresh);
        let Some(arch) = target.arch().nvidia().filter(|_| !is_made) else { continue };
        let ask = || run.tools.nvcc_refusal(nvcc, &arch.to_string(), &ccbin);
        if let Some(text) = run.ask(format!("nvcc {arch}"), ask) {
            return Err(MissingTool::refusal(&nvcc.path, &text).into());
        }
    }
    Ok(if parts.is_empty() { Planned::Whole(whole) } else { Planned::ByNvcc(parts, whole) })
}

/// Returns the part of a file's name that lists the targets: `sm_80.sm_90`. A long list is
/// shortened to its first target, the number of targets, and a hash.
pub(super) fn file_name(targets: &[Target]) -> String {
    const LONGEST: usize = 100;
    let names: Vec<&str> = targets.iter().map(Target::as_str).collect();
    let all = names.join(".");
    if all.len() <= LONGEST {
        return all;
    }
    format!("{}.{}.{}", names[0], names.len(), ContentHash::of_parts(&names))
}

/// Makes the objects of all sources, and returns them with the hash of each.
pub(super) fn make_all(
    run: &Run<'_>,
    modules: &[&PlannedModule],
    vendor: Vendor,
    planned: Vec<Planned>,
) -> Result<Vec<DeviceImage>, NotMade> {
    let mut all_parts = Vec::new();
    for it in &planned {
        if let Planned::Parts(parts) | Planned::ByNvcc(parts, _) = it {
            all_parts.extend(parts);
        }
    }
    let mut images = make(run, &all_parts, &|_| Ok(()))?.into_iter();
    // The objects that exist, and the compilations of the others.
    let (mut objects, mut compilations) = (Vec::new(), Vec::new());
    for (module, planned) in modules.iter().zip(planned) {
        let compilation = match planned {
            Planned::Whole(whole) => *whole,
            Planned::Parts(parts) => {
                let images: Vec<DeviceImage> = images.by_ref().take(parts.len()).collect();
                host(run, module, vendor, &images)?
            }
            Planned::ByNvcc(parts, whole) => {
                let images: Vec<DeviceImage> = images.by_ref().take(parts.len()).collect();
                match joined(&parts, images, &whole)? {
                    Some(object) => {
                        objects.push(Some(object));
                        continue;
                    }
                    None => *whole,
                }
            }
        };
        objects.push(None);
        compilations.push(compilation);
    }
    let compilations: Vec<&Compilation> = compilations.iter().collect();
    let mut made = make(run, &compilations, &|_| Ok(()))?.into_iter();
    Ok(objects.into_iter().filter_map(|object| object.or_else(|| made.next())).collect())
}

/// Returns the object that has the images of all these compilations by nvcc, written to the path of
/// `whole`. Returns `None` if they do not fit together.
fn joined(
    parts: &[Compilation],
    mut images: Vec<DeviceImage>,
    whole: &Compilation,
) -> Result<Option<DeviceImage>, Error> {
    if parts.len() == 1 {
        return Ok(images.pop());
    }
    let Some(object) = nvcc_part::join(parts)? else { return Ok(None) };
    write_if_changed(&whole.image, &object)?;
    let hash = ContentHash::of_bytes(&*object).expect("memory can be read");
    Ok(Some((whole.image.clone(), hash)))
}

/// Makes the objects that are not fresh, and returns all objects with their hashes. `finish` is
/// called for each new object before its hash is recorded.
pub(super) fn make(
    run: &Run<'_>,
    compilations: &[&Compilation],
    finish: &dyn Fn(&Path) -> io::Result<()>,
) -> Result<Vec<(PathBuf, ContentHash)>, Error> {
    let (mut fresh, mut stale) = (Vec::new(), Vec::new());
    for &compilation in compilations {
        let made = cache::fresh(compilation, &run.seen, run.output, run.cargo);
        if made.is_none() {
            stale.push(compilation);
        }
        fresh.push(made);
    }
    let start = run.run_steps(&stale);
    let start = start.map_err(|error| advise(error, run.request.device_link))?;
    let after = Seen::default();
    let mut objects = Vec::new();
    for (&compilation, made) in compilations.iter().zip(fresh) {
        let path = &compilation.image;
        let made = match made {
            Some(made) => made,
            None => {
                finish(path).map_err(|error| Error::io("finish", path, error))?;
                if let Some(part) = &compilation.part {
                    part.finish(path)?;
                }
                check_images::check(run, compilation)?;
                let before =
                    Before { seen: &run.seen, start: start.expect("what is stale was compiled") };
                cache::record(compilation, before, &after, run.output, run.cargo)?
            }
        };
        for input in &made.inputs {
            run.cargo.watch_input(&input.path);
        }
        objects.push((path.clone(), made.image));
    }
    Ok(objects)
}

/// Messages of compilers and linkers about a device function that they do not find.
const UNDEFINED: [&str; 3] = [
    "Unresolved extern function",
    "lld: error: undefined ",
    "nvlink error   : Undefined reference",
];

/// Adds the help to the error of a compiler or linker that does not find a device function.
fn advise(error: Error, is_linked: bool) -> Error {
    let text = error.to_string();
    if error.kind() != ErrorKind::ToolFailed || !UNDEFINED.iter().any(|words| text.contains(words))
    {
        return error;
    }
    error.with_help(if is_linked {
            "none of the sources of this static library that support the target defines it: add the file that does, for the \
             same targets"
    } else {
            "each source of a static library is a device program of its own; call .device_link() in build.rs if another source \
             of the library defines it"
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
