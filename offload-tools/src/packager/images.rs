//! Reads the images of any file that contains offload binaries.

use crate::files::{Input, MEMORY_LIMIT, PayloadSource, os_message};
use crate::text::escaped_path;
use offload_format::fat_file::{self, ContainerKind, Content, FileKind};
use offload_format::image::Bitcode;
use offload_format::offload_binary::{Image, MAGIC, OffloadBinary, OffloadKind, StatedKind};
use offload_format::section::DeviceSection;
use offload_format::{Error, ErrorKind};
use std::ops::Range;
use std::path::Path;
use std::rc::Rc;

/// The maximum nesting depth of thin archives.
const DEPTH: u32 = 8;

/// The maximum accepted ratio of decompressed to compressed size. No valid stream reaches half of
/// this ratio.
const MOST_INFLATED: u64 = 1 << 16;

/// The size of an offload binary's header and one entry. LLVM accepts no shorter binary.
const LEAST_SIZE: usize = 72;

/// An image with its strings and its location.
#[derive(Debug)]
pub(super) struct Found {
    /// The name of the file or archive member that contains the image.
    pub(super) origin: Vec<u8>,
    pub(super) image_kind: StatedKind,
    pub(super) offload_kind: OffloadKind,
    strings: Vec<(String, Vec<u8>)>,
    input: Rc<Input>,
    range: Range<u64>,
}

impl Found {
    /// Returns the value of a key: empty if the key is missing, the last value if the key is
    /// repeated.
    pub(super) fn string(&self, key: &str) -> &[u8] {
        let found = self.strings.iter().rev().find(|(found, _)| found == key);
        found.map_or(b"", |(_, value)| value)
    }

    /// Whether the image comes from a file or archive member with this name, with or without the
    /// folder.
    pub(super) fn is_of_member(&self, name: &[u8]) -> bool {
        let file_name = self.origin.rsplit(|byte| *byte == b'/').next();
        self.origin == name || file_name == Some(name)
    }

    /// If the image consists of offload binaries, returns the images in them. Otherwise returns
    /// `None`.
    pub(super) fn inner(&self, path: &Path) -> Option<Result<Vec<Found>, String>> {
        if !self.bytes().starts_with(&MAGIC) {
            return None;
        }
        let mut found = Vec::new();
        let walked = Walk { path, found: &mut found }.binaries(
            &self.input,
            self.bytes(),
            self.range.start,
            &self.origin,
        );
        Some(walked.map(|()| found))
    }

    pub(super) fn source(&self) -> PayloadSource<'_> {
        PayloadSource::Part(&self.input, self.range.clone())
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.input.part(&self.range)
    }
}

/// Returns all images of a file in file order; `-` is standard input. The list is empty if a file
/// of this kind cannot contain offload binaries.
pub(super) fn images(path: &Path) -> Result<Vec<Found>, String> {
    let mut all = Vec::new();
    if path == Path::new("-") {
        let input = Input::stdin().map_err(|error| os_message(&error))?;
        Walk { path, found: &mut all }.walk(input, b"<stdin>", DEPTH)?;
    } else {
        let input = Input::open(path).map_err(|error| in_file(path, &os_message(&error)))?;
        Walk { path, found: &mut all }.walk(input, path.as_os_str().as_encoded_bytes(), DEPTH)?;
    }
    Ok(all)
}

/// Adds the file's name to one of this tool's messages. LLVM's messages do not contain the file's
/// name.
fn in_file(path: &Path, what: &str) -> String {
    // The name may come from a thin archive, so escape it.
    format!("'{}': {what}", escaped_path(path))
}

struct Walk<'a> {
    path: &'a Path,
    found: &'a mut Vec<Found>,
}

