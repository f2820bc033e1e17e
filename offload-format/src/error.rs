//! Errors from reading bytes.

use core::fmt;

/// The result of reading bytes.
pub type Result<T> = core::result::Result<T, Error>;

/// The reason bytes could not be read: the kind of error, the part at fault (in the format's
/// terms), and the part's offset.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    what: &'static str,
    index: Option<u64>,
    offset: u64,
}

/// The kinds of [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The bytes are not in this format.
    BadMagic,
    /// The bytes end inside the part, which needs `need` bytes but has only `have`.
    Truncated {
        /// The number of bytes needed from the part's start.
        need: u64,
        /// The number of bytes present from the part's start.
        have: u64,
    },
    /// A range given in the file is outside the container.
    OutOfBounds {
        /// The offset of the range from the start of the container.
        start: u64,
        /// The number of bytes in the range.
        size: u64,
        /// The number of bytes in the container.
        len: u64,
    },
    /// A version that this crate cannot read.
    UnsupportedVersion {
        /// The version found.
        version: u64,
    },
    /// A compression method that this crate does not support.
    UnsupportedCompression {
        /// The method's number in the container.
        method: u64,
    },
    /// A compression method that this crate was built without.
    NotBuiltIn {
        /// The feature of this crate that the method needs: `zlib` or `zstd`.
        feature: &'static str,
    },
    /// The part that [`Error::part`] names cannot be read, because a feature of this crate is off.
    Disabled {
        /// The feature: `containers` or `object`.
        feature: &'static str,
    },
    /// The compressed bytes cannot be decompressed.
    Compression {
        /// The decompressor's reason.
        reason: &'static str,
    },
    /// The operation would need to allocate more bytes than the caller allows.
    LimitExceeded {
        /// The number of bytes needed; if the number is unknown, one more than the limit.
        need: u64,
        /// The number of bytes allowed.
        limit: u64,
    },
    /// Any other fault, which [`Error::part`] describes.
    Malformed,
}

impl Error {
    /// Returns an error of this kind in the part `what`, `offset` bytes from the start of the
    /// parsed bytes.
    pub const fn new(kind: ErrorKind, what: &'static str, offset: u64) -> Self {
        Self { kind, what, index: None, offset }
    }

    /// Returns this error with `base` added to its offset. If the container is at the offset `base`
    /// in a file, the new offset counts from the start of the file.
    #[must_use]
    pub const fn shifted(mut self, base: u64) -> Self {
        self.offset = self.offset.saturating_add(base);
        self
    }

    /// Adds the number of the entry that contains the part, counted from 0.
    #[cfg(feature = "packs")]
    pub(crate) const fn in_entry(mut self, index: u64) -> Self {
        self.index = Some(index);
        self
    }

    /// Returns the part at fault, in the format's terms, such as `code object` or `string pairs`.
    pub fn part(&self) -> &'static str {
        self.what
    }

    /// Returns the number of the entry that contains the part, counted from 0.
    pub fn entry(&self) -> Option<u64> {
        self.index
    }

    /// Returns the kind of error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the offset of the part at fault, in bytes from the start of the parsed bytes.
    pub fn offset(&self) -> u64 {
        self.offset
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(index) = self.index {
            write!(f, "entry {index}, ")?;
        }
        let (what, offset) = (self.what, self.offset);
        match self.kind {
            ErrorKind::BadMagic => write!(f, "no {what} at offset {offset}"),
            ErrorKind::Truncated { need, have } => {
                write!(f, "{what}: {need} bytes needed at offset {offset}, but only {have} left")
            }
            ErrorKind::OutOfBounds { start, size, len } => write!(
                f,
                "{what}: {size} bytes at offset {start} extend past the end of the {len} available bytes (field at offset {offset})"
            ),
            ErrorKind::UnsupportedVersion { version } => {
                write!(f, "{what}: unknown version {version} (field at offset {offset})")
            }
            ErrorKind::UnsupportedCompression { method } => {
                write!(f, "{what}: unknown compression method {method} (field at offset {offset})")
            }
            ErrorKind::NotBuiltIn { feature } => write!(
                f,
                "{what} (at offset {offset}) is compressed with {feature}, which is not built in: enable the feature \
                 `{feature}` of offload-gpu, or of offload-format if you use only that crate"
            ),
            ErrorKind::Disabled { feature } => write!(
                f,
                "{what} (at offset {offset}) cannot be read without the feature `{feature}` of offload-format"
            ),
            ErrorKind::Compression { reason } => {
                write!(f, "{what} cannot be decompressed: {reason} (at offset {offset})")
            }
            ErrorKind::LimitExceeded { need, limit } if need <= limit => {
                write!(f, "{what}: {need} bytes could not be allocated (at offset {offset})")
            }
            ErrorKind::LimitExceeded { need, limit } => write!(
                f,
                "{what}: {need} bytes are needed, but only {limit} are allowed (at offset {offset})"
            ),
            ErrorKind::Malformed => write!(f, "{what} is malformed (at offset {offset})"),
        }
    }
}

/// Prints the same text as `Display`, because Rust uses `Debug` to print errors returned from
/// `main`.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for Error {}
