//! Comment leaders.

/// The start of a comment line in the language of a text bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CommentLeader {
    /// `//`: preprocessed C, C++, CUDA and HIP.
    Slashes,
    /// `#`: assembly and dependency files.
    Hash,
    /// `;`: LLVM's textual IR.
    Semicolon,
}

impl CommentLeader {
    /// All comment leaders.
    pub const ALL: [Self; 3] = [Self::Slashes, Self::Hash, Self::Semicolon];

    /// Returns the leader for a file type of `clang-offload-bundler -type`; `None` if the type is
    /// not text.
    pub fn of_file_type(file_type: &str) -> Option<Self> {
        match file_type {
            "i" | "ii" | "cui" | "hipi" => Some(Self::Slashes),
            "d" | "s" => Some(Self::Hash),
            "ll" => Some(Self::Semicolon),
            _ => None,
        }
    }

    /// Returns the characters: `//`, `#` or `;`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Slashes => "//",
            Self::Hash => "#",
            Self::Semicolon => ";",
        }
    }
}