impl Walk<'_> {
    fn walk(&mut self, input: Input, origin: &[u8], depth: u32) -> Result<(), String> {
        // Files of other kinds contain no offload binaries, so skip them.
        let kind = FileKind::identify(input.bytes());
        if !matches!(
            kind,
            Some(
                FileKind::Container(ContainerKind::OffloadBinary | ContainerKind::Raw)
                    | FileKind::Archive
                    | FileKind::Universal
                    | FileKind::Host
            )
        ) {
            return Ok(());
        }
        let input = Rc::new(input);
        let mut outcome = Ok(());
        fat_file::find(input.bytes(), |place, content| {
            if outcome.is_err() {
                return;
            }
            let origin = place.member.unwrap_or(origin);
            outcome = match content {
                Ok(Content::Container(ContainerKind::OffloadBinary, section)) => {
                    self.binaries(&input, section, place.offset, origin)
                }
                Ok(Content::Container(ContainerKind::Raw, image)) if Bitcode::is_bitcode(image) => {
                    self.bitcode(image, origin)
                }
                Ok(Content::Elsewhere(member)) => self.elsewhere(member, depth),
                Ok(_) => Ok(()),
                Err(error) => Err(in_file(self.path, &error.to_string())),
            };
        });
        outcome
    }

    /// Reads a thin archive's member: a file whose path is relative to the archive's folder.
    fn elsewhere(&mut self, member: &[u8], depth: u32) -> Result<(), String> {
        let path = self.path.with_file_name(&*String::from_utf8_lossy(member));
        let deeper = depth.checked_sub(1).ok_or_else(|| {
            in_file(&path, &format!("thin archives nested more than {DEPTH} deep"))
        })?;
        let input =
            Input::open_thin_member(&path).map_err(|error| in_file(&path, &os_message(&error)))?;
        Walk { path: &path, found: self.found }.walk(input, member, deeper)
    }

    /// Adds the images of the offload binaries in constants of the host's bitcode.
    fn bitcode(&mut self, bitcode: &[u8], origin: &[u8]) -> Result<(), String> {
        let section = DeviceSection::LlvmOffloading.elf_name();
        let objects = Bitcode::variables_in_section(bitcode, section)
            .map_err(|error| in_file(self.path, &error.to_string()))?;
        for object in objects {
            let object = Rc::new(Input::of_bytes(object));
            self.binaries(&object, object.bytes(), 0, origin)?;
        }
        Ok(())
    }

    fn binaries(
        &mut self,
        input: &Rc<Input>,
        section: &[u8],
        offset: u64,
        origin: &[u8],
    ) -> Result<(), String> {
        let mut end = 0;
        for binary in OffloadBinary::in_a_row(section) {
            let (at, binary) =
                binary.map_err(|error| self.message(&error, section.len().saturating_sub(end)))?;
            end = (at + binary.size()) as usize;
            let Some(compressed) = binary.compressed else {
                self.images(input, &binary, offset + at, origin);
                continue;
            };
            let limit = binary.size().saturating_mul(MOST_INFLATED).min(MEMORY_LIMIT);
            let inflated = compressed
                .decompress(limit)
                .map_err(|error| in_file(self.path, &error.to_string()))?;
            let inflated = Rc::new(Input::of_bytes(inflated));
            let binary = OffloadBinary::parse(inflated.bytes())
                .map_err(|error| in_file(self.path, &error.to_string()))?;
            self.images(&inflated, &binary, 0, origin);
        }
        Ok(())
    }

    fn images(
        &mut self,
        input: &Rc<Input>,
        binary: &OffloadBinary<'_>,
        offset: u64,
        origin: &[u8],
    ) {
        let found = |image: Image<'_>| {
            let start = offset + image.offset;
            Found {
                origin: origin.to_owned(),
                image_kind: image.image_kind,
                offload_kind: image.offload_kind,
                strings: image
                    .strings()
                    .map(|(key, value)| (key.to_owned(), value.to_owned()))
                    .collect(),
                input: Rc::clone(input),
                range: start..start + image.data.len() as u64,
            }
        };
        self.found.extend(binary.images().map(found));
    }

    /// Returns the message for a damaged offload binary. If LLVM checks for the same damage, uses
    /// LLVM's words. `left` is the number of bytes from the start of the binary to the end of the
    /// section.
    fn message(&self, error: &Error, left: usize) -> String {
        const INVALID: &str = "Invalid data was encountered while parsing the file";
        const END: &str = "The end of the file was unexpectedly encountered";
        match error.kind() {
            _ if left < LEAST_SIZE => INVALID.to_owned(),
            ErrorKind::BadMagic | ErrorKind::UnsupportedVersion { .. } => INVALID.to_owned(),
            ErrorKind::Truncated { .. } => END.to_owned(),
            ErrorKind::OutOfBounds { start, len, .. }
                if start > len || matches!(error.part(), "offload binary" | "offload entries") =>
            {
                END.to_owned()
            }
            _ => in_file(self.path, &error.to_string()),
        }
    }
}
