//! The index of a pack: what the build script knows of it, for the macro that embeds it. A text file in `OUT_DIR`:
//!
//! ```text
//! offload-pack 6
//! name saxpy
//! library offload_saxpy_90f2c1…
//! library-size 36264
//! library-offset 232
//! symbol offload_pack_90f2c1…
//! section .llvm.offloading
//! size 31744
//! module saxpy
//! image gfx90a 208 5376 compiled code-object 6
//! kernel saxpy
//! arguments 0+4 4+4 8+8:pointer 16+8:pointer
//! image sm_80 5888 3432 prebuilt cubin
//! kernel saxpy
//! arguments 0+4 4+4 8+8 16+8
//! image compute_80 9536 1177 compiled ptx 7.0
//! kernel saxpy
//! arguments 0+4 4+4:float 8+8 16+8
//! image cpu 10960 15608 compiled shared-object x86_64-unknown-linux-gnu
//! kernels unknown
//! ```
//!
//! The images of a module follow its `module` line; in a pack of bundles, `bundle` and the offset of the module's own in
//! bytes stands before them. In a compressed pack, `stream` stands there too: offset and size in bytes of the module's stream, size
//! of what comes out of it, and `zstd` or `zlib`; the offsets of its images are those in what comes out. An `image` line has the target, offset and size in bytes in the pack,
//! the origin, the kind and what belongs to it; the names of its kernels follow, or that they are not known. In a kernel's name, a
//! backslash, TAB and line ends are `\\`, `\t`, `\n` and `\r`. Behind a kernel's name stand offset and size in bytes of each
//! argument, if the image records them, with what it says of its type. Behind the images of a module stands what is known of its
//! kernels' parameters, as [`Signatures`] writes it.
//! A pack that was not built has `absent` and the reason after `name`, `compressed` if it would be, then its modules without images.

mod image;
mod kernel;

pub use image::{Origin, PackImageKind};
pub use kernel::{ArgumentKind, IndexArgument, IndexKernel};

use crate::compression::Method;
use crate::host_object::{DeviceSection, ObjectFormat};
use crate::signature::Signatures;
use crate::target::PtxVersion;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

const KERNELS_UNKNOWN: &str = "kernels unknown";
const COMPRESSED: &str = "compressed";
/// The version of this file: build script, macro and `offload` have to agree on it.
const VERSION: u32 = 6;
const FIRST_WORD: &str = "offload-pack ";

/// A pack's index, for a pack that was built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackIndex {
    /// Name of the pack.
    pub name: String,
    /// The static library that holds it, without `lib` and `.a`.
    pub library: String,
    /// Size of the library in bytes.
    pub library_size: u64,
    /// Offset in bytes of the pack from the start of the library.
    pub library_offset: u64,
    /// The symbol that covers it.
    pub symbol: String,
    /// The section that it is linked into.
    pub section: DeviceSection,
    /// Size of the pack in bytes.
    pub size: u64,
    /// The modules, in file order.
    pub modules: Vec<IndexModule>,
}

impl PackIndex {
    /// The images of all modules, in file order.
    pub fn images(&self) -> impl Iterator<Item = &IndexImage> {
        self.modules.iter().flat_map(|module| &module.images)
    }

    /// Whether the pack is compressed.
    pub fn is_compressed(&self) -> bool {
        self.modules.iter().any(|module| module.stream.is_some())
    }
}

/// One module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexModule {
    /// Its name.
    pub name: String,
    /// Offset in bytes of its bundle from the start of the pack, if the pack is of bundles and this one has any image.
    pub bundle: Option<u64>,
    /// Where it lies, if the pack is compressed.
    pub stream: Option<IndexStream>,
    /// Its images, in file order.
    pub images: Vec<IndexImage>,
    /// What launches of its kernels pass, as far as a source tells.
    pub signatures: Signatures,
}

impl IndexModule {
    /// Makes a module without images.
    pub fn new(name: String) -> Self {
        Self { name, bundle: None, stream: None, images: Vec::new(), signatures: Signatures::default() }
    }
}

/// The compressed content of a module. Sizes and offset are in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexStream {
    /// Offset from the start of the pack.
    pub offset: u64,
    /// Size.
    pub size: u64,
    /// Size of what comes out.
    pub inflated_size: u64,
    /// The method.
    pub method: Method,
}

/// One image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexImage {
    /// Canonical name of the target.
    pub target: String,
    /// Offset in bytes from the start of the pack; in a compressed one, in what comes out of the module's stream.
    pub offset: u64,
    /// Size in bytes.
    pub size: u64,
    /// Where it came from.
    pub origin: Origin,
    /// What it is.
    pub kind: PackImageKind<String>,
    /// Its kernels in alphabetical order; `None` if they are not known.
    pub kernels: Option<Vec<IndexKernel>>,
}

impl IndexImage {
    /// The kernel of this name, if it is known to have it.
    pub fn kernel(&self, name: &str) -> Option<&IndexKernel> {
        let kernels = self.kernels.as_deref()?;
        let at = kernels.binary_search_by(|kernel| kernel.name.as_str().cmp(name)).ok()?;
        Some(&kernels[at])
    }
}

