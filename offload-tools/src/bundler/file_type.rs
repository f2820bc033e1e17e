//! The types of files that `-type` names.

use super::Failure;
use offload_format::text_bundle::CommentLeader;

/// The type that only unbundling supports.
pub(super) const ARCHIVE: &str = "a";

/// The type of a file, which decides the form of its bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileType {
    /// Entries between comments.
    Text(CommentLeader),
    /// The binary form.
    Binary,
    /// Sections of a host object; the binary form if there is no host object.
    Object,
}

impl FileType {
    /// Returns an error if the type is unknown.
    pub(super) fn parse(name: &str) -> Result<Self, Failure> {
        match name {
            "bc" | "gch" | "ast" => Ok(Self::Binary),
            // If an archive is read as a whole, only a binary bundle could be listed.
            "o" | ARCHIVE => Ok(Self::Object),
            _ => match CommentLeader::of_file_type(name) {
                Some(leader) => Ok(Self::Text(leader)),
                None => Err(Failure::new(format!("'{name}': invalid file type specified"))),
            },
        }
    }
}
