//! Numbers in an entry: image kinds, host systems and compression methods.

use super::FLAG_SCRAMBLED;
use crate::numbers::numbers;

numbers! {
    /// The kind of an image's file. Unknown numbers are kept.
    FatbinImageKind, "kind {:#x}";
    /// PTX text.
    PTX = 0x1, "PTX";
    /// Machine code, an ELF file: a cubin.
    CUBIN = 0x2, "cubin";
    /// Intermediate code for link-time optimization (LTO-IR, `lto_80`).
    LTO_IR = 0x8, "LTO-IR";
    /// An index.
    INDEX = 0x20, "index";
    /// PTX text to be linked, added with `nvFatbinAddReloc`.
    RELOCATABLE_PTX = 0x40, "relocatable PTX";
    /// Tile IR.
    TILE_IR = 0x80, "Tile IR";
    /// Several images that are compressed together.
    GROUP = 0x100, "group";
}

impl FatbinImageKind {
    /// Whether the image is PTX text.
    pub fn is_ptx(self) -> bool {
        matches!(self, Self::PTX | Self::RELOCATABLE_PTX)
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
