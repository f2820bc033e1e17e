//! Examines images: checks that each is for the requested target, and reads the facts that programs
//! need.

use crate::targets::Target;
use crate::toolchain::{Cargo, ContentHash, Error, ErrorKind, files};
use offload_format::image::{Kernels, PtxHeader, oldest_ptx_version, pack_kind_for, unique_symbol};
use offload_format::offload_binary;
use offload_pack::pack_index::{IndexImage, IndexKernel, Origin, PackImageKind};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// An image in a file, with the contents of its header.
#[derive(Debug, Clone)]
pub(crate) struct Image {
    pub(crate) target: Target,
    pub(crate) path: PathBuf,
    pub(crate) size: u64,
    /// The hash of the image's bytes.
    pub(crate) hash: ContentHash,
    pub(crate) kind: PackImageKind<String>,
    pub(crate) origin: Origin,
}

pub(crate) fn kernels(path: &Path) -> Result<Vec<String>, Error> {
    with_kernels(path, |kernels| kernels.map(|kernel| kernel.name.to_owned()).collect())
}

/// Returns the kernels in a GPU image, in alphabetical order.
pub(crate) fn read_kernels(path: &Path) -> Result<Vec<IndexKernel>, Error> {
    with_kernels(path, |kernels| IndexKernel::in_order(kernels))
}

