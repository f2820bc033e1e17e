//! Compiles sources with host and device code into a static library, with device code for all
//! targets.
//!
//! The vendor's compiler driver, or clang's, compiles each source for each of the source's targets,
//! because only these drivers can connect a launch (`<<<...>>>`) to its kernel. A source's object
//! contains the images for all its targets. The vendor's runtime is linked after the library.
//!
//! The functions in this folder, and those in `compile/` that only they call, are `#[inline]`, so
//! only build scripts that make static libraries compile them.

mod check_images;
mod device_link;
mod link;
mod objects;
mod retain;

use self::link::{Cudart, LinkLines};
use super::missing_tool::{self, NotMade};
use super::prebuilt::PrebuiltUse;
use super::run::Run;
use crate::output::record;
use crate::plan::{self, PlannedModule};
use crate::request::{Module, Request};
use crate::targets::Target;
use crate::toolchain::{ContentHash, Error, ErrorKind, Parts, compilers};
use offload_format::target::Vendor;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The result of [`Build::compile_static`](crate::Build::compile_static): a static library.
#[derive(Debug, Clone)]
pub struct StaticLibrary {
    path: Option<PathBuf>,
    targets: Vec<String>,
    is_skipped: bool,
    link: LinkLines,
}

impl StaticLibrary {
    /// Returns the library's path, or `None` if nothing was compiled, because the build is
    /// [skipped](StaticLibrary::is_skipped), or because
    /// [`Build::allow_empty`](crate::Build::allow_empty) was called and no target is left.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Returns the canonical names of the device code's targets, for all sources together.
    pub fn targets(&self) -> &[String] {
        &self.targets
    }

    /// Returns whether nothing was compiled because of `OFFLOAD_SKIP` or `DOCS_RS`.
    ///
    /// A skipped build only checks or documents the program and does not link it, so the program
    /// can still contain calls to the library. If the build makes no library because no target is
    /// left, this method returns `false`, and the library's functions are undefined.
    pub fn is_skipped(&self) -> bool {
        self.is_skipped
    }

    #[inline]
    pub(crate) fn absent(is_skipped: bool) -> Self {
        Self { path: None, targets: Vec::new(), is_skipped, link: LinkLines::default() }
    }
}

/// Checks that the request for a pack contains no calls that are only for static libraries.
///
/// Returns an error that names the call.
pub(crate) fn check_pack(request: &Request) -> Result<(), Error> {
    let calls = [
        (request.device_link, "device_link()", "the sources of a pack's module are always linked"),
        (request.cudart.is_some(), "cudart(...)", "a pack has no host code"),
        (
            request.cargo_metadata.is_some(),
            "cargo_metadata(...)",
            "the macro that embeds a pack links it",
        ),
    ];
    match calls.iter().find(|(is_called, ..)| *is_called) {
        None => Ok(()),
        Some((_, call, why)) => Err(Error::config(format!(
            "{call} is only for static libraries: {why}. To make a pack, remove this call"
        ))),
    }
}

/// Returns the sources, each as a separate module.
///
/// Returns an error if there are no sources, or if a requested option is only for packs.
#[inline]
pub(crate) fn modules(request: &Request) -> Result<Vec<(String, Module)>, Error> {
    if let Some(module) = request.modules.first() {
        return Err(Error::config(format!(
            "a static library cannot have modules, but build.rs adds the module \"{}\": add the \
             sources of this module with .file(...) or .files([...])",
            module.name.as_deref().unwrap_or_default()
        )));
    }
    if let Some(kernel) = request.unnamed.required.first() {
        let call = if kernel.only.is_some() { "requires_kernel_for" } else { "requires_kernel" };
        return Err(Error::config(format!(
            "{call}(...) is only for packs: a static library's own host code launches the kernel \
             {}. To make a static library, remove this call",
            kernel.name
        )));
    }
    const OWN_OPTIONS: &str =
        "the compiler's own options decide how a static library stores device code";
    for (is_asked, call, why) in [
        (request.compressed, "compress()", OWN_OPTIONS),
        (request.large_pack_script, "large_pack_script()", OWN_OPTIONS),
        (
            request.prebuilt.is_some(),
            "prebuilt(...)",
            "a prebuilt set contains no static libraries",
        ),
        (
            request.options.lower_ptx == Some(true),
            "lower_ptx(true)",
            "nvcc stores its newest PTX version in a static library",
        ),
    ] {
        if is_asked {
            return Err(Error::config(format!(
                "{call} is only for packs: {why}. To make a static library, remove this call"
            )));
        }
    }
    let own = plan::modules(request, "static")?.remove(0).1;
    // Name objects after their sources, so that adding a source changes no other object. The number
    // distinguishes files with the same name in different folders.
    let mut counts = BTreeMap::new();
    let each = own.sources.iter().map(|source| {
        let stem = plan::stem(&source.path);
        let count = counts.entry(stem.clone()).or_insert(0);
        let name = format!("{count}_{stem}");
        *count += 1;
        let mut module = Module::new(&name);
        module.file(source.clone()).options = own.options.clone();
        (name, module)
    });
    Ok(each.collect())
}

