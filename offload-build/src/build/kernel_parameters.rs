//! Reads the parameters of kernels from their sources.
//!
//! If a module is only for the CPU, clang reads its sources as C++ for the host, even if a
//! different compiler makes the image. If clang rejects the source, the build still succeeds, and
//! the index records the reason.
//!
//! If nvcc compiles an image, clang reads the sources only on request. If clang rejects a source,
//! the source's kernels have no signatures, and the build warns.

use super::prebuilt::{self, Prebuilt};
use super::run::Run;
use crate::compile::Compilation;
use crate::compile::cache::{self, Before};
use crate::compile::signatures;
use crate::compile::with_entries::is_assembly;
use crate::output::{OutDir, image_file_name, write_if_changed};
use crate::request::Module;
use crate::toolchain::{Cargo, Error, Seen, files};
use offload_format::target::Vendor;
use offload_pack::pack_index::IndexModule;
use offload_pack::signature::Signatures;
use std::fs;
use std::path::{Path, PathBuf};

/// How messages refer to types that clang reads from a source for the CPU.
const AS_CLANG_READS: &str = "according to clang";

/// The known signatures of a module's kernels, and the compilations that find the unknown ones.
#[derive(Default)]
pub(super) struct Descriptions {
    /// One description for each vendor, if clang can find the signatures for its targets.
    by_clang: Vec<Description>,
    /// The CPU image's description files, which its compiler writes, and the file that stores the
    /// signatures read from them.
    of_cpu: Option<(Vec<PathBuf>, PathBuf)>,
}

#[derive(Default)]
pub(super) struct Described {
    /// The descriptions that clang read from the sources, one for each vendor.
    pub(super) by_clang: Vec<signatures::Description>,
    /// The parameter types in the CPU image, without parameter names. `None` if there is no CPU
    /// image, or if its compiler described no types.
    pub(super) of_cpu: Option<Signatures>,
}

/// A compilation that finds the signatures of a module's kernels, and the signatures if they are
/// already known.
struct Description {
    compilation: Compilation,
    /// Whether the images are for GPUs. GPU images contain the names of their kernels, so kernels
    /// without signatures are also known.
    is_of_gpus: bool,
    /// The signatures that an earlier run found.
    known: Option<Signatures>,
}

impl Descriptions {
    /// Creates the descriptions of a module from the compilations of its images.
    pub(super) fn of(run: &Run<'_>, images: &[&Compilation]) -> Self {
        let mut vendors: Vec<Vendor> = Vec::new();
        let mut this = Self::default();
        for compilation in images {
            let vendor = compilation.targets[0].vendor();
            if let Some((texts, kept)) = compilation.cpu_descriptions() {
                this.of_cpu = Some((texts.to_vec(), kept));
            }
            if vendors.contains(&vendor) {
                continue;
            }
            let Some(compilation) = compilation.of_signatures() else { continue };
            vendors.push(vendor);
            this.by_clang.push(Description::of(run, compilation, vendor));
        }
        this
    }

    /// Adds the compilations whose steps must run.
    pub(super) fn add_stale<'d>(&'d self, to: &mut Vec<&'d Compilation>) {
        for description in &self.by_clang {
            if description.known.is_none() {
                to.push(&description.compilation);
            }
        }
    }

    /// Returns the signatures, once all steps have run.
    pub(super) fn finish(
        self,
        run: &Run<'_>,
        module: &str,
        before: Option<Before<'_>>,
        after: &Seen,
    ) -> Result<Described, Error> {
        let (mut all, mut refusals, mut is_described) = (Vec::new(), Vec::new(), false);
        for mut description in self.by_clang {
            let known = description.known.take();
            let Description { compilation, is_of_gpus, .. } = &description;
            let has_failed = known.is_none() && has_failed(compilation);
            is_described |= *is_of_gpus && !has_failed;
            let signatures = match known {
                Some(known) => known,
                None if has_failed && !is_of_gpus => continue,
                None if has_failed => {
                    refusals.extend(description.refusals(run));
                    description.read(run)?
                }
                None => {
                    let found = description.read(run)?;
                    write_if_changed(&compilation.image, found.to_string().as_bytes())?;
                    let before = before.expect("a description has steps");
                    cache::record(compilation, before, after, run.output, run.cargo)?;
                    found
                }
            };
            all.push(signatures::Description { place: description.place(), signatures });
        }
        let consequence = if is_described {
            "The functions of the module's kernels use the parameters found for other GPUs. Check \
             these parameters"
        } else {
            "The program gets a constant for each of the module's kernels, but no functions that \
             check arguments. Declare the kernels in include_kernels!"
        };
        for message in refusals {
            run.cargo.warn(&format!(
                "clang cannot read a source of the module \"{module}\", although nvcc compiles it. \
                 {consequence}, or change the source so that clang accepts it. clang reports: \
                 {message}"
            ));
        }
        let mut of_cpu = None;
        if let Some((texts, kept)) = self.of_cpu {
            let described = described_by_cxx(run, module, &texts, &kept)?;
            if all.is_empty() && !texts.iter().any(|text| is_assembly(text)) {
                let place = AS_CLANG_READS.to_owned();
                all.push(signatures::Description { place, signatures: described.clone() });
            }
            of_cpu = Some(described);
        }
        Ok(Described { by_clang: all, of_cpu })
    }
}

