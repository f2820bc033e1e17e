//! Offload binaries of versions 2 and 3, and what versus_llvm.rs does not try of version 1.
//!
//! LLVM 22 knows version 1 alone. Files of the others are put together here by hand, field by field, from
//! docs/formats.md, and so is what reads ours again; LLVM 22 compresses and decompresses the streams in them, in ELF
//! sections.

use offload_format::ErrorKind;
use offload_format::compression::Method;
use offload_format::offload_binary::{
    Image, ImageBuilder, ImageKind, OffloadBinaries, OffloadBinary, OffloadBinaryBuilder, OffloadKind, Version,
};
use offload_tests::registry::{LLVM, NOTHING};
use offload_tests::scratch;
use offload_tests::tools::{llvm, stdout, succeed};
use proptest::prelude::{ProptestConfig, Strategy, any};
use proptest::test_runner::TestRunner;
use std::fs;
use std::path::Path;

offload_tests::tests! {
    NOTHING => [
        files_made_by_hand_are_read,
        what_is_written_is_read_by_hand,
        what_is_compressed_comes_back,
        versions_may_be_mixed,
        malformed_entries,
        malformed_compressed_binaries,
        text_that_is_shared_too_often,
        every_truncation,
        every_byte_changed,
    ],
    LLVM => [
        versions_that_llvm_22_refuses,
        both_countings_of_offload_kinds,
        streams_of_llvm_are_decompressed,
        llvm_decompresses_our_streams,
        the_last_of_equal_keys_counts,
        arguments_in_any_order,
    ],
}

// ------------------------------------------------------------------------------------------------- files made by hand

/// An image as the files made by hand have it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Made {
    image_kind: u16,
    offload_kind: u16,
    flags: u32,
    strings: Vec<(String, Vec<u8>)>,
    data: Vec<u8>,
}

fn made(image_kind: u16, offload_kind: u16, flags: u32, strings: &[(&str, &[u8])], data: &[u8]) -> Made {
    let strings = strings.iter().map(|(key, value)| ((*key).to_owned(), value.to_vec())).collect();
    Made { image_kind, offload_kind, flags, strings, data: data.to_vec() }
}

fn samples() -> Vec<Made> {
    vec![
        made(1, 4, 0, &[("triple", b"amdgcn-amd-amdhsa"), ("arch", b"gfx90a:xnack-")], b"\x7fELF code"),
        made(5, 2, 0, &[("arch", b"compute_80"), ("triple", b"nvptx64-nvidia-cuda")], b".version 8.0\n"),
        made(6, 8, 0, &[("symbols", b"one\0two\0"), ("", b""), ("bytes", b"\xff\0\xfe"), ("arch", b"\xff")], b"spirv"),
        made(0, 0, 1, &[("triple", b"spirv64-intel")], b""),
        made(7, 3, 0x8000_0000, &[], b"12345678"),
    ]
}

/// A file as no tool writes it: images first, each string by itself with something between, entries last. Of version 1
/// there must be one image.
fn by_hand(version: u32, images: &[Made]) -> Vec<u8> {
    by_hand_behind(b"something", version, images)
}

/// The same, with these bytes behind the header; the entries go there if they fit exactly.
fn by_hand_behind(first: &[u8], version: u32, images: &[Made]) -> Vec<u8> {
    let header = if version == 3 { 40 } else { 32 };
    let mut body = first.to_vec();
    let mut put = |bytes: &[u8]| {
        let at = header + body.len() as u64;
        body.extend_from_slice(bytes);
        body.extend_from_slice(b"!");
        at
    };
    let mut entries = Vec::new();
    for image in images {
        let image_at = put(&image.data);
        let mut pairs = Vec::new();
        for (key, value) in &image.strings {
            pairs.push(put(&[key.as_bytes(), b"\0"].concat()));
            match version {
                1 => pairs.push(put(&[value, b"\0".as_slice()].concat())),
                _ => pairs.extend([put(value), value.len() as u64]),
            }
        }
        let pairs_at = put(&numbers(&pairs));
        entries.extend_from_slice(&image.image_kind.to_le_bytes());
        entries.extend_from_slice(&image.offload_kind.to_le_bytes());
        entries.extend_from_slice(&image.flags.to_le_bytes());
        entries.extend(numbers(&[pairs_at, image.strings.len() as u64, image_at, image.data.len() as u64]));
    }
    let entries_at = if first.len() == entries.len() { header } else { put(&entries) };
    if entries_at == header {
        body[..entries.len()].copy_from_slice(&entries);
    }
    let last = if version == 1 { 40 } else { images.len() as u64 };
    let mut file = vec![0x10, 0xff, 0x10, 0xad];
    file.extend(version.to_le_bytes());
    file.extend(numbers(&[header + body.len() as u64, entries_at, last]));
    if version == 3 {
        file.extend(numbers(&[0]));
    }
    file.extend(body);
    file
}

