//! The kinds of payloads and of entries.

use core::fmt;

/// The kind of a payload's file. Unknown numbers are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PayloadKind(pub u16);

impl PayloadKind {
    /// PTX text.
    pub const PTX: Self = Self(0x0100);
    /// NVVM IR, which libNVVM compiles.
    pub const NVVM_IR: Self = Self(0x0110);
    /// Intermediate code for link-time optimization (LTO-IR).
    pub const LTO_IR: Self = Self(0x0120);
    /// Machine code, an ELF file: a cubin.
    pub const CUBIN: Self = Self(0x0200);
}

impl fmt::Display for PayloadKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match *self {
            Self::PTX => "PTX",
            Self::NVVM_IR => "NVVM IR",
            Self::LTO_IR => "LTO-IR",
            Self::CUBIN => "cubin",
            Self(other) => return write!(f, "kind {other:#x}"),
        })
    }
}

/// The kind of a function in a bundle's list. Unknown numbers are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EntryKind(pub u16);

impl EntryKind {
    /// A kernel.
    pub const KERNEL: Self = Self(1);
    /// A function that other device code calls.
    pub const DEVICE_FUNCTION: Self = Self(2);
}

impl fmt::Display for EntryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match *self {
            Self::KERNEL => "kernel",
            Self::DEVICE_FUNCTION => "device function",
            Self(other) => return write!(f, "kind {other:#x}"),
        })
    }
}