impl Description {
    fn of(run: &Run<'_>, compilation: Compilation, vendor: Vendor) -> Self {
        let known = || {
            let made = cache::fresh(&compilation, &run.seen, run.output, run.cargo)?;
            made.inputs.watch(run.cargo);
            recorded(&compilation.image)
        };
        Self { known: known(), is_of_gpus: vendor.is_gpu(), compilation }
    }

    /// Returns how messages refer to the described types.
    fn place(&self) -> String {
        // For the CPU, clang may describe a source that a different compiler compiles.
        let is_read = !self.is_of_gpus && !self.compilation.is_of_crate();
        match self.compilation.targets.first().filter(|_| !is_read) {
            Some(target) => format!("for {target}"),
            None => AS_CLANG_READS.to_owned(),
        }
    }

    /// Removes and returns clang's messages about the sources that it rejected.
    fn refusals(&self, run: &Run<'_>) -> Vec<String> {
        let mut undescribed = run.undescribed.borrow_mut();
        let missing = |output: &Option<PathBuf>| {
            self.compilation
                .steps
                .iter()
                .any(|step| step.output.is_some() && step.output == *output)
        };
        let refused = undescribed.extract_if(.., |(output, _)| missing(output));
        refused.map(|(_, message)| message).collect()
    }

    /// Reads the LLVM IR of the described sources.
    fn read(&self, run: &Run<'_>) -> Result<Signatures, Error> {
        let outputs = self.compilation.steps.iter().filter_map(|step| step.output.as_deref());
        let found = read(run, outputs.filter(|path| path.is_file()))?;
        match signatures::refusal_of_rust(&found).filter(|_| self.compilation.is_of_crate()) {
            Some(why) => Err(Error::config(why)),
            None => Ok(found),
        }
    }
}

/// Reads compilers' descriptions of sources, and deletes these files, which are large.
fn read<'p>(run: &Run<'_>, paths: impl Iterator<Item = &'p Path>) -> Result<Signatures, Error> {
    let source = |path: &str| fs::read_to_string(run.cargo.manifest_dir.join(path)).ok();
    let mut all = Vec::new();
    for path in paths {
        // Read bytes, not text, because source names in the IR need not be UTF-8.
        let text = files::read(path)?;
        let text = String::from_utf8_lossy(&text);
        all.push(if is_assembly(path) {
            signatures::read_assembly(&text)
        } else {
            signatures::read(&text, &source)
        });
        let _ = fs::remove_file(path);
    }
    Ok(signatures::merge(all))
}

/// Returns the kernels of the CPU image, as its compiler described them in this run or an earlier
/// one.
///
/// Returns an error if the compiler compiled a source but did not describe it.
fn described_by_cxx(
    run: &Run<'_>,
    module: &str,
    texts: &[PathBuf],
    kept: &Path,
) -> Result<Signatures, Error> {
    if let Some(known) = recorded(kept) {
        return Ok(known);
    }
    if let Some(path) = texts.iter().find(|path| !path.is_file()) {
        let undescribed = run.undescribed.borrow();
        let message = undescribed.iter().find(|(output, _)| output.as_ref() == Some(path));
        return Err(Error::config(format!(
            "module \"{module}\": the C++ compiler compiles a source for the CPU but cannot \
             write debug information for its kernels, so programs cannot call them: {}",
            message.map_or("it printed no error", |(_, message)| message)
        )));
    }
    let found = read(run, texts.iter().map(PathBuf::as_path))?;
    write_if_changed(kept, found.to_string().as_bytes())?;
    Ok(found)
}

/// Returns the signatures that an earlier run wrote to a file.
fn recorded(path: &Path) -> Option<Signatures> {
    fs::read_to_string(path).ok()?.parse().ok()
}

/// Whether a step wrote no description of its source. Only steps that may fail can end without a
/// description.
fn has_failed(compilation: &Compilation) -> bool {
    compilation.steps.iter().filter_map(|step| step.output.as_deref()).any(|path| !path.is_file())
}

/// Stores the known signatures of a module, for later builds that compile nothing.
pub(super) fn keep(module: &str, signatures: &Signatures, output: &OutDir) -> Result<(), Error> {
    write_if_changed(&kept(module, output), signatures.to_string().as_bytes())
}

fn kept(module: &str, output: &OutDir) -> PathBuf {
    output.work.join(image_file_name(module, "signatures"))
}

/// Returns the modules of a pack that is not built, with the known parameters of their kernels.
///
/// The parameters come from an earlier build, or else from the prebuilt set. So a program that is
/// only checked has the same kernel functions as a built one, even without compilers.
pub(super) fn of_absent(
    pack: &str,
    modules: &[(String, Module)],
    skipped: Option<&str>,
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
    let module = |(name, module): &(String, Module)| {
        let earlier = recorded(&kept(name, output));
        let known = earlier.map_or_else(|| of_set(&module.prefix()), Ok);
        let of_name = IndexModule::new(name.clone());
        match known {
            Ok(signatures) => IndexModule { signatures, ..of_name },
            Err(why) => IndexModule {
                signatures_unknown: skipped.filter(|_| module.is_described()).map(|skipped| {
                    format!("{skipped}, and no earlier build read the parameters\n{why}")
                }),
                ..of_name
            },
        }
    };
    modules.iter().map(module).collect()
}