/// The same of version 3, with this stream for all behind the header.
fn compressed_by_hand(whole: &[u8], stream: &[u8]) -> Vec<u8> {
    let mut file = [&whole[..40], stream].concat();
    let size = file.len() as u64;
    set(&mut file, 8, size);
    set(&mut file, 32, whole.len() as u64);
    file
}

fn numbers(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn number(bytes: &[u8], at: u64) -> u64 {
    u64::from_le_bytes(bytes[at as usize..][..8].try_into().unwrap())
}

fn set(bytes: &mut [u8], at: usize, number: u64) {
    bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
}

/// An image as we read it.
fn read(image: Image) -> Made {
    Made {
        image_kind: image.image_kind().0,
        offload_kind: image.offload_kind().0,
        flags: image.flags(),
        strings: image.strings().map(|(key, value)| (key.to_owned(), value.to_vec())).collect(),
        data: image.data().to_vec(),
    }
}

fn read_all(file: &[u8]) -> Vec<Made> {
    OffloadBinary::parse(file).unwrap().images().map(read).collect()
}

fn files_made_by_hand_are_read() {
    for (version, expected) in [(2, Version::V2), (3, Version::V3)] {
        let file = by_hand(version, &samples());
        let binary = OffloadBinary::parse(&file).unwrap();
        assert_eq!((binary.version(), binary.size()), (expected, file.len() as u64));
        assert!(binary.compressed().is_none());
        assert_eq!(read_all(&file), samples());
        let images: Vec<Image> = binary.images().collect();
        assert_eq!((images[0].triple(), images[0].arch()), (Some("amdgcn-amd-amdhsa"), Some("gfx90a:xnack-")));
        assert_eq!(images[2].string("symbols"), Some("one\0two\0"));
        assert_eq!((images[2].string("bytes"), images[2].bytes("bytes")), (None, Some(b"\xff\0\xfe".as_slice())));
        assert_eq!((images[2].arch(), images[2].triple(), images[2].string("")), (None, None, Some("")));
        assert_eq!(images[2].image_kind(), ImageKind::SPIRV);
        for image in &images {
            assert_eq!(&file[image.offset() as usize..][..image.data().len()], image.data());
        }
        assert!(read_all(&by_hand(version, &[])).is_empty());
    }
    for sample in samples().into_iter().filter(|sample| sample.strings.iter().all(|(_, value)| !value.contains(&0))) {
        assert_eq!(read_all(&by_hand(1, std::slice::from_ref(&sample))), [sample]);
    }
}

fn versions_that_llvm_22_refuses() {
    let folder = scratch::folder("offload-binary-versions");
    for (version, refused) in [(1, false), (2, true), (3, true)] {
        let mut file = by_hand(version, &samples()[..1]);
        file.resize(file.len().next_multiple_of(8), 0);
        let size = file.len() as u64;
        set(&mut file, 8, size);
        scratch::write(folder.join("file"), &file);
        let output = llvm("llvm-objdump").current_dir(&folder).args(["--offloading", "file"]).output().unwrap();
        assert_eq!(!output.status.success(), refused, "{version}: {output:?}");
        assert_eq!(read_all(&file), samples()[..1]);
    }
}

fn both_countings_of_offload_kinds() {
    let kinds = [0, 1, 2, 3, 4, 8].map(|kind| made(0, kind, 0, &[], b""));
    let file = by_hand(2, &kinds);
    let kinds: Vec<_> = OffloadBinary::parse(&file).unwrap().images().map(|image| image.offload_kind()).collect();
    let texts: Vec<String> = kinds.iter().map(ToString::to_string).collect();
    assert_eq!(texts, ["none", "openmp", "cuda", "hip", "hip", "sycl"]);
    assert_eq!(kinds.iter().filter(|kind| kind.is_hip()).count(), 2);

    let folder = scratch::folder("offload-binary-kinds");
    for (kind, producer) in [(3, "none"), (4, "hip")] {
        let mut file = by_hand(1, &[made(1, kind, 0, &[("arch", b"gfx906")], b"")]);
        file.resize(file.len().next_multiple_of(8), 0);
        let size = file.len() as u64;
        set(&mut file, 8, size);
        scratch::write(folder.join("file"), file);
        let listing = stdout(&succeed(llvm("llvm-objdump").current_dir(&folder).args(["--offloading", "file"])));
        assert!(listing.contains(&format!("producer        {producer}\n")), "{kind}: {listing}");
    }
}

// -------------------------------------------------------------------------------------------------------- compression

/// `Elf64_Chdr`, in front of a compressed section: the method's number, a reserved word, size, alignment.
const SECTION_HEADER: usize = 24;

const METHODS: [(Method, &str, u64); 2] = [(Method::Zlib, "zlib", 1), (Method::Zstd, "zstd", 2)];

/// Repeated, so that it is worth compressing.
fn large_samples() -> Vec<Made> {
    let mut samples = samples();
    samples[0].data = samples[0].data.repeat(1000);
    samples[4].data = (0..70_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 27) as u8).collect();
    samples
}

