//! Numbers in an entry: image kinds, host systems and compression methods.

use super::FLAG_SCRAMBLED;
use core::fmt;

/// The kind of an image's file. Unknown numbers are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FatbinImageKind(pub u16);

impl FatbinImageKind {
    /// PTX text.
    pub const PTX: Self = Self(0x1);
    /// Machine code, an ELF file: a cubin.
    pub const CUBIN: Self = Self(0x2);
    /// Intermediate code for link-time optimization (LTO-IR, `lto_80`).
    pub const LTO_IR: Self = Self(0x8);
    /// An index.
    pub const INDEX: Self = Self(0x20);
    /// PTX text to be linked, added with `nvFatbinAddReloc`.
    pub const RELOCATABLE_PTX: Self = Self(0x40);
    /// Tile IR.
    pub const TILE_IR: Self = Self(0x80);
    /// Several images that are compressed together.
    pub const GROUP: Self = Self(0x100);

    /// Whether the image is PTX text.
    pub fn is_ptx(self) -> bool {
        matches!(self, Self::PTX | Self::RELOCATABLE_PTX)
    }
}

impl fmt::Display for FatbinImageKind {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match *self {
            Self::PTX => "PTX",
            Self::CUBIN => "cubin",
            Self::LTO_IR => "LTO-IR",
            Self::INDEX => "index",
            Self::RELOCATABLE_PTX => "relocatable PTX",
            Self::TILE_IR => "Tile IR",
            Self::GROUP => "group",
            Self(other) => return write!(f, "kind {other:#x}"),
        })
    }
}

/// The host operating system that an image was packed for. nvJitLink 13.5 ignores this field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HostOs {
    /// Linux.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

impl HostOs {
    const ALL: [HostOs; 3] = [HostOs::Linux, HostOs::MacOs, HostOs::Windows];

    pub(super) const fn flag(self) -> u64 {
        match self {
            HostOs::Linux => 0x10,
            HostOs::MacOs => 0x20,
            HostOs::Windows => 0x40,
        }
    }

    #[inline]
    pub(super) fn of_flags(flags: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|host| flags & host.flag() != 0)
    }
}

/// The compression of a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Compression {
    /// The image is not compressed.
    None,
    /// A zlib stream. nvJitLink 13.5 does not support it.
    Zlib,
    /// An LZ4 block, as written by CUDA 12, or with `--compress-mode=speed`.
    Lz4,
    /// An LZ4 frame.
    Lz4Frame,
    /// A zstd frame, as written by CUDA 13.
    Zstd,
    /// An undocumented method, with its bits in the flags.
    Unknown(u64),
}

impl Compression {
    pub(super) fn of_flags(flags: u64) -> Self {
        match flags & (0xf000 | FLAG_SCRAMBLED) {
            0 => Compression::None,
            0x1000 => Compression::Zlib,
            0x2000 => Compression::Lz4,
            0x4000 => Compression::Lz4Frame,
            0x8000 => Compression::Zstd,
            bits => Compression::Unknown(bits),
        }
    }
}
