//! Writes offload binaries.

use super::{ALIGN, ENTRY_SIZE, MAGIC, OffloadKind, StatedKind, Version, key_order};
use crate::Result;
use crate::compression::{self, Method};
use crate::layout::{Layout, Piece};
use crate::string_table::StringTable;
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

/// Collects images and lays them out as offload binaries.
///
/// The builder needs only the images' sizes: their bytes come from memory or files when the
/// [`Layout`] is written.
#[derive(Debug, Clone, Default)]
pub struct OffloadBinaryBuilder {
    images: Vec<ImageBuilder>,
}

impl OffloadBinaryBuilder {
    /// Returns a builder without images.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an image with `size` bytes. `image_kind` is the kind of the image, and `offload_kind`
    /// the programming model that the image was compiled for. Returns the image's builder, to which
    /// strings can be added. Images are stored in the order of the calls.
    pub fn image(
        &mut self,
        image_kind: StatedKind,
        offload_kind: OffloadKind,
        size: u64,
    ) -> &mut ImageBuilder {
        let image = ImageBuilder { image_kind, offload_kind, flags: 0, size, keys: Vec::new() };
        self.images.push(image);
        self.images.last_mut().expect("the image was just added")
    }

    /// Returns the layout of the offload binaries; empty if there are no images. Payloads are
    /// numbered like the images, from 0. The size is a multiple of 8.
    ///
    /// In version 1, the layout has one binary for each image, with the bytes that
    /// `llvm-offload-binary` 22 writes if each image is given as
    /// `--image=file=<image>,kind=<offload kind>,<strings in the order they were added>`. In later
    /// versions, all images are in one binary.
    ///
    /// # Panics
    /// Panics if the version is 1 and a value contains a NUL, which version 1 cannot store.
    pub fn layout(&self, version: Version) -> Layout {
        let together = match version {
            Version::V1 => 1,
            Version::V2 | Version::V3 => usize::MAX,
        };
        let mut layout = Layout::new();
        for (number, images) in self.images.chunks(together).enumerate() {
            layout.append(binary(images, number, version));
        }
        layout
    }

    /// Returns one compressed binary of version 3 with all images; empty if there are no images.
    /// `images` are the images' bytes, in order. `level` is on the method's scale; `None` is the
    /// method's default. Zeros pad the binary to a multiple of 8 bytes. Compression holds the whole
    /// uncompressed binary in memory.
    ///
    /// Returns an error if the method was not built in.
    ///
    /// # Panics
    /// Panics if an image is missing, or if its size differs from the size passed to
    /// [`OffloadBinaryBuilder::image`].
    #[inline]
    pub fn compressed(
        &self,
        method: Method,
        level: Option<i32>,
        images: &[&[u8]],
    ) -> Result<Vec<u8>> {
        let whole = self.layout(Version::V3).to_vec(images);
        let header_size = Version::V3.header_size() as usize;
        let Some((header, content)) = whole.split_at_checked(header_size) else {
            return Ok(Vec::new());
        };
        let stream = compression::compress(method, level, content)?;
        let size = header_size + stream.len();
        let mut out = Vec::with_capacity(size.next_multiple_of(ALIGN as usize));
        out.extend_from_slice(&header[..8]);
        out.extend_from_slice(&(size as u64).to_le_bytes());
        out.extend_from_slice(&header[16..32]);
        out.extend_from_slice(&(whole.len() as u64).to_le_bytes());
        out.extend_from_slice(&stream);
        out.resize(size.next_multiple_of(ALIGN as usize), 0);
        Ok(out)
    }
}

/// One image of an [`OffloadBinaryBuilder`].
#[derive(Debug, Clone)]
pub struct ImageBuilder {
    image_kind: StatedKind,
    offload_kind: OffloadKind,
    flags: u32,
    size: u64,
    /// The keys of the `--image` option, in order. A key that is not stored as a string has the
    /// value `None`.
    keys: Vec<(String, Option<Vec<u8>>)>,
}

impl ImageBuilder {
    /// Sets the entry's flags; the default is 0.
    pub fn flags(&mut self, flags: u32) -> &mut Self {
        self.flags = flags;
        self
    }

    /// Adds a string pair. If the key exists, appends `,` and the value to the existing value, as
    /// LLVM's tool does.
    ///
    /// # Panics
    /// Panics if the key contains a NUL.
    pub fn string(&mut self, key: &str, value: impl AsRef<[u8]>) -> &mut Self {
        assert!(!key.contains('\0'), "the key {key:?} of an offload binary contains a NUL");
        let value = value.as_ref();
        let old = self
            .keys
            .iter_mut()
            .filter(|(found, _)| found == key)
            .find_map(|(_, value)| value.as_mut());
        match old {
            Some(old) => {
                old.push(b',');
                old.extend_from_slice(value);
            }
            None => self.keys.push((key.to_owned(), Some(value.to_owned()))),
        }
        self
    }