fn streams_of_llvm_are_decompressed() {
    let folder = scratch::folder("offload-binary-llvm-streams");
    let samples = large_samples();
    let whole = by_hand_behind(&vec![0; 40 * samples.len()], 3, &samples);
    scratch::write(folder.join("empty.s"), "");
    scratch::write(folder.join("content"), &whole[40..]);
    succeed(llvm("clang").current_dir(&folder).args(["--target=x86_64-linux-gnu", "-c", "empty.s", "-o", "empty.o"]));
    succeed(llvm("llvm-objcopy").current_dir(&folder).args(["--add-section=.debug_x=content", "empty.o", "plain.o"]));
    for (method, name, number) in METHODS {
        let option = format!("--compress-debug-sections={name}");
        succeed(llvm("llvm-objcopy").current_dir(&folder).args([&option, "plain.o", "compressed.o"]));
        let dump = ["--dump-section=.debug_x=dump", "compressed.o", "unused.o"];
        succeed(llvm("llvm-objcopy").current_dir(&folder).args(dump));
        let section = fs::read(folder.join("dump")).unwrap();
        assert_eq!(section[..SECTION_HEADER], numbers(&[number, whole.len() as u64 - 40, 1]), "{name}");

        let mut file = compressed_by_hand(&whole, &section[SECTION_HEADER..]);
        let size = file.len() as u64;
        // What follows it is not its own.
        file.extend_from_slice(b"something");
        let binary = OffloadBinary::parse(&file).unwrap();
        assert_eq!((binary.size(), binary.version(), binary.images().count()), (size, Version::V3, 0));
        let compressed = binary.compressed().unwrap();
        assert_eq!((compressed.method(), compressed.inflated_size()), (method, whole.len() as u64));
        let inflated = compressed.decompress(whole.len() as u64).unwrap();
        assert!(inflated == whole);
        assert_eq!(read_all(&inflated), samples);
    }
}

