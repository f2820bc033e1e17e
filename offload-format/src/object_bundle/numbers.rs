//! The numbers of sections or symbols before and after rewriting.

use crate::{Error, ErrorKind, Result};
use alloc::vec;
use alloc::vec::Vec;

/// The new numbers of sections or symbols, of which some are removed.
pub(super) struct Numbers {
    /// How many kept items precede each item, and the end. For a kept item, this is its new number.
    before: Vec<u32>,
}

impl Numbers {
    pub(super) fn new() -> Self {
        Self { before: vec![0] }
    }

    pub(super) fn push(&mut self, stays: bool) {
        self.before.push(self.kept() + u32::from(stays));
    }

    /// Returns the number of kept items.
    pub(super) fn kept(&self) -> u32 {
        self.before.last().copied().unwrap_or(0)
    }

    pub(super) fn all_stay(&self) -> bool {
        self.before.len() == self.kept() as usize + 1
    }

    /// Returns the new number of item `old`, or of the next kept item.
    pub(super) fn at_or_after(&self, old: u32) -> u32 {
        self.before.get(old as usize).copied().unwrap_or(self.kept())
    }

    /// Returns the new number of item `old`: `Some(None)` if the item is removed, and `None` if
    /// there is no such item.
    pub(super) fn get(&self, old: u32) -> Option<Option<u32>> {
        let [new, next, ..] = self.before.get(old as usize..)? else { return None };
        Some((new < next).then_some(*new))
    }

    /// Returns the new number of a symbol that something refers to. If all symbols are kept, the
    /// number stays unchanged. Otherwise, a number that belongs to no kept symbol is an error at
    /// offset `at`.
    pub(super) fn of_symbol(&self, old: u32, at: u64) -> Result<u32> {
        const WHAT: &str = "reference to a symbol in a removed section of the bundle";
        if self.all_stay() {
            return Ok(old);
        }
        self.get(old).flatten().ok_or(Error::new(ErrorKind::Malformed, WHAT, at))
    }
}
