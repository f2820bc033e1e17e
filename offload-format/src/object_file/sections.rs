//! The sections of a file, in the order of its table.

use super::offset_of;
use crate::budget::Budget;
use crate::reader::Reader;
use crate::section::ObjectFormat;
use crate::{Error, ErrorKind, Result};
use core::slice;
use object::FileKind;
use object::endian::Endianness;
use object::macho::{MachHeader32, MachHeader64};
use object::pe::{
    AnonObjectHeaderBigobj, ImageDosHeader, ImageFileHeader, ImageNtHeaders32, ImageNtHeaders64,
    ImageSectionHeader,
};
use object::read::StringTable;
use object::read::coff::CoffHeader;
use object::read::elf::{FileHeader, SectionHeader};
use object::read::macho::{LoadCommandIterator, MachHeader, Section as MachSection, Segment};
use object::read::pe::ImageNtHeaders;
use object::{elf, macho};

/// The limit for the total size of all names, as a multiple of the file's size. Names may share
/// bytes, so without a limit, reading a small file could take a very long time.
const NAME_LIMIT: u64 = 64;

/// A section of a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Section<'data> {
    /// The segment's name in Mach-O files; empty in other files.
    pub(crate) segment: &'data [u8],
    pub(crate) name: &'data [u8],
    /// `sh_type` in ELF files.
    pub(crate) elf_type: Option<u32>,
    /// The offset of the contents in the file, in bytes.
    pub(crate) offset: u64,
    /// The section's bytes in the file; an error if they are outside the file.
    pub(crate) data: Result<&'data [u8]>,
}

/// The sections of a file, in the order of its table. Iteration ends after the first error.
#[derive(Clone)]
pub(crate) struct Sections<'data> {
    data: &'data [u8],
    kind: SectionTable<'data>,
    names: Budget,
}

#[derive(Clone)]
enum SectionTable<'data> {
    Elf32(Elf<'data, elf::FileHeader32<Endianness>>),
    Elf64(Elf<'data, elf::FileHeader64<Endianness>>),
    Coff(Coff<'data>),
    MachO32(MachO<'data, MachHeader32<Endianness>>),
    MachO64(MachO<'data, MachHeader64<Endianness>>),
    Ended,
}

impl<'data> Sections<'data> {
    /// Reads the file's header and finds its section table.
    ///
    /// Returns an error if `data` is not an ELF, COFF, PE or Mach-O file, or if the section table
    /// is outside the file.
    pub(crate) fn parse(data: &'data [u8]) -> Result<Self> {
        let none = Error::new(ErrorKind::BadMagic, "ELF, COFF, PE or Mach-O file", 0);
        let kind = match FileKind::parse(data).map_err(|_| none)? {
            FileKind::Elf32 => SectionTable::Elf32(Elf::parse(data)?),
            FileKind::Elf64 => SectionTable::Elf64(Elf::parse(data)?),
            FileKind::Coff => coff::<ImageFileHeader>(data)?,
            FileKind::CoffBig => coff::<AnonObjectHeaderBigobj>(data)?,
            FileKind::Pe32 => pe::<ImageNtHeaders32>(data)?,
            FileKind::Pe64 => pe::<ImageNtHeaders64>(data)?,
            FileKind::MachO32 => SectionTable::MachO32(MachO::parse(data)?),
            FileKind::MachO64 => SectionTable::MachO64(MachO::parse(data)?),
            _ => return Err(none),
        };
        let names = "section name table (names share too much text)";
        Ok(Self { data, kind, names: Budget::new(data.len() as u64, NAME_LIMIT, names) })
    }

    /// Returns the file's format.
    pub(crate) fn format(&self) -> ObjectFormat {
        match self.kind {
            SectionTable::Elf32(_) | SectionTable::Elf64(_) | SectionTable::Ended => {
                ObjectFormat::Elf
            }
            SectionTable::Coff(_) => ObjectFormat::Coff,
            SectionTable::MachO32(_) | SectionTable::MachO64(_) => ObjectFormat::MachO,
        }
    }

    fn read(&mut self) -> Result<Option<Section<'data>>> {
        let data = self.data;
        let section = match &mut self.kind {
            SectionTable::Elf32(elf) => elf.next(data)?,
            SectionTable::Elf64(elf) => elf.next(data)?,
            SectionTable::Coff(file) => file.next(data)?,
            SectionTable::MachO32(file) => file.next(data)?,
            SectionTable::MachO64(file) => file.next(data)?,
            SectionTable::Ended => None,
        };
        self.names.spend(section.map_or(0, |section| section.name.len() as u64))?;
        Ok(section)
    }
}

impl<'data> Iterator for Sections<'data> {
    type Item = Result<Section<'data>>;

    fn next(&mut self) -> Option<Self::Item> {
        let section = self.read().transpose();
        if !matches!(section, Some(Ok(_))) {
            self.kind = SectionTable::Ended;
        }
        section
    }
}

const fn malformed(what: &'static str) -> Error {
    Error::new(ErrorKind::Malformed, what, 0)
}

/// Returns the contents of a section. Errors report the offset of its header.
fn contents<'data, Header>(
    data: &'data [u8],
    header: &'data Header,
    offset: u64,
    size: u64,
) -> Result<&'data [u8]> {
    Reader::new(data).range(offset, size, offset_of(data, header), "section")
}

#[derive(Clone)]
struct Elf<'data, Header: FileHeader> {
    endian: Endianness,
    sections: slice::Iter<'data, Header::SectionHeader>,
    /// The section names; `None` if the header states that there are none.
    names: Option<StringTable<'data>>,
}

