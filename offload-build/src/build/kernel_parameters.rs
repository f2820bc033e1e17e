//! The parameters of kernels, from their sources.

use super::prebuilt::{self, Prebuilt};
use crate::cargo::Cargo;
use crate::compile::Compilation;
use crate::compile::cache::{self, Before};
use crate::compile::seen::Seen;
use crate::compile::signatures;
use crate::error::Error;
use crate::output::{OutDir, image_file_name, write_if_changed};
use crate::targets::Family;
use offload_format::pack_index::IndexModule;
use offload_format::signature::Signatures;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The known signatures of the kernels in a pack's modules, and the compilations that find the
/// others.
#[derive(Debug)]
pub(super) struct Descriptions<'a> {
    modules: Vec<OfModule>,
    output: &'a OutDir,
    cargo: &'a Cargo,
}

/// The descriptions of a module.
#[derive(Debug, Default)]
struct OfModule {
    /// One for each kind of target for which clang can find the signatures.
    by_clang: Vec<Description>,
    /// The description of the image for the CPU, by the compiler of that image.
    of_cpu: Option<Description>,
}

/// The signatures of a module's kernels.
#[derive(Debug, Default)]
pub(super) struct Described {
    /// The signatures that clang has read from the sources; `None` if it has described none.
    pub(super) signatures: Option<Signatures>,
    /// The types of the parameters in the image for the CPU, without names; `None` if there is no
    /// such image, or if its compiler has described none.
    pub(super) of_cpu: Option<Signatures>,
}

/// A compilation that finds the signatures of a module's kernels, and the signatures if they are
/// known already.
#[derive(Debug)]
struct Description {
    compilation: Compilation,
    /// The signatures that an earlier run has found.
    known: Option<Signatures>,
}

impl<'a> Descriptions<'a> {
    /// Makes the descriptions of a pack that has no modules yet.
    pub(super) fn new(output: &'a OutDir, cargo: &'a Cargo) -> Self {
        Self { modules: Vec::new(), output, cargo }
    }

    /// Adds a module. `images` contains the compilations of its images, each with the family of its
    /// target.
    pub(super) fn add_module<'c>(
        &mut self,
        images: impl Iterator<Item = (Family, &'c Compilation)>,
        seen: &Seen,
    ) {
        let description = |compilation: Compilation| {
            let known = self.known(&compilation, seen);
            Description { compilation, known }
        };
        let mut families: Vec<Family> = Vec::new();
        let mut module = OfModule::default();
        for (family, compilation) in images {
            if let Some(own) = compilation.of_own_signatures() {
                module.of_cpu = Some(description(own));
            }
            if families.contains(&family) {
                continue;
            }
            let Some(compilation) = compilation.of_signatures() else { continue };
            families.push(family);
            module.by_clang.push(description(compilation));
        }
        self.modules.push(module);
    }

    fn known(&self, compilation: &Compilation, seen: &Seen) -> Option<Signatures> {
        let made = cache::fresh(compilation, seen, self.output, self.cargo)?;
        made.inputs.iter().for_each(|input| self.cargo.watch_input(&input.path));
        fs::read_to_string(&compilation.image).ok()?.parse().ok()
    }

    /// Returns the compilations whose steps must run.
    pub(super) fn stale(&self) -> impl Iterator<Item = &Compilation> {
        let all = self.modules.iter().flat_map(|it| it.by_clang.iter().chain(&it.of_cpu));
        all.filter(|it| it.known.is_none()).map(|it| &it.compilation)
    }

    /// Returns the signatures of each module, once all steps have run; the first step began at
    /// `start`.
    pub(super) fn finish(
        self,
        seen: &Seen,
        start: Option<SystemTime>,
        after: &Seen,
    ) -> Result<Vec<Described>, Error> {
        let signatures = |Description { compilation, known }: &Description| match known {
            Some(known) => Ok(Some(known.clone())),
            None if has_failed(compilation) => Ok(None),
            None => {
                let before = Before { seen, start: start.expect("a description has steps") };
                self.read(compilation, before, after).map(Some)
            }
        };
        let of_module = |OfModule { by_clang, of_cpu }: &OfModule| {
            let all = by_clang.iter().filter_map(|it| signatures(it).transpose());
            let all = all.collect::<Result<Vec<Signatures>, Error>>()?;
            let in_image = of_cpu.as_ref().map(signatures).transpose()?;
            if in_image == Some(None) {
                self.cargo.warn(
                    "the parameters of kernels in the image for the CPU are not compared with those in the source: its \
                     compiler did not describe them",
                );
            }
            Ok(Described {
                signatures: (!all.is_empty()).then(|| signatures::merge(all)),
                of_cpu: in_image.flatten(),
            })
        };
        self.modules.iter().map(of_module).collect()
    }

