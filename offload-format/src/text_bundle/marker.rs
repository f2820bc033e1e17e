//! The two kinds of marker lines, before and after an entry.

use super::CommentLeader;
use crate::bundle::MAGIC;
use alloc::vec::Vec;

/// The kind of a marker line.
#[derive(Debug, Clone, Copy)]
pub(super) enum Marker {
    Start,
    End,
}

impl Marker {
    fn word(self) -> &'static [u8] {
        match self {
            Marker::Start => b"__START__ ",
            Marker::End => b"__END__ ",
        }
    }

    /// Returns the marker line with this ID, including the line ends before and after it.
    pub(super) fn line(self, leader: CommentLeader, id: &str) -> Vec<u8> {
        [b"\n", leader.as_str().as_bytes(), b" ", MAGIC, self.word(), id.as_bytes(), b"\n"].concat()
    }

    /// Returns the size of the marker at the start of `text`, including the line end before it;
    /// `None` if `text` starts with any other line. The entry's ID follows the marker.
    pub(super) fn size_at(self, leader: CommentLeader, text: &[u8]) -> Option<usize> {
        let rest = text
            .strip_prefix(b"\n")?
            .strip_prefix(leader.as_str().as_bytes())?
            .strip_prefix(b" ")?;
        let rest = rest.strip_prefix(MAGIC)?.strip_prefix(self.word())?;
        Some(text.len() - rest.len())
    }

    /// Finds the first line of this kind in `text`. Returns the offsets of the line end before the
    /// line, and of the line's ID.
    pub(super) fn find(self, leader: CommentLeader, text: &[u8]) -> Option<(usize, usize)> {
        let line_ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        line_ends
            .map(|(at, _)| at)
            .find_map(|at| Some((at, at + self.size_at(leader, &text[at..])?)))
    }
}