impl<'data, Header: FileHeader<Endian = Endianness>> Elf<'data, Header> {
    fn parse(data: &'data [u8]) -> Result<Self> {
        let header = Header::parse(data).map_err(|_| malformed("ELF header"))?;
        let endian = header.endian().map_err(|_| malformed("ELF header"))?;
        let table = |_| malformed("section header table");
        let sections = header.section_headers(endian, data).map_err(table)?;
        let names = match header.e_shstrndx(endian) {
            elf::SHN_UNDEF => None,
            _ => Some(header.section_strings(endian, data, sections).map_err(table)?),
        };
        // Skip section number 0, which is not a section.
        Ok(Self { endian, sections: sections.get(1..).unwrap_or_default().iter(), names })
    }

    fn next(&mut self, data: &'data [u8]) -> Result<Option<Section<'data>>> {
        let Some(section) = self.sections.next() else { return Ok(None) };
        let name = self.names.map_or(Ok(&b""[..]), |names| section.name(self.endian, names));
        // Sections without bytes in the file have no range.
        let (offset, size) = section.file_range(self.endian).unwrap_or((0, 0));
        Ok(Some(Section {
            segment: b"",
            name: name.map_err(|_| malformed("section name"))?,
            elf_type: Some(section.sh_type(self.endian).0),
            offset,
            data: contents(data, section, offset, size),
        }))
    }
}

#[derive(Clone)]
struct Coff<'data> {
    is_image: bool,
    sections: slice::Iter<'data, ImageSectionHeader>,
    /// The string table, which stores names of more than eight bytes. `None` if the file has no
    /// symbol table, because the string table follows it.
    strings: Option<StringTable<'data>>,
}

fn coff<Header: CoffHeader>(data: &[u8]) -> Result<SectionTable<'_>> {
    let mut offset = 0;
    let header = Header::parse(data, &mut offset).map_err(|_| malformed("COFF header"))?;
    let sections = header.sections(data, offset).map_err(|_| malformed("section table"))?;
    Ok(SectionTable::Coff(Coff {
        is_image: false,
        sections: sections.iter(),
        strings: strings(header, data)?,
    }))
}

