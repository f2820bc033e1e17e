//! Section numbers before and after rewriting.

use super::elf_file::{Class, ElfFile, SHT_CREL, SHT_REL, SHT_RELA};
use super::section::is_entry;
use crate::{Error, ErrorKind, Result};
use alloc::borrow::ToOwned;
use alloc::vec::Vec;

/// The kept sections, with their new numbers.
pub(super) struct SectionNumbers {
    /// The new number of each section; [`GONE`] if the section was removed.
    new: Vec<u32>,
    kept: usize,
}

const GONE: u32 = u32::MAX;

impl SectionNumbers {
    pub(super) fn new(file: &ElfFile, strip: bool) -> Self {
        let stays: Vec<bool> =
            file.sections.iter().map(|section| !(strip && is_entry(section.name))).collect();
        let mut numbers = Self { new: Vec::with_capacity(stays.len()), kept: 0 };
        for (index, section) in file.sections.iter().enumerate() {
            // Remove relocations together with their section.
            let target = match section.kind {
                SHT_REL | SHT_RELA | SHT_CREL => section.info as usize,
                _ => index,
            };
            let goes =
                index != 0 && !(stays[index] && stays.get(target).is_none_or(|stays| *stays));
            numbers.new.push(if goes { GONE } else { numbers.kept as u32 });
            numbers.kept += usize::from(!goes);
        }
        numbers
    }

    pub(super) fn kept(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.new.len()).filter(|index| self.new[*index] != GONE)
    }

    pub(super) fn has_gone(&self, index: u32) -> bool {
        self.new.get(index as usize) == Some(&GONE)
    }

    /// Returns the new number of a referenced section, or 0 if the section was removed. A number
    /// that belongs to no section stays unchanged if all sections are kept; otherwise, it is an
    /// error.
    pub(super) fn map(&self, index: u32) -> Result<u32> {
        match self.new.get(index as usize) {
            Some(&GONE) => Ok(0),
            Some(new) => Ok(*new),
            None if self.kept == self.new.len() => Ok(index),
            None => Err(Error::new(ErrorKind::Malformed, "section number", 0)),
        }
    }

    /// Returns the new contents of a section group: its flags, then the numbers of its members.
    pub(super) fn group(&self, class: Class, contents: &[u8]) -> Result<Vec<u8>> {
        if self.kept == self.new.len() {
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
