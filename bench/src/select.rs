//! Measures how long it takes to select one of sixteen images for a device, and to read one image
//! of a compressed pack.

use crate::data::Generator;
use crate::measure::{row, row_of_many};
use offload_format::bundle::{BundleBuilder, EntryTable, HIP_ENTRY_PREFIX};
use offload_format::compressed::{CompressOptions, CompressedBundle, compress};
use offload_format::compression::Method;
use offload_format::offload_binary::{
    OffloadBinary, OffloadBinaryBuilder, OffloadKind, StatedKind, Version,
};
use offload_format::target::PtxVersion;
use offload_gpu::__expansion::{ImageRecord, ModuleRecord, linked};
use offload_gpu::{DeviceInfo, KernelPack, Origin, PackImageKind};
use std::hint::black_box;

const fn image(target: &'static str, kind: PackImageKind) -> ImageRecord {
    let code = ImageRecord::code(target, kind);
    ImageRecord {
        target,
        kind,
        offset: 0,
        size: 8,
        origin: Origin::Compiled,
        kernels: None,
        limits: &[],
        code,
    }
}

const fn code_object(target: &'static str) -> ImageRecord {
    image(target, PackImageKind::CodeObject { version: 6 })
}

const fn cubin(target: &'static str) -> ImageRecord {
    image(target, PackImageKind::Cubin)
}

/// A pack of sixteen images, as the macro would create it.
static PACK: KernelPack = linked(
    "pack",
    ".llvm.offloading",
    &[0; 16],
    &[ModuleRecord::new(
        "pack",
        &[
            code_object("gfx906:sramecc+:xnack-"),
            code_object("gfx908"),
            code_object("gfx90a:xnack+"),
            code_object("gfx90a:xnack-"),
            code_object("gfx942"),
            code_object("gfx1030"),
            code_object("gfx1100"),
            code_object("gfx11-generic"),
            cubin("sm_75"),
            cubin("sm_80"),
            cubin("sm_86"),
            cubin("sm_89"),
            cubin("sm_90a"),
            cubin("sm_100f"),
            image("compute_90", PackImageKind::Ptx { version: PtxVersion::new(8, 0) }),
            image("cpu", PackImageKind::SharedObject { triple: "x86_64-unknown-linux-gnu" }),
        ],
    )],
);

/// Runs the selections, and prints their times.
pub fn bench() {
    println!("select: one of the {} images of a pack", PACK.images().len());
    for (text, target) in [
        ("gfx90a:sramecc+:xnack-", "gfx90a:xnack-"),
        ("gfx1151", "gfx11-generic"),
        ("sm_89@driver13.0", "sm_89"),
        ("sm_121@driver13.0", "compute_90"),
        ("cpu", "cpu"),
    ] {
        let device = DeviceInfo::parse(text).expect("a device");
        match PACK.select(&device) {
            Ok(choice) => assert_eq!(choice.target(), target),
            // The pack's CPU image is for x86-64 Linux; this machine may have a different CPU.
            Err(_) => assert_eq!(text, "cpu"),
        }
        row_of_many(text, 301, 1000, || {
            black_box(black_box(&PACK).select(black_box(&device)).is_ok());
        });
    }
    compressed();
}

/// The maximum size in bytes of decompressed data, and of the decoder's window. The window is large
/// because the packs are compressed with long-distance matching.
const LIMIT: u64 = 1 << 30;

fn compressed() {
    // Nine code objects of 54 MB each, 149 MB when compressed together.
    let targets: Vec<String> =
        (0..9).map(|number| format!("{HIP_ENTRY_PREFIX}gfx110{number}")).collect();
    let images: Vec<Vec<u8>> = (1..=9).map(|seed| Generator(seed).code(54_200_000, 29)).collect();
    let mut builder = BundleBuilder::hip();
    for (target, image) in targets.iter().zip(&images) {
        builder.entry(target, image.len() as u64).expect("targets differ");
    }
    let mut payloads: Vec<&[u8]> = vec![b""];
    payloads.extend(images.iter().map(Vec::as_slice));
    let bundle = builder.layout().to_vec(&payloads);
    let mut options = CompressOptions::default();
    options.level = Some(1);
    let file = compress(&bundle, &options).expect("zstd is built in");
    println!(
        "select: an image of a compressed pack of {} bytes, decompressed {}",
        file.len(),
        bundle.len()
    );
    drop(bundle);

    let parsed = CompressedBundle::parse(&file).expect("the bundle is sound");
    let table = parsed.entry_table(LIMIT).expect("the stream is sound");
    let entries = EntryTable::parse(&table).expect("the table is sound");
    for (name, number) in [("the first image", 1), ("the second image", 2), ("the last image", 9)] {
        let entry = entries.entries().nth(number).expect("there are nine");
        let expected = &images[number - 1];
        assert!(parsed.code_object(&entry, LIMIT).expect("the stream is sound") == *expected);
        row(name, 5, || {
            black_box(parsed.code_object(&entry, LIMIT).expect("the stream is sound"));
        });
    }
    row("the whole pack", 5, || {
        black_box(parsed.decompress(LIMIT).expect("the stream is sound"));
    });
    drop((table, file));

    let mut builder = OffloadBinaryBuilder::new();
    for image in &images {
        builder.image(StatedKind::OBJECT, OffloadKind::HIP, image.len() as u64);
    }
    let slices: Vec<&[u8]> = images.iter().map(Vec::as_slice).collect();
    let file = builder.compressed(Method::Zstd, Some(1), &slices).expect("zstd is built in");
    println!("select: the same as an offload binary of version 3, {} bytes", file.len());
    let binary = OffloadBinary::parse(&file).expect("the binary is sound");
    let parsed = binary.compressed.expect("it is compressed");
    let layout = builder.layout(Version::V3);
    for (name, number) in [("the first image", 0), ("the second image", 1), ("the last image", 8)] {
        let (offset, size) =
            (layout.offset_of(number).expect("there are nine"), images[number].len() as u64);
        let mut out = Vec::new();
        parsed.decompress_into(offset, size, LIMIT, &mut out).expect("the stream is sound");
        assert!(out == images[number]);
        row(name, 5, || {
            out.clear();
            parsed
                .decompress_into(offset, size, LIMIT, black_box(&mut out))
                .expect("the stream is sound");
        });
    }
    row("the whole pack", 5, || {
        black_box(parsed.decompress(LIMIT).expect("the stream is sound"));
    });
}
