//! Our offload binaries must equal those of LLVM 22's `llvm-offload-binary`, and our reader must
//! find the images that `llvm-objdump` lists.

use crate::fat_file;
use offload_format::offload_binary::{
    OffloadBinary, OffloadBinaryBuilder, OffloadKind, StatedKind, Version,
};
use offload_tests::judges::objdump_lists;
use offload_tests::prelude::*;

/// The arguments of one `--image` option of `llvm-offload-binary`: `file`, `kind`, and the strings.
#[derive(Debug, Clone)]
struct Image {
    extension: &'static str,
    kind: &'static str,
    strings: Vec<(String, String)>,
    bytes: Vec<u8>,
}

/// Extensions of image files. The tool does not recognize the last one.
const EXTENSIONS: [&str; 7] = ["o", "bc", "cubin", "fatbin", "s", "", "hsaco"];

const KINDS: [(&str, OffloadKind); 5] = [
    ("openmp", OffloadKind::OPENMP),
    ("cuda", OffloadKind::CUDA),
    ("hip", OffloadKind::HIP),
    ("sycl", OffloadKind::SYCL),
    ("none", OffloadKind::NONE),
];

impl Image {
    fn new(strings: &[(&str, &str)], size: usize) -> Self {
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        let strings = strings.iter().map(owned).collect();
        Self { extension: "o", kind: "hip", strings, bytes: some_bytes(size, size) }
    }

    fn ours(&self) -> Vec<u8> {
        let (_, kind) =
            KINDS.iter().find(|(name, _)| *name == self.kind).expect("a kind of the table");
        let mut builder = OffloadBinaryBuilder::new();
        let image_kind = StatedKind::from_extension(self.extension);
        let image = builder.image(image_kind, *kind, self.bytes.len() as u64);
        self.strings.iter().fold(image, |image, (key, value)| image.string(key, value));
        builder.layout(Version::V1).to_vec(&[&self.bytes])
    }

    /// Returns the option that makes the tool write this image.
    fn option(&self, file: &str) -> String {
        let strings: String =
            self.strings.iter().map(|(key, value)| format!(",{key}={value}")).collect();
        format!("--image=file={file},kind={}{strings}", self.kind)
    }
}

/// Writes one offload binary per image, with `llvm-offload-binary` and with
/// [`OffloadBinaryBuilder`]. Asserts that the bytes are equal, and that `llvm-objdump` lists the
/// images that we read.
fn compare_binaries(folder: &Path, images: &[Image]) {
    for batch in images.chunks(24) {
        let mut tool = in_folder(llvm("llvm-offload-binary"), folder, "-o theirs");
        for (number, image) in batch.iter().enumerate() {
            let file = format!("image{number}.{}", image.extension);
            let file = file.trim_end_matches('.');
            scratch::write(folder.join(file), &image.bytes);
            tool.arg(image.option(file));
        }
        succeed(&mut tool);
        let theirs = read(folder.join("theirs"));
        let mut rest = &theirs[..];
        for image in batch {
            let ours = image.ours();
            let (one, more) = rest.split_at_checked(ours.len()).unwrap_or((rest, b""));
            assert_same_bytes(&ours, one, &format!("{image:?}"));
            rest = more;
        }
        assert!(rest.is_empty(), "the tool wrote more");

        // Our offload binaries equal the tool's, so it suffices to read the tool's file.
        assert_eq!(objdump_lists(&folder.join("theirs")), fat_file::images(&theirs));
    }
}

#[test(LLVM.slow())]
fn random_offload_binaries() {
    let folder = scratch::folder("versus-llvm-binary-random");
    let mut random = Random::new(2);
    let mut images = Vec::new();
    for number in 0..2000 {
        // In most cases, LLVM's hash table does not grow. In the other cases, the number of keys is
        // close to the table's first growth, or may reach its third growth.
        let count = match number % 8 {
            0..=4 => random.below(44),
            5 | 6 => 42 + random.below(16),
            _ => random.below(200),
        };
        // Limit the keys to several lengths, because LLVM's hash uses a different formula for each
        // range of lengths.
        let longest = [3, 8, 16, 32, 64, 300][random.below(6)];
        let mut strings: Vec<(String, String)> = Vec::new();
        for at in 0..count {
            let key = match random.below(20) {
                0 if at > 0 => strings[random.below(at)].0.clone(),
                1 => random.word(0),
                2 => random.word(1 + (number + at) % 64),
                _ => {
                    let length = 1 + random.below(longest);
                    random.word(length)
                }
            };
            let value = match random.below(6) {
                0 => String::new(),
                1 if at > 0 => {
                    let (key, value) = &strings[random.below(at)];
                    let other = if random.below(2) == 0 { key } else { value };
                    other[random.below(other.len() + 1)..].to_owned()
                }
                _ => {
                    let length = random.below(12);
                    random.word(length)
                }
            };
            strings.push((key, value));
        }
        // The tool itself uses the keys `file` and `kind`.
        strings.retain(|(key, _)| key != "file" && key != "kind");
        let (extension, kind) = (random.pick(&EXTENSIONS), random.pick(&KINDS).0);
        let bytes = some_bytes(number, random.below(40));
        images.push(Image { extension, kind, strings, bytes });
    }
    let lengths: BTreeSet<usize> =
        images.iter().flat_map(|image| &image.strings).map(|(key, _)| key.len()).collect();
    assert!((0..=200).all(|length| lengths.contains(&length)), "{lengths:?}");
    compare_binaries(&folder, &images);
}

/// Tests a size that excludes the zeros after the image, as old writers store it. Also tests zeros
/// followed by bytes that are not an offload binary.
#[test]
fn ends_of_offload_binaries() {
    let images = [Image::new(&[("arch", "gfx900")], 3), Image::new(&[("arch", "gfx1030")], 11)];
    let whole: Vec<Vec<u8>> = images.iter().map(Image::ours).collect();
    let unpadded = patched(&whole.concat(), 8, &(whole[0].len() as u64 - 5).to_le_bytes());
    let found = OffloadBinary::in_a_row(&unpadded).flat_map(|found| found.unwrap().1.images());
    assert!(found.map(|image| image.data).eq(images.iter().map(|image| image.bytes.as_slice())));
    for zeros in 0..=17 {
        let other = [whole.concat(), vec![0; zeros], vec![1]].concat();
        assert!(OffloadBinary::in_a_row(&other).map(|it| it.is_ok()).eq([true, true, false]));
    }
}
