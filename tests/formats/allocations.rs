//! Tests that no reader allocates while it parses and iterates over any corpus file.

use crate::host_object::{object, target};
use offload_format::archive::Archive;
use offload_format::bundle::{Bundle, EntryId, EntryTable};
use offload_format::compressed::{CompressedBundle, Found};
use offload_format::fat_file::{FileKind, find};
use offload_format::image::{Bitcode, ImageHeader, Kernels, oldest_ptx_version};
use offload_format::nv_fatbin::NvFatbin;
use offload_format::object_bundle::ObjectBundle;
use offload_format::offload_binary::OffloadBinary;
use offload_format::section::DeviceSection;
use offload_format::spirv::SpirvHeader;
use offload_format::target::{PtxVersion, TargetId};
use offload_format::text_bundle::{CommentLeader, TextBundle};
use offload_format::{ComputeCapability, DeviceInfo};
use offload_gpu::__expansion::{ImageRecord, ModuleRecord, linked};
use offload_gpu::{KernelPack, Origin, PackImageKind};
use offload_tests::counting::Allocated;
use offload_tests::data::{corpus_file, corpus_files};
use offload_tests::registry::{NOTHING, Test};

tests!(VIEWS.iter().map(|(name, view)| {
    Test::new(module_path!(), name, NOTHING, move || allocates_nothing(name, *view))
}));

/// A function that reads all of its input and returns the number of items found.
type View = fn(&[u8]) -> usize;

const VIEWS: &[(&str, View)] = &[
    ("bundle", |bytes| {
        let entries = Bundle::parse(bytes).into_iter().flat_map(|bundle| bundle.entries());
        entries.map(|entry| entry.code_object.len().min(1) + ids(entry.id_str)).sum()
    }),
    ("image_for_a_device", |bytes| {
        let device = TargetId::parse("gfx906:sramecc+:xnack-");
        let found = Bundle::parse(bytes).ok().and_then(|bundle| bundle.find_hip(&device.ok()?));
        usize::from(found.is_some())
    }),
    ("entry_table", |bytes| {
        let entries = EntryTable::parse(bytes).into_iter().flat_map(|table| table.entries());
        entries.map(|entry| ids(entry.id_str)).sum()
    }),
    ("text_bundle", |bytes| {
        let parse = |leader| TextBundle::parse(bytes, leader).ok();
        let bundles = CommentLeader::ALL.into_iter().filter_map(parse);
        bundles.flat_map(|bundle| bundle.entries()).map(|entry| ids(entry.id_str)).sum()
    }),
    ("object_bundle", |bytes| {
        let entries = ObjectBundle::parse(bytes).into_iter().flat_map(|bundle| bundle.entries());
        entries.map(|entry| entry.code_object.len().min(1) + ids(entry.id_str)).sum()
    }),
    ("compressed_header", |bytes| {
        let _ = Found::parse(bytes);
        CompressedBundle::parse(bytes).map_or(0, |bundle| bundle.payload.len())
    }),
    ("offload_binary", |bytes| {
        let images =
            OffloadBinary::in_a_row(bytes).flatten().flat_map(|(_, binary)| binary.images());
        images.map(|image| image.strings().count() + usize::from(image.arch().is_some())).sum()
    }),
    ("nv_fatbin", |bytes| {
        let entries = NvFatbin::in_a_row(bytes).flatten().flat_map(|(_, fatbin)| fatbin.entries());
        let images = entries.flat_map(|entry| entry.images());
        images.map(|image| 1 + image.name.len() + image.options.len()).sum()
    }),
    ("archive", |bytes| {
        let Ok(archive) = Archive::parse(bytes) else { return 0 };
        archive.members().map(|member| member.name.len()).sum()
    }),
    ("fat_file", |bytes| {
        let mut places = usize::from(FileKind::identify(bytes).is_some());
        find(bytes, |_, container| places += usize::from(container.is_ok()));
        places
    }),
    ("image", |bytes| usize::from(ImageHeader::parse(bytes).is_ok())),
    ("oldest PTX", |bytes| usize::from(oldest_ptx_version(bytes).is_ok())),
    ("kernels", |bytes| {
        // SPIR-V parameters refer to types, which the reader keeps in a table.
        if SpirvHeader::parse(bytes).is_ok() {
            return 0;
        }
        let kernels = Kernels::parse(bytes).into_iter().flatten();
        kernels.map(|kernel| kernel.name.len() + kernel.arguments.count()).sum()
    }),
    ("bitcode", |bytes| {
        Bitcode::parse(bytes).map_or(0, |bitcode| bitcode.defined_globals().count())
    }),
];

