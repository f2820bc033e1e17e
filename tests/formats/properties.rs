//! What was written is read, and what was read is written again as it was: for containers with anything in them, of every
//! version, in every order, at every alignment. The numbers are the same in each run.

use object::read::{Object, ObjectSection, ObjectSymbol};
use offload_format::archive::{Archive, ArchiveBuilder, write_library};
use offload_format::bundle::{Bundle, BundleBuilder, EntryId, EntryTable, HIP_ALIGN, HIP_HOST_ENTRY_ID};
use offload_format::compressed::{self, Bundles, CompressOptions, CompressedBundle, Found, Version, compress};
use offload_format::compression::Method;
use offload_format::fat_file::{Container, find};
use offload_format::host_object::{self, CargoTarget, DeviceSection, Machine};
use offload_format::image::PtxHeader;
use offload_format::nv_fatbin::{HostOs, NvFatbin, NvFatbinBuilder, NvFatbins};
use offload_format::object_bundle::{self, ObjectBundle};
use offload_format::offload_binary::{
    self, ImageKind, OffloadBinaries, OffloadBinary, OffloadBinaryBuilder, OffloadKind,
};
use offload_format::select::{self, Candidate, Code, Device};
use offload_format::target::{NvidiaArch, NvidiaCode, PtxVersion, TargetId};
use offload_format::text_bundle::{CommentLeader, TextBundle, TextBundleBuilder};
use offload_tests::data::{assert_same_bytes, read};
use offload_tests::registry::NOTHING;
use offload_tests::scratch;
use proptest::collection::{btree_map, vec};
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof};
use proptest::sample::{self, subsequence};
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

offload_tests::tests! {
    NOTHING => [
        bundles,
        bundles_of_hip,
        text_bundles,
        object_bundles,
        compressed_bundles,
        offload_binaries,
        compressed_offload_binaries,
        fatbins,
        archives,
        bundles_in_a_row,
        offload_binaries_in_a_row,
        fatbins_in_a_row,
        host_objects,
        selection,
    ],
}

