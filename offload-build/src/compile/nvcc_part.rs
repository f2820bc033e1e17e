//! Builds objects that contain host code. nvcc compiles each source separately for each target.
//!
//! | nvcc call | output | for |
//! |---|---|---|
//! | `-c` for one target | an object: the host's part, and a fat binary of this target | the first target of the list |
//! | `-fatbin` for one target | a fat binary | each other target |
//! | `-c` for all targets | an object | hosts without ELF; sources with options about nvcc's intermediate files |
//!
//! [`join`] then adds the fat binaries of all targets to the object of the first target. The result
//! equals the output of the third call, except for the order of the images.
//!
//! The calls for single targets must agree on two points, so each call includes a header before the
//! source:
//!
//! - The names of kernels and variables with internal linkage contain an ID of the source. nvcc
//!   computes the ID from the source's path and the first definition with external linkage. That
//!   definition may differ between host and device (`#ifdef __CUDA_ARCH__`), so the header begins
//!   with a definition of its own. The build compares the IDs from all calls and, if they differ,
//!   makes the third call instead.
//! - CUDA's C++ libraries use `__CUDA_ARCH_LIST__` in kernel names, so the header defines this
//!   macro for the whole list of targets. When the list changes, the build recompiles only sources
//!   that read a file that contains the macro's name.
//!
//! The functions are `#[inline]`, so only build scripts that make static libraries compile them.

use super::device_link::gencode;
use super::line::Line;
use super::nvcc_variables::nvcc_env;
use super::{Compilation, Compilations};
use crate::output::write_if_changed;
use crate::plan::PlannedSource;
use crate::targets::Target;
use crate::toolchain::compilers::{Cxx, Nvcc};
use crate::toolchain::exec::{DepfileBy, NvccFlags, Step, StepKind};
use crate::toolchain::{Error, Seen, files};
use offload_format::image::{ElfSection, weaken};
use offload_format::nv_fatbin::{self, NvFatbin};
use offload_format::section::SectionNames;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The macro in which nvcc passes its list of targets to a source.
const ARCH_LIST: &str = "__CUDA_ARCH_LIST__";

/// The output of one nvcc call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Makes {
    /// An object with the device code for one target.
    Object,
    /// The fat binary of one target.
    FatBinary,
}

/// One target's part of the compilation of an object for several targets.
#[derive(Debug, Clone)]
pub(crate) struct NvccPart {
    makes: Makes,
    /// The value of [`ARCH_LIST`].
    pub(super) list: String,
    /// Whether an option from build.rs or a variable contains that macro's name.
    pub(super) names_list: bool,
    /// The header that nvcc includes before the source, and the symbol that the header defines.
    header: PathBuf,
    symbol: String,
    /// The folder for nvcc's intermediate files, one of which contains the source's ID. The files'
    /// names are fixed, because the object contains one of them.
    folder: PathBuf,
    /// The file with the source's ID.
    id: PathBuf,
}

/// nvcc's options for files that several calls for one source would share: intermediate files and
/// precompiled headers. Option files are also listed, because they may contain any of these
/// options.
const WITH_FILES: [&str; 15] = [
    "-keep",
    "--keep",
    "-save-temps",
    "--save-temps",
    "-keep-dir",
    "--keep-dir",
    "-objtemp",
    "-pch",
    "--pch",
    "-create-pch",
    "--create-pch",
    "-use-pch",
    "--use-pch",
    "-optf",
    "--options-file",
];

