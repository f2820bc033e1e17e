//! Reads files inside archives: wheels and other zip archives, tar archives, Rust's `.crate` files,
//! Debian packages, conda packages.
//!
//! | module | contains |
//! |---|---|
//! | `codec` | compression of a whole file: gzip, xz, zstd |
//! | `zip`, `tar`, `deb` | the members of each kind of archive |
//! | `name` | checks for names that lead to other folders or occur twice |
//! | `budget` | the limit on unpacked bytes, and the storage of one member |
//!
//! One member is unpacked at a time, into memory or into a file without a name, so nothing stays on
//! the disk. The names of members are shown, but never used as paths. An archive inside an archive
//! is reported, but not opened.

mod budget;
mod codec;
mod deb;
mod name;
mod tar;
mod zip;

#[cfg(test)]
mod tests;

use crate::files::Input;
use budget::Budget;
use codec::Codec;
use std::path::Path;

/// An archive that can be opened.
#[derive(Debug, Clone, Copy)]
pub struct Archive<'a> {
    bytes: &'a [u8],
    form: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Zip,
    Deb,
    Tar,
    CompressedTar(Codec),
    /// A single compressed file.
    Compressed(Codec),
}

/// A part of an archive.
#[derive(Debug)]
pub enum Found<'m> {
    /// A file.
    File(Member<'m>),
    /// A part of the archive that cannot be read or is malformed.
    Problem {
        /// The member's name as stored; empty if the problem is about the archive itself.
        name: &'m [u8],
        /// The problem.
        text: String,
    },
    /// An archive inside the archive, which is not opened.
    Closed {
        /// The member's name as stored.
        name: &'m [u8],
        /// The kind of the archive, such as `a zip archive`.
        what: &'static str,
    },
}

/// A file inside an archive.
#[derive(Debug)]
pub struct Member<'m> {
    /// The file's name as stored.
    pub name: &'m [u8],
    /// The file's bytes.
    pub content: Input,
    /// The compressed size in bytes; `None` if the archive is compressed as a whole.
    pub stored: Option<u64>,
}

/// A function called for each part of the archive. If it returns an error, the walk ends.
type Visit<'v, E> = dyn FnMut(Found<'_>) -> Result<(), E> + 'v;

impl<'a> Archive<'a> {
    /// Recognizes an archive by its first bytes. A zip archive may also be at the end of a file.
    /// Returns `None` if the bytes are not an archive that can be opened.
    pub fn of(bytes: &'a [u8]) -> Option<Self> {
        let form = if bytes.starts_with(b"!<arch>\ndebian-binary") {
            Form::Deb
        } else if let Some(codec) = Codec::of(bytes) {
            if tar::is_start(&codec.start(bytes, tar::BLOCK)) {
                Form::CompressedTar(codec)
            } else {
                Form::Compressed(codec)
            }
        } else if tar::is_start(bytes) {
            Form::Tar
        } else if zip::is_zip(bytes) {
            Form::Zip
        } else {
            return None;
        };
        Some(Self { bytes, form })
    }

    /// Returns the kind's name in JSON: `zip`, `deb`, `tar`, `tar.gz`, `gz`.
    pub fn kind(&self) -> String {
        match self.form {
            Form::Zip => "zip".to_owned(),
            Form::Deb => "deb".to_owned(),
            Form::Tar => "tar".to_owned(),
            Form::CompressedTar(codec) => format!("tar.{}", codec.names().1),
            Form::Compressed(codec) => codec.names().1.to_owned(),
        }
    }

    /// Returns the kind's name for messages, such as `zip archive`.
    pub fn description(&self) -> String {
        match self.form {
            Form::Zip => "zip archive".to_owned(),
            Form::Deb => "Debian package".to_owned(),
            Form::Tar => "tar archive".to_owned(),
            Form::CompressedTar(codec) => format!("{}-compressed tar archive", codec.names().0),
            Form::Compressed(codec) => format!("{}-compressed file", codec.names().0),
        }
    }

    /// Returns the default limit on unpacked bytes. Real archives of code unpack to far fewer
    /// bytes. Without a limit, a tiny file could fill a disk.
    pub fn usual_limit(&self) -> u64 {
        const LEAST: u64 = 1 << 30;
        const MOST: u64 = 1 << 36;
        (self.bytes.len() as u64).saturating_mul(64).clamp(LEAST, MOST)
    }