/// What an index file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Index {
    /// The pack was built.
    Built(PackIndex),
    /// It was not.
    Absent {
        /// Name of the pack.
        name: String,
        /// Why not.
        why: String,
        /// Whether build.rs asks for a compressed pack.
        compressed: bool,
        /// The modules that it would have, without images.
        modules: Vec<IndexModule>,
    },
}

/// Why an index cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum IndexError {
    /// A line is malformed.
    Line {
        /// Its number, from 1.
        number: usize,
        /// The line.
        text: String,
    },
    /// The index is of another version than this crate reads.
    Version {
        /// The version, as the index has it.
        found: String,
    },
}

impl fmt::Display for IndexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IndexError::Line { number, text } => {
                write!(f, "line {number} of the pack's index is not understood: '{text}'")
            }
            IndexError::Version { found } => write!(
                f,
                "the pack's index is of version {found}, and this version of offload reads version {VERSION}: `cargo update -p \
                 offload -p offload-build` brings the two to one version"
            ),
        }
    }
}

impl core::error::Error for IndexError {}

impl Index {
    /// Whether the pack is compressed, or would be.
    pub fn is_compressed(&self) -> bool {
        match self {
            Index::Built(pack) => pack.is_compressed(),
            Index::Absent { compressed, .. } => *compressed,
        }
    }

    /// Reads an index.
    ///
    /// Returns an error that names the first line which is not understood, or the line behind the last one if something
    /// is missing.
    pub fn parse(text: &str) -> Result<Self, IndexError> {
        let mut parser = Parser { lines: text.lines(), number: 0, text: "" };
        let first = parser.line().and_then(|line| line.strip_prefix(FIRST_WORD)).ok_or_else(|| parser.error())?;
        if first.parse() != Ok(VERSION) {
            return Err(IndexError::Version { found: first.to_string() });
        }
        let name = parser.field("name")?;
        parser.line();
        if let Some(why) = parser.text.strip_prefix("absent ") {
            let why = why.to_string();
            let (mut compressed, mut modules) = (false, Vec::new());
            while parser.line().is_some() {
                if parser.text == COMPRESSED && !compressed && modules.is_empty() {
                    compressed = true;
                } else if !parser.read_of_module(&mut modules)? {
                    return Err(parser.error());
                }
            }
            return Ok(Index::Absent { name, why, compressed, modules });
        }
        let library = parser.this_field("library")?;
        let library_size = parser.number("library-size")?;
        let library_offset = parser.number("library-offset")?;
        let symbol = parser.field("symbol")?;
        let section = parser.field("section")?;
        let section = DeviceSection::from_names(ObjectFormat::Elf, "", &section);
        let section = section.ok_or_else(|| parser.error())?;
        let size = parser.number("size")?;
        let mut modules: Vec<IndexModule> = Vec::new();
        while parser.line().is_some() {
            if parser.read_of_module(&mut modules)? {
                continue;
            }
            if let Ok(offset) = parser.this_field("bundle") {
                let offset = offset.parse().ok().filter(|offset| *offset < size);
                let module = modules.last_mut().filter(|module| module.images.is_empty() && module.bundle.is_none());
                let (module, offset) = module.zip(offset).ok_or_else(|| parser.error())?;
                module.bundle = Some(offset);
                continue;
            }
            if let Ok(stream) = parser.this_field("stream") {
                let stream = parse_stream(&stream).filter(|it| it.offset.saturating_add(it.size) <= size);
                let module = modules.last_mut().filter(|module| module.images.is_empty() && module.stream.is_none());
                let (module, stream) = module.zip(stream).ok_or_else(|| parser.error())?;
                module.stream = Some(stream);
                continue;
            }
            let (word, rest) = parser.text.split_once(' ').unwrap_or((parser.text, ""));
            if let "kernel" | "arguments" | "kernels" = word {
                let image = modules.last_mut().and_then(|module| module.images.last_mut());
                let image = image.ok_or_else(|| parser.error())?;
                let read = match &mut image.kernels {
                    // That they are not known stands alone.
                    Some(kernels) if kernels.is_empty() && parser.text == KERNELS_UNKNOWN => {
                        image.kernels = None;
                        Some(())
                    }
                    Some(kernels) => IndexKernel::read_line(kernels, word, rest),
                    None => None,
                };
                read.ok_or_else(|| parser.error())?;
                continue;
            }
            let inside = modules.last().and_then(|module| module.stream).map_or(size, |stream| stream.inflated_size);
            let image = parse_image(parser.text).filter(|image| image.offset.saturating_add(image.size) <= inside);
            let (module, image) = modules.last_mut().zip(image).ok_or_else(|| parser.error())?;
            module.images.push(image);
        }
        Ok(Index::Built(PackIndex { name, library, library_size, library_offset, symbol, section, size, modules }))
    }
}

struct Parser<'a> {
    lines: core::str::Lines<'a>,
    number: usize,
    text: &'a str,
}

