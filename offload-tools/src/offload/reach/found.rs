//! Finds the GPUs that each FILE serves. Files of an archive that belong together get one result.

use super::bare::{self, is_bare};
use super::compile::Compiled;
use super::gets::Known;
use super::joined::Joined;
use super::package::{self, Package};
use super::packs::Packs;
use super::{Asked, Reach, of_kinds};
use crate::files::Input;
use crate::offload::kernel_packs::no_code;
use crate::offload::walk::Visited;
use crate::offload::{Context, Result, out};
use crate::text;
use crate::unpack::Archive;
use offload_build::doctor::Assembler;
use std::path::Path;

/// The GPUs that files serve.
pub(in crate::offload) struct Found<'c> {
    context: &'c Context,
    required: Vec<Asked>,
    pub(super) compile: Option<&'c Assembler>,
    pub(super) package: Option<(package::Kind, Package)>,
    /// Whether to find the toolkits that wrote cubins.
    pub(super) toolkits: bool,
    /// Whether to report problems and images that serve no GPU, which `verify` reports itself.
    reports: bool,
    packs: Packs,
    bare: Vec<Joined>,
    pub(super) reached: Vec<Reach>,
}

impl<'c> Found<'c> {
    /// Creates an empty value. `required` contains the GPUs that the files should serve.
    pub(in crate::offload) fn new(
        context: &'c Context,
        required: Vec<Asked>,
        reports: bool,
    ) -> Self {
        let toolkits = required.iter().any(|asked| asked.device.has_driver());
        let (packs, bare, reached) = (Packs::default(), Vec::new(), Vec::new());
        let (compile, package) = (None, None);
        Self { context, required, compile, package, toolkits, reports, packs, bare, reached }
    }

    pub(super) fn add_file(&mut self, path: &Path, input: &Input) -> Result<()> {
        let (context, before) = (self.context, self.reached.len());
        let archive = Archive::of(input.bytes());
        let summary = context.walk(path, input, archive.as_ref(), true, |file| self.visit(file))?;
        self.finish(&text::escaped_path(path), before);
        summary.report(context, path);
        Ok(())
    }

    /// Adds a file and the kernel packs in its folder. If the file may belong together with other
    /// files of its archive, keeps it until the end of the archive.
    pub(in crate::offload) fn visit(&mut self, file: &Visited<'_>) -> Result<()> {
        let (context, reports) = (self.context, self.reports);
        let packs = file.needed_packs(context);
        if reports {
            for note in file.elsewhere("looked at") {
                out::note(&note);
                context.add_unread(&file.shown);
            }
            file.beside.warn(context, &file.shown);
            if let Some(of) = file.inventory.references.first()
                && !packs.is_empty()
                && packs
                    .iter()
                    .map(|pack| &pack.inventory)
                    .all(|it| it.images.is_empty() && it.problems.is_empty())
            {
                file.warn(context, text::escaped_str(&no_code(of.reference.kernel_name)));
            }
        }
        let mut known = Known::default();
        for file in [file].into_iter().chain(&packs) {
            if reports {
                file.warn_of_problems(context);
            }
            known.add(context, &file.inventory, self.toolkits, &mut |text| {
                if reports {
                    file.warn(context, text);
                }
            });
        }
        known.require(&file.beside.entries);
        let mut compiled = None;
        if let Some(ptxas) = self.compile {
            let devices: Vec<Asked> = of_kinds(&known).collect();
            let devices = devices.iter().chain(&self.required);
            compiled = Some(Compiled::new((ptxas, context), &known, devices)?);
        }
        let is_taken = file.is_inside && self.packs.take(file, &known, &mut compiled);
        if !is_taken && file.is_inside && is_bare(file, &known) {
            let name = String::from_utf8_lossy(file.name).into_owned();
            self.bare.push(Joined { name, known: known.detached(), compiled, ..Joined::default() });
        } else if !(is_taken || file.is_inside && known.is_empty()) {
            self.add(file.shown.clone(), &known, compiled, Vec::new());
        }
        Ok(())
    }

    /// Adds one result for each group of an archive's files that belong together. `before` is how
    /// many results there were before this FILE.
    fn finish(&mut self, file: &str, before: usize) {
        let (packs, bare) = (std::mem::take(&mut self.packs), std::mem::take(&mut self.bare));
        for Joined { name, known, problems, compiled } in
            packs.joined().into_iter().chain(bare::joined(bare))
        {
            let file = format!("{file}: {}", text::escaped_str(&name));
            if self.reports {
                problems.iter().for_each(|problem| self.context.warn(&file, problem));
            }
            self.add(file, &known, compiled, problems);
        }
        if self.reached.len() == before {
            let none = Known::default();
            self.reached.push(Reach::new(file.to_owned(), &none, &self.required, None, Vec::new()));
        }
    }

    /// Adds a file's modules.
    fn add(
        &mut self,
        file: String,
        known: &Known<'_>,
        compiled: Option<Compiled>,
        problems: Vec<String>,
    ) {
        if self.reports && !known.not_loaded.is_empty() {
            let images = text::some(known.not_loaded.iter());
            out::warn(&format!(
                "{file}: no known driver loads these images, so they serve no GPU: {images}"
            ));
        }
        if let Some((_, package)) = &mut self.package {
            package.add(&file, known);
        }
        let reach = Reach::new(file, known, &self.required, compiled, problems);
        reach.note_of_alternatives().iter().for_each(|note| out::note(note));
        self.reached.push(reach);
    }

    /// Returns a sentence for each part of the FILE that has no image for the GPU, and for each
    /// problem with files that belong together.
    pub(in crate::offload) fn lacking(mut self, file: &str) -> Vec<String> {
        self.finish(file, 0);
        let mut all = Vec::new();
        for reach in &self.reached {
            all.extend(reach.problems.iter().map(|problem| format!("{}: {problem}", reach.file)));
            all.extend(reach.missing(|_| true));
        }
        all
    }
}
