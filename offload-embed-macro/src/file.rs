//! A file that is embedded by its path: where it is, and what is in it.

#[cfg(not(feature = "containers"))]
mod absent;
#[cfg(feature = "containers")]
mod containers;

#[cfg(not(feature = "containers"))]
use absent as containers;

use crate::error::Error;
use offload_format::bundle::{self, Bundle};
use offload_format::host_object::{DeviceSection, SectionNames};
use offload_format::image::{Image, Kernels};
use offload_format::offload_binary::{self, OffloadBinaries};
use offload_format::pack_index::{IndexImage, IndexModule};
use offload_format::pack_index::{Origin, PackImageKind};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// What is known of the file.
pub(crate) struct File {
    pub(crate) path: PathBuf,
    /// The file's name without its extension.
    pub(crate) name: String,
    pub(crate) size: u64,
    pub(crate) kind: FileKind,
    pub(crate) modules: Vec<IndexModule>,
    /// Why its images are not known.
    pub(crate) closed: Option<&'static str>,
}

/// What the file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// Offload bundles, compressed or not.
    Bundles,
    /// Offload binaries.
    OffloadBinaries,
    /// NVIDIA's fatbins.
    Fatbins,
    /// A code object or cubin.
    Image,
    /// PTX.
    Ptx,
}

impl FileKind {
    /// The section where tools look for it.
    pub(crate) fn section(self) -> Option<SectionNames> {
        match self {
            FileKind::Bundles => Some(DeviceSection::HipFatbin.names()),
            FileKind::OffloadBinaries => Some(DeviceSection::LlvmOffloading.names()),
            FileKind::Fatbins => Some(SectionNames::NV_FATBIN),
            FileKind::Image | FileKind::Ptx => None,
        }
    }

    /// The alignment in bytes that it has without a word from the user.
    pub(crate) fn align(self) -> u64 {
        match self {
            FileKind::Bundles => DeviceSection::HipFatbin.align(),
            // AMD's code objects are mapped in pages by some runtimes.
            FileKind::Image => bundle::HIP_ALIGN,
            FileKind::OffloadBinaries | FileKind::Fatbins | FileKind::Ptx => offload_binary::ALIGN,
        }
    }

    /// In messages.
    pub(crate) fn words(self) -> &'static str {
        match self {
            FileKind::Bundles => "an offload bundle",
            FileKind::OffloadBinaries => "an offload binary",
            FileKind::Fatbins => "a fatbin",
            FileKind::Image => "an image without a container",
            FileKind::Ptx => "PTX",
        }
    }
}

/// What compiles, and is not embedded as it is.
pub(crate) const SOURCES: [&str; 9] = ["cu", "hip", "cl", "c", "cpp", "cc", "ll", "s", "rs"];

/// Reads the file at `path`, as the user wrote it in this source file. `for_linkers` says whether what only linkers can use
/// is enough.
pub(crate) fn read(path: &str, source: Option<PathBuf>, for_linkers: bool) -> Result<File, Error> {
    if path.is_empty() {
        return Err(Error::NoPath);
    }
    let (path, hint) = place(path, source)?;
    let extension = path.extension().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    let is_source = SOURCES.contains(&extension.as_str());
    let bytes = match fs::read(&path) {
        // PTX is called `.s` by clang.
        Ok(bytes) if is_source && !matches!(Image::parse(&bytes), Ok(Image::Ptx(_))) => {
            return Err(Error::Source(path));
        }
        Ok(bytes) => bytes,
        Err(_) if is_source => return Err(Error::Source(path)),
        Err(error) => {
            let others = path.parent().map(files_in).unwrap_or_default();
            return Err(Error::File { path, error, others, hint });
        }
    };
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut parts = Parts { name: &name, modules: Vec::new(), left_out: Vec::new(), closed: None };
    let kind = parts.walk(&bytes).map_err(|what| Error::Content { path: path.clone(), what })?;
    let Parts { modules, left_out, closed, .. } = parts;
    if closed.is_none() && !for_linkers && modules.iter().all(|module| module.images.is_empty()) {
        return Err(Error::NoImage { path, left_out });
    }
    Ok(File { size: bytes.len() as u64, path, name, kind, modules, closed })
}

/// Beside the source file that calls the macro, absolute, or in a folder that Cargo names; and what to tell a user of
/// such a path if no file is there.
fn place(path: &str, source: Option<PathBuf>) -> Result<(PathBuf, &'static str), Error> {
    if let Some(rest) = path.strip_prefix('$') {
        let (name, rest) = rest.split_once('/').unwrap_or((rest, ""));
        let folder = ["OUT_DIR", "CARGO_MANIFEST_DIR"].into_iter().find(|it| *it == name);
        let folder = folder.and_then(env::var_os).ok_or_else(|| Error::Variable(name.to_owned()))?;
        let hint = match name {
            "OUT_DIR" => "; build.rs, or what it calls, has to make it",
            _ => "",
        };
        return Ok((Path::new(&folder).join(rest), hint));
    }
    if Path::new(path).is_absolute() {
        return Ok((path.into(), ""));
    }
    let source = source.filter(|source| !source.as_os_str().is_empty()).ok_or(Error::NoSourceFile)?;
    let beside = source.parent().unwrap_or(Path::new("")).join(path);
    // Compilers name sources from where they run.
    let path = env::current_dir().map_or(beside.clone(), |here| here.join(beside));
    Ok((path, "; paths are relative to the source file that this stands in"))
}

