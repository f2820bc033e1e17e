//! Checks and their findings.

use super::parameters::Parameters;
use crate::describe::place_text;
use crate::text::{self, FAINT, HEADING, styled};
use offload_format::inventory::{Container, Image};

/// Defines each kind of finding with its name and meaning, as printed by `--checks`.
macro_rules! checks {
    ($($variant:ident, $name:literal, $meaning:literal;)*) => {
        /// One kind of finding.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Check {
            $(#[doc = $meaning] $variant,)*
        }

        /// All kinds, with their names and meanings.
        pub(super) const CHECKS: &[(Check, &str, &str)] = &[$((Check::$variant, $name, $meaning),)*];
    };
}

checks! {
    Archive, "archive", "a wheel or other archive is damaged, or contains files with the same name or with names that lead out of the archive";
    Unreadable, "unreadable", "a container, archive or section table is malformed, or refers to bytes beyond its end";
    Decompress, "decompress", "a compressed container cannot be decompressed";
    Hash, "hash", "the hash in a compressed bundle does not match its content";
    Size, "size", "a stored size does not match the real size";
    Overlap, "overlap", "images share bytes with each other or with the entry table";
    Padding, "padding", "bytes between the images of a bundle, or after them, are not zero";
    EntryId, "entry-id", "a bundle entry ID or the target ID in it is malformed, or names a feature that its processor lacks";
    Duplicate, "duplicate", "two entries of a bundle are for the same target";
    Composition, "composition", "target IDs of a bundle cannot be combined: some devices fit both";
    HipEntry, "hip-entry", "an entry's name is not hipv4-amdgcn-amd-amdhsa--<target ID>, the name that HIP's runtime expects";
    HipHost, "hip-host", "a bundle for HIP's runtime does not start with an empty entry for the host";
    HipTable, "hip-table", "the entry table of a HIP bundle extends past the 4096 bytes that the runtime reads";
    HipVersion, "hip-version", "an entry of kind hipv4 has a code object of version 2 or 3";
    Loader, "loader", "no version of a loader reads a container in this form, or a code object lacks a part that ROCm's loaders need (notes name the oldest version that reads a container)";
    Alignment, "alignment", "an image is not at a multiple of 4096 bytes (bundles for HIP's runtime) or 8 (offload binaries, fatbins)";
    Image, "image", "an image's header is malformed, or the image is cut short";
    ImageKind, "image-kind", "an image is of a different kind than its container states";
    Target, "target", "an image's header contradicts the target that it is listed under: some devices of that target cannot run it";
    Generic, "generic", "code for a generic target does not have code object version 6, which loaders need";
    Kernels, "kernels", "an image's description of its kernels cannot be read";
    Parameters, "parameters", "images of a module have kernels with the same name but \
        different parameters, for example because of an #ifdef";
    PtxEnd, "ptx-end", "no NUL follows PTX text in a fatbin, but drivers read up to a NUL";
    KernelPack, "kernel-pack", "the code objects of a program or library are in a kernel pack that is missing or malformed";
    Device, "device", "with --for: a module has no image for the device";
    Wrapper, "wrapper", "a wrapper, which a program registers with HIP's or CUDA's runtime, does not point to device code";
}

impl Check {
    fn name(self) -> &'static str {
        CHECKS.iter().find(|(check, ..)| *check == self).map_or("", |(_, name, _)| name)
    }

    /// Returns the name in brackets, to be printed at the end of a finding's line.
    pub(super) fn tag(self) -> String {
        styled(FAINT, &format!("[{}]", self.name()))
    }
}

/// Returns the table of checks as text.
pub(super) fn table() -> String {
    let width = CHECKS.iter().map(|(_, name, _)| name.len()).max().unwrap_or(0);
    let lines = CHECKS.iter().map(|(_, name, meaning)| {
        let name = styled(HEADING, &format!("{name:width$}"));
        format!("{name}  {meaning}\n")
    });
    lines.collect()
}

/// One result of a check.
#[derive(Debug)]
pub(super) struct Finding {
    /// The start of the container in the file, by which findings are sorted.
    pub(super) at: u64,
    /// The place without the file's name: `section .hip_fatbin: bundle [2]: gfx906`.
    pub(super) place: String,
    pub(super) check: Check,
    pub(super) text: String,
    /// Whether the finding is only a note, which may not be an error.
    pub(super) is_note: bool,
}

/// Findings of one file.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) findings: Vec<Finding>,
    pub(super) parameters: Parameters,
}

/// The subject of a finding: a container, or one of its images.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subject<'s, 'a> {
    /// The container's number, as in `ls`.
    pub(super) number: usize,
    pub(super) container: &'s Container<'a>,
    pub(super) image: Option<&'s str>,
}

impl<'s, 'a> Subject<'s, 'a> {
    pub(super) fn new(number: usize, container: &'s Container<'a>) -> Self {
        Self { number, container, image: None }
    }

    pub(super) fn image(self, image: &'s Image<'a>) -> Self {
        Self { image: Some(image.entry_id.as_deref().unwrap_or(image.label())), ..self }
    }

    /// Returns the subject for the container's entry with this ID.
    pub(super) fn entry(self, id: &'s str) -> Self {
        Self { image: Some(id), ..self }
    }

    fn place(&self) -> String {
        let mut place = place_text(&self.container.place, LONGEST_NAME);
        place += &format!("{} [{}]: ", self.container.kind.name(), self.number);
        if let Some(image) = self.image {
            let image = if image.is_empty() { "an entry without a name" } else { image };
            place += &text::shortened(&text::escaped_str(image), LONGEST_NAME);
            place += ": ";
        }
        place
    }
}

/// The maximum length of a name in a message. Real names are shorter, but a malformed file may
/// contain longer ones.
const LONGEST_NAME: usize = 200;

impl Report {
    /// Adds a finding: an error in the file.
    pub(super) fn finding(
        &mut self,
        check: Check,
        subject: Subject<'_, '_>,
        text: impl Into<String>,
    ) {
        self.add_if(true, check, subject, text);
    }

    /// Adds a note about something unusual that may not be an error.
    pub(super) fn note(&mut self, check: Check, subject: Subject<'_, '_>, text: impl Into<String>) {
        self.add_if(false, check, subject, text);
    }

    /// Adds a finding if `is_finding`, otherwise a note.
    pub(super) fn add_if(
        &mut self,
        is_finding: bool,
        check: Check,
        subject: Subject<'_, '_>,
        text: impl Into<String>,
    ) {
        let (at, place) = (subject.container.place.offset, subject.place());
        let (text, is_note) = (text.into(), !is_finding);
        self.findings.push(Finding { at, place, check, text, is_note });
    }

    pub(super) fn has_findings(&self) -> bool {
        self.findings.iter().any(|finding| !finding.is_note)
    }
}