fn llvm_decompresses_our_streams() {
    let folder = scratch::folder("offload-binary-our-streams");
    let samples = large_samples();
    let (builder, datas) = builder(&samples);
    let whole = builder.layout(Version::V3).to_vec(&datas);
    for (method, name, number_of_method) in METHODS {
        for level in [None, Some(1), Some(9)] {
            let file = builder.compressed(method, level, &datas).unwrap();
            assert!(file.len() % 8 == 0 && file.len() < whole.len());
            let size = number(&file, 8) as usize;
            assert!(size <= file.len() && file.len() - size < 8 && file[size..].iter().all(|&byte| byte == 0));
            assert_eq!(file[..8], whole[..8]);
            assert_eq!(file[16..40], [&whole[16..32], &numbers(&[whole.len() as u64])].concat());

            let mut section = numbers(&[number_of_method, whole.len() as u64 - 40, 1]);
            section.extend_from_slice(&file[40..size]);
            let hex: String = section.iter().map(|byte| format!("{byte:02x}")).collect();
            let yaml = format!(
                "--- !ELF\nFileHeader:\n  Class: ELFCLASS64\n  Data: ELFDATA2LSB\n  Type: ET_REL\n  Machine: EM_X86_64\n\
                 Sections:\n  - Name: .debug_x\n    Type: SHT_PROGBITS\n    Flags: [ SHF_COMPRESSED ]\n    \
                 AddressAlign: 8\n    Content: \"{hex}\"\n"
            );
            scratch::write(folder.join("object.yaml"), yaml);
            succeed(llvm("yaml2obj").current_dir(&folder).args(["object.yaml", "-o", "compressed.o"]));
            let inflate = ["--decompress-debug-sections", "compressed.o", "plain.o"];
            succeed(llvm("llvm-objcopy").current_dir(&folder).args(inflate));
            let dump = ["--dump-section=.debug_x=dump", "plain.o", "unused.o"];
            succeed(llvm("llvm-objcopy").current_dir(&folder).args(dump));
            assert!(fs::read(folder.join("dump")).unwrap() == whole[40..], "{name} {level:?}");
        }
    }
}

fn what_is_compressed_comes_back() {
    for samples in [large_samples(), samples(), vec![made(0, 0, 0, &[], b"")]] {
        let (builder, datas) = builder(&samples);
        let whole = builder.layout(Version::V3).to_vec(&datas);
        for (method, ..) in METHODS {
            let file = builder.compressed(method, None, &datas).unwrap();
            let compressed = OffloadBinary::parse(&file).unwrap().compressed().unwrap();
            assert_eq!(compressed.method(), method);
            assert!(compressed.decompress(u64::MAX).unwrap() == whole);
            let error = compressed.decompress(whole.len() as u64 - 1).unwrap_err();
            let limit = whole.len() as u64 - 1;
            assert_eq!(error.kind(), ErrorKind::LimitExceeded { need: whole.len() as u64, limit });
        }
    }
    let none = OffloadBinaryBuilder::new();
    assert!(none.compressed(Method::Zstd, None, &[]).unwrap().is_empty());
    assert!([Version::V1, Version::V2, Version::V3].iter().all(|version| none.layout(*version).size() == 0));
}

// ------------------------------------------------------------------------------------------------------------ writing

fn add<'a>(builder: &'a mut OffloadBinaryBuilder, sample: &Made) -> &'a mut ImageBuilder {
    let size = sample.data.len() as u64;
    let image = builder.image(ImageKind(sample.image_kind), OffloadKind(sample.offload_kind), size).flags(sample.flags);
    sample.strings.iter().fold(image, |image, (key, value)| image.string(key, value))
}

fn builder(samples: &[Made]) -> (OffloadBinaryBuilder, Vec<&[u8]>) {
    let mut builder = OffloadBinaryBuilder::new();
    for sample in samples {
        add(&mut builder, sample);
    }
    (builder, samples.iter().map(|sample| sample.data.as_slice()).collect())
}

