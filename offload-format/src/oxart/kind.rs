//! The kinds of payloads and of entries.

use crate::numbers::numbers;

numbers! {
    /// The kind of a payload's file. Unknown numbers are kept.
    PayloadKind, "kind {:#x}";
    /// PTX text.
    PTX = 0x0100, "PTX";
    /// NVVM IR, which libNVVM compiles.
    NVVM_IR = 0x0110, "NVVM IR";
    /// Intermediate code for link-time optimization (LTO-IR).
    LTO_IR = 0x0120, "LTO-IR";
    /// Machine code, an ELF file: a cubin.
    CUBIN = 0x0200, "cubin";
}

numbers! {
    /// The kind of a function in a bundle's list. Unknown numbers are kept.
    EntryKind, "kind {:#x}";
    /// A kernel.
    KERNEL = 1, "kernel";
    /// A function that other device code calls.
    DEVICE_FUNCTION = 2, "device function";
}
