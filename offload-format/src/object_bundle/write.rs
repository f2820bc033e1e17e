//! Adds a bundle to an object, and removes a bundle from an object.

use super::read::sections;
use super::section::NewSection;
use super::{HOST_PLACEHOLDER, NOT_A_HOST, ObjectBundle, SECTION_PREFIX, coff, elf};
use crate::bundle::{BundleBuilder, EntryId};
use crate::layout::{Layout, Piece};
use crate::{Error, ErrorKind, Result};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::vec::Vec;
use object::FileKind;
use object::elf::{FileHeader32, FileHeader64};
use object::endian::Endianness;

/// Returns the object `host` with a section for each of the bundle's entries, as
/// `clang-offload-bundler -type=o` 22 writes it. Payloads are numbered like the entries, from 0.
/// The host entry is not a payload: its section contains one zero byte. The builder's alignment and
/// the host entry's size are ignored.
///
/// Returns an error if `host` is neither a relocatable ELF file nor a COFF object, or if `host` is
/// malformed.
///
/// ```
/// use offload_format::bundle::BundleBuilder;
/// use offload_format::host_object::{self, CargoTarget, Machine};
/// use offload_format::section::DeviceSection;
/// use offload_format::object_bundle::{self, ObjectBundle};
///
/// // The object that a compiler writes for the host's code.
/// let target = CargoTarget { arch: "x86_64", os: "linux", pointer_width: "64", endian: "little" };
/// let machine = Machine::of(&target).unwrap();
/// let host = host_object::write(machine, DeviceSection::HipFatbin, "data", 4).unwrap().to_vec(&[b"1234"]);
///
/// let mut entries = BundleBuilder::new();
/// entries.entry("host-x86_64-unknown-linux-gnu", 0).unwrap();
/// entries.entry("openmp-amdgcn-amd-amdhsa--gfx90a", 7).unwrap();
/// let fat = object_bundle::bundle(&host, &entries).unwrap().to_vec(&[b"", b"\x7fELF..."]);
///
/// let bundle = ObjectBundle::parse(&fat).unwrap();
/// let [host_entry, device] = bundle.entries().collect::<Vec<_>>()[..] else { panic!("two entries") };
/// assert!(host_entry.is_host_placeholder());
/// assert_eq!((device.id_str, device.code_object), ("openmp-amdgcn-amd-amdhsa--gfx90a", &b"\x7fELF..."[..]));
/// assert!(ObjectBundle::parse(&object_bundle::strip(&fat).unwrap()).unwrap().entries().next().is_none());
/// ```
pub fn bundle(host: &[u8], entries: &BundleBuilder) -> Result<Layout> {
    let section = |(index, (id, size)): (usize, (&str, u64))| {
        let contents = if EntryId::parse(id).is_ok_and(|id| id.is_host()) {
            Piece::Bytes(HOST_PLACEHOLDER.to_owned())
        } else {
            Piece::Payload { index, size }
        };
        NewSection { name: format!("{SECTION_PREFIX}{id}"), contents }
    };
    rewrite(host, false, &entries.entries().enumerate().map(section).collect::<Vec<_>>())
}

/// Returns the host object: `data` without its bundle's sections, their symbols and their
/// relocations, as `clang-offload-bundler -type=o -unbundle` 22 writes it. An object without a
/// bundle is returned unchanged.
///
/// Returns an error if `data` is neither a relocatable ELF file nor a COFF object, if `data` is
/// malformed, or if its code refers to the bundle.
pub fn strip(data: &[u8]) -> Result<Vec<u8>> {
    match ObjectBundle::parse(data)?.entries().next() {
        None => Ok(data.to_owned()),
        Some(_) => Ok(rewrite(data, true, &[])?.to_vec(&[])),
    }
}

fn rewrite(data: &[u8], strip: bool, new: &[NewSection]) -> Result<Layout> {
    ObjectBundle::parse(data)?;
    let names = sections(data)?.map(|section| Ok(section?.name));
    let names = &names.collect::<Result<Vec<_>>>()?;
    match FileKind::parse(data) {
        Ok(FileKind::Elf32) => elf::rewrite::<FileHeader32<Endianness>>(data, names, strip, new),
        Ok(FileKind::Elf64) => elf::rewrite::<FileHeader64<Endianness>>(data, names, strip, new),
        Ok(FileKind::Coff) => coff::rewrite(data, names, false, strip, new),
        Ok(FileKind::CoffBig) => coff::rewrite(data, names, true, strip, new),
        _ => Err(Error::new(ErrorKind::BadMagic, NOT_A_HOST, 0)),
    }
}