impl<'a> Parser<'a> {
    fn line(&mut self) -> Option<&'a str> {
        self.number += 1;
        let line = self.lines.next();
        self.text = line.unwrap_or("");
        line
    }

    fn field(&mut self, key: &str) -> Result<String, IndexError> {
        self.line();
        self.this_field(key)
    }

    fn number(&mut self, key: &str) -> Result<u64, IndexError> {
        self.field(key)?.parse().map_err(|_| self.error())
    }

    fn this_field(&mut self, key: &str) -> Result<String, IndexError> {
        let value = self.text.strip_prefix(key).and_then(|rest| rest.strip_prefix(' '));
        value.map(ToString::to_string).ok_or_else(|| self.error())
    }

    /// Reads a line of a module that has nothing to do with images. Returns whether this one is.
    fn read_of_module(&mut self, modules: &mut Vec<IndexModule>) -> Result<bool, IndexError> {
        if let Ok(name) = self.this_field("module") {
            modules.push(IndexModule::new(name));
            return Ok(true);
        }
        let Some(module) = modules.last_mut() else { return Ok(false) };
        module.signatures.read_line(self.text).map_err(|_| self.error())
    }

    fn error(&self) -> IndexError {
        IndexError::Line { number: self.number, text: self.text.to_string() }
    }
}

fn parse_stream(text: &str) -> Option<IndexStream> {
    let mut words = text.split(' ');
    let mut number = || words.next()?.parse().ok();
    let (offset, size, inflated_size) = (number()?, number()?, number()?);
    let method = words.next()?;
    let method = [Method::Zstd, Method::Zlib].into_iter().find(|it| it.to_string() == method)?;
    words.next().is_none().then_some(IndexStream { offset, size, inflated_size, method })
}

fn parse_image(line: &str) -> Option<IndexImage> {
    let mut words = line.split(' ');
    let mut next = || words.next().filter(|word| !word.is_empty());
    (next()? == "image").then_some(())?;
    let (target, offset, size) = (next()?.to_string(), next()?.parse().ok()?, next()?.parse().ok()?);
    let origin = next()?;
    let origin =
        [Origin::Compiled, Origin::Prebuilt, Origin::Supplied].into_iter().find(|it| it.to_string() == origin)?;
    let kind = match (next()?, next()) {
        ("code-object", Some(version)) => PackImageKind::CodeObject { version: version.parse().ok()? },
        ("cubin", None) => PackImageKind::Cubin,
        ("ptx", Some(version)) => {
            let (major, minor) = version.split_once('.')?;
            PackImageKind::Ptx { version: PtxVersion { major: major.parse().ok()?, minor: minor.parse().ok()? } }
        }
        ("shared-object", Some(triple)) => PackImageKind::SharedObject { triple: triple.to_string() },
        _ => return None,
    };
    // No third word belongs to any kind.
    words.next().is_none().then_some(IndexImage { target, offset, size, origin, kind, kernels: Some(Vec::new()) })
}

impl fmt::Display for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{FIRST_WORD}{VERSION}")?;
        let index = match self {
            Index::Absent { name, why, compressed, modules } => {
                writeln!(f, "name {name}\nabsent {}", why.replace('\n', " "))?;
                if *compressed {
                    writeln!(f, "{COMPRESSED}")?;
                }
                return modules.iter().try_for_each(|module| {
                    writeln!(f, "module {}", module.name)?;
                    write!(f, "{}", module.signatures)
                });
            }
            Index::Built(index) => index,
        };
        writeln!(f, "name {}\nlibrary {}", index.name, index.library)?;
        writeln!(f, "library-size {}\nlibrary-offset {}", index.library_size, index.library_offset)?;
        writeln!(f, "symbol {}", index.symbol)?;
        writeln!(f, "section {}\nsize {}", index.section.elf_name(), index.size)?;
        for module in &index.modules {
            writeln!(f, "module {}", module.name)?;
            module.bundle.map_or(Ok(()), |offset| writeln!(f, "bundle {offset}"))?;
            if let Some(IndexStream { offset, size, inflated_size, method }) = module.stream {
                writeln!(f, "stream {offset} {size} {inflated_size} {method}")?;
            }
            module.images.iter().try_for_each(|image| writeln!(f, "{image}"))?;
            write!(f, "{}", module.signatures)?;
        }
        Ok(())
    }
}

/// Its line, and those of its kernels.
impl fmt::Display for IndexImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "image {} {} {} {} ", self.target, self.offset, self.size, self.origin)?;
        match &self.kind {
            PackImageKind::CodeObject { version } => write!(f, "code-object {version}"),
            PackImageKind::Cubin => f.write_str("cubin"),
            PackImageKind::Ptx { version } => write!(f, "ptx {version}"),
            PackImageKind::SharedObject { triple } => write!(f, "shared-object {triple}"),
        }?;
        match &self.kernels {
            Some(kernels) => kernels.iter().try_for_each(|kernel| write!(f, "\n{kernel}")),
            None => write!(f, "\n{KERNELS_UNKNOWN}"),
        }
    }
}

#[cfg(test)]
mod tests;