fn files_in(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let files = files.filter(|path| path.is_file() && path.extension().is_none_or(|it| it != "rs"));
    let mut names: Vec<String> =
        files.filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())).collect();
    names.sort_unstable();
    names
}

/// What is found in a file.
struct Parts<'a> {
    name: &'a str,
    modules: Vec<IndexModule>,
    /// What no driver loads, in words.
    left_out: Vec<String>,
    closed: Option<&'static str>,
}

const COMPRESSED: &str = "the file is compressed, and nothing of it is read when the program is compiled: \
                          PACK.bytes() has it whole";
const FATBIN: &str = "the file is a fatbin, of which the CUDA driver chooses: PACK.bytes() has it whole";

impl Parts<'_> {
    fn walk(&mut self, bytes: &[u8]) -> Result<FileKind, String> {
        let as_text = |error: offload_format::Error| format!("is damaged: {error}");
        if bytes.is_empty() {
            return Err("is empty: what makes it has to run before".to_owned());
        }
        if bytes.starts_with(bundle::MAGIC) || bytes.starts_with(&bundle::COMPRESSED_MAGIC) {
            self.bundles(bytes)?;
            return Ok(FileKind::Bundles);
        }
        if bytes.starts_with(&offload_binary::MAGIC) {
            for found in OffloadBinaries::new(bytes) {
                let (at, binary) = found.map_err(as_text)?;
                if binary.compressed().is_some() {
                    self.closed = Some(COMPRESSED);
                }
                for image in binary.images() {
                    let module = image.string("module").unwrap_or(self.name).to_owned();
                    let module = self.module(&module, None);
                    self.image(module, bytes, at + image.offset(), image.data(), image.triple(), image.arch())?;
                }
            }
            self.close();
            return Ok(FileKind::OffloadBinaries);
        }
        if Image::parse(bytes) == Ok(Image::Fatbin) {
            containers::check_fatbins(bytes)?;
            self.closed = Some(FATBIN);
            self.close();
            return Ok(FileKind::Fatbins);
        }
        let name = self.name.to_owned();
        let module = self.module(&name, None);
        match Image::parse(bytes) {
            Ok(Image::CodeObject(_) | Image::Cubin(_)) => {
                self.image(module, bytes, 0, bytes, None, None)?;
                Ok(FileKind::Image)
            }
            Ok(Image::Ptx(_)) => {
                // A NUL is put behind it.
                self.image(module, &[bytes, b"\0"].concat(), 0, bytes, None, None)?;
                Ok(FileKind::Ptx)
            }
            Ok(Image::Bitcode) => {
                Err("is LLVM bitcode, which no driver loads: a build script compiles it, .file(\"...\")".to_owned())
            }
            Ok(Image::Elf { .. }) => Err("is an ELF file for a CPU: `offload extract` takes device code out of one".to_owned()),
            Ok(Image::SpirV { .. }) => Err("is SPIR-V, which include_offload! does not embed".to_owned()),
            _ if bytes.starts_with(b"!<arch>\n") || bytes.starts_with(b"!<thin>\n") => {
                Err("is an archive: `offload extract` takes device code out of one".to_owned())
            }
            Ok(_) => Err("is of a kind that include_offload! does not embed".to_owned()),
            Err(error) if matches!(error.kind(), offload_format::ErrorKind::BadMagic) => Err(
                "is of no kind that can be embedded: there are offload bundles, compressed ones too, offload binaries, \
                 fatbins, AMD code objects, cubins and PTX"
                    .to_owned(),
            ),
            Err(error) => Err(as_text(error)),
        }
    }

    fn bundles(&mut self, bytes: &[u8]) -> Result<(), String> {
        let found = containers::bundles(bytes)?;
        let count = found.len();
        for (number, (at, bundle)) in found.into_iter().enumerate() {
            let name = if count == 1 { self.name.to_owned() } else { format!("{}.{number}", self.name) };
            let module = self.module(&name, Some(at));
            match bundle {
                Some(bundle) => self.entries(module, bytes, at, &bundle)?,
                None => self.closed = Some(COMPRESSED),
            }
        }
        self.close();
        Ok(())
    }

    fn entries(&mut self, module: usize, file: &[u8], at: u64, bundle: &Bundle<'_>) -> Result<(), String> {
        for entry in bundle.entries() {
            let id = entry.id().ok();
            if id.is_none_or(|id| !id.is_host()) {
                let arch = id.map(|id| id.target());
                self.image(module, file, at + entry.offset(), entry.code_object(), None, arch)?;
            }
        }
        Ok(())
    }

    /// Where one container is not known, none is.
    fn close(&mut self) {
        if self.closed.is_some() {
            self.modules.iter_mut().for_each(|module| module.images.clear());
        }
        if self.modules.is_empty() {
            self.modules.push(IndexModule {
                name: self.name.to_owned(),
                bundle: None,
                stream: None,
                images: Vec::new(),
            });
        }
    }

    /// The number of the module of this name.
    fn module(&mut self, name: &str, bundle: Option<u64>) -> usize {
        let found = self.modules.iter().position(|module| module.name == name);
        found.unwrap_or_else(|| {
            self.modules.push(IndexModule { name: name.to_owned(), bundle, stream: None, images: Vec::new() });
            self.modules.len() - 1
        })
    }

    /// Takes up one image, which lies at `offset` in `file`. `triple` and `arch` are what the container says of it.
    fn image(
        &mut self,
        module: usize,
        file: &[u8],
        offset: u64,
        data: &[u8],
        triple: Option<&str>,
        arch: Option<&str>,
    ) -> Result<(), String> {
        let named = || arch.filter(|arch| !arch.is_empty()).map(str::to_owned);
        const ET_REL: [u8; 2] = [1, 0];
        let (target, kind) = match Image::parse(data) {
            Ok(Image::CodeObject(_) | Image::Cubin(_)) if data.get(16..18) == Some(&ET_REL) => {
                self.left_out.push(format!("an object for {} that is not linked", arch.unwrap_or("a GPU")));
                return Ok(());
            }
            Ok(Image::CodeObject(header)) => {
                let kind = PackImageKind::CodeObject { version: header.version() };
                (header.target_id().or_else(named), kind)
            }
            Ok(Image::Cubin(header)) => {
                // The header does not say whether a letter follows.
                let plain = format!("sm_{}", header.number());
                let named = named().filter(|arch| arch.starts_with(&plain));
                (Some(named.unwrap_or(plain)), PackImageKind::Cubin)
            }
            Ok(Image::Ptx(header)) => {
                let end = (offset as usize).saturating_add(data.len());
                if data.last() != Some(&0) && file.get(end) != Some(&0) {
                    return Err(format!(
                        "has PTX for {} at offset {offset} without the NUL behind it that drivers need: a build script mends \
                         that, .file(\"...\"), and so does embedding the PTX as a file of its own",
                        header.arch()
                    ));
                }
                (Some(header.arch().to_string()), PackImageKind::Ptx { version: header.version() })
            }
            Ok(Image::Elf { .. }) if triple.is_some_and(|triple| !triple.is_empty()) => {
                let triple = triple.unwrap_or_default().to_owned();
                (Some("cpu".to_owned()), PackImageKind::SharedObject { triple })
            }
            _ if data.is_empty() => return Ok(()),
            Ok(other) => {
                let what = match other {
                    Image::Fatbin => "a fatbin",
                    Image::Bitcode => "LLVM bitcode",
                    Image::SpirV { .. } => "SPIR-V",
                    _ => "a file for a CPU",
                };
                self.left_out.push(format!("{what} for {}", arch.unwrap_or("a target that is not named")));
                return Ok(());
            }
            Err(_) => {
                self.left_out.push(format!("something unknown for {}", arch.unwrap_or("a target that is not named")));
                return Ok(());
            }
        };
        let Some(target) = target else {
            self.left_out.push("a code object for a processor that is not known".to_owned());
            return Ok(());
        };
        if !matches!(kind, PackImageKind::Ptx { .. }) && !offset.is_multiple_of(offload_binary::ALIGN) {
            let remedy = match file.starts_with(&offload_binary::MAGIC) {
                true => "a build script mends that, .file(\"...\")",
                false => "clang-offload-bundler's -bundle-align=4096 sees to that",
            };
            return Err(format!(
                "has the image for {target} at offset {offset}, which is no multiple of 8, as drivers need it: {remedy}"
            ));
        }
        let kernels = match kind {
            PackImageKind::SharedObject { .. } => None,
            _ => Kernels::parse(data).ok().map(|kernels| {
                let mut names: Vec<String> = kernels.map(|kernel| kernel.name.to_owned()).collect();
                names.sort_unstable();
                names.dedup();
                names
            }),
        };
        // The NUL behind PTX may be in it, and is no part of the image: a pack may end with it.
        let ends_with_nul = matches!(kind, PackImageKind::Ptx { .. }) && data.last() == Some(&0);
        let size = data.len() as u64 - u64::from(ends_with_nul);
        let image = IndexImage { target, offset, size, origin: Origin::Supplied, kind, kernels };
        self.modules[module].images.push(image);
        Ok(())
    }
}