/// Images in a file with LLVM's layout of version 2 or 3, by its fields alone: entries behind the header, string pairs
/// behind them, then strings, zeros up to a multiple of 8, images without padding, zeros up to a multiple of 8.
fn read_by_hand(file: &[u8], version: u32) -> Vec<Made> {
    let header: u64 = if version == 3 { 40 } else { 32 };
    assert_eq!(file[..8], [[0x10, 0xff, 0x10, 0xad], version.to_le_bytes()].concat());
    assert_eq!((number(file, 8), file.len() % 8), (file.len() as u64, 0));
    let (entries_at, count) = (number(file, 16), number(file, 24));
    assert_eq!(entries_at, header);
    assert!(version < 3 || number(file, 32) == 0);
    let mut pairs_at = header + 40 * count;
    let mut strings_end = 0;
    let mut images = Vec::new();
    let mut image_end = 0;
    for entry in (0..count).map(|index| header + 40 * index) {
        assert_eq!(number(file, entry + 8), pairs_at);
        let pairs = number(file, entry + 16);
        let mut strings = Vec::new();
        for pair in (0..pairs).map(|index| pairs_at + 24 * index) {
            let key = &file[number(file, pair) as usize..];
            let key = &key[..key.iter().position(|&byte| byte == 0).unwrap()];
            let (value_at, value_size) = (number(file, pair + 8), number(file, pair + 16));
            let value_end = value_at + value_size;
            assert_eq!(file[value_end as usize], 0, "LLVM's string table ends each string");
            strings_end = strings_end.max(value_end + 1);
            strings
                .push((String::from_utf8(key.to_vec()).unwrap(), file[value_at as usize..value_end as usize].to_vec()));
        }
        pairs_at += 24 * pairs;
        let (image_at, size) = (number(file, entry + 24), number(file, entry + 32));
        assert!(if image_end == 0 { image_at % 8 == 0 && image_at >= pairs_at } else { image_at == image_end });
        image_end = image_at + size;
        let kinds = number(file, entry);
        images.push(Made {
            image_kind: kinds as u16,
            offload_kind: (kinds >> 16) as u16,
            flags: (kinds >> 32) as u32,
            strings,
            data: file[image_at as usize..image_end as usize].to_vec(),
        });
    }
    assert!(strings_end <= image_end || images.is_empty());
    assert_eq!(image_end.next_multiple_of(8), file.len() as u64);
    assert!(file[image_end as usize..].iter().all(|&byte| byte == 0));
    images
}

fn sorted(mut images: Vec<Made>) -> Vec<Made> {
    images.iter_mut().for_each(|image| image.strings.sort());
    images
}

fn what_is_written_is_read_by_hand() {
    let strings = proptest::collection::btree_map("[a-c]{0,3}|[a-z]{60,200}", any::<Vec<u8>>(), 0..6);
    let image = (0..8_u16, 0..9_u16, any::<u32>(), strings, any::<Vec<u8>>()).prop_map(
        |(image_kind, offload_kind, flags, strings, data)| Made {
            image_kind,
            offload_kind,
            flags,
            strings: strings.into_iter().collect(),
            data,
        },
    );
    let mut runner = TestRunner::new(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() });
    let images = proptest::collection::vec(image, 1..6);
    let result = runner.run(&images, |images| {
        let (builder, datas) = builder(&images);
        for (version, number) in [(Version::V2, 2), (Version::V3, 3)] {
            let layout = builder.layout(version);
            let file = layout.to_vec(&datas);
            assert_eq!(sorted(read_by_hand(&file, number)), images);
            // Both readers see the same order.
            assert_eq!(read_all(&file), read_by_hand(&file, number));
            for (index, image) in OffloadBinary::parse(&file).unwrap().images().enumerate() {
                assert_eq!(layout.offset_of(index), Some(image.offset()));
            }
        }
        Ok(())
    });
    result.unwrap();
}

fn versions_may_be_mixed() {
    let samples = &samples()[..1];
    let (all, datas) = builder(samples);
    let compressed = all.compressed(Method::Zlib, None, &datas).unwrap();
    let parts = [
        all.layout(Version::V3).to_vec(&datas),
        compressed.clone(),
        all.layout(Version::V1).to_vec(&datas),
        compressed,
        all.layout(Version::V2).to_vec(&datas),
    ];
    for zeros in [0, 1, 8, 20] {
        let mut file = parts.concat();
        file.resize(file.len() + zeros, 0);
        let found: Vec<(u64, OffloadBinary)> = OffloadBinaries::new(&file).map(Result::unwrap).collect();
        let versions: Vec<u32> = found.iter().map(|(_, binary)| binary.version().number()).collect();
        assert_eq!(versions, [3, 3, 1, 3, 2]);
        let mut at = 0;
        for ((offset, binary), part) in found.iter().zip(&parts) {
            assert_eq!(*offset, at);
            at += part.len() as u64;
            let images: Vec<Made> = match binary.compressed() {
                Some(compressed) => read_all(&compressed.decompress(10_000).unwrap()),
                None => binary.images().map(read).collect(),
            };
            assert_eq!(sorted(images), sorted(samples.to_vec()));
        }
    }
}