/// Compiles the sources, links the device code if build.rs requests it, archives the objects, and
/// prints the link instructions for Cargo.
#[inline]
pub(crate) fn make(run: &Run<'_>, modules: &[PlannedModule]) -> Result<StaticLibrary, Error> {
    let cudart = Cudart::of(run.request)?;
    check_prebuilt(run)?;
    // Omit modules that support none of the targets.
    let modules: Vec<&PlannedModule> =
        modules.iter().filter(|module| !module.targets.is_empty()).collect();
    let mut targets: Vec<Target> = Vec::new();
    for target in modules.iter().flat_map(|module| &module.targets) {
        if !targets.contains(target) {
            targets.push(target.clone());
        }
    }
    let names: Vec<String> = targets.iter().map(ToString::to_string).collect();
    let vendor = vendor(&targets, &names)?;
    let mut jobs = Vec::new();
    let mut failures = Vec::new();
    for &module in &modules {
        device_link::check_flags(run, module)?;
        let made = device_link::check_source(run, module, vendor)
            .and_then(|()| objects::plan(run, module, vendor));
        match made {
            Ok(job) => jobs.push(job),
            Err(NotMade::MissingTool(missing)) => {
                let of_target = |target| {
                    (
                        target,
                        missing.clone(),
                        "prebuilt sets contain no static libraries".to_owned(),
                    )
                };
                failures.extend(module.targets.iter().map(of_target));
            }
            Err(NotMade::Fatal(error)) => return Err(error),
        }
    }
    if !failures.is_empty() {
        return Err(missing_tool::missing(&failures, None));
    }
    let mut objects = objects::make_all(run, vendor, jobs)?;
    if run.request.device_link {
        objects = device_link::link(run, &modules, &targets, vendor, objects)?;
    }
    let path = write_archive(run, &objects)?;
    let link = LinkLines::of(run, vendor, cudart);
    if run.request.cargo_metadata != Some(false) {
        link.tell(run.cargo);
    }
    Ok(StaticLibrary { path: Some(path), targets: names, is_skipped: false, link })
}

/// Returns the vendor whose GPUs the library is for. There is only one, because a launch uses one
/// vendor's runtime.
#[inline]
fn vendor(targets: &[Target], names: &[String]) -> Result<Vendor, Error> {
    match targets.first().map(Target::vendor) {
        // This vendor has no runtime for host code with `<<<...>>>`.
        Some(first) if first.is_gpu() && !first.has_launch_syntax() => Err(Error::config(format!(
            "a static library launches its kernels through CUDA's or HIP's runtime, but neither \
             runtime supports {}: make a pack instead, with Build::compile(\"...\")",
            names.join(", ")
        ))),
        Some(first) if first.is_gpu() && targets.iter().all(|target| target.vendor() == first) => {
            Ok(first)
        }
        _ => Err(Error::config(format!(
            "a static library launches its kernels through one vendor's runtime, so its targets \
             must be one vendor's GPUs, but they are {}. Limit the targets of each source: \
             Source::new(\"...\").supports([\"nvidia\"])",
            names.join(", ")
        ))),
    }
}

/// Prints a warning if the build writes a prebuilt set, because sets contain no static libraries.
///
/// Returns an error if `OFFLOAD_PREBUILT` is `only`, or has an unknown value.
#[inline]
fn check_prebuilt(run: &Run<'_>) -> Result<(), Error> {
    let Some((variable, value)) = run.cargo.package_var("OFFLOAD_PREBUILT") else { return Ok(()) };
    match PrebuiltUse::parse(&variable, &value)? {
        PrebuiltUse::Update => run.cargo.warn_once(&format!(
            "{variable}=update is only for packs: the static library \"{}\" is not in the \
             prebuilt set, so it is compiled wherever this package is built",
            run.name
        )),
        PrebuiltUse::Only => {
            return Err(Error::config(format!(
                "{variable} is 'only', but a prebuilt set contains no static libraries, so this \
                 library must be compiled. Set {}=never for this package, or OFFLOAD_SKIP=1 if you \
                 only want to check the package",
                run.cargo.variable_of_package("OFFLOAD_PREBUILT")
            )));
        }
        PrebuiltUse::Never | PrebuiltUse::Signatures | PrebuiltUse::WhereCompilersAreMissing => {}
    }
    Ok(())
}

/// Archives these objects as the library, unless an earlier run wrote the same library.
#[inline]
fn write_archive(
    Run { name, output, cargo, .. }: &Run<'_>,
    objects: &[(PathBuf, ContentHash)],
) -> Result<PathBuf, Error> {
    let path = output.library(name);
    let record_path = output.work.join("members.record");
    let mut members = Parts::default();
    for (_, hash) in objects {
        members.add(&hash.to_string());
    }
    let lines = vec![("members".to_owned(), members.finish().to_string())];
    if path.is_file() && record::read(&record_path).is_some_and(|known| known == lines) {
        return Ok(path);
    }
    let _ = fs::remove_file(&record_path);
    let objects: Vec<&Path> = objects.iter().map(|(path, _)| path.as_path()).collect();
    compilers::archive(cargo, &path, &objects).map_err(|error| {
        Error::new(
            ErrorKind::ToolFailed,
            format!("could not add the objects to the archive {}: {error}", path.display()),
        )
    })?;
    record::write(&record_path, lines)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_called_after_their_sources() {
        let mut build = crate::Build::new();
        build.files(["a/k.cu", "scale.cu", "b/k.cu", "0_k.cu"]);
        let names: Vec<String> =
            modules(&build.request).unwrap().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["0_k", "0_scale", "1_k", "0_0_k"]);
    }
}