    /// Unpacks the members one by one, in the archive's order. A single compressed file gets its
    /// name from `path`, the path of the archive. At most `limit` bytes are unpacked in total.
    ///
    /// Stops at the first error from `visit`, and returns it.
    pub fn walk<E>(&self, path: &Path, limit: u64, visit: &mut Visit<'_, E>) -> Result<(), E> {
        let budget = Budget::new(limit);
        let mut visit = |found: Found<'_>| match &found {
            Found::File(member) if self.form == Form::Zip && is_part_of_conda(member) => {
                let reader = Codec::Zstd.reader(member.content.bytes());
                tar::walk(&mut budget.limited(reader), true, &mut |inner| checked(inner, visit))
            }
            _ => checked(found, visit),
        };
        match self.form {
            Form::Zip => zip::walk(self.bytes, path, &budget, &mut visit),
            Form::Deb => deb::walk(self.bytes, &budget, &mut visit),
            Form::Tar => tar::walk(&mut budget.limited(self.bytes), false, &mut visit),
            Form::CompressedTar(codec) => {
                tar::walk(&mut budget.limited(codec.reader(self.bytes)), true, &mut visit)
            }
            Form::Compressed(codec) => {
                let name = path.file_stem().unwrap_or_default().as_encoded_bytes();
                visit(match budget.keep(budget.limited(codec.reader(self.bytes)), 0) {
                    Ok(content) => {
                        Found::File(Member { name, content, stored: Some(self.bytes.len() as u64) })
                    }
                    Err(error) => Found::Problem { name: b"", text: cannot_unpack(&error) },
                })
            }
        }
    }
}

/// Passes on a part of an archive. If the part is an archive itself, reports that it is not opened.
fn checked<E>(found: Found<'_>, visit: &mut Visit<'_, E>) -> Result<(), E> {
    if let Found::File(member) = &found
        && let Some(what) = closed_inside(member.content.bytes())
    {
        visit(Found::Closed { name: member.name, what })?;
        // A program before the archive may contain device code.
        if !zip::is_after_other_bytes(member.content.bytes()) {
            return Ok(());
        }
    }
    visit(found)
}

/// Whether a zip archive's file is one of the two tar archives in a conda package (`.conda`), which
/// contain the package's files and its metadata.
fn is_part_of_conda(member: &Member<'_>) -> bool {
    let is_named = |start: &[u8]| member.name.starts_with(start);
    (is_named(b"pkg-") || is_named(b"info-"))
        && member.name.ends_with(b".tar.zst")
        && Codec::of(member.content.bytes()) == Some(Codec::Zstd)
}

/// Returns the kind of an archive that cannot be opened, detected from its first bytes. Returns
/// `None` if the bytes are not a known archive.
pub fn unopened(bytes: &[u8]) -> Option<&'static str> {
    const STARTS: [(&[u8], &str); 11] = [
        (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
        (b"Rar!\x1a\x07", "a RAR archive"),
        (b"LZIP", "a file compressed with lzip"),
        (b"\x04\x22\x4d\x18", "a file compressed with lz4"),
        (b"\x5d\x00\x00\x80\x00", "a file compressed with lzma"),
        (b"\x1f\x9d", "a file compressed with compress"),
        (b"\xed\xab\xee\xdb", "an RPM package"),
        (b"MSCF", "a cabinet archive"),
        (b"xar!", "a xar archive"),
        (b"hsqs", "a squashfs image"),
        (b"070701", "a cpio archive"),
    ];
    // Text may also begin with `BZh`, so also check the first block's magic number, which follows
    // the level (a digit).
    if bytes.starts_with(b"BZh") && bytes.get(4..10) == Some(b"1AY&SY") {
        return Some("a file compressed with bzip2");
    }
    STARTS.iter().find(|(start, _)| bytes.starts_with(start)).map(|(_, what)| *what)
}

/// Returns the kind of an archive that is not opened, because it is inside another archive.
fn closed_inside(bytes: &[u8]) -> Option<&'static str> {
    match Archive::of(bytes) {
        Some(archive) => Some(match archive.form {
            Form::Zip => "a zip archive",
            Form::Deb => "a Debian package",
            Form::Tar | Form::CompressedTar(_) => "a tar archive",
            Form::Compressed(_) => "a compressed file",
        }),
        None => unopened(bytes),
    }
}

/// Returns the message for a decoder's error or an exceeded limit.
fn cannot_unpack(error: &std::io::Error) -> String {
    if error.get_ref().is_some_and(|inner| inner.is::<budget::Refused>()) {
        error.to_string()
    } else {
        format!("cannot be unpacked: {}", crate::files::os_message(error))
    }
}