// ---------------------------------------------------------------------------------------------------------- malformed

fn malformed_entries() {
    use ErrorKind::{Malformed, OutOfBounds, Truncated, UnsupportedVersion};
    let good = by_hand(3, &samples());
    let len = good.len() as u64;
    let entries = number(&good, 16) as usize;
    // The third entry, and its first string pair.
    let entry = entries + 80;
    let pair = number(&good, entry as u64 + 8) as usize;
    let out_of_bounds = |start, size| OutOfBounds { start, size, len };
    let table = [
        ("size below a header's", 8, 39, Truncated { need: 40, have: 39 }, 0),
        ("version", 0, 0x0000_0004_ad10_ff10, UnsupportedVersion { version: 4 }, 4),
        ("entries offset", 16, len - 10, out_of_bounds(len - 10, 200), 16),
        ("entry count", 24, 6, out_of_bounds(entries as u64, 240), 16),
        ("entry count, wrapping", 24, u64::MAX / 20, out_of_bounds(entries as u64, u64::MAX), 16),
        ("string pairs offset", entry + 8, len, out_of_bounds(len, 96), entry + 8),
        ("string pair count", entry + 16, 1 << 61, out_of_bounds(pair as u64, u64::MAX), entry + 8),
        ("image offset", entry + 24, len - 4, out_of_bounds(len - 4, 5), entry + 24),
        ("image size", entry + 32, len, out_of_bounds(number(&good, entry as u64 + 24), len), entry + 24),
        ("key", pair, len, Malformed, pair),
        ("value", pair + 8, len - 7, out_of_bounds(len - 7, 8), pair + 8),
        ("value size", pair + 16, u64::MAX, out_of_bounds(number(&good, pair as u64 + 8), u64::MAX), pair + 8),
    ];
    OffloadBinary::parse(&good).unwrap();
    for (what, at, new, kind, offset) in table {
        let mut bytes = good.clone();
        set(&mut bytes, at, new);
        let error = OffloadBinary::parse(&bytes).unwrap_err();
        assert_eq!((error.kind(), error.offset()), (kind, offset as u64), "{what}: {error}");
    }
    let mut bytes = good.clone();
    bytes[number(&good, pair as u64) as usize] = 0xff;
    let error = OffloadBinary::parse(&bytes).unwrap_err();
    assert_eq!(error.to_string(), format!("entry 2, string key is malformed (at offset {pair})"));
}

fn malformed_compressed_binaries() {
    use ErrorKind::{Malformed, OutOfBounds};
    let samples = large_samples();
    let (builder, images) = builder(&samples);
    for (method, ..) in METHODS {
        let mut good = builder.compressed(method, None, &images).unwrap();
        let size = number(&good, 8);
        good.truncate(size as usize);
        let inflated = number(&good, 32);
        let with = |at: usize, new: u64| {
            let mut bytes = good.clone();
            set(&mut bytes, at, new);
            bytes
        };
        let parse = |bytes: &[u8]| OffloadBinary::parse(bytes).map(|binary| binary.size());
        let kind = |bytes: &[u8]| parse(bytes).map_err(|error| (error.kind(), error.offset()));
        assert_eq!(kind(&with(16, 39)), Err((Malformed, 16)));
        assert_eq!(kind(&with(16, size + 1)), Err((OutOfBounds { start: size + 1, size: 0, len: size }, 16)));
        assert_eq!(kind(&with(16, u64::MAX)), Err((OutOfBounds { start: u64::MAX, size: 0, len: size }, 16)));
        assert_eq!(kind(&with(32, 39)), Err((Malformed, 32)));

        let inflate = |bytes: &[u8]| {
            let compressed = OffloadBinary::parse(bytes).unwrap().compressed().unwrap();
            compressed.decompress(1 << 20).map(|bytes| bytes.len()).map_err(|error| error.kind())
        };
        assert_eq!(inflate(&good), Ok(inflated as usize));
        assert!(matches!(inflate(&with(32, inflated - 1)), Err(ErrorKind::Compression { .. })));
        assert!(matches!(inflate(&with(32, 40)), Err(ErrorKind::Compression { .. })));
        assert_eq!(inflate(&with(32, inflated + 1)), Err(Malformed));
        let huge = ErrorKind::LimitExceeded { need: u64::MAX, limit: 1 << 20 };
        assert_eq!(inflate(&with(32, u64::MAX)), Err(huge));
        // Nothing to decompress, and a stream that is cut short.
        for end in [40, size - 1] {
            let mut bytes = with(8, end);
            bytes.truncate(end as usize);
            assert!(matches!(inflate(&bytes), Err(ErrorKind::Compression { .. })));
        }
        // Something between header and stream stays there.
        let mut moved = [&good[..40], b"between ", &good[40..]].concat();
        set(&mut moved, 8, size + 8);
        set(&mut moved, 16, 48);
        set(&mut moved, 32, inflated + 8);
        let bytes = OffloadBinary::parse(&moved).unwrap().compressed().unwrap().decompress(1 << 20).unwrap();
        assert_eq!((&bytes[40..48], number(&bytes, 8), number(&bytes, 32)), (b"between ".as_slice(), inflated + 8, 0));
    }
}

