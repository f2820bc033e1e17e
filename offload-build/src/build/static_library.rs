//! Host code and device code in one source, compiled to a static library that carries its device code for all targets.
//!
//! Each source is one object, for all targets at once, by the vendor's compiler driver or by clang's: only those know
//! how a launch (`<<<...>>>`) and the code that it starts are put together. The vendor's runtime is linked behind the
//! library.

use super::missing_tool::{self, MissingTool, NotMade};
use super::run::Run;
use crate::compile::cache::{self, Before};
use crate::compile::sdk::Sdk;
use crate::compile::seen::Seen;
use crate::compile::{Compilation, Compilations};
use crate::error::{Error, ErrorKind};
use crate::hash::{ContentHash, Parts};
use crate::output::{OutDir, record};
use crate::plan::{self, PlannedModule};
use crate::request::{Compiler, Module, Recipe, Request};
use crate::targets::{Family, Target};
use crate::toolchain::Nvcc;
use offload_format::target::OffloadArch;
use std::fs;
use std::path::{Path, PathBuf};

/// What [`Build::compile_static`](crate::Build::compile_static) made.
#[derive(Debug, Clone)]
pub struct StaticLibrary {
    name: String,
    path: Option<PathBuf>,
    targets: Vec<String>,
    is_skipped: bool,
}

impl StaticLibrary {
    /// The name it was given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the library's path. `None` if nothing was compiled: the build is [skipped](StaticLibrary::is_skipped), or
    /// [`Build::allow_empty`](crate::Build::allow_empty) was called and no target is left.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The targets that it has device code for, as canonical names.
    pub fn targets(&self) -> &[String] {
        &self.targets
    }

    /// Returns whether nothing was compiled because of `OFFLOAD_SKIP` or `DOCS_RS`.
    ///
    /// A program is then only checked or documented: its API can be that of a build with the library. If no target is
    /// left, this is `false`, and nothing defines the library's functions.
    pub fn is_skipped(&self) -> bool {
        self.is_skipped
    }

    /// Makes one that is not built.
    pub(crate) fn absent(name: &str, is_skipped: bool) -> Self {
        Self { name: name.to_owned(), path: None, targets: Vec::new(), is_skipped }
    }
}

/// The sources, each as a module of its own.
///
/// Returns an error if there are none, or if the request has what a library cannot have.
pub(crate) fn modules(request: &Request) -> Result<Vec<(String, Module)>, Error> {
    if let Some(module) = request.modules.first() {
        return Err(Error::config(format!(
            "a static library has no modules, as \"{}\" would be: add its sources with .file(...) or .files([...])",
            module.name.as_deref().unwrap_or_default()
        )));
    }
    if let Some(kernel) = request.own.required.first() {
        return Err(Error::config(format!(
            "the kernel {} of a static library cannot be required: the library's own host code launches it",
            kernel.name
        )));
    }
    for (is_asked, call) in [(request.compressed, "compress()"), (request.large_pack_script, "large_pack_script()")] {
        if is_asked {
            return Err(Error::config(format!(
                "{call} is for packs: the compiler puts device code into a static library as its own options say. \
                 Leave it out for compile_static"
            )));
        }
    }
    let own = plan::modules(request, "static")?.remove(0).1;
    let each = own.sources.iter().enumerate().map(|(index, source)| {
        let name = format!("{index}_{}", plan::stem(&source.path));
        let mut module = Module::new(&name);
        module.file(source.clone()).options = own.options.clone();
        (name, module)
    });
    Ok(each.collect())
}

