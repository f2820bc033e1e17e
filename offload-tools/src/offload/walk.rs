//! Walks through a FILE for all commands: the file itself with its kernel packs, or the files
//! inside an archive.

use super::kernel_packs::{KernelPacks, names_packs};
use super::{Context, Error, Result, out};
use crate::describe::problem_text;
use crate::files::Input;
use crate::text::{escaped, escaped_path, plural};
use crate::unpack::{self, Archive, Found};
use offload_format::inventory::Inventory;
use std::path::Path;

/// A file that a command reads, with its inventory.
pub(super) struct Visited<'m> {
    /// The path of FILE, or the name stored in the archive.
    pub(super) name: &'m [u8],
    /// The file's name for messages: `x.whl: lib/libx.so`.
    pub(super) shown: String,
    pub(super) input: &'m Input,
    pub(super) inventory: Inventory<'m>,
    /// The file's size in the file system or archive; `None` if the archive is compressed as a
    /// whole.
    pub(super) stored: Option<u64>,
    /// Whether the file is inside an archive.
    pub(super) is_inside: bool,
    /// The kernel packs of FILE. Empty for a file in an archive, which contains the packs as other
    /// files.
    pub(super) beside: KernelPacks,
}

/// The totals of an archive.
#[derive(Debug, Default)]
pub(super) struct Summary {
    /// The number of files with images.
    files: usize,
    /// The decompressed size of these files' images in bytes.
    bytes: u64,
    /// The size of all files in bytes, including those without images.
    pub(super) unpacked: u64,
    /// Messages about members that could not be unpacked. Each message contains the member's name.
    pub(super) problems: Vec<String>,
    /// Archives inside the archive, which are not opened.
    closed: Vec<String>,
}