/// Files in which the same bytes are text, or string pairs, of many.
fn text_that_is_shared_too_often() {
    let with_pairs = |pairs: usize| {
        let mut builder = OffloadBinaryBuilder::new();
        let image = builder.image(ImageKind::NONE, OffloadKind::NONE, 0);
        for number in 0..pairs {
            image.string(&format!("key{number}"), "v".repeat(20_000));
        }
        builder
    };
    for version in [Version::V1, Version::V2, Version::V3] {
        assert!(OffloadBinary::parse(&with_pairs(60).layout(version).to_vec(&[b""])).is_ok());
        let error = OffloadBinary::parse(&with_pairs(200).layout(version).to_vec(&[b""])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Malformed);
    }
    // 1000 entries with the same 1000 pairs without text.
    let mut builder = OffloadBinaryBuilder::new();
    for _ in 0..1000 {
        builder.image(ImageKind::NONE, OffloadKind::NONE, 0);
    }
    let mut file = builder.layout(Version::V2).to_vec(&[b"".as_slice(); 1000]);
    let pairs = file.len() as u64;
    file.resize(file.len() + 24 * 1000, 0);
    let size = file.len() as u64;
    set(&mut file, 8, size);
    for pair in 0..1000 {
        // The key is the NUL at the end of the last pair.
        set(&mut file, pairs as usize + 24 * pair, size - 1);
    }
    for entry in 0..1000 {
        set(&mut file, 32 + 40 * entry + 8, pairs);
        set(&mut file, 32 + 40 * entry + 16, if entry < 100 { 1000 } else { 0 });
    }
    assert_eq!(
        OffloadBinary::parse(&file).unwrap().images().map(|image| image.strings().count()).sum::<usize>(),
        100_000
    );
    (0..1000).for_each(|entry| set(&mut file, 32 + 40 * entry + 16, 1000));
    let error = OffloadBinary::parse(&file).unwrap_err();
    assert!(error.to_string().contains("share too much text"), "{error}");
}

/// One file of each kind, several of them of all images.
fn files() -> Vec<Vec<u8>> {
    let samples = samples();
    let (builder, datas) = builder(&samples);
    let compressed = METHODS.map(|(method, ..)| {
        let mut file = builder.compressed(method, None, &datas).unwrap();
        file.truncate(number(&file, 8) as usize);
        file
    });
    let whole = [Version::V2, Version::V3].map(|version| builder.layout(version).to_vec(&datas));
    [whole.to_vec(), compressed.to_vec(), vec![by_hand(1, &samples[..1]), by_hand(2, &samples), by_hand(3, &samples)]]
        .concat()
}

fn every_truncation() {
    for file in files() {
        for length in 0..file.len() {
            let error = OffloadBinary::parse(&file[..length]).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Truncated { .. } | ErrorKind::OutOfBounds { .. }), "{error}");
            // And with a size that fits.
            let mut shorter = file[..length].to_vec();
            if length >= 16 {
                set(&mut shorter, 8, length as u64);
                visit(&shorter);
            }
        }
    }
}