fn pe<Headers: ImageNtHeaders>(data: &[u8]) -> Result<SectionTable<'_>> {
    let dos = ImageDosHeader::parse(data).map_err(|_| malformed("DOS header"))?;
    let mut offset = dos.nt_headers_offset().into();
    let (headers, _) = Headers::parse(data, &mut offset).map_err(|_| malformed("PE header"))?;
    let sections = headers.sections(data, offset).map_err(|_| malformed("section table"))?;
    // Only linkers for MinGW write a symbol table. A damaged table is not an error, because no
    // loader reads it.
    let strings = strings(headers.file_header(), data).unwrap_or_default();
    Ok(SectionTable::Coff(Coff { is_image: true, sections: sections.iter(), strings }))
}

fn strings<'data, Header: CoffHeader>(
    header: &Header,
    data: &'data [u8],
) -> Result<Option<StringTable<'data>>> {
    if header.pointer_to_symbol_table() == 0 {
        return Ok(None);
    }
    let symbols = header.symbols(data).map_err(|_| malformed("symbol table"))?;
    Ok(Some(symbols.strings()))
}

impl<'data> Coff<'data> {
    fn next(&mut self, data: &'data [u8]) -> Result<Option<Section<'data>>> {
        let Some(section) = self.sections.next() else { return Ok(None) };
        // Images without symbols do not contain long names, so the reference in the header becomes
        // the name.
        let name = self.strings.map_or(Ok(section.raw_name()), |strings| section.name(strings));
        let (offset, size) = match section.coff_file_range() {
            Some(_) if self.is_image => section.pe_file_range(),
            range => range.unwrap_or((0, 0)),
        };
        Ok(Some(Section {
            segment: b"",
            name: name.map_err(|_| malformed("section name"))?,
            elf_type: None,
            offset: offset.into(),
            data: contents(data, section, offset.into(), size.into()),
        }))
    }
}

#[derive(Clone)]
struct MachO<'data, Header: MachHeader<Endian = Endianness>> {
    endian: Endianness,
    commands: LoadCommandIterator<'data, Endianness>,
    /// The sections of the current segment.
    sections: slice::Iter<'data, Header::Section>,
}

impl<'data, Header: MachHeader<Endian = Endianness>> MachO<'data, Header> {
    fn parse(data: &'data [u8]) -> Result<Self> {
        let header = Header::parse(data, 0).map_err(|_| malformed("Mach-O header"))?;
        let endian = header.endian().map_err(|_| malformed("Mach-O header"))?;
        let commands =
            header.load_commands(endian, data, 0).map_err(|_| malformed("load commands"))?;
        Ok(Self { endian, commands, sections: [].iter() })
    }

    fn next(&mut self, data: &'data [u8]) -> Result<Option<Section<'data>>> {
        loop {
            if let Some(section) = self.sections.next() {
                let zeros =
                    [macho::S_ZEROFILL, macho::S_GB_ZEROFILL, macho::S_THREAD_LOCAL_ZEROFILL];
                let offset = section.offset(self.endian).into();
                // A file with only debug information keeps its program's section headers, but with
                // offset 0, because it lacks the sections' bytes.
                let size = if offset == 0 || zeros.contains(&section.section_type(self.endian)) {
                    0
                } else {
                    section.size(self.endian).into()
                };
                return Ok(Some(Section {
                    segment: section.segment_name(),
                    name: section.name(),
                    elf_type: None,
                    offset,
                    data: contents(data, section, offset, size),
                }));
            }
            let Some(command) = self.commands.next().map_err(|_| malformed("load command"))? else {
                return Ok(None);
            };
            let segment =
                Header::Segment::from_command(command).map_err(|_| malformed("segment command"))?;
            if let Some((segment, table)) = segment {
                let sections =
                    segment.sections(self.endian, table).map_err(|_| malformed("section table"))?;
                self.sections = sections.iter();
            }
        }
    }
}