fn with_kernels<T>(path: &Path, take: impl FnOnce(Kernels<'_>) -> T) -> Result<T, Error> {
    let bytes = files::read(path)?;
    let kernels = Kernels::parse(&bytes).map_err(|error| {
        Error::new(
            ErrorKind::ToolFailed,
            format!("the kernels of {} cannot be read: {error}", path.display()),
        )
    })?;
    Ok(take(kernels))
}

/// Variables from which compilers directly read flags that may name GPUs.
const FLAG_VARIABLES: [&str; 4] = [
    "NVCC_PREPEND_FLAGS",
    "NVCC_APPEND_FLAGS",
    "CCC_OVERRIDE_OPTIONS",
    "HIPCC_COMPILE_FLAGS_APPEND",
];

/// Returns the error about images for targets that were not requested. The error names possible
/// causes.
pub(crate) fn not_asked_for(what: &str, cargo: &Cargo) -> Error {
    let set = FLAG_VARIABLES.iter().filter_map(|name| Some((name, cargo.user_var(name)?)));
    let set: Vec<String> = set.map(|(name, value)| format!("{name}={value}, ")).collect();
    let message = format!(
        "{what}\nOnly build.rs and OFFLOAD_ARCH set the targets of a build, but something else \
         changed these targets. Possible causes are {}a wrapper around the compiler, or the \
         compiler's configuration file (nvcc.profile). Remove the option that changes the targets, \
         or list its targets: .archs([...])",
        set.concat()
    );
    Error::new(ErrorKind::ToolFailed, message)
}

/// How many bytes to read from an image. The headers and PTX's first directives need fewer.
const HEADER_SIZE: u64 = 4096;

/// Reads the header of the image at `path`, and returns the image's kind and its size in bytes.
///
/// Returns an error if the image is for a target other than `target`.
pub(crate) fn read_header(
    target: &Target,
    path: &Path,
    origin: Origin,
    cargo: &Cargo,
) -> Result<(PackImageKind<String>, u64), Error> {
    let mut head = Vec::new();
    let size = File::open(path).and_then(|file| {
        let size = file.metadata()?.len();
        file.take(HEADER_SIZE).read_to_end(&mut head)?;
        Ok(size)
    });
    let size = size.map_err(|error| Error::io("read the image", path, error))?;
    let kind = pack_kind_for(&target.arch(), &head, cargo.target.clone()).map_err(|what| {
        let message = format!("the image {} is not for {target}: {what}", path.display());
        match origin {
            Origin::Compiled => not_asked_for(&message, cargo),
            _ => Error::new(ErrorKind::ToolFailed, message),
        }
    })?;
    Ok((kind, size))
}

impl Image {
    /// Reads the header of the image at `path`, whose bytes have this hash.
    ///
    /// Returns an error if the image is for a target other than `target`.
    pub(crate) fn open(
        target: &Target,
        path: &Path,
        hash: ContentHash,
        origin: Origin,
        cargo: &Cargo,
    ) -> Result<Self, Error> {
        let (kind, size) = read_header(target, path, origin, cargo)?;
        if kind.is_ptx() {
            let bytes = files::read(path)?;
            let text = String::from_utf8_lossy(&bytes);
            let open = undefined(&text);
            if !open.is_empty() {
                let message = format!(
                    "the kernels for {target} call functions that no source defines: {}",
                    open.join(", ")
                );
                return Err(Error::new(ErrorKind::ToolFailed, message));
            }
        }
        if !target.is_gpu() {
            let bytes = files::read(path)?;
            // Leave files that cannot be parsed to the system's loader.
            if let Ok(Some(symbol)) = unique_symbol(&bytes) {
                let message = format!(
                    "the image {} cannot be loaded beside other images, because all images of a \
                     program would share the symbol {} (STB_GNU_UNIQUE). Remove -fgnu-unique from \
                     the flags, or add -fno-gnu-unique",
                    path.display(),
                    String::from_utf8_lossy(symbol).escape_debug(),
                );
                return Err(Error::new(ErrorKind::ToolFailed, message));
            }
        }
        Ok(Self { target: target.clone(), path: path.to_owned(), size, hash, kind, origin })
    }

    /// Returns the index entry for the image at this offset, without kernels.
    pub(crate) fn at(&self, offset: u64) -> IndexImage {
        IndexImage {
            target: self.target.to_string(),
            offset,
            size: self.size,
            origin: self.origin,
            kind: self.kind.clone(),
            kernels: None,
        }
    }

    /// Lowers the version of the PTX file at `path` to the oldest one that supports all of the
    /// file's instructions. If that version is unknown, changes nothing and returns the reason.
    pub(crate) fn lower_ptx(path: &Path) -> Result<Option<String>, Error> {
        let mut text = files::read(path)?;
        // `open` reports an error in the header.
        let Ok(header) = PtxHeader::parse(&text) else { return Ok(None) };
        let oldest = match oldest_ptx_version(&text) {
            Ok(oldest) => oldest,
            Err(unknown) => {
                let version = header.version;
                let why = format!(
                    "the PTX keeps version {version}, because offload-build does not know which \
                     PTX version introduced {unknown}"
                );
                return Ok(Some(why));
            }
        };
        if oldest < header.version {
            text.splice(header.version_range(), oldest.to_string().into_bytes());
            files::write_if_changed(path, &text)?;
        }
        Ok(None)
    }

    /// Appends a line feed to the image file at `path` if a pack requires one.
    pub(crate) fn seal(path: &Path) -> Result<(), Error> {
        let sealed = fs::metadata(path).and_then(|metadata| {
            if needs_line_feed(path, metadata.len()) {
                File::options().append(true).open(path)?.write_all(b"\n")
            } else {
                Ok(())
            }
        });
        sealed.map_err(|error| Error::io("finish writing", path, error))
    }

    /// Appends a line feed to the bytes of an image that will be written to `path` if a pack
    /// requires one.
    pub(crate) fn seal_bytes(path: &Path, bytes: &mut Vec<u8>) {
        if needs_line_feed(path, bytes.len() as u64) {
            bytes.push(b'\n');
        }
    }
}

/// Whether an image needs an additional line feed at its end. Drivers read PTX as text up to a NUL,
/// and an offload binary pads each image with zeros to a multiple of 8 bytes. A PTX text whose size
/// already is such a multiple gets a line feed, so that a NUL follows every text.
fn needs_line_feed(path: &Path, size: u64) -> bool {
    path.extension().is_some_and(|extension| extension == "ptx")
        && size.is_multiple_of(offload_binary::ALIGN)
}

/// Returns the functions that a PTX text declares but does not define, except those of CUDA's
/// device runtime. There is no linker for PTX that could add them.
fn undefined(ptx: &str) -> Vec<&str> {
    const SYSTEM: [&str; 4] = ["vprintf", "malloc", "free", "__assertfail"];
    const FUNCTION: &str = ".extern .func";
    let (mut names, mut last) = (Vec::new(), 0);
    for (at, _) in ptx.match_indices(FUNCTION) {
        // If no line has ended since the last match, that match is on the same line.
        let start = last + ptx[last..at].rfind('\n').map_or(0, |end| end + 1);
        last = at;
        if !ptx[start..at].trim_start().is_empty() {
            continue;
        }
        let mut rest = ptx[at + FUNCTION.len()..].lines().next().unwrap_or_default().trim_start();
        if rest.starts_with('(') {
            let Some((_, behind)) = rest.split_once(')') else { continue };
            rest = behind.trim_start();
        }
        // The function's parameters may be on the same line.
        let end = rest.find(|c: char| c.is_whitespace() || c == '(' || c == ';');
        let name = &rest[..end.unwrap_or(rest.len())];
        if !SYSTEM.contains(&name) && !name.starts_with("cuda") {
            names.push(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::undefined;

    #[test]
    fn functions_that_are_left_to_a_linker() {
        // The declarations span several lines, as clang writes them, or are on one line.
        let declared = ".extern .func  (.param .b32 func_retval0) vprintf\n(\n\t.param .b64 vprintf_param_0\n);\n\
                        .extern .func other (.param .b64 a);\n.extern .func third;\n.extern .func cudaGetDevice(\n// .extern .func comment;\n\
                        .extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n.extern .func \t last";
        assert_eq!(undefined(declared), ["other", "third", "last"]);
    }
}
