//! The file types that `-type` accepts.

use super::Failure;
use offload_format::text_bundle::CommentLeader;

/// The name of the archive type, which only unbundling supports.
pub(super) const ARCHIVE: &str = "a";

/// A file type, which determines the form of the bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileType {
    /// A text bundle: entries between comment lines.
    Text(CommentLeader),
    /// A binary bundle.
    Binary,
    /// Sections of a host object, or a binary bundle if there is no host object.
    Object,
}

impl FileType {
    /// Parses the name of a type; returns an error if the type is unknown.
    pub(super) fn parse(name: &str) -> Result<Self, Failure> {
        match name {
            "bc" | "gch" | "ast" => Ok(Self::Binary),
            // Only `-unbundle` reads an archive's members, in `archive.rs`. The other commands read
            // an archive like an object: as one bundle, which can only be binary.
            "o" | ARCHIVE => Ok(Self::Object),
            _ => match CommentLeader::of_file_type(name) {
                Some(leader) => Ok(Self::Text(leader)),
                None => Err(Failure::new(format!("'{name}': invalid file type specified"))),
            },
        }
    }
}
