//! Our offload binaries must equal those of LLVM 22's `llvm-offload-binary`, and our reader must
//! find the images that `llvm-objdump` lists.

use crate::fat_file;
use crate::offload_binary::{Made, made};
use crate::properties::write_images;
use offload_format::offload_binary::{OffloadBinary, OffloadKind, StatedKind, Version};
use offload_tests::judges::objdump_lists;
use offload_tests::prelude::*;

/// Extensions of image files. The tool does not recognize the last one.
const EXTENSIONS: [&str; 7] = ["o", "bc", "cubin", "fatbin", "s", "", "hsaco"];

const KINDS: [OffloadKind; 5] = [
    OffloadKind::OPENMP,
    OffloadKind::CUDA,
    OffloadKind::HIP,
    OffloadKind::SYCL,
    OffloadKind::NONE,
];

/// Returns the option that makes the tool write this image.
fn option(image: &Made, file: &str) -> String {
    let kind = OffloadKind(image.offload_kind);
    let strings: String = image
        .strings
        .iter()
        .map(|(key, value)| format!(",{key}={}", value.escape_ascii()))
        .collect();
    format!("--image=file={file},kind={kind}{strings}")
}

fn ours(image: &Made) -> Vec<u8> {
    write_images(std::slice::from_ref(image), Version::V1)
}

/// Writes one offload binary per image, with `llvm-offload-binary` and with
/// [`OffloadBinaryBuilder`]. Asserts that the bytes are equal, and that `llvm-objdump` lists the
/// images that we read.
fn compare_binaries(folder: &Path, images: &[(Made, &str)]) {
    for batch in images.chunks(24) {
        let mut tool = in_folder(llvm("llvm-offload-binary"), folder, "-o theirs");
        for (number, (image, extension)) in batch.iter().enumerate() {
            let file = format!("image{number}.{extension}");
            let file = file.trim_end_matches('.');
            scratch::write(folder.join(file), &image.data);
            tool.arg(option(image, file));
        }
        succeed(&mut tool);
        let theirs = read(folder.join("theirs"));
        let mut rest = &theirs[..];
        for (image, _) in batch {
            let ours = ours(image);
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
        let strings: Vec<_> =
            strings.iter().map(|(key, value)| (&**key, value.as_bytes())).collect();
        let (extension, kind) = (random.pick(&EXTENSIONS), random.pick(&KINDS));
        let kinds = [StatedKind::from_extension(extension).0, kind.0];
        let data = some_bytes(number, random.below(40));
        images.push((made(kinds, 0, &strings, &data), extension));
    }
    let lengths: BTreeSet<usize> =
        images.iter().flat_map(|(it, _)| &it.strings).map(|(key, _)| key.len()).collect();
    assert!((0..=200).all(|length| lengths.contains(&length)), "{lengths:?}");
    compare_binaries(&folder, &images);
}

/// Tests a size that excludes the zeros after the image, as old writers store it. Also tests zeros
/// followed by bytes that are not an offload binary.
#[test]
fn ends_of_offload_binaries() {
    let images = [(&b"gfx900"[..], 3), (b"gfx1030", 11)]
        .map(|(arch, size)| made([1, 4], 0, &[("arch", arch)], &some_bytes(size, size)));
    let whole: Vec<Vec<u8>> = images.iter().map(ours).collect();
    let unpadded = patched(&whole.concat(), 8, &(whole[0].len() as u64 - 5).to_le_bytes());
    let found = OffloadBinary::in_a_row(&unpadded).flat_map(|found| found.unwrap().1.images());
    assert!(found.map(|image| image.data).eq(images.iter().map(|image| image.data.as_slice())));
    for zeros in 0..=17 {
        let other = [whole.concat(), vec![0; zeros], vec![1]].concat();
        assert!(OffloadBinary::in_a_row(&other).map(|it| it.is_ok()).eq([true, true, false]));
    }
}
