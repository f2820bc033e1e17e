//! Section numbers before and after rewriting.

use super::elf_file::{Class, ElfFile, SHT_CREL, SHT_REL, SHT_RELA};
use super::numbers::Numbers;
use super::section::is_entry;
use crate::{Error, ErrorKind, Result};
use alloc::borrow::ToOwned;
use alloc::vec::Vec;

/// The new numbers of the sections.
pub(super) struct SectionNumbers(Numbers);

impl SectionNumbers {
    pub(super) fn new(file: &ElfFile, strip: bool) -> Self {
        let stays: Vec<bool> =
            file.sections.iter().map(|section| !(strip && is_entry(section.name))).collect();
        let mut numbers = Numbers::new();
        for (index, section) in file.sections.iter().enumerate() {
            // Remove relocations together with their section.
            let target = match section.kind {
                SHT_REL | SHT_RELA | SHT_CREL => section.info as usize,
                _ => index,
            };
            let has_target = stays.get(target).is_none_or(|stays| *stays);
            numbers.push(index == 0 || stays[index] && has_target);
        }
        Self(numbers)
    }

    pub(super) fn has_gone(&self, index: u32) -> bool {
        self.0.get(index) == Some(None)
    }

    /// Returns the new number of a referenced section, or 0 if the section was removed. A number
    /// that belongs to no section stays unchanged if all sections are kept; otherwise, it is an
    /// error.
    pub(super) fn map(&self, index: u32) -> Result<u32> {
        match self.0.get(index) {
            Some(new) => Ok(new.unwrap_or(0)),
            None if self.0.all_stay() => Ok(index),
            None => Err(Error::new(ErrorKind::Malformed, "section number", 0)),
        }
    }

    /// Returns the new contents of a section group: its flags, then the numbers of its members.
    pub(super) fn group(&self, class: Class, contents: &[u8]) -> Result<Vec<u8>> {
        if self.0.all_stay() {
            return Ok(contents.to_owned());
        }
        let mut out = Vec::with_capacity(contents.len());
        let (numbers, _) = contents.as_chunks::<4>();
        for (place, bytes) in numbers.iter().enumerate() {
            let number = class.u32(*bytes);
            if place == 0 {
                out.extend_from_slice(bytes);
            } else if !self.has_gone(number) {
                out.extend_from_slice(&class.bytes_of_u32(self.map(number)?));
            }
        }
        Ok(out)
    }
}