fn every_byte_changed() {
    for file in files() {
        for at in 0..file.len() {
            for new in [0, 1, 0x7f, 0xff, file[at] ^ 0x80, file[at].wrapping_add(1)] {
                let mut changed = file.clone();
                changed[at] = new;
                visit(&changed);
            }
            for new in [0, 1, file.len() as u64, u64::MAX, u64::MAX / 24, 1 << 63] {
                let mut changed = file.clone();
                let end = file.len().min(at + 8);
                changed[at..end].copy_from_slice(&new.to_le_bytes()[..end - at]);
                visit(&changed);
            }
        }
    }
}

/// Reads all that there is: nothing panics, nothing lies outside.
fn visit(file: &[u8]) {
    let range = file.as_ptr_range();
    let inside = |part: &[u8]| part.is_empty() || range.start <= part.as_ptr() && part.as_ptr_range().end <= range.end;
    for (_, binary) in OffloadBinaries::new(file).flatten() {
        for image in binary.images() {
            assert!(inside(image.data()) && inside(image.arch().unwrap_or("").as_bytes()));
            assert!(image.strings().all(|(key, value)| inside(key.as_bytes()) && inside(value)));
        }
        if let Some(Ok(inflated)) = binary.compressed().map(|compressed| compressed.decompress(10_000)) {
            assert!(inflated.len() <= 10_000);
            let _ = OffloadBinary::parse(&inflated);
        }
    }
}

// ---------------------------------------------------------------------------------------------- version 1, before LLVM

fn the_last_of_equal_keys_counts() {
    let folder = scratch::folder("offload-binary-equal-keys");
    let mut file = by_hand(1, &[made(1, 4, 0, &[("arch", b"a"), ("triple", b"t"), ("arch", b"b")], b"image")]);
    file.resize(file.len().next_multiple_of(8), 0);
    let size = file.len() as u64;
    set(&mut file, 8, size);
    assert_eq!(OffloadBinary::parse(&file).unwrap().images().next().unwrap().arch(), Some("b"));
    scratch::write(folder.join("file"), file);
    let listing = stdout(&succeed(llvm("llvm-objdump").current_dir(&folder).args(["--offloading", "file"])));
    assert!(listing.contains("arch            b\n"), "{listing}");
}

/// `file` and `kind` anywhere among the keys, and `kind` missing: the tool writes the same bytes.
fn arguments_in_any_order() {
    let folder = scratch::folder("offload-binary-arguments");
    scratch::write(folder.join("image.o"), "image");
    // Keys that share buckets with `file` and `kind`, or with what these push aside, among as many as make the table grow.
    let keys: Vec<String> = (0..60).map(|number| format!("k{number}")).collect();
    let strategy = (
        proptest::sample::subsequence(keys, 0..=60).prop_shuffle(),
        any::<proptest::sample::Index>(),
        any::<Option<proptest::sample::Index>>(),
    );
    let config = ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() };
    let result = TestRunner::new(config).run(&strategy, |(keys, file_at, kind_at)| {
        let mut arguments: Vec<(String, String)> = keys.into_iter().map(|key| (key, "v".to_owned())).collect();
        arguments.insert(file_at.index(arguments.len() + 1), ("file".to_owned(), "image.o".to_owned()));
        if let Some(kind_at) = kind_at {
            arguments.insert(kind_at.index(arguments.len() + 1), ("kind".to_owned(), "hip".to_owned()));
        }
        assert_as_the_tool(&folder, &arguments, kind_at.is_some());
        Ok(())
    });
    result.unwrap();
}

fn assert_as_the_tool(folder: &Path, arguments: &[(String, String)], hip: bool) {
    let mut builder = OffloadBinaryBuilder::new();
    let image = builder.image(ImageKind::OBJECT, if hip { OffloadKind::HIP } else { OffloadKind::NONE }, 5);
    for (key, value) in arguments {
        match key.as_str() {
            "file" | "kind" => image.argument(key),
            _ => image.string(key, value),
        };
    }
    let ours = builder.layout(Version::V1).to_vec(&[b"image"]);
    let pairs: Vec<String> = arguments.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let option = format!("--image={}", pairs.join(","));
    succeed(llvm("llvm-offload-binary").current_dir(folder).args(["-o", "theirs", &option]));
    assert!(fs::read(folder.join("theirs")).unwrap() == ours, "{option}");
}