impl Context {
    /// Calls `visit` for FILE. If FILE is an archive, calls `visit` for each file in it that has
    /// containers, problems, or members in separate files. With `packs`, also calls it for each
    /// file that names kernel packs. Warns if FILE is an unsupported kind of archive.
    ///
    /// Returns an error if `visit` returns one.
    pub(super) fn walk(
        &self,
        path: &Path,
        input: &Input,
        archive: Option<&Archive<'_>>,
        packs: bool,
        mut visit: impl FnMut(&Visited<'_>) -> Result<()>,
    ) -> Result<Summary> {
        let mut summary = Summary::default();
        let Some(archive) = archive else {
            let inventory = self.inventory(input);
            let beside = KernelPacks::of(path, input, &inventory);
            let file = Visited::new(path, input, inventory, beside);
            visit(&file)?;
            if let Some(what) = file.unopened() {
                file.warn(
                    self,
                    format_args!(
                        "this is {what}, which offload cannot open: unpack it, and pass its files"
                    ),
                );
            }
            return Ok(summary);
        };
        let limit = if self.is_max_size_given { self.max_size } else { archive.usual_limit() };
        archive.walk(path, limit, &mut |found| match found {
            Found::File(member) => {
                let inventory = self.inventory(&member.content);
                let (count, bytes) = inventory
                    .images_with_content()
                    .fold((0, 0u64), |sum, it| (sum.0 + 1, sum.1.saturating_add(it.size)));
                summary.unpacked = summary.unpacked.saturating_add(member.content.size());
                summary.files += usize::from(count > 0);
                summary.bytes = summary.bytes.saturating_add(bytes);
                let is_empty = inventory.containers.is_empty() && inventory.elsewhere.is_empty();
                if is_empty
                    && inventory.problems.is_empty()
                    && !(packs && names_packs(member.name, &inventory))
                {
                    return Ok(());
                }
                let shown = format!("{}: {}", escaped_path(path), escaped(member.name));
                visit(&Visited {
                    name: member.name,
                    shown,
                    input: &member.content,
                    inventory,
                    stored: member.stored,
                    is_inside: true,
                    beside: KernelPacks::default(),
                })
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
}

impl Summary {
    /// Describes the archive: `zip archive with 118.0 MiB of images in 11 files`.
    pub(super) fn description(
        &self,
        archive: &Archive<'_>,
        size: impl Fn(u64) -> String,
    ) -> String {
        let what = archive.description();
        match self.files {
            0 if !self.problems.is_empty() => format!("{what} without files that can be read"),
            0 if !self.closed.is_empty() => {
                format!(
                    "{what} without device code, except perhaps in nested archives, which are not opened"
                )
            }
            0 => format!("{what} without device code"),
            files => {
                format!("{what} with {} of images in {}", size(self.bytes), plural(files, "file"))
            }
        }
    }

    /// Reports on standard error the members that could not be unpacked, and the archives that were
    /// not opened.
    pub(super) fn report(&self, context: &Context, path: &Path) {
        let shown = escaped_path(path);
        self.problems.iter().for_each(|problem| context.warn(&shown, problem));
        self.note_closed(path);
    }

    /// Reports on standard error the archives that were not opened.
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
        let path = escaped_path(path);
        out::note(&format!("{path}: archives inside an archive are not opened: {names}{others}"));
    }
}

impl<'m> Visited<'m> {
    /// Creates the value for FILE, or for a kernel pack.
    pub(super) fn new(
        path: &'m Path,
        input: &'m Input,
        inventory: Inventory<'m>,
        beside: KernelPacks,
    ) -> Self {
        let (name, shown) = (path.as_os_str().as_encoded_bytes(), escaped_path(path));
        let stored = Some(input.size());
        Self { name, shown, input, inventory, stored, is_inside: false, beside }
    }

    pub(super) fn packs(&self, context: &Context) -> Vec<Visited<'_>> {
        let packs = self.beside.packs.iter().map(|pack| {
            Visited::new(&pack.path, &pack.input, pack.inventory(context), KernelPacks::default())
        });
        packs.collect()
    }

    /// Returns the kernel packs of FILE with the entries that its wrappers request.
    pub(super) fn needed_packs(&self, context: &Context) -> Vec<Visited<'_>> {
        let (mut packs, entries) = (self.packs(context), &self.beside.entries);
        if !entries.is_empty() {
            packs.iter_mut().for_each(|it| it.inventory.retain_entries(|it| entries.contains(it)));
        }
        packs
    }

    /// Returns the images of the needed packs as if all images were in one file.
    pub(super) fn joined_packs<'f>(&'f self, context: &Context) -> Inventory<'f> {
        let mut joined = Inventory::default();
        for pack in self.needed_packs(context) {
            let mut inventory = pack.inventory;
            for container in &mut inventory.containers {
                container.place.member = Some(pack.name);
            }
            joined.append(inventory);
        }
        joined
    }

    /// Returns the kind of an archive that cannot be opened; `None` for other files.
    pub(super) fn unopened(&self) -> Option<&'static str> {
        unpack::unopened(self.input.bytes()).filter(|_| self.inventory.containers.is_empty())
    }

    /// Warns on standard error about a part that could not be read.
    pub(super) fn warn(&self, context: &Context, problem: impl std::fmt::Display) {
        context.warn(&self.shown, problem);
    }

    /// Reports the file's unreadable parts on standard error.
    pub(super) fn warn_of_problems(&self, context: &Context) {
        self.inventory.problems.iter().for_each(|it| self.warn(context, problem_text(it)));
    }

    /// Returns a note for each member of a thin archive, because the member's file is not read.
    /// `what` says what the command does not do with the member: `listed`.
    pub(super) fn elsewhere(&self, what: &str) -> Vec<String> {
        let file = if self.is_inside { format!("{}: ", self.shown) } else { String::new() };
        let note = |member: &&[u8]| {
            format!("{file}{}: not {what}, because it is in a separate file", escaped(member))
        };
        self.inventory.elsewhere.iter().map(note).collect()
    }
}