/// Runs a property on so many values.
fn check<T: Debug>(cases: u32, values: impl Strategy<Value = T>, property: impl Fn(T)) {
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let outcome = runner.run(&values, |value| {
        property(value);
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

fn bytes(most: usize) -> impl Strategy<Value = Vec<u8>> + Clone {
    prop_oneof![1 => Just(Vec::new()), 4 => vec(any::<u8>(), 0..most), 2 => (any::<u8>(), 0..most).prop_map(|(byte, size)| vec![byte; size])]
}

fn slices(payloads: &[Vec<u8>]) -> Vec<&[u8]> {
    payloads.iter().map(Vec::as_slice).collect()
}

// ---------------------------------------------------------------------------------------------------- bundles of all forms

/// Any of these may stand beside any other; some are not spelled as they are written.
const IDS: [&str; 12] = [
    "host-x86_64-unknown-linux-gnu",
    "hip-amdgcn-amd-amdhsa--gfx906:xnack+",
    "hip-amdgcn-amd-amdhsa--gfx906:xnack-",
    "hip-amdgcn-amd-amdhsa--gfx90a:xnack-:sramecc+",
    "hipv4-amdgcn-amd-amdhsa--gfx1100",
    "hipv4-amdgcn-amd-amdhsa--gfx9-4-generic",
    "hip-spirv64-amd-amdhsa-unknown-amdgcnspirv",
    "openmp-amdgcn-amd-amdhsa--gfx906",
    "openmp-nvptx64-nvidia-cuda-sm_70",
    "openmp-nvptx64-nvidia-cuda--sm_90a",
    "openmp-x86_64-pc-linux-gnu-",
    "openmp-spirv64-intel-unknown--bmg_g21",
];

/// IDs and payloads, in any order.
type Entries = Vec<(&'static str, Vec<u8>)>;

fn entries(payload: impl Strategy<Value = Vec<u8>>) -> impl Strategy<Value = Entries> {
    let ids = subsequence(IDS.to_vec(), 0..=IDS.len()).prop_shuffle();
    (ids, vec(payload, IDS.len())).prop_map(|(ids, payloads)| ids.into_iter().zip(payloads).collect())
}

fn canonical(id: &str) -> String {
    EntryId::parse(id).expect("an ID of the list").to_canonical()
}

fn builder(entries: &Entries, align: u64) -> BundleBuilder {
    let mut builder = BundleBuilder::new();
    builder.align(align);
    for (id, payload) in entries {
        builder.entry(id, payload.len() as u64).expect("an ID of the list");
    }
    builder
}

fn payloads(entries: &Entries) -> Vec<&[u8]> {
    entries.iter().map(|(_, payload)| payload.as_slice()).collect()
}

fn write_bundle(entries: &Entries, align: u64) -> Vec<u8> {
    builder(entries, align).layout().to_vec(&payloads(entries))
}

/// What was read is what went in.
fn compare<'a>(read: impl Iterator<Item = (&'a str, &'a [u8])>, entries: &Entries) {
    let expected: Vec<_> = entries.iter().map(|(id, payload)| (canonical(id), payload.clone())).collect();
    assert_eq!(read.map(|(id, payload)| (id.to_owned(), payload.to_vec())).collect::<Vec<_>>(), expected);
}

fn bundles() {
    check(300, (entries(bytes(300)), 1..5000u64), |(entries, align)| {
        let file = write_bundle(&entries, align);
        let bundle = Bundle::parse(&file).unwrap();
        compare(bundle.entries().map(|entry| (entry.id_str(), entry.code_object())), &entries);
        assert!(bundle.entries().all(|entry| entry.offset() % align == 0));
        let end = bundle.entries().map(|entry| entry.offset() + entry.code_object().len() as u64).max();
        assert_eq!((bundle.size(), end.unwrap_or(32)), (file.len() as u64, file.len() as u64));

        let mut again = BundleBuilder::new();
        again.align(align);
        for entry in bundle.entries() {
            again.entry(entry.id_str(), entry.code_object().len() as u64).unwrap();
        }
        let code_objects: Vec<_> = bundle.entries().map(|entry| entry.code_object()).collect();
        assert_same_bytes(&again.layout().to_vec(&code_objects), &file, "written again");
    });
}

fn bundles_of_hip() {
    check(50, entries(bytes(6000)), |mut entries| {
        entries.retain(|(id, _)| id.starts_with("hip"));
        let mut builder = BundleBuilder::hip();
        for (id, payload) in &entries {
            builder.entry(id, payload.len() as u64).unwrap();
        }
        entries.insert(0, (HIP_HOST_ENTRY_ID, Vec::new()));
        let file = builder.layout().to_vec(&payloads(&entries));
        let bundle = Bundle::parse(&file).unwrap();
        compare(bundle.entries().map(|entry| (entry.id_str(), entry.code_object())), &entries);
        assert!(bundle.entries().all(|entry| entry.offset() % HIP_ALIGN == 0));
    });
}

/// Text that is nearly a marker. Payloads with a whole END line are another thing when they are read.
fn text(leader: CommentLeader) -> impl Strategy<Value = Vec<u8>> {
    let pieces =
        ["\n", leader.as_str(), " ", "__CLANG_OFFLOAD_BUNDLE__", "__START__ ", "__END__ ", "host--", "\r\n", "x"];
    let start = format!("\n{} __CLANG_OFFLOAD_BUNDLE____START__ {}\n", leader.as_str(), IDS[0]);
    let piece = prop_oneof![
        6 => sample::select(pieces.to_vec()).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => Just(start.into_bytes()),
        1 => bytes(20),
    ];
    let end = format!("\n{} __CLANG_OFFLOAD_BUNDLE____END__ ", leader.as_str()).into_bytes();
    vec(piece, 0..12)
        .prop_map(|pieces| pieces.concat())
        .prop_filter("it has an END line", move |payload| !payload.windows(end.len()).any(|window| window == end))
}

fn text_bundles() {
    for file_type in ["i", "ii", "cui", "hipi", "d", "s", "ll"] {
        let leader = CommentLeader::of_file_type(file_type).expect("a type of text");
        let write = |entries: &[(&str, &[u8])]| {
            let mut builder = TextBundleBuilder::new(leader);
            for (id, payload) in entries {
                builder.entry(id, payload.len() as u64).unwrap();
            }
            builder.layout().to_vec(&entries.iter().map(|(_, payload)| *payload).collect::<Vec<_>>())
        };
        check(60, entries(text(leader)), |entries| {
            let file = write(&entries.iter().map(|(id, payload)| (*id, payload.as_slice())).collect::<Vec<_>>());
            let bundle = TextBundle::parse(&file, leader).unwrap();
            compare(bundle.entries().map(|entry| (entry.id_str(), entry.payload())), &entries);
            let read: Vec<_> = bundle.entries().map(|entry| (entry.id_str(), entry.payload())).collect();
            assert_same_bytes(&write(&read), &file, file_type);
            assert_eq!(TextBundle::detect(&file), (!entries.is_empty()).then_some(leader));
        });
    }
}

/// What a linker takes from an object.
fn meaning(object: &[u8]) -> (Vec<String>, BTreeSet<String>) {
    let object = object::File::parse(object).expect("an object");
    let names = |index| object.symbol_by_index(index).expect("a symbol").name().expect("its name").to_owned();
    let sections = object.sections().filter(|section| {
        // Made anew.
        !matches!(section.name(), Ok(".strtab" | ".shstrtab" | ".symtab"))
    });
    let sections = sections.map(|section| {
        let relocations = section.relocations().map(|(at, it)| {
            let target = match it.target() {
                object::RelocationTarget::Symbol(index) => names(index),
                other => format!("{other:?}"),
            };
            format!("{at} {:?} {target} {}", it.flags(), it.addend())
        });
        let relocations = relocations.collect::<Vec<_>>();
        let is_relocations = section.name().is_ok_and(|name| name.starts_with(".rel"));
        let data = if is_relocations { &[] } else { section.data().expect("its bytes") };
        format!("{:?} {:?} {} {data:?} {relocations:?}", section.name(), section.flags(), section.align())
    });
    let symbols = object.symbols().map(|symbol| {
        let section = symbol.section_index().and_then(|index| object.section_by_index(index).ok());
        let section = section.map(|section| section.name().expect("its name").to_owned());
        format!("{:?} {} {} {:?} {section:?}", symbol.name(), symbol.address(), symbol.size(), symbol.kind())
    });
    (sections.collect(), symbols.collect())
}

fn object_bundles() {
    let objects =
        ["object_bundle/host.o", "object_bundle/host.obj", "fat_file/llvm_offloading.o", "fat_file/hip_nordc.o"];
    let hosts = objects.map(|file| read(scratch::workspace().join("tests/corpus").join(file)));
    check(60, (sample::select(hosts.to_vec()), entries(bytes(300))), |(host, mut entries)| {
        let fat = object_bundle::bundle(&host, &builder(&entries, 1)).unwrap().to_vec(&payloads(&entries));
        for (_, payload) in entries.iter_mut().filter(|(id, _)| id.starts_with("host")) {
            *payload = object_bundle::HOST_PLACEHOLDER.to_vec();
        }
        let bundle = ObjectBundle::parse(&fat).unwrap();
        compare(bundle.entries().map(|entry| (entry.id_str(), entry.code_object())), &entries);

        let stripped = object_bundle::strip(&fat).unwrap();
        assert_eq!(meaning(&stripped), meaning(&host));
        let again = object_bundle::bundle(&stripped, &builder(&entries, 1)).unwrap().to_vec(&payloads(&entries));
        assert_same_bytes(&again, &fat, "bundled again");
    });
}

/// Methods with levels, none of them slow.
fn methods() -> impl Strategy<Value = (Method, Option<i32>)> + Clone {
    let zlib = proptest::option::of(0..=9).prop_map(|level| (Method::Zlib, level));
    prop_oneof![zlib, proptest::option::of(-5..=12).prop_map(|level| (Method::Zstd, level))]
}

fn options() -> impl Strategy<Value = CompressOptions> {
    (sample::select(&[Version::V2, Version::V3][..]), methods()).prop_map(|(version, (method, level))| {
        let mut options = CompressOptions::default();
        (options.version, options.method, options.level) = (version, method, level);
        options
    })
}

const LIMIT: u64 = 1 << 24;

fn compressed_bundles() {
    check(120, (entries(bytes(4000)), 1..300u64, options()), |(entries, align, options)| {
        let plain = write_bundle(&entries, align);
        let file = compress(&plain, &options).unwrap();
        let bundle = CompressedBundle::parse(&file).unwrap();
        assert_eq!((bundle.total_size(), bundle.method()), (Some(file.len() as u64), Some(options.method)));
        assert_eq!((bundle.uncompressed_size(), bundle.hash()), (plain.len() as u64, compressed::hash(&plain)));
        let whole = bundle.decompress(LIMIT).unwrap();
        assert_same_bytes(&whole, &plain, "decompressed");
        assert_same_bytes(&compress(&whole, &options).unwrap(), &file, "compressed again");

        let table = bundle.entry_table(LIMIT).unwrap();
        let table = EntryTable::parse(&table).unwrap();
        for (entry, (id, payload)) in table.entries().zip(&entries) {
            assert_eq!(entry.id_str(), canonical(id));
            assert_same_bytes(&bundle.code_object(&entry, LIMIT).unwrap(), payload, id);
        }
        assert_eq!(table.entries().count(), entries.len());
    });
}

fn padding() -> impl Strategy<Value = usize> {
    prop_oneof![Just(0), 1..100usize, Just(4096)]
}

fn bundles_in_a_row() {
    let bundle = (entries(bytes(200)), 1..100u64, proptest::option::of(options()), padding());
    check(120, vec(bundle, 0..6), |bundles| {
        let mut file = Vec::new();
        let mut starts = Vec::new();
        for (entries, align, options, padding) in &bundles {
            let plain = write_bundle(entries, *align);
            starts.push(file.len() as u64);
            file.extend(options.map_or_else(|| plain.clone(), |options| compress(&plain, &options).unwrap()));
            file.resize(file.len() + padding, 0);
        }
        let found: Vec<_> = Bundles::new(&file, LIMIT).map(Result::unwrap).collect();
        assert!(found.iter().map(|(at, _)| *at).eq(starts));
        for ((_, found), (entries, ..)) in found.iter().zip(&bundles) {
            let whole;
            let bundle = match found {
                Found::Plain(bundle) => *bundle,
                Found::Compressed(bundle) => {
                    whole = bundle.decompress(LIMIT).unwrap();
                    Bundle::parse(&whole).unwrap()
                }
            };
            compare(bundle.entries().map(|entry| (entry.id_str(), entry.code_object())), entries);
        }
    });
}

// -------------------------------------------------------------------------------------------------------- offload binaries

#[derive(Debug, Clone)]
struct Image {
    kind: u16,
    offload_kind: u16,
    flags: u32,
    strings: BTreeMap<String, Vec<u8>>,
    bytes: Vec<u8>,
}

/// Any images; values have a NUL in them if the version can hold it.
fn images(nul: bool) -> impl Strategy<Value = Vec<Image>> {
    let key = prop_oneof![
        sample::select(&["triple", "arch", "feature", "", "κλειδί"][..]).prop_map(str::to_owned),
        "[^\0]{0,12}"
    ];
    let value = prop_oneof![Just(b"gfx90a".to_vec()), Just(Vec::new()), vec(u8::from(!nul)..=255, 0..30)];
    let image = (any::<u16>(), any::<u16>(), any::<u32>(), btree_map(key, value, 0..7), bytes(200));
    let image = image.prop_map(|(kind, offload_kind, flags, strings, bytes)| Image {
        kind,
        offload_kind,
        flags,
        strings,
        bytes,
    });
    vec(image, 0..5)
}

fn image_builder(images: &[Image]) -> OffloadBinaryBuilder {
    let mut builder = OffloadBinaryBuilder::new();
    for image in images {
        let size = image.bytes.len() as u64;
        let added = builder.image(ImageKind(image.kind), OffloadKind(image.offload_kind), size);
        added.flags(image.flags);
        for (key, value) in &image.strings {
            added.string(key, value);
        }
    }
    builder
}

fn image_bytes(images: &[Image]) -> Vec<&[u8]> {
    images.iter().map(|image| image.bytes.as_slice()).collect()
}

/// What is in offload binaries in a row.
fn read_images(file: &[u8]) -> Vec<Image> {
    let binaries = OffloadBinaries::new(file).map(Result::unwrap);
    let images = binaries.flat_map(|(_, binary)| match binary.compressed() {
        Some(compressed) => read_images(&compressed.decompress(LIMIT).unwrap()),
        None => binary.images().map(|image| read_image(&image)).collect(),
    });
    images.collect()
}

fn read_image(image: &offload_binary::Image<'_>) -> Image {
    let strings: BTreeMap<_, _> = image.strings().map(|(key, value)| (key.to_owned(), value.to_vec())).collect();
    assert_eq!(strings.len(), image.strings().count(), "no key is there twice");
    Image {
        kind: image.image_kind().0,
        offload_kind: image.offload_kind().0,
        flags: image.flags(),
        strings,
        bytes: image.data().to_vec(),
    }
}

fn assert_same_images(read: &[Image], images: &[Image]) {
    assert_eq!(format!("{read:?}"), format!("{images:?}"));
}

fn offload_binaries() {
    for version in [offload_binary::Version::V1, offload_binary::Version::V2, offload_binary::Version::V3] {
        check(200, images(version != offload_binary::Version::V1), |images| {
            let file = image_builder(&images).layout(version).to_vec(&image_bytes(&images));
            assert!(
                OffloadBinaries::new(&file).all(|found| found.is_ok_and(|(_, binary)| binary.version() == version))
            );
            let read = read_images(&file);
            assert_same_images(&read, &images);
            let again = image_builder(&read).layout(version).to_vec(&image_bytes(&read));
            assert_same_bytes(&again, &file, "written again");
        });
    }
}

fn compressed_offload_binaries() {
    check(120, (images(true), methods()), |(images, (method, level))| {
        let file = image_builder(&images).compressed(method, level, &image_bytes(&images)).unwrap();
        assert_eq!(file.len() % 8, 0);
        let read = read_images(&file);
        assert_same_images(&read, &images);
        let again = image_builder(&read).compressed(method, level, &image_bytes(&read)).unwrap();
        assert_same_bytes(&again, &file, "written again");
        images_one_by_one(&file);
    });
}

/// Each image of a compressed offload binary by itself is that of the whole.
fn images_one_by_one(file: &[u8]) {
    for (_, binary) in OffloadBinaries::new(file).flatten() {
        let Some(compressed) = binary.compressed() else { continue };
        let whole = compressed.decompress(1 << 24).unwrap();
        for image in OffloadBinary::parse(&whole).unwrap().images() {
            let (offset, size) = (image.offset(), image.data().len() as u64);
            let mut out = b"before".to_vec();
            compressed.decompress_into(offset, size, 1 << 24, &mut out).unwrap();
            assert_same_bytes(&out, &[b"before", image.data()].concat(), "one image");
            for (offset, size, limit) in [
                (offset, u64::MAX, u64::MAX),
                (whole.len() as u64, 1, 1 << 24),
                (0, size, 1 << 24),
                (offset, size + 1, size),
            ] {
                assert!(compressed.decompress_into(offset, size, limit, &mut out).is_err(), "{offset} {size} {limit}");
            }
            assert_eq!(out.len() as u64, size + 6);
        }
        // A header that promises more than the stream has.
        let mut longer = file.to_vec();
        let promised = whole.len() as u64 + 100;
        longer[32..40].copy_from_slice(&promised.to_le_bytes());
        let longer = OffloadBinary::parse(&longer).unwrap().compressed().unwrap();
        let mut out = Vec::new();
        assert!(longer.decompress_into(whole.len() as u64 - 1, 50, 1 << 24, &mut out).is_err() && out.is_empty());
    }
}

fn offload_binaries_in_a_row() {
    check(120, (vec((images(false), proptest::option::of(methods())), 0..4), 0..100usize), |(binaries, zeros)| {
        let mut file = Vec::new();
        for (images, methods) in &binaries {
            let (builder, bytes) = (image_builder(images), image_bytes(images));
            file.extend(match methods {
                Some((method, level)) => builder.compressed(*method, *level, &bytes).unwrap(),
                None => builder.layout(offload_binary::Version::V1).to_vec(&bytes),
            });
        }
        file.resize(file.len() + zeros, 0);
        let images: Vec<Image> = binaries.into_iter().flat_map(|(images, _)| images).collect();
        assert_same_images(&read_images(&file), &images);
    });
}

// ----------------------------------------------------------------------------------------------------------------- fatbins

#[derive(Debug, Clone)]
enum NvImage {
    Cubin(&'static str, Vec<u8>),
    Ptx(Vec<u8>),
}

fn nv_images() -> impl Strategy<Value = Vec<NvImage>> {
    let prebuilt = |file| read(scratch::workspace().join("examples/saxpy/prebuilt").join(file));
    let cubins = [("sm_80", "saxpy.sm_80.cubin"), ("sm_90", "saxpy.sm_90.cubin"), ("sm_90a", "saxpy.sm_90.cubin")];
    let cubins = cubins.map(|(arch, file)| NvImage::Cubin(arch, prebuilt(file)));
    let ptx = (6..10u32, 0..9u32, sample::select(&["sm_70", "sm_90a", "sm_100f"][..]), "[ -~\n]{0,60}[!-~]");
    let ptx = ptx.prop_map(|(major, minor, arch, rest)| {
        NvImage::Ptx(format!(".version {major}.{minor}\n.target {arch}\n{rest}").into_bytes())
    });
    vec(prop_oneof![sample::select(cubins.to_vec()), ptx], 0..5)
}

fn nv_hosts() -> impl Strategy<Value = HostOs> {
    sample::select(&[HostOs::Linux, HostOs::MacOs, HostOs::Windows][..])
}

fn write_fatbin(images: &[NvImage], host: HostOs) -> Vec<u8> {
    let mut builder = NvFatbinBuilder::new(host);
    for image in images {
        match image {
            NvImage::Cubin(arch, bytes) => builder.cubin(NvidiaArch::parse(arch).expect("a name"), bytes).unwrap(),
            NvImage::Ptx(text) => builder.ptx(text).unwrap(),
        };
    }
    let bytes = images.iter().map(|image| match image {
        NvImage::Cubin(_, bytes) | NvImage::Ptx(bytes) => bytes.clone(),
    });
    builder.layout().to_vec(&slices(&bytes.collect::<Vec<_>>()))
}

fn compare_fatbin(fatbin: &NvFatbin<'_>, images: &[NvImage], host: HostOs) {
    assert_eq!(fatbin.entries().count(), images.len());
    for (entry, image) in fatbin.entries().zip(images) {
        let payload = entry.decompress(LIMIT).unwrap();
        let [(read, bytes)] = payload.images().collect::<Vec<_>>()[..] else { panic!("one image in each entry") };
        assert_eq!((read.host(), read.is_64_bit(), read.has_debug_info()), (Some(host), true, false));
        let arch = read.arch().expect("a known kind").to_string();
        match image {
            NvImage::Cubin(name, cubin) => {
                assert_eq!(arch, *name);
                assert_same_bytes(bytes, cubin, name);
            }
            NvImage::Ptx(text) => {
                let header = PtxHeader::parse(text).unwrap();
                assert_eq!(arch, header.arch().to_string());
                let version = (read.version().0.into(), read.version().1.into());
                assert_eq!(version, (header.version().major, header.version().minor));
                assert_same_bytes(bytes, text, "PTX");
            }
        }
    }
}

fn fatbins() {
    check(150, (nv_images(), nv_hosts()), |(images, host)| {
        let file = write_fatbin(&images, host);
        let fatbin = NvFatbin::parse(&file).unwrap();
        assert_eq!(fatbin.size(), file.len() as u64);
        compare_fatbin(&fatbin, &images, host);
    });
}

fn fatbins_in_a_row() {
    check(80, vec((nv_images(), nv_hosts(), 0..20usize), 0..4), |fatbins| {
        let mut file = Vec::new();
        for (images, host, padding) in &fatbins {
            file.extend(write_fatbin(images, *host));
            file.resize(file.len() + 8 * padding, 0);
        }
        let found: Vec<_> = NvFatbins::new(&file).map(Result::unwrap).collect();
        assert_eq!(found.len(), fatbins.len());
        for ((at, found), (images, host, _)) in found.iter().zip(&fatbins) {
            assert_eq!(at % 8, 0);
            compare_fatbin(found, images, *host);
        }
    });
}

// ------------------------------------------------------------------------------------------------- archives, host objects

fn archives() {
    let odd =
        ["/", "//", "a/", "a b", " ", "#1/3", "/SYM64/", "/0", "__.SYMDEF", "exactly15bytes.", "exactly16bytes.o"];
    let name = prop_oneof![
        4 => sample::select(odd.to_vec()).prop_map(|name| name.as_bytes().to_vec()),
        4 => vec(prop_oneof![Just(b'/'), Just(b' '), 33..=126u8, 128..=255u8], 1..40),
        1 => vec(b'a'..=b'c', 100..300),
    ];
    let symbols = proptest::option::of(vec(vec(1..=255u8, 0..20), 0..5));
    check(300, vec((name, bytes(100), symbols), 0..8), |members| {
        let mut builder = ArchiveBuilder::new();
        for (name, bytes, symbols) in &members {
            match symbols {
                Some(symbols) => builder.object(name, bytes.len() as u64, symbols).unwrap(),
                None => builder.member(name, bytes.len() as u64).unwrap(),
            };
        }
        let contents: Vec<&[u8]> = members.iter().map(|(_, bytes, _)| bytes.as_slice()).collect();
        let file = builder.layout().to_vec(&contents);
        let archive = Archive::parse(&file).unwrap();
        let read: Vec<_> = archive.members().map(|member| (member.name(), member.data().unwrap())).collect();
        assert_eq!(read, members.iter().map(|(name, bytes, _)| (&name[..], &bytes[..])).collect::<Vec<_>>());

        let symbols = members
            .iter()
            .flat_map(|(name, _, symbols)| symbols.iter().flatten().map(|symbol| (symbol.as_slice(), name.as_slice())));
        let read = archive.symbols().unwrap().map(|symbol| {
            (symbol.name(), archive.member_at(symbol.member_offset()).expect("the table says it").name())
        });
        assert_eq!(read.collect::<Vec<_>>(), symbols.collect::<Vec<_>>());
    });
}

fn machines() -> Vec<Machine> {
    let targets = [
        ("x86_64", "linux"),
        ("aarch64", "linux"),
        ("riscv64", "linux"),
        ("loongarch64", "linux"),
        ("x86_64", "windows"),
        ("aarch64", "windows"),
        ("x86_64", "macos"),
        ("aarch64", "macos"),
    ];
    let machine = |(arch, os)| Machine::of(&CargoTarget { arch, os, pointer_width: "64", endian: "little" });
    targets.map(|target| machine(target).expect("objects are written for it")).to_vec()
}

fn host_objects() {
    let container = prop_oneof![
        (entries(bytes(300)), 1..300u64)
            .prop_map(|(entries, align)| (DeviceSection::HipFatbin, write_bundle(&entries, align))),
        images(false).prop_filter("nothing to write", |images| !images.is_empty()).prop_map(|images| {
            let file = image_builder(&images).layout(offload_binary::Version::V1).to_vec(&image_bytes(&images));
            (DeviceSection::LlvmOffloading, file)
        }),
    ];
    let symbol = "[a-z_][a-z0-9_]{0,40}";
    check(200, (sample::select(machines()), container, symbol), |(machine, (section, pack), symbol)| {
        let size = pack.len() as u64;
        let object = host_object::write(machine, section, &symbol, size).unwrap();
        let library = write_library("pack.o", &machine.linker_name(&symbol), object.size()).nest(|_| object.clone());
        for (layout, member) in [(&object, None), (&library, Some(&b"pack.o"[..]))] {
            let file = layout.to_vec(&[&pack]);
            let mut places = 0;
            find(&file, |place, container| {
                let bytes = match container.unwrap() {
                    Container::Bundles(bytes) if section == DeviceSection::HipFatbin => bytes,
                    Container::OffloadBinaries(bytes) if section == DeviceSection::LlvmOffloading => bytes,
                    other => panic!("{other:?}"),
                };
                assert_eq!((Some(place.offset), place.member), (layout.offset_of(0), member));
                assert_same_bytes(bytes, &pack, "what was found");
                places += 1;
            });
            assert_eq!(places, 1);
        }
    });
}

// ------------------------------------------------------------------------------------------------------------ selection

/// An image that is only its names; the version is of a code object or of PTX.
#[derive(Debug, Clone, PartialEq)]
struct Named {
    target: &'static str,
    version: Option<u32>,
    label: &'static str,
}

impl Candidate for Named {
    fn code(&self) -> Code<'_> {
        match NvidiaArch::parse(self.target) {
            Ok(arch) if arch.code == NvidiaCode::Ptx => {
                Code::Ptx { arch, version: self.version.map(|version| PtxVersion::new(version, 0)) }
            }
            Ok(arch) => Code::Cubin(arch),
            Err(_) => match TargetId::parse(self.target) {
                Ok(id) if self.target.starts_with("gfx") || self.target == "amdgcnspirv" => {
                    Code::Amdgpu { id, version: self.version }
                }
                _ => Code::Cpu(self.target),
            },
        }
    }

    fn label(&self) -> &str {
        self.label
    }
}

const TARGETS: [&str; 32] = [
    "gfx906",
    "gfx906:sramecc+",
    "gfx906:xnack-",
    "gfx906:sramecc+:xnack-",
    "gfx906:xnack-:sramecc+",
    "gfx90a:xnack+",
    "gfx942",
    "gfx9-generic",
    "gfx9-4-generic",
    "gfx9-4-generic:xnack-",
    "gfx803",
    "fiji",
    "amdgcnspirv",
    "sm_80",
    "sm_86",
    "sm_90",
    "sm_90a",
    "sm_100",
    "sm_100a",
    "sm_100f",
    "sm_103",
    "compute_70",
    "compute_80",
    "compute_90",
    "compute_90a",
    "compute_100",
    "compute_100f",
    "x86_64-unknown-linux-gnu",
    "x86_64-pc-linux-gnu",
    "x86_64-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "what",
];

const DEVICES: [&str; 14] = [
    "gfx906:sramecc+:xnack-",
    "gfx906",
    "gfx900:xnack-",
    "gfx942:sramecc+:xnack-",
    "gfx803",
    "gfx1030",
    "sm_75",
    "sm_86",
    "sm_90",
    "sm_90@driver11.4",
    "sm_100",
    "sm_103",
    "sm_120",
    "cpu",
];

/// Whatever the order of the images, the same one is chosen; that one fits, and no other comes before it.
fn selection() {
    let image = (sample::select(&TARGETS[..]), proptest::option::of(4..9_u32), sample::select(&["a", "b", ""][..]));
    let image = image.prop_map(|(target, version, label)| Named { target, version, label });
    let images = vec(image, 0..12).prop_flat_map(|images| (Just(images.clone()), Just(images).prop_shuffle()));
    let chosen = std::cell::Cell::new(0);
    check(4000, (images, sample::select(&DEVICES[..])), |((images, shuffled), device)| {
        let device = Device::parse(device).unwrap();
        let choice = select::select(&images, &device);
        let again = select::select(&shuffled, &device);
        match (&choice, &again) {
            (Ok(choice), Ok(again)) => {
                // All that the rules see of them; the version of a cubin is not among it.
                let seen = |image: &Named| (format!("{:?}", image.code()), image.label);
                assert_eq!((seen(choice), choice.fit()), (seen(again), again.fit()));
                assert_eq!(select::judge(choice.image(), &device), Ok(*choice.fit()));
                for image in &images {
                    if let Ok(fit) = select::judge(image, &device) {
                        assert!(!select::is_before((image, &fit), (choice.image(), choice.fit())), "{image:?}");
                    }
                }
                chosen.set(chosen.get() + 1);
            }
            (Err(error), Err(_)) => {
                let refused = error.refused().iter().map(|(image, refusal)| {
                    assert_eq!(select::judge(image, &device).as_ref(), Err(refusal));
                    *image
                });
                assert!(refused.eq(&images) && !error.to_string().is_empty());
            }
            _ => panic!("{device}: {choice:?} or {again:?}"),
        }
    });
    assert!(chosen.get() > 500, "{}", chosen.get());
}