/// Counts the parts of a valid bundle entry ID. Skips other texts, because an error would allocate
/// a copy.
fn ids(text: &str) -> usize {
    if text.matches('-').count() < 4 {
        return 0;
    }
    EntryId::parse(text)
        .map_or(0, |id| 1 + id.target_id().map_or(0, |target| target.features().count()))
}

fn allocates_nothing(name: &str, view: View) {
    let of_corpus = corpus_files().into_iter().map(|file| (file.clone(), corpus_file(&file)));
    let bundle = corpus_file("bundle/basic.bc");
    let mac = object(&target("aarch64", "macos"), DeviceSection::HipFatbin, &bundle);
    let mut items = 0;
    for (file, bytes) in of_corpus.chain([("a Mach-O object".to_owned(), mac)]) {
        let (found, allocated) = Allocated::during(|| view(&bytes));
        assert_eq!(allocated, Allocated::default(), "{name} of {file}");
        items += found;
    }
    assert!(items > 0, "nothing was read");
}

#[test]
fn allocations_are_seen() {
    let (copy, allocated) = Allocated::during(|| b"1234".to_vec());
    assert_eq!((allocated.count, allocated.total, allocated.largest), (1, 4, 4), "{copy:?}");
}

const fn image(target: &'static str, kind: PackImageKind) -> ImageRecord {
    let (origin, code) = (Origin::Compiled, ImageRecord::code(target, kind));
    ImageRecord { target, kind, offset: 0, size: 8, origin, kernels: None, limits: &[], code }
}

const CODE_OBJECT: PackImageKind = PackImageKind::CodeObject { version: 6 };
const PTX: PackImageKind = PackImageKind::Ptx { version: PtxVersion::new(8, 0) };

/// A pack as the macro would create it, with an image of each kind.
static PACK: KernelPack = linked(
    "pack",
    ".llvm.offloading",
    &[0; 16],
    &[ModuleRecord::new(
        "pack",
        &[
            image("gfx906:sramecc+:xnack-", CODE_OBJECT),
            image("gfx90a:xnack-", CODE_OBJECT),
            image("gfx90a:xnack+", CODE_OBJECT),
            image("gfx9-4-generic", CODE_OBJECT),
            image("gfx1100", CODE_OBJECT),
            image("gfx11-generic", CODE_OBJECT),
            image("sm_80", PackImageKind::Cubin),
            image("sm_90a", PackImageKind::Cubin),
            image("compute_80", PTX),
            image("cpu", PackImageKind::SharedObject { triple: "x86_64-unknown-linux-gnu" }),
            image("cpu", PackImageKind::SharedObject { triple: "aarch64-unknown-linux-gnu" }),
        ],
    )],
);

#[test]
fn an_image_of_a_pack_is_selected() {
    let mut devices = vec![
        (DeviceInfo::hip("gfx90a:sramecc+:xnack+").unwrap(), "gfx90a:xnack+"),
        (DeviceInfo::hip("gfx942:sramecc+:xnack-").unwrap(), "gfx9-4-generic"),
        (DeviceInfo::parse("Strix Halo").unwrap(), "gfx11-generic"),
        (DeviceInfo::cuda(ComputeCapability { major: 9, minor: 0 }, 12080), "sm_90a"),
        (DeviceInfo::cuda(ComputeCapability { major: 12, minor: 0 }, 12080), "compute_80"),
    ];
    let has_cpu = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
    if has_cpu && cfg!(all(target_os = "linux", target_env = "gnu")) {
        devices.push((DeviceInfo::cpu(), "cpu"));
    }
    for (device, target) in devices {
        let (choice, allocated) = Allocated::during(|| PACK.select(&device).unwrap());
        assert_eq!((choice.target(), allocated), (target, Allocated::default()), "{device}");
    }
}
