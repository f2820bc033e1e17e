//! The objects of a static library: one for each source, with the device code for its targets.
//!
//! Their names have the targets: objects for earlier lists stay, so that going back to one compiles nothing.

use super::undefined;
use crate::build::missing_tool::{MissingTool, NotMade};
use crate::build::run::Run;
use crate::compile::cache::{self, Before};
use crate::compile::sdk::Sdk;
use crate::compile::seen::Seen;
use crate::compile::{Compilation, Compilations};
use crate::error::Error;
use crate::hash::ContentHash;
use crate::plan::PlannedModule;
use crate::request::{Compiler, Recipe};
use crate::targets::{Family, Target};
use crate::toolchain::Nvcc;
use offload_format::target::OffloadArch;
use std::io;
use std::path::{Path, PathBuf};

/// How the object of one source comes about.
pub(super) fn compilation(run: &Run<'_>, module: &PlannedModule, family: Family) -> Result<Compilation, NotMade> {
    let source = &module.sources[0];
    if !matches!(source.recipe(&module.targets[0]), Some(Recipe::Offload(..) | Recipe::Nvcc)) {
        return Err(Error::config(format!(
            "{} is {}, which has no host code: a static library is made of CUDA (.cu) and HIP (.hip) sources",
            source.path.display(),
            source.language.name()
        ))
        .into());
    }
    let is_relocatable = run.request.device_link;
    let file_name = file_name(&module.targets);
    let compilations = |sdk| Compilations {
        module,
        targets: &module.targets,
        file_name: &file_name,
        code_object_version: run.request.code_object_version,
        sdk,
        output: run.output,
        cargo: run.cargo,
    };
    if family == Family::Amd {
        let rocm = run.tools.rocm().or_missing(MissingTool::rocm)?;
        let clang = run.tools.rocm_clang(rocm).map_or_else(|| run.clang(), Ok)?;
        let sdk = Sdk::rocm_for_all(rocm, clang, &module.targets, run.tools, run.cargo);
        return Ok(compilations(&sdk).object("hip", clang, is_relocatable)?);
    }
    let toolkit = run.tools.nvcc()?.or_missing(MissingTool::nvcc)?;
    if Compiler::of(&module.options.compilers, family) != Compiler::Nvcc {
        let clang = run.clang()?;
        let sdk = Sdk::cuda(toolkit, run.output)?;
        return Ok(compilations(&sdk).object("cuda", clang, is_relocatable)?);
    }
    by_nvcc(run, &compilations(&Sdk::default()), toolkit)
}

fn by_nvcc(run: &Run<'_>, compilations: &Compilations<'_>, nvcc: &Nvcc) -> Result<Compilation, NotMade> {
    let ccbin = run.tools.ccbin(&run.cargo.target).map_err(|why| MissingTool::ccbin(nvcc, &why))?;
    let compilation = compilations.object_by_nvcc(nvcc, &ccbin, run.request.device_link)?;
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

/// The targets in the name of a file: `sm_80.sm_90`. A long list is the first of them, how many there are, and a hash.
pub(super) fn file_name(targets: &[Target]) -> String {
    const LONGEST: usize = 100;
    let names: Vec<&str> = targets.iter().map(Target::as_str).collect();
    let all = names.join(".");
    if all.len() <= LONGEST {
        return all;
    }
    format!("{}.{}.{}", names[0], names.len(), ContentHash::of_parts(&names))
}

/// Returns the objects, with the hash of each: those that are fresh, and those that are made now, when `finish` has seen them.
pub(super) fn make(
    run: &Run<'_>,
    compilations: &[Compilation],
    finish: impl Fn(&Path) -> io::Result<()>,
) -> Result<Vec<(PathBuf, ContentHash)>, Error> {
    let fresh: Vec<_> = compilations.iter().map(|it| cache::fresh(it, &run.seen, run.output, run.cargo)).collect();
    let stale = compilations.iter().zip(&fresh).filter(|(_, made)| made.is_none()).map(|(it, _)| it);
    let start = run.run_steps(&stale.collect::<Vec<_>>());
    let start = start.map_err(|error| undefined::advise(error, run.request.device_link))?;
    let after = Seen::default();
    let mut objects = Vec::new();
    for (compilation, made) in compilations.iter().zip(fresh) {
        let path = &compilation.image;
        let (hash, inputs) = match (made, start) {
            (Some(made), _) => (made.image, made.inputs),
            (None, start) => {
                finish(path).map_err(|error| Error::io("finish", path, error))?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_has_a_short_name() {
        let targets = |names: &[String]| names.iter().map(|name| Target::parse(name).unwrap()).collect::<Vec<_>>();
        let names = |numbers: std::ops::Range<u32>| numbers.map(|number| format!("sm_{number}")).collect::<Vec<_>>();
        assert_eq!(file_name(&targets(&["gfx90a:xnack-".to_owned(), "gfx1030".to_owned()])), "gfx90a:xnack-.gfx1030");
        let long = file_name(&targets(&names(50..90)));
        assert!(long.starts_with("sm_50.40.") && long.len() < 60, "{long}");
        assert_ne!(long, file_name(&targets(&names(50..91))));
    }
}