    /// Reads the signatures from the LLVM IR or the assembly that the steps have written, and
    /// records them for later runs.
    fn read(
        &self,
        compilation: &Compilation,
        before: Before<'_>,
        after: &Seen,
    ) -> Result<Signatures, Error> {
        let source = |path: &str| fs::read_to_string(self.cargo.manifest_dir.join(path)).ok();
        let mut all = Vec::new();
        for path in compilation.steps.iter().filter_map(|step| step.output.as_deref()) {
            // Read bytes, not text: the names of sources in this file need not be UTF-8.
            let text = fs::read(path).map_err(|error| Error::io("read", path, error))?;
            let text = String::from_utf8_lossy(&text);
            all.push(match path.extension() {
                Some(extension) if extension == "s" => signatures::read_assembly(&text),
                _ => signatures::read(&text, source),
            });
            // The file is large, and everything necessary was read from it.
            let _ = fs::remove_file(path);
        }
        let found = signatures::merge(all);
        let path = &compilation.image;
        write_if_changed(path, found.to_string().as_bytes())?;
        cache::record(compilation, before, after, self.output, self.cargo)?;
        Ok(found)
    }
}

/// Whether a step has not written the description of its source. Only steps that may fail end so.
fn has_failed(compilation: &Compilation) -> bool {
    compilation.steps.iter().filter_map(|step| step.output.as_deref()).any(|path| !path.is_file())
}

/// Records the known signatures of a module, for builds in which nothing is compiled.
pub(super) fn keep(module: &str, signatures: &Signatures, output: &OutDir) -> Result<(), Error> {
    write_if_changed(&kept(module, output), signatures.to_string().as_bytes())
}

fn kept(module: &str, output: &OutDir) -> PathBuf {
    output.work.join(image_file_name(module, "signatures"))
}

/// Returns the modules of a pack that is not built, with the known parameters of their kernels. The
/// parameters come from an earlier build, otherwise from the prebuilt set. A program that is only
/// checked, on a machine without compilers, then has the same functions for its kernels.
pub(super) fn of_absent(
    pack: &str,
    modules: Vec<AbsentModule>,
    folder: Option<&Path>,
    output: &OutDir,
    cargo: &Cargo,
) -> Vec<IndexModule> {
    let folder = folder.unwrap_or(Path::new(prebuilt::FOLDER));
    let of_set = |prefix: &str| {
        let stem = prebuilt::stem(pack, prefix);
        match Prebuilt::load(folder, &stem).map_err(|error| error.to_string())? {
            Some(set) => set.recorded_signatures(cargo),
            None => Err(prebuilt::no_signatures(folder, &stem)),
        }
    };
    let module = |AbsentModule { name, prefix, needs_signatures }| {
        let earlier =
            fs::read_to_string(kept(&name, output)).ok().and_then(|text| text.parse().ok());
        let known: Result<Signatures, String> = earlier.map_or_else(|| of_set(&prefix), Ok);
        let of_name = IndexModule::new(name);
        match known {
            Ok(known) => IndexModule { signatures: known.to_string(), ..of_name },
            Err(why) => IndexModule {
                signatures_unknown: needs_signatures
                    .map(|skipped| format!("{skipped}, and no earlier build read them\n{why}")),
                ..of_name
            },
        }
    };
    modules.into_iter().map(module).collect()
}

/// A module of a pack that is not built.
#[derive(Debug)]
pub(super) struct AbsentModule {
    pub(super) name: String,
    /// The prefix of the names of the module's files.
    pub(super) prefix: String,
    /// The reason why the build reads no source, if a build with compilers would read signatures.
    pub(super) needs_signatures: Option<&'static str>,
}