impl Compilations<'_> {
    /// Whether nvcc can compile the source for each target separately.
    #[inline]
    pub(crate) fn is_split(&self, ccbin: &Cxx) -> Result<bool, Error> {
        let source = self.source_for_all()?;
        let is_elf = self.cargo.target_os == "linux"
            && ["x86_64", "aarch64"].contains(&&*self.cargo.target_arch);
        let is_special = |option: &str| {
            let name = option.split('=').next().unwrap_or_default();
            WITH_FILES.contains(&name)
        };
        Ok(is_elf
            && ccbin.takes_gnu_options()
            && !self.nvcc_options(source).iter().any(|option| is_special(option)))
    }

    /// Returns nvcc's compilation for one target of `list`. With `is_relocatable`, the device code
    /// is relocatable (`-rdc=true`), so that it can be linked with that of other objects.
    #[inline]
    pub(crate) fn nvcc_part(
        &self,
        makes: Makes,
        list: &[Target],
        nvcc: &Nvcc,
        ccbin: &Cxx,
        is_relocatable: bool,
    ) -> Result<Compilation, Error> {
        let source = self.source_for_all()?;
        let (extension, kind) = match makes {
            Makes::Object => ("o", "-c"),
            Makes::FatBinary => ("fatbin", "-fatbin"),
        };
        let part = NvccPart {
            makes,
            list: arch_list(list),
            names_list: self.nvcc_options(source).iter().any(|option| option.contains(ARCH_LIST)),
            symbol: format!("offload_source_{}", self.source_id(source)),
            header: self.work("h"),
            folder: self.work("files"),
            id: self.work("id"),
        };
        write_if_changed(&part.header, part.text().as_bytes())?;
        let before = Line::of(&["-include"])
            .one(&part.header)
            .words(&["--keep", "--keep-dir"])
            .one(&part.folder);
        let mut compilation =
            self.object(extension, kind, source, before, nvcc, ccbin, is_relocatable);
        // The record lists the targets instead of this header.
        compilation.tool_folders.push(part.header.clone());
        let folder = part.folder.clone();
        let steps = compilation.steps.drain(..).map(|step| {
            let folder = folder.clone();
            step.prepare(move || {
                // If this fails, nvcc reports the error.
                let _ = fs::remove_dir_all(&folder);
                let _ = fs::create_dir_all(&folder);
            })
        });
        compilation.steps = steps.collect();
        compilation.part = Some(part);
        Ok(compilation)
    }

    /// Returns the compilation of host code and all targets' device code to an object in one nvcc
    /// call.
    #[inline]
    pub(crate) fn nvcc_object(
        &self,
        nvcc: &Nvcc,
        ccbin: &Cxx,
        is_relocatable: bool,
    ) -> Result<Compilation, Error> {
        let source = self.source_for_all()?;
        Ok(self.object("o", "-c", source, Line::default(), nvcc, ccbin, is_relocatable))
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one command line")]
    #[inline]
    fn object(
        &self,
        extension: &str,
        kind: &str,
        source: &PlannedSource,
        before: Line,
        nvcc: &Nvcc,
        ccbin: &Cxx,
        is_relocatable: bool,
    ) -> Compilation {
        let mut compilation = self.compilation(extension, &[&nvcc.identity, &ccbin.identity]);
        let compile = Line::of(&["-x", "cu", kind])
            .when(is_relocatable, &["-rdc=true"])
            .all(self.targets.iter().flat_map(gencode))
            .when(ccbin.takes_gnu_options(), &["-Xcompiler", "-fPIC"])
            .line(&before)
            .all(self.nvcc_args(nvcc, ccbin, source, &mut compilation))
            .done();
        let step = Step::new(StepKind::Nvcc, &nvcc.path, compile).env(&nvcc_env(ccbin, self.cargo));
        compilation.last(step.depfile(self.work("d"), DepfileBy::Driver));
        compilation
    }

    /// Returns the options from build.rs and nvcc's variables.
    #[inline]
    fn nvcc_options(&self, source: &PlannedSource) -> Vec<String> {
        let given = self.source_args(source);
        let mut options = Vec::new();
        for arg in given {
            options.push(arg.to_string_lossy().into_owned());
        }
        for flags in NvccFlags::set(self.cargo) {
            for word in flags.others.split(' ') {
                options.push(word.to_owned());
            }
        }
        options
    }
}

impl NvccPart {
    /// Whether a file that nvcc read depends on the list of targets.
    pub(super) fn depends_on_list(&self, file: &Path, seen: &Seen) -> bool {
        file != self.header && seen.has_word(file, ARCH_LIST)
    }

    fn text(&self) -> String {
        let Self { symbol, list, .. } = self;
        format!(
            "extern \"C\" {{\nextern const char {symbol};\n\
             __attribute__((visibility(\"hidden\"))) const char {symbol} = 0;\n}}\n\
             #undef {ARCH_LIST}\n#define {ARCH_LIST} {list}\n"
        )
    }

