//! Kernel arguments of a cubin, read from the attributes in the kernel's section.

use crate::image::Argument;
use crate::image::elf::{Elf, Section};
use crate::reader::Reader;
use crate::{Error, ErrorKind, Result};

pub(super) const WHAT: &str = ".nv.info attribute";

/// The attribute kind for an argument whose size does not fit into 14 bits, so it takes a full
/// word.
pub(super) const LARGE_ARGUMENT: u8 = 0x45;

/// The arguments of a kernel: consecutive attributes of 16 bytes each, in ascending or descending
/// order.
#[derive(Debug, Clone)]
pub(in crate::image) struct CubinArguments<'data> {
    /// The attributes, from the first argument on.
    pub(super) all: Attributes<'data>,
    /// The number of the first argument in the file.
    pub(super) first: u64,
    pub(super) count: u64,
    pub(super) given: u64,
}

/// The size in bytes of an argument's attribute: four bytes for form, kind and size, then a 12-byte
/// value.
pub(super) const ARGUMENT_SIZE: u64 = 16;

impl<'data> CubinArguments<'data> {
    /// Whether an argument with this number may follow the arguments found so far.
    pub(super) fn takes(&self, number: u64) -> bool {
        if self.is_descending() {
            self.first.checked_sub(self.count) == Some(number)
        } else {
            number == self.count
        }
    }

    /// Whether the arguments are in descending order. One end of the list is always argument 0, so
    /// the order is descending unless argument 0 comes first.
    pub(super) fn is_descending(&self) -> bool {
        self.first > 0
    }

    pub(in crate::image) fn next(&mut self) -> Result<Option<Argument<'data>>> {
        while self.given < self.count {
            let index = if self.is_descending() { self.count - 1 - self.given } else { self.given };
            self.given += 1;
            let mut at = Attributes { at: self.all.at + index * ARGUMENT_SIZE, ..self.all };
            let Some(attribute) = at.next()? else { break };
            let argument = attribute.argument(&self.all)?;
            if (argument.offset, argument.size) != (0xffff, 0) {
                return Ok(Some(argument));
            }
        }
        Ok(None)
    }
}

/// A section's attributes from offset `at` on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attributes<'data> {
    pub(super) reader: Reader<'data>,
    /// The offset of the section in the file.
    pub(super) base: u64,
    pub(super) at: u64,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Attribute {
    pub(super) kind: u8,
    /// The last two bytes of the attribute: a value, or the size of the value that follows.
    pub(super) short: u64,
    /// The value's offset in the section. The value follows the attribute's first four bytes.
    pub(super) start: u64,
}

impl<'data> Attributes<'data> {
    pub(super) fn parse(elf: &Elf<'data>, section: &Section) -> Result<Self> {
        Ok(Self { reader: Reader::new(elf.data(section)?), base: section.offset, at: 0 })
    }

    pub(super) fn next(&mut self) -> Result<Option<Attribute>> {
        if self.at >= self.reader.len() {
            return Ok(None);
        }
        let shifted = |error: Error| error.shifted(self.base);
        let form = self.reader.u8(self.at, WHAT).map_err(shifted)?;
        let kind = self.reader.u8(self.at + 1, WHAT).map_err(shifted)?;
        let short = u64::from(self.reader.u16(self.at + 2, WHAT).map_err(shifted)?);
        let size = match form {
            1..=3 => 0,
            4 => short,
            _ => return Err(self.wrong(self.at, "form of .nv.info attribute")),
        };
        let start = self.at + 4;
        self.reader.range(start, size, self.at + 2, WHAT).map_err(shifted)?;
        self.at = start + size;
        Ok(Some(Attribute { kind, short, start }))
    }

    pub(super) fn wrong(&self, at: u64, what: &'static str) -> Error {
        Error::new(ErrorKind::Malformed, what, at).shifted(self.base)
    }
}

impl Attribute {
    /// Returns the value, which must be exactly `N` 32-bit words long.
    pub(super) fn words<const N: usize>(&self, all: &Attributes<'_>) -> Result<[u32; N]> {
        if self.short != 4 * N as u64 {
            return Err(all.wrong(self.start, "size of .nv.info attribute"));
        }
        let mut words = [0; N];
        for (at, word) in (self.start..).step_by(4).zip(&mut words) {
            *word = all.reader.u32(at, WHAT).map_err(|error| error.shifted(all.base))?;
        }
        Ok(words)
    }

    /// Returns the argument that the value describes.
    pub(super) fn argument<'data>(&self, all: &Attributes<'data>) -> Result<Argument<'data>> {
        let [_, place, size] = self.words(all)?;
        let size = if self.kind == LARGE_ARGUMENT { size } else { size >> 18 };
        let (ordinal, offset, size) =
            (u64::from(place & 0xffff), u64::from(place >> 16), u64::from(size));
        Ok(Argument { ordinal, offset, size, value_kind: None, name: None, type_name: None })
    }
}
