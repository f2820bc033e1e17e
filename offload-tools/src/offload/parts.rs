//! `TARGET=FILE` arguments of `pack` and `bundle`.

use super::{Context, Error, Result, out};
use crate::files::Input;
use crate::text;
use offload_format::bundle::EntryId;
use offload_format::image::{ImageHeader, ImageKind};
use offload_format::offload_binary::OffloadKind;
use offload_format::target::{ImageCode, OffloadArch, TargetId, TargetTriple, amdgpu, similar};
use std::path::{Path, PathBuf};

/// An image to add, with its target.
#[derive(Debug)]
pub(super) struct Part<'a> {
    /// The target as written on the command line.
    pub(super) text: &'a str,
    pub(super) target: PartTarget<'a>,
    pub(super) path: PathBuf,
    pub(super) input: Input,
    /// The header of the image.
    pub(super) header: Option<ImageHeader>,
}

/// The target of an image.
#[derive(Debug, Clone)]
pub(super) enum PartTarget<'a> {
    /// A target without a triple: `gfx90a:xnack-`, `sm_80`, `compute_80`, `cpu`.
    Arch(OffloadArch<'a>),
    /// A target triple, with an optional offload kind before it and an optional target ID after it.
    Full {
        /// The offload kind, such as `hip`; empty if it was not given.
        kind: String,
        /// The triple as given, without dashes at its end.
        triple: String,
        /// The target ID, such as `gfx90a:xnack-` or `sm_80`; empty if it was not given.
        target: String,
    },
}

impl<'a> Part<'a> {
    /// Parses an argument and opens its file.
    ///
    /// Returns an error if the target is invalid, if the file cannot be read, or, without
    /// `--force`, if its header contradicts the target.
    pub(super) fn parse(argument: &'a str, force: bool, context: &Context) -> Result<Self> {
        let Some((target, path)) = argument.split_once('=') else {
            return Err(no_target(argument));
        };
        let parsed = PartTarget::parse(target)?;
        let path = PathBuf::from(path);
        let input = context.open(&path)?;
        let header = ImageHeader::parse(input.bytes()).ok();
        let part = Self { text: target, target: parsed, path, input, header };
        if !force {
            part.check()?;
        }
        Ok(part)
    }

    pub(super) fn name(&self) -> String {
        text::escaped_path(&self.path)
    }

    fn check(&self) -> Result<()> {
        if let Some(id) = self.target_id()
            && let Some(feature) = id.unsupported_feature()
        {
            let has = amdgpu::find(id.processor()).map_or(&[][..], |row| row.features);
            let has = if has.is_empty() { "none".to_owned() } else { has.join(" and ") };
            return Err(Error::text(format!(
                "{}: {} does not support the target ID feature '{feature}'; it supports {has}",
                text::escaped_str(self.text),
                id.processor()
            )));
        }
        if let Some(header) = self.header.filter(|header| header.contradicts(&self.code())) {
            return Err(Error::text(format!(
                "{} is not for {}: its header says {header}",
                self.name(),
                text::escaped_str(self.text)
            ))
            .advice(match header.arch().and_then(|arch| arch.target_id()) {
                Some(name) => {
                    format!(
                        "write {name}={}, or add --force to include it anyway",
                        self.path.display()
                    )
                }
                None => "give a different target, or add --force to include it anyway".to_owned(),
            }));
        }
        self.warn_if_unknown();
        Ok(())
    }

    /// Warns about a processor that is not in the table, because it may be new or misspelled. The
    /// caller has already checked that the image's header does not name a different processor.
    fn warn_if_unknown(&self) {
        let Some(id) = self.target_id() else { return };
        if amdgpu::find(id.processor()).is_none() && id.processor() != amdgpu::SPIRV {
            let similar = similar(id.processor())
                .map_or(String::new(), |similar| format!("; did you mean {similar}?"));
            out::warn(&format!("unknown processor {}{similar}", id.processor()));
        }
    }

    /// Returns the target ID if the target is an AMD GPU without a triple.
    fn target_id(&self) -> Option<TargetId<'a>> {
        match &self.target {
            PartTarget::Arch(arch) => arch.target_id(),
            PartTarget::Full { .. } => None,
        }
    }

    /// Returns the image's kind; `None` if its header cannot be read.
    pub(super) fn kind(&self) -> Option<ImageKind> {
        self.header.map(|header| header.kind())
    }

    fn code(&self) -> ImageCode<'_> {
        let is_ptx = self.kind().is_some_and(ImageKind::is_ptx);
        match &self.target {
            PartTarget::Arch(arch) => ImageCode::of_arch(*arch, is_ptx),
            PartTarget::Full { triple, target, .. } => {
                let target = Some(target.as_str()).filter(|target| !target.is_empty());
                ImageCode::named(target, Some(triple), is_ptx)
            }
        }
    }
}

impl<'a> PartTarget<'a> {
    fn parse(name: &'a str) -> Result<Self> {
        let error = match OffloadArch::parse(name) {
            Ok(arch) => return Ok(PartTarget::Arch(arch)),
            Err(error) => error,
        };
        if let Ok(id) = EntryId::parse(name)
            && (id.is_known_kind() || OffloadKind::named(id.kind()) != OffloadKind::NONE)
        {
            return Ok(Self::full(id.kind(), name, id.kind().len() + 1, id.target()));
        }
        if TargetTriple::parse(name).is_ok_and(|triple| triple.is_known()) {
            let with_kind = format!("none-{name}");
            let target = EntryId::parse(&with_kind).map_or("", |id| id.target()).to_owned();
            return Ok(Self::full("", name, 0, &target));
        }
        let error = Error::text(error.to_string());
        Err(match similar(name) {
            None => error,
            Some(similar) => error.advice(format!("did you mean {similar}?")),
        })
    }

    fn full(kind: &str, name: &str, start: usize, target: &str) -> Self {
        // Dashes before the target ID or at the end of the name do not belong to the triple.
        let end = name.len() - if name.ends_with(target) { target.len() } else { 0 };
        let triple = name[start..end].trim_end_matches('-').to_owned();
        PartTarget::Full { kind: kind.to_owned(), triple, target: target.to_owned() }
    }
}

/// Returns the error for an argument without `=`. If the argument is a file whose header has a
/// target, the error suggests this target.
fn no_target(argument: &str) -> Error {
    let shown = text::escaped_str(argument);
    let error = Error::text(format!("no target is given for '{shown}'"));
    let header =
        Input::open(Path::new(argument)).ok().and_then(|it| ImageHeader::parse(it.bytes()).ok());
    error.advice(match header.and_then(|header| header.arch()) {
        Some(arch) => format!("write {arch}={shown}"),
        None => format!("write TARGET={shown}, where TARGET is gfx90a:xnack-, sm_80, compute_80, cpu or a full triple"),
    })
}
