//! The files of an archive, of which some belong together.

use super::bare::Bare;
use super::compile::Compiled;
use super::gets::Known;
use super::joined::Joined;
use super::packs::Packs;
use super::{Asked, missing_for};
use crate::offload::Context;
use crate::offload::inside::Inside;
use crate::text;
use offload_format::inventory::Inventory;
use std::path::Path;

/// The files of an archive that may belong together.
#[derive(Default)]
pub(super) struct Files {
    packs: Packs,
    bare: Bare,
}

impl Files {
    /// Whether a file without images is needed, by its name and inventory.
    pub(super) fn needs(name: &[u8], inventory: &Inventory<'_>) -> bool {
        Packs::needs(name, inventory)
    }

    /// Takes a file of the archive, with the result of ptxas. Returns whether it is of a kind that
    /// belongs together with others.
    pub(super) fn take(
        &mut self,
        inside: &Inside<'_>,
        known: &Known<'_>,
        compiled: &mut Option<Compiled>,
    ) -> bool {
        self.packs.take(inside, known, compiled) || self.bare.take(inside, known, compiled)
    }

    /// Returns the files, those that belong together as one.
    pub(super) fn joined(self) -> impl Iterator<Item = Joined> {
        self.packs.joined().into_iter().chain(self.bare.joined())
    }
}

/// Collects in which files of an archive a GPU gets no image from a module.
pub(in crate::offload) struct Lacking<'c> {
    context: &'c Context,
    archive: String,
    asked: &'c Asked,
    files: Files,
    has_code: bool,
    found: Vec<String>,
}

impl<'c> Lacking<'c> {
    pub(in crate::offload) fn new(context: &'c Context, archive: &Path, asked: &'c Asked) -> Self {
        let archive = text::escaped(archive.as_os_str().as_encoded_bytes());
        Self {
            context,
            archive,
            asked,
            files: Files::default(),
            has_code: false,
            found: Vec::new(),
        }
    }

    /// Whether a file without images is needed, by its name and inventory.
    pub(in crate::offload) fn needs(name: &[u8], inventory: &Inventory<'_>) -> bool {
        Files::needs(name, inventory)
    }

    /// Adds a file of the archive.
    pub(in crate::offload) fn add(&mut self, inside: &Inside<'_>) {
        let mut known = Known::default();
        // `verify` reports images that cannot be read.
        let toolkits = self.asked.device.has_driver();
        known.add(self.context, inside.inventory, toolkits, &mut |_| {});
        if !self.files.take(inside, &known, &mut None) && !known.is_empty() {
            let file = format!("{}: {}", self.archive, text::escaped(inside.name));
            self.add_known(file, &known);
        }
    }

    fn add_known(&mut self, file: String, known: &Known<'_>) {
        self.has_code = true;
        self.found.extend(missing_for(file, known, self.asked));
    }

    /// Returns a sentence for each part of a file in which the GPU gets no image, and for each
    /// problem with files that belong together.
    pub(in crate::offload) fn finish(mut self) -> Vec<String> {
        for Joined { name, known, problems, .. } in std::mem::take(&mut self.files).joined() {
            let file = format!("{}: {name}", self.archive);
            self.found.extend(problems.iter().map(|problem| format!("{file}: {problem}")));
            self.add_known(file, &known);
        }
        if !self.has_code {
            self.add_known(self.archive.clone(), &Known::default());
        }
        self.found
    }
}
