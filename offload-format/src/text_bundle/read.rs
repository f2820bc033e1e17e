//! Views of a text bundle.

use super::CommentLeader;
use super::marker::Marker;
use crate::bundle::Entry;
use crate::{Error, ErrorKind, Result};
use core::fmt;

/// A text bundle whose entries all have an END line.
#[derive(Clone, Copy)]
pub struct TextBundle<'data> {
    data: &'data [u8],
    leader: CommentLeader,
}

impl<'data> TextBundle<'data> {
    /// Finds the entries between comments with this leader, and borrows from `data`. Text without
    /// entries is also a valid bundle.
    ///
    /// Returns an error if an entry has no END line, or if an ID is not UTF-8.
    pub fn parse(data: &'data [u8], leader: CommentLeader) -> Result<Self> {
        let bundle = Self { data, leader };
        let (mut at, mut index) = (0, 0);
        while let Some((_, next)) = bundle.read(at).map_err(|error| error.in_entry(index))? {
            (at, index) = (next, index + 1);
        }
        Ok(bundle)
    }

    /// Returns the leader of the first START line in `data`; `None` if there is none, which means
    /// that `data` is not a text bundle.
    pub fn detect(data: &[u8]) -> Option<CommentLeader> {
        let line_ends = data.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        let is_start = |leader: &CommentLeader, at: usize| {
            Marker::Start.size_at(*leader, &data[at..]).is_some()
        };
        line_ends
            .map(|(at, _)| at)
            .find_map(|at| CommentLeader::ALL.into_iter().find(|leader| is_start(leader, at)))
    }

    /// Returns the entries in file order. Several entries may have the same ID.
    pub fn entries(&self) -> impl Iterator<Item = Entry<'data>> + use<'data> {
        let (bundle, mut at) = (*self, 0);
        core::iter::from_fn(move || {
            // This cannot fail: `TextBundle::parse` has read every entry.
            let (entry, next) = bundle.read(at).ok().flatten()?;
            at = next;
            Some(entry)
        })
    }

    /// Reads the first entry after offset `at`. Returns the entry, and the offset where the search
    /// for the next entry starts. Each search starts where the previous search ended, so every byte
    /// is read only once.
    fn read(&self, at: usize) -> Result<Option<(Entry<'data>, usize)>> {
        let Some((start, id_at)) = Marker::Start.find(self.leader, &self.data[at..]) else {
            return Ok(None);
        };
        let (start, id_at) = (at + start, at + id_at);
        let endless =
            Error::new(ErrorKind::Malformed, "bundle entry (START without END)", start as u64);
        let id_size = self.data[id_at..].iter().position(|&byte| byte == b'\n').ok_or(endless)?;
        let offset = id_at + id_size + 1;
        let (size, end_id) = Marker::End.find(self.leader, &self.data[offset..]).ok_or(endless)?;
        let id = str::from_utf8(&self.data[id_at..id_at + id_size])
            .map_err(|_| Error::new(ErrorKind::Malformed, "bundle entry ID", id_at as u64))?;
        let code_object = &self.data[offset..offset + size];
        let entry = Entry { id_str: id, offset: offset as u64, code_object };
        Ok(Some((entry, offset + end_id)))
    }
}

impl fmt::Debug for TextBundle<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.entries()).finish()
    }
}
