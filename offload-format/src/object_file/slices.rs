//! The slices of a universal Mach-O file, which contains a program for each of several processors.

use super::offset_of;
use crate::reader::Reader;
use crate::{Error, ErrorKind, Result};
use core::slice;
use object::macho::{FatArch32, FatArch64};
use object::read::macho::{FatArch, MachOFatFile32, MachOFatFile64};

/// The slices, in table order.
#[derive(Debug, Clone)]
pub(crate) struct Slices<'data> {
    data: &'data [u8],
    table: Table<'data>,
}

#[derive(Debug, Clone)]
enum Table<'data> {
    Narrow(slice::Iter<'data, FatArch32>),
    Wide(slice::Iter<'data, FatArch64>),
}

/// The program for one processor in a universal file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slice<'data> {
    /// The processor's number, `cputype`.
    pub(crate) processor: u32,
    /// The offset of the slice in the file, in bytes.
    pub(crate) offset: u64,
    /// The slice; an error if it is outside the file.
    pub(crate) data: Result<&'data [u8]>,
}

impl<'data> Slices<'data> {
    /// Whether a file starts like a universal file. Java class files have the same magic, but store
    /// a version where universal files store the number of slices.
    pub(crate) fn are_in(data: &[u8]) -> bool {
        const MOST: u8 = 30;
        matches!(data, [0xca, 0xfe, 0xba, 0xbe | 0xbf, 0, 0, 0, count, ..] if *count < MOST)
    }

    /// Reads the table of slices at the start of the file.
    ///
    /// Returns an error if there is no table, or if the table is outside the file.
    pub(crate) fn parse(data: &'data [u8]) -> Result<Self> {
        let malformed = |_| Error::new(ErrorKind::Malformed, "table of a universal file", 0);
        let table = match data.get(3) {
            Some(0xbf) => {
                Table::Wide(MachOFatFile64::parse(data).map_err(malformed)?.arches().iter())
            }
            _ => Table::Narrow(MachOFatFile32::parse(data).map_err(malformed)?.arches().iter()),
        };
        Ok(Self { data, table })
    }
}

impl<'data> Iterator for Slices<'data> {
    type Item = Slice<'data>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.table {
            Table::Narrow(table) => table.next().map(|arch| slice(self.data, arch)),
            Table::Wide(table) => table.next().map(|arch| slice(self.data, arch)),
        }
    }
}

fn slice<'data, Arch: FatArch>(file: &'data [u8], arch: &'data Arch) -> Slice<'data> {
    let (offset, size) = arch.file_range();
    let data =
        Reader::new(file).range(offset, size, offset_of(file, arch), "slice of a universal file");
    Slice { processor: arch.cputype().0, offset, data }
}