    /// Puts the key `file` or `kind` after the strings added so far. LLVM's tool does not store
    /// these keys of `--image`, but the order of the string pairs depends on their positions.
    /// Without this call, `file` and `kind` come first.
    #[inline]
    pub fn argument(&mut self, key: &str) -> &mut Self {
        if !self.keys.iter().any(|(found, value)| found == key && value.is_none()) {
            self.keys.push((key.to_owned(), None));
        }
        self
    }

    /// Returns the strings in the order that LLVM's tool writes.
    fn strings(&self) -> Vec<(&str, &[u8])> {
        let mut keys: Vec<(&str, Option<&[u8]>)> = Vec::with_capacity(self.keys.len() + 2);
        if self.keys.iter().all(|(_, value)| value.is_some()) {
            keys.extend([("file", None), ("kind", None)]);
        }
        for (key, value) in &self.keys {
            keys.push((key, value.as_deref()));
        }
        let mut names = Vec::new();
        for (key, _) in &keys {
            names.push(*key);
        }
        let mut strings = Vec::new();
        for at in key_order::of_llvm_22(&names) {
            if let (key, Some(value)) = keys[at] {
                strings.push((key, value));
            }
        }
        strings
    }
}

/// Returns the binary for `images`; `first` is the payload number of the first image.
fn binary(images: &[ImageBuilder], first: usize, version: Version) -> Layout {
    let strings: Vec<Vec<(&str, &[u8])>> = images.iter().map(ImageBuilder::strings).collect();
    let mut table = StringTable::new(b"\0");
    let mut texts = Vec::new();
    for (key, value) in strings.iter().flatten() {
        texts.extend([key.as_bytes(), value]);
    }
    table.add(texts);

    let entries_offset = version.header_size();
    let strings_offset = entries_offset + ENTRY_SIZE * images.len() as u64;
    let table_offset = strings_offset
        + version.string_pair_size() * strings.iter().map(Vec::len).sum::<usize>() as u64;
    let images_offset = (table_offset + table.bytes.len() as u64).next_multiple_of(ALIGN);
    let size = images_offset + images.iter().map(|image| image.size).sum::<u64>();

    let mut head = Vec::with_capacity(images_offset as usize);
    let numbers = |head: &mut Vec<u8>, fields: &[u64]| {
        for number in fields {
            head.extend_from_slice(&number.to_le_bytes());
        }
    };
    head.extend_from_slice(&MAGIC);
    head.extend_from_slice(&version.number().to_le_bytes());
    numbers(&mut head, &[size.next_multiple_of(ALIGN), entries_offset]);
    match version {
        Version::V1 => numbers(&mut head, &[ENTRY_SIZE]),
        Version::V2 => numbers(&mut head, &[images.len() as u64]),
        Version::V3 => numbers(&mut head, &[images.len() as u64, 0]),
    }
    let (mut pairs_at, mut image_at) = (strings_offset, images_offset);
    for (image, strings) in images.iter().zip(&strings) {
        head.extend_from_slice(&image.image_kind.0.to_le_bytes());
        head.extend_from_slice(&image.offload_kind.0.to_le_bytes());
        head.extend_from_slice(&image.flags.to_le_bytes());
        let pairs = strings.len() as u64;
        numbers(&mut head, &[pairs_at, pairs, image_at, image.size]);
        pairs_at += version.string_pair_size() * pairs;
        image_at += image.size;
    }
    for (key, value) in strings.iter().flatten() {
        numbers(
            &mut head,
            &[table_offset + table.offset(key.as_bytes()), table_offset + table.offset(value)],
        );
        match version {
            Version::V1 => {
                assert!(
                    !value.contains(&0),
                    "the value of the key {key:?} contains a NUL, but in version 1 a NUL ends the value"
                )
            }
            Version::V2 | Version::V3 => numbers(&mut head, &[value.len() as u64]),
        }
    }
    head.extend_from_slice(&table.bytes);

    let mut layout = Layout::new();
    layout.push(Piece::Bytes(head));
    layout.pad_to(ALIGN);
    for (number, image) in images.iter().enumerate() {
        layout.push(Piece::Payload { index: first + number, size: image.size });
    }
    layout.pad_to(ALIGN);
    layout
}
