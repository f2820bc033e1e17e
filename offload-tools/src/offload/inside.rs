//! Visits the files inside of archives, for all commands.

use super::{Context, Error, Result, out};
use crate::describe::problem_text;
use crate::files::Input;
use crate::text::{escaped, plural};
use crate::unpack::{self, Archive, Found};
use offload_format::inventory::{ImageKind, Inventory};
use std::path::Path;

/// A file inside of an archive, with its inventory.
#[derive(Debug)]
pub(super) struct Inside<'m> {
    /// The file's name as stored.
    pub(super) name: &'m [u8],
    pub(super) input: &'m Input,
    pub(super) inventory: &'m Inventory<'m>,
    /// The size in the archive; `None` if the archive is compressed as a whole.
    pub(super) stored: Option<u64>,
}

/// The totals of an archive.
#[derive(Debug, Default)]
pub(super) struct Summary {
    /// The number of files with images.
    pub(super) files: usize,
    /// The number of images in these files.
    pub(super) images: usize,
    /// The size of these images in bytes, decompressed.
    pub(super) bytes: u64,
    /// The size of all files in bytes, including files without images.
    pub(super) unpacked: u64,
    /// Texts about members that could not be unpacked, each with the member's name.
    pub(super) problems: Vec<String>,
    /// Archives inside of the archive, which are not opened.
    closed: Vec<String>,
}

impl Context {
    /// Calls `visit` for each file of an archive that has containers, problems, or members in
    /// separate files.
    ///
    /// Returns an error if `visit` returns one.
    pub(super) fn inside(
        &self,
        path: &Path,
        archive: &Archive<'_>,
        visit: impl FnMut(&Inside<'_>) -> Result<()>,
    ) -> Result<Summary> {
        self.inside_and(path, archive, |_, _| false, visit)
    }

    /// Like [`Context::inside`], but also calls `visit` for the files, by their name and inventory,
    /// for which `also` is true.
    pub(super) fn inside_and(
        &self,
        path: &Path,
        archive: &Archive<'_>,
        also: impl Fn(&[u8], &Inventory<'_>) -> bool,
        mut visit: impl FnMut(&Inside<'_>) -> Result<()>,
    ) -> Result<Summary> {
        let limit = if self.is_max_size_given { self.max_size } else { archive.usual_limit() };
        let mut summary = Summary::default();
        archive.walk(path, limit, &mut |found| match found {
            Found::File(member) => {
                let inventory = self.inventory(&member.content);
                let images = inventory
                    .images
                    .iter()
                    .filter(|image| image.known_kind() != Some(ImageKind::Empty));
                let (count, bytes) =
                    images.fold((0, 0u64), |sum, it| (sum.0 + 1, sum.1.saturating_add(it.size)));
                summary.unpacked = summary.unpacked.saturating_add(member.content.size());
                summary.files += usize::from(count > 0);
                summary.images += count;
                summary.bytes = summary.bytes.saturating_add(bytes);
                let is_empty = inventory.containers.is_empty() && inventory.elsewhere.is_empty();
                if is_empty && inventory.problems.is_empty() && !also(member.name, &inventory) {
                    return Ok(());
                }
                let (name, input, stored) = (member.name, &member.content, member.stored);
                visit(&Inside { name, input, inventory: &inventory, stored })
            }
            Found::Problem { name: b"", text } => {
                summary.problems.push(text);
                Ok::<(), Error>(())
            }
            Found::Problem { name, text } => {
                summary.problems.push(format!("{}: {text}", escaped(name)));
                Ok(())
            }
            Found::Closed { name, what } => {
                summary.closed.push(format!("{} ({what})", escaped(name)));
                Ok(())
            }
        })?;
        Ok(summary)
    }

    /// Reports on standard error which parts of a file could not be read.
    pub(super) fn warn_of_problems(&self, path: &Path, inventory: &Inventory<'_>) {
        for problem in &inventory.problems {
            self.warn_of(path, problem_text(problem));
        }
    }

    /// Warns if a file without device code is an archive of an unsupported kind. Returns whether
    /// the file is such an archive.
    pub(super) fn warn_if_unopened(
        &self,
        path: &Path,
        input: &Input,
        inventory: &Inventory<'_>,
    ) -> bool {
        let what = unpack::unopened(input.bytes()).filter(|_| inventory.containers.is_empty());
        if let Some(what) = what {
            self.warn_of(
                path,
                format_args!(
                    "this is {what}, which offload cannot open: unpack it, and name its files"
                ),
            );
        }
        what.is_some()
    }
}

impl Summary {
    /// Returns a description of the archive: `zip archive with 118.0 MiB of images in 11 files`.
    pub(super) fn words(&self, archive: &Archive<'_>, size: impl Fn(u64) -> String) -> String {
        let what = archive.words();
        match self.files {
            0 if !self.problems.is_empty() => format!("{what}, nothing in it that can be read"),
            0 if !self.closed.is_empty() => {
                format!("{what}, no device code but in archives inside, which are not opened")
            }
            0 => format!("{what} without device code"),
            files => {
                format!("{what} with {} of images in {}", size(self.bytes), plural(files, "file"))
            }
        }
    }

    /// Reports on standard error which members could not be unpacked, and which archives were not
    /// opened.
    pub(super) fn report(&self, context: &Context, path: &Path) {
        self.problems.iter().for_each(|problem| context.warn_of(path, problem));
        self.note_closed(path);
    }

    /// Reports on standard error which archives were not opened.
    pub(super) fn note_closed(&self, path: &Path) {
        /// The maximum number of names in one message: a Debian package contains dozens of
        /// compressed manual pages.
        const MOST: usize = 3;
        let Some(more) = self.closed.len().checked_sub(1) else { return };
        let names = self.closed[..self.closed.len().min(MOST)].join(", ");
        let others = match (more + 1).saturating_sub(MOST) {
            0 => String::new(),
            count => format!(" and {count} more"),
        };
        let path = escaped(path.as_os_str().as_encoded_bytes());
        out::note(&format!(
            "{path}: not looked into, as archives inside of an archive are not opened: {names}{others}"
        ));
    }
}

impl Inside<'_> {
    /// Returns the file's name for messages: `x.whl: lib/libx.so`.
    pub(super) fn shown(&self, path: &Path) -> String {
        format!("{}: {}", escaped(path.as_os_str().as_encoded_bytes()), escaped(self.name))
    }

    /// Reports on standard error which parts of the file could not be read.
    pub(super) fn warn_of_problems(&self, context: &Context, path: &Path) {
        for problem in &self.inventory.problems {
            context.warn(&self.shown(path), problem_text(problem));
        }
    }
}
