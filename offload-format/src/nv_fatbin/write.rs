//! Writes fatbins.

use super::compat::Cubin;
use super::{
    ALIGN, ENTRY_HEADER_SIZE, FLAG_64_BIT, FLAG_ARCH_SPECIFIC, FLAG_COMPAT, FLAG_FAMILY_SPECIFIC,
    FatbinImageKind, HEADER_SIZE, HostOs, MAGIC, OPTIONS_SIZE, VERSION,
};
use crate::image::PtxHeader;
use crate::layout::{Layout, Piece};
use crate::target::{NvidiaArch, NvidiaSuffix, PtxVersion};
use crate::{Error, ErrorKind, Result};
use alloc::vec::Vec;

const ENTRY_VERSION: u16 = 0x0101;

/// Collects images and lays out the fatbin that `fatbinary` 13.5 writes with
/// `--compress-mode=none`.
///
/// From each image, the builder reads only the fields that the image's entry repeats, so writing
/// the [`Layout`] needs the images' bytes again, from memory or from files.
///
/// ```
/// use offload_format::nv_fatbin::{HostOs, NvFatbin, NvFatbinBuilder};
///
/// let text = b".version 8.0\n.target sm_90a\n.address_size 64\n";
/// let mut builder = NvFatbinBuilder::new(HostOs::Linux);
/// builder.ptx(text).unwrap();
/// let file = builder.layout().to_vec(&[text]);
///
/// let fatbin = NvFatbin::parse(&file).unwrap();
/// for entry in fatbin.entries() {
///     let payload = entry.decompress(1 << 30).unwrap();
///     for (image, bytes) in payload.images() {
///         assert_eq!(image.arch().unwrap().to_string(), "compute_90a");
///         assert_eq!(bytes, text);
///     }
/// }
/// ```
#[derive(Debug, Clone)]
pub struct NvFatbinBuilder {
    host: HostOs,
    images: Vec<NewImage>,
}

#[derive(Debug, Clone)]
struct NewImage {
    kind: FatbinImageKind,
    arch: NvidiaArch,
    version: (u16, u16),
    flags: u64,
    /// The bytes after the fixed part of the header, without padding.
    options: Vec<u8>,
    size: u64,
}

impl NvFatbinBuilder {
    /// Creates a builder for a fatbin for a 64-bit host with this operating system.
    pub fn new(host: HostOs) -> Self {
        Self { host, images: Vec::new() }
    }

    /// Adds a cubin. `arch` determines whether the entry is for `sm_90` or `sm_90a`, because the
    /// cubin does not contain the suffix. The prefix of `arch` (`sm_` or `compute_`) does not
    /// matter.
    ///
    /// Returns an error if `cubin` is not a cubin, if its section table is damaged, or if the cubin
    /// is for a different compute capability.
    pub fn cubin(&mut self, arch: NvidiaArch, cubin: &[u8]) -> Result<&mut Self> {
        let header = Cubin::parse(cubin)?;
        if header.number != arch.number() {
            return Err(Error::new(
                ErrorKind::Malformed,
                "cubin (for a different compute capability)",
                48,
            ));
        }
        let compat = header.compat.filter(|compat| !compat.is_empty());
        self.images.push(NewImage {
            kind: FatbinImageKind::CUBIN,
            arch,
            version: (1, header.abi_version.into()),
            flags: if header.compat.is_some() { FLAG_COMPAT } else { 0 },
            options: compat.map_or(Vec::new(), |compat| options(&[b"\0", compat].concat())),
            size: cubin.len() as u64,
        });
        Ok(self)
    }

    /// Adds PTX text, which contains its target. Unlike `fatbinary`, this method keeps comments and
    /// white space.
    ///
    /// Returns an error if the text does not start with the directives `.version` and `.target`, or
    /// if their numbers do not fit into a fatbin.
    pub fn ptx(&mut self, text: &[u8]) -> Result<&mut Self> {
        let header = PtxHeader::parse(text)?;
        let PtxVersion { major, minor } = header.version;
        let version = u16::try_from(major).ok().zip(u16::try_from(minor).ok());
        let version =
            version.ok_or(Error::new(ErrorKind::Malformed, "PTX directive .version", 0))?;
        // Write an empty options string, because nvJitLink 13.5 crashes without one.
        let options = options(b"\0");
        let (kind, size) = (FatbinImageKind::PTX, text.len() as u64);
        self.images.push(NewImage { kind, arch: header.arch, version, flags: 0, options, size });
        Ok(self)
    }

    /// Returns the fatbin's layout. Payloads are numbered like the images, from 0. The size is a
    /// multiple of 8.
    pub fn layout(&self) -> Layout {
        let mut entries = Layout::new();
        for (index, image) in self.images.iter().enumerate() {
            entries.push(Piece::Bytes(self.header(image)));
            entries.push(Piece::Payload { index, size: image.size });
            if image.kind.is_ptx() {
                entries.push(Piece::Zeros(1));
            }
            entries.pad_to(ALIGN);
        }
        let mut header = Vec::with_capacity(HEADER_SIZE as usize);
        header.extend_from_slice(&MAGIC);
        header.extend_from_slice(&VERSION.to_le_bytes());
        header.extend_from_slice(&(HEADER_SIZE as u16).to_le_bytes());
        header.extend_from_slice(&entries.size().to_le_bytes());
        let mut layout = Layout::new();
        layout.push(Piece::Bytes(header));
        layout.append(entries);
        layout
    }

    fn header(&self, image: &NewImage) -> Vec<u8> {
        let options = &image.options;
        let options_offset = if options.is_empty() { 0 } else { ENTRY_HEADER_SIZE as u32 };
        let size = (ENTRY_HEADER_SIZE as usize + options.len()).next_multiple_of(ALIGN as usize);
        let nul = u64::from(image.kind.is_ptx());
        let payload_size = (image.size + nul).next_multiple_of(ALIGN);
        let suffix = match image.arch.suffix {
            Some(NvidiaSuffix::ArchSpecific) => FLAG_ARCH_SPECIFIC,
            Some(NvidiaSuffix::FamilySpecific) => FLAG_FAMILY_SPECIFIC,
            None => 0,
        };
        let flags = FLAG_64_BIT | self.host.flag() | suffix | image.flags;
        let mut header = Vec::with_capacity(size);
        header.extend_from_slice(&image.kind.0.to_le_bytes());
        header.extend_from_slice(&ENTRY_VERSION.to_le_bytes());
        header.extend_from_slice(&(size as u32).to_le_bytes());
        header.extend_from_slice(&payload_size.to_le_bytes());
        header.extend_from_slice(&0u32.to_le_bytes());
        header.extend_from_slice(&options_offset.to_le_bytes());
        header.extend_from_slice(&image.version.1.to_le_bytes());
        header.extend_from_slice(&image.version.0.to_le_bytes());
        header.extend_from_slice(&image.arch.number().to_le_bytes());
        header.extend_from_slice(&[0; 8]);
        header.extend_from_slice(&flags.to_le_bytes());
        header.extend_from_slice(&[0; 16]);
        header.extend_from_slice(options);
        header.resize(size, 0);
        header
    }
}

/// Returns an options string, preceded by its offset and its length. The length excludes one zero
/// byte: the one at the end of a text, or before `.nv.compat`.
fn options(string: &[u8]) -> Vec<u8> {
    let mut options = Vec::new();
    options.extend_from_slice(&((ENTRY_HEADER_SIZE + OPTIONS_SIZE) as u32).to_le_bytes());
    options.extend_from_slice(&(string.len() as u32 - 1).to_le_bytes());
    options.extend_from_slice(string);
    options
}
