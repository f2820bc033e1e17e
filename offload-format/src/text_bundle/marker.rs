//! The two kinds of lines that an entry lies between.

use super::CommentLeader;
use crate::bundle::MAGIC;
use alloc::vec::Vec;

/// Which of the two lines.
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

    /// The line with this ID, and the line end before it.
    pub(super) fn line(self, leader: CommentLeader, id: &str) -> Vec<u8> {
        [b"\n", leader.as_str().as_bytes(), b" ", MAGIC, self.word(), id.as_bytes(), b"\n"].concat()
    }

    /// The size of the marker at the start of `text`, which starts with the line end before it;
    /// `None` if there is another line. The ID follows.
    pub(super) fn size_at(self, leader: CommentLeader, text: &[u8]) -> Option<usize> {
        let rest = text
            .strip_prefix(b"\n")?
            .strip_prefix(leader.as_str().as_bytes())?
            .strip_prefix(b" ")?;
        let rest = rest.strip_prefix(MAGIC)?.strip_prefix(self.word())?;
        Some(text.len() - rest.len())
    }

    /// The first line of this kind in `text`: the offset of the line end before it, and that of its
    /// ID.
    pub(super) fn find(self, leader: CommentLeader, text: &[u8]) -> Option<(usize, usize)> {
        let line_ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        line_ends
            .map(|(at, _)| at)
            .find_map(|at| Some((at, at + self.size_at(leader, &text[at..])?)))
    }
}