    /// Completes the object or the fat binary at `image` after nvcc wrote it.
    #[inline]
    pub(crate) fn finish(&self, image: &Path) -> Result<(), Error> {
        let folder = &self.folder;
        // Without a `.module_id` file, the ID is unknown, and counts as different from all other
        // IDs.
        let mut id = Vec::new();
        for name in files::entries(folder) {
            if name.ends_with(".module_id") {
                id.append(&mut fs::read(folder.join(name)).unwrap_or_default());
            }
        }
        write_if_changed(&self.id, &id)?;
        fs::remove_dir_all(folder)
            .map_err(|error| Error::io("remove the folder", folder, error))?;
        if self.makes == Makes::Object {
            // One program may contain two versions of a package, so weaken the symbol that both
            // define.
            let mut bytes = files::read(image)?;
            if weaken(&mut bytes, &self.symbol).is_some() {
                write_if_changed(image, &bytes)?;
            }
        }
        Ok(())
    }

    /// Returns the ID of the source, or `None` if it is unknown.
    #[inline]
    fn id(&self) -> Option<Vec<u8>> {
        fs::read(&self.id).ok().filter(|id| !id.is_empty())
    }
}

/// Joins the outputs of these compilations into one object for all targets. The first output must
/// be an object. Returns `None` if the source's ID differs between the compilations, or if nvcc's
/// output has an unknown form.
#[inline]
pub(crate) fn join(compilations: &[&Compilation]) -> Result<Option<Vec<u8>>, Error> {
    let mut all = Vec::new();
    for Compilation { image, .. } in compilations {
        all.push(files::read(image)?);
    }
    let id = |it: &Compilation| it.part.as_ref()?.id();
    let first = compilations.first().and_then(|it| id(it));
    let agree = first.is_some() && compilations.iter().all(|it| id(it) == first);
    Ok(agree.then(|| join_files(&all)).flatten())
}

#[inline]
fn join_files(files: &[Vec<u8>]) -> Option<Vec<u8>> {
    let mut fatbins = Vec::new();
    for file in files {
        fatbins.push(fatbin(file)?);
    }
    let (object, joined) = (files.first()?, nv_fatbin::join(&fatbins));
    let section = section(object)?;
    section.with_contents(object, &joined)
}

/// Names the linked images in an object after their sources. In a link with debug information, nvcc
/// names the images after the paths of all objects.
#[inline]
pub(crate) fn name_images(object: &Path, sources: &str) -> io::Result<()> {
    let mut bytes = fs::read(object)?;
    let Some(section) = section(&bytes) else { return Ok(()) };
    nv_fatbin::rename(&mut bytes[section.range], sources);
    fs::write(object, bytes)
}

/// Returns the fat binary in a file, which is an object or the fat binary itself.
#[inline]
fn fatbin(file: &[u8]) -> Option<NvFatbin<'_>> {
    let range = section(file).map_or(0..file.len(), |section| section.range);
    let bytes = file.get(range)?;
    let fatbin = NvFatbin::parse(bytes).ok()?;
    (fatbin.size() == bytes.len() as u64).then_some(fatbin)
}

/// Returns the section with an object's fat binary, or `None` if there is not exactly one.
#[inline]
fn section(object: &[u8]) -> Option<ElfSection> {
    let mut sections = ElfSection::all(object)?;
    let names = [SectionNames::NV_FATBIN.name, SectionNames::NV_RELFATBIN.name];
    sections.retain(|it| names.contains(&&*it.name) && !it.range.is_empty());
    let only = sections.pop()?;
    sections.is_empty().then_some(only)
}

/// Returns the value of [`ARCH_LIST`] in an nvcc call for these targets, such as `800,900`.
#[inline]
fn arch_list(targets: &[Target]) -> String {
    let mut numbers: Vec<u32> = Vec::new();
    for target in targets {
        if let Some(arch) = target.arch().nvidia() {
            let number = arch.number() * 10;
            if let Err(place) = numbers.binary_search(&number) {
                numbers.insert(place, number);
            }
        }
    }
    let mut list = String::new();
    for number in numbers {
        let comma = if list.is_empty() { "" } else { "," };
        list += &format!("{comma}{number}");
    }
    list
}
