//! The relocatable object that adds device code to a host program at link time. The object has one
//! section, and one symbol that covers the section and is hidden from other shared objects.
//!
//! Sources: the System V ABI for ELF, Microsoft's "PE Format", Apple's `<mach-o/loader.h>`. Checked
//! against objects of LLVM 22.1.8, and by linking with ld.lld, lld-link, ld64.lld and GNU ld 2.40.
//!
//! [`write()`] lays out the object for the host's linker:
//!
//! | host | object | byte layout |
//! |---|---|---|
//! | Linux, Android, BSD, illumos; x86-64, AArch64, RISC-V, LoongArch | ELF, 64-bit | `elf.rs` |
//! | Windows; x86-64, AArch64 | COFF | `coff.rs` |
//! | macOS; x86-64, AArch64 | Mach-O, 64-bit | `macho.rs` |
//!
//! If no code in a program refers to the symbol, linkers drop the section (`--gc-sections`,
//! `/opt:ref`, `-dead_strip`).
//!
//! ```
//! use offload_format::host_object::{self, CargoTarget, Machine};
//! use offload_format::section::DeviceSection;
//!
//! let target = CargoTarget { arch: "aarch64", os: "linux", pointer_width: "64", endian: "little" };
//! let machine = Machine::of(&target).unwrap();
//! let pack = [7; 100];
//! let object = host_object::write(machine, DeviceSection::HipFatbin, "my_pack", pack.len() as u64).unwrap();
//! let file = object.to_vec(&[&pack]);
//! assert!(file.starts_with(b"\x7fELF"));
//! assert_eq!(file[object.offset_of(0).unwrap() as usize..][..100], pack);
//! ```

mod coff;
mod elf;
mod fields;
mod macho;

use crate::layout::Layout;
use crate::section::{DeviceSection, ObjectFormat};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use core::fmt;

/// The host that the program is compiled for, as Cargo describes it to build scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CargoTarget<'a> {
    /// `CARGO_CFG_TARGET_ARCH`, such as `x86_64`.
    pub arch: &'a str,
    /// `CARGO_CFG_TARGET_OS`, such as `linux`.
    pub os: &'a str,
    /// `CARGO_CFG_TARGET_POINTER_WIDTH`, such as `64`.
    pub pointer_width: &'a str,
    /// `CARGO_CFG_TARGET_ENDIAN`, such as `little`.
    pub endian: &'a str,
}

/// An object file's target machine: the file format, and properties of the processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machine(OfFormat);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OfFormat {
    Elf(elf::Machine),
    Coff(coff::Machine),
    MachO(macho::Machine),
}

impl Machine {
    /// Returns the machine of a host; `None` if this crate cannot write objects for that host.
    pub fn of(target: &CargoTarget<'_>) -> Option<Self> {
        if target.pointer_width != "64" || target.endian != "little" {
            return None;
        }
        match target.os {
            "linux" | "android" | "freebsd" | "netbsd" | "openbsd" | "illumos" => {
                elf::Machine::of(target.arch).map(OfFormat::Elf)
            }
            "windows" => coff::Machine::of(target.arch).map(OfFormat::Coff),
            "macos" => macho::Machine::of(target.arch).map(OfFormat::MachO),
            _ => None,
        }
        .map(Self)
    }

    /// Returns the format of the machine's object files.
    pub fn format(self) -> ObjectFormat {
        match self.0 {
            OfFormat::Elf(_) => ObjectFormat::Elf,
            OfFormat::Coff(_) => ObjectFormat::Coff,
            OfFormat::MachO(_) => ObjectFormat::MachO,
        }
    }

    /// Returns the linker's name for the symbol that C and Rust call `symbol`, which Mach-O
    /// prefixes with an underscore.
    pub fn linker_name(self, symbol: &str) -> String {
        match self.format() {
            ObjectFormat::MachO => format!("_{symbol}"),
            ObjectFormat::Elf | ObjectFormat::Coff => symbol.to_owned(),
        }
    }
}

/// The error for a payload that is too large for the object format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLarge {
    format: ObjectFormat,
    size: u64,
    limit: u64,
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the content is {} bytes, but {} objects can contain at most {}",
            self.size, self.format, self.limit
        )
    }
}

impl core::error::Error for TooLarge {}

/// Lays out the object: `section` holds payload 0, which is `size` bytes long. `symbol` is the C
/// and Rust name of the symbol that covers the section.
///
/// Returns an error if the payload is too large for the format: COFF and Mach-O are limited to 4
/// GiB.
pub fn write(
    machine: Machine,
    section: DeviceSection,
    symbol: &str,
    size: u64,
) -> Result<Layout, TooLarge> {
    let limit = match machine.0 {
        // Larger than any file, but small enough that no sum of offsets overflows.
        OfFormat::Elf(_) => 1 << 62,
        // Offsets have 32 bits, and span at most the payload plus the headers and symbols, which
        // take less than 4096 bytes together.
        OfFormat::Coff(_) | OfFormat::MachO(_) => u64::from(u32::MAX) - 4096,
    };
    if size > limit {
        return Err(TooLarge { format: machine.format(), size, limit });
    }
    let symbol = machine.linker_name(symbol);
    Ok(match machine.0 {
        OfFormat::Elf(machine) => elf::write(machine, section, &symbol, size),
        OfFormat::Coff(machine) => coff::write(machine, section, &symbol, size as u32),
        OfFormat::MachO(machine) => macho::write(machine, section, &symbol, size as u32),
    })
}