/// Compiles, puts the objects into the library, and tells Cargo what to link.
pub(crate) fn make(run: &Run<'_>, name: &str, modules: &[PlannedModule]) -> Result<StaticLibrary, Error> {
    let mut targets: Vec<&Target> = Vec::new();
    for target in modules.iter().flat_map(|module| &module.targets) {
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    let names: Vec<String> = targets.iter().map(ToString::to_string).collect();
    let family = family(&targets, &names)?;
    let mut compilations = Vec::new();
    let mut failures = Vec::new();
    for module in modules {
        let Some(first) = module.targets.first() else {
            return Err(Error::config(format!(
                "{} is for none of the targets {}; a static library needs each of its sources: make one library for each \
                 vendor",
                module.sources[0].path.display(),
                names.join(", ")
            )));
        };
        match compile(run, module, first, family) {
            Ok(compilation) => compilations.push(compilation),
            Err(NotMade::MissingTool(missing)) => {
                failures.push((first, missing, "static libraries have none".to_owned()))
            }
            Err(NotMade::Fatal(error)) => return Err(error),
        }
    }
    if !failures.is_empty() {
        return Err(missing_tool::missing(&failures, None));
    }
    let objects = objects(run, &compilations)?;
    let path = archive(name, &objects, run.output)?;
    link(run, name, family)?;
    Ok(StaticLibrary { name: name.to_owned(), path: Some(path), targets: names, is_skipped: false })
}

/// Whose GPUs it is for: a launch goes to one vendor's runtime.
fn family(targets: &[&Target], names: &[String]) -> Result<Family, Error> {
    match targets.first().map(|target| target.family()) {
        Some(first) if first != Family::Cpu && targets.iter().all(|target| target.family() == first) => Ok(first),
        _ => Err(Error::config(format!(
            "a static library launches its kernels through one vendor's runtime, so it is for one vendor's GPUs; \
             the targets are {}. Say for each source which it is for: Source::new(\"...\").supports([\"nvidia\"])",
            names.join(", ")
        ))),
    }
}

/// How the object of one source comes about, which has device code for each target of its module.
fn compile(run: &Run<'_>, module: &PlannedModule, first: &Target, family: Family) -> Result<Compilation, NotMade> {
    let source = &module.sources[0];
    if !matches!(source.recipe(first), Some(Recipe::Offload(..) | Recipe::Nvcc)) {
        return Err(Error::config(format!(
            "{} is {}, which has no host code: a static library is made of CUDA (.cu) and HIP (.hip) sources",
            source.path.display(),
            source.language.name()
        ))
        .into());
    }
    let compilations = |sdk| Compilations {
        module,
        targets: &module.targets,
        file_name: HOST,
        code_object_version: run.request.code_object_version,
        sdk,
        output: run.output,
        cargo: run.cargo,
    };
    if family == Family::Amd {
        let rocm = run.tools.rocm().or_missing(MissingTool::rocm)?;
        let clang = run.tools.rocm_clang(rocm).map_or_else(|| run.clang(), Ok)?;
        let sdk = Sdk::rocm_for_all(rocm, clang, &module.targets, run.tools, run.cargo);
        return Ok(compilations(&sdk).object("hip", clang)?);
    }
    let toolkit = run.tools.nvcc()?.or_missing(MissingTool::nvcc)?;
    if Compiler::of(&module.options.compilers, family) != Compiler::Nvcc {
        let clang = run.clang()?;
        let sdk = Sdk::cuda(toolkit, run.output)?;
        return Ok(compilations(&sdk).object("cuda", clang)?);
    }
    by_nvcc(run, &compilations(&Sdk::default()), toolkit)
}

fn by_nvcc(run: &Run<'_>, compilations: &Compilations<'_>, nvcc: &Nvcc) -> Result<Compilation, NotMade> {
    let ccbin = run.tools.ccbin(&run.cargo.target).map_err(|why| MissingTool::ccbin(nvcc, &why))?;
    let compilation = compilations.object_by_nvcc(nvcc, &ccbin)?;
    if cache::fresh(&compilation, &run.seen, run.output, run.cargo).is_none() {
        for target in compilations.targets {
            if let OffloadArch::Nvidia(arch) = target.arch()
                && let Some(text) = run.ask(format!("nvcc {arch}"), || run.tools.nvcc_refusal(nvcc, arch, &ccbin))
            {
                return Err(MissingTool::refusal(&nvcc.path, &text).into());
            }
        }
    }
    Ok(compilation)
}

/// What stands for the target in the names of files.
const HOST: &str = "host";

/// The objects, with the hash of each: those that are fresh, and those that are made now.
fn objects(run: &Run<'_>, compilations: &[Compilation]) -> Result<Vec<(PathBuf, ContentHash)>, Error> {
    let fresh: Vec<_> = compilations.iter().map(|it| cache::fresh(it, &run.seen, run.output, run.cargo)).collect();
    let stale = compilations.iter().zip(&fresh).filter(|(_, made)| made.is_none()).map(|(it, _)| it);
    let start = run.run_steps(&stale.collect::<Vec<_>>())?;
    let after = Seen::default();
    let mut objects = Vec::new();
    for (compilation, made) in compilations.iter().zip(fresh) {
        let path = &compilation.image;
        let (hash, inputs) = match (made, start) {
            (Some(made), _) => (made.image, made.inputs),
            (None, start) => {
                let hash = ContentHash::of_file(path).map_err(|error| Error::io("read", path, error))?;
                let before = Before { seen: &run.seen, start: start.expect("what is stale was compiled") };
                (hash, cache::record(compilation, hash, before, &after, run.output, run.cargo)?)
            }
        };
        inputs.iter().for_each(|input| run.cargo.watch_input(&input.path));
        objects.push((path.clone(), hash));
    }
    Ok(objects)
}

/// Puts the objects into a library, unless they are what is in it.
fn archive(name: &str, objects: &[(PathBuf, ContentHash)], output: &OutDir) -> Result<PathBuf, Error> {
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
    let mut build = cc::Build::new();
    build.cargo_metadata(false).cargo_warnings(false).cpp(true).out_dir(&output.root);
    build.objects(objects.iter().map(|(path, _)| path));
    build.try_compile(name).map_err(|error| {
        Error::new(ErrorKind::ToolFailed, format!("could not put the objects into {}: {error}", path.display()))
    })?;
    record::write(&record_path, lines)?;
    Ok(path)
}

/// Tells Cargo what to link.
fn link(run: &Run<'_>, name: &str, family: Family) -> Result<(), Error> {
    let cargo = run.cargo;
    cargo.link_search(&run.output.root);
    cargo.link_library(&format!("static={name}"));
    match family {
        Family::Nvidia => {
            let toolkit = run.tools.used_nvcc().expect("the objects were compiled with its headers");
            toolkit.library_folders(&cargo.target_arch).iter().for_each(|folder| cargo.link_search(folder));
            // It loads the driver when it is first called, and returns an error where there is none.
            cargo.link_library("static=cudart_static");
            if cargo.target_os == "linux" {
                ["dylib=dl", "dylib=rt", "dylib=pthread"].iter().for_each(|library| cargo.link_library(library));
            }
        }
        _ => {
            let rocm = run.tools.rocm().tool().expect("the objects were compiled with its headers");
            rocm.library_folder(&cargo.target_arch).iter().for_each(|folder| cargo.link_search(folder));
            cargo.link_library("dylib=amdhip64");
        }
    }
    let cxx_library = match cargo.user_var("CXXSTDLIB") {
        Some(named) => Some(named),
        None if cargo.target.ends_with("-msvc") => None,
        None if cargo.target_os == "android" => Some("c++_shared".to_owned()),
        None if cargo.target_os == "linux" || cargo.target_os == "windows" => Some("stdc++".to_owned()),
        None => Some("c++".to_owned()),
    };
    cxx_library.iter().for_each(|library| cargo.link_library(&format!("dylib={library}")));
    Ok(())
}
