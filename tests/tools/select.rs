//! Tests of `cargo offload select`, which finds a device's image. tests/runtimes/agreement checks
//! that runtimes choose the same images.

use crate::containers::{Image, binary, hip_bundle};
use crate::{assert_prints, assert_session, assert_transcript, json, list, string};
use offload_format::offload_binary::{OffloadKind, StatedKind, Version};
use offload_tests::data::corpus_folders;
use offload_tests::own::{Ran, run};
use offload_tests::prelude::*;
use offload_tests::published;
use serde_json::Value;

fn select(file: &Path, device: &str, arguments: &[&str]) -> Ran {
    run(own::offload(&["select", "--device", device]).arg(file).args(arguments))
}

/// Returns the chosen images in the output of `--json`, one for each module that has one.
pub fn images(document: &Value) -> Vec<&Value> {
    let mut images = match document["modules"].as_array() {
        Some(modules) => modules.iter().map(|module| &module["image"]).collect(),
        None => vec![document],
    };
    images.retain(|image| !image.is_null());
    images
}

/// Returns a field of the first chosen image; `None` if no image is chosen.
fn chosen(file: &Path, device: &str, field: &str) -> Option<String> {
    let ran = select(file, device, &["--json"]);
    let document = json(&ran);
    let images = images(&document);
    assert_eq!(ran.code, i32::from(images.is_empty()), "{}: {ran:?}", file.display());
    images.first().map(|image| string(&image[field]).to_owned())
}

/// Asserts that a device gets the image for this target, or none.
#[track_caller]
fn assert_gets(file: &Path, device: &str, expected: Option<&str>) {
    let found = chosen(file, device, "target_id");
    assert_eq!(found.as_deref(), expected, "{} {device}", file.display());
}

/// Tests bitcode for a device's exact target, alone and beside a code object that the device can
/// run.
#[test]
fn bitcode_is_for_no_device() {
    let (image, bitcode) = (corpus_file("image/saxpy.gfx90a.hsaco"), b"BC\xC0\xDE\x35\x14\0\0");
    let images: [Image<'_>; 2] = [
        (StatedKind::BITCODE, OffloadKind::HIP, &[("arch", "gfx90a:xnack-")], bitcode),
        (StatedKind::OBJECT, OffloadKind::HIP, &[("arch", "gfx90a")], &image),
    ];
    let folder = scratch::folder("select-bitcode");
    for (number, expected) in [(1, None), (2, Some("gfx90a"))] {
        let file = folder.join(format!("{number}.bin"));
        scratch::write(&file, binary(Version::V1, &images[..number]));
        assert_gets(&file, "gfx90a:xnack-", expected);
        let shown = select(&file, "gfx90a:xnack-", &[]);
        let reason = "it is LLVM bitcode, which no vendor's driver loads";
        assert!(format!("{shown:?}").contains(reason), "{shown:?}");
    }
}

#[test]
fn an_offload_binary_in_another_is_for_no_device() {
    let strings: &[(&str, &str)] = &[("triple", "amdgcn-amd-amdhsa"), ("arch", "gfx90a")];
    let bitcode: Image<'_> =
        (StatedKind::BITCODE, OffloadKind::HIP, strings, b"BC\xC0\xDE\x35\x14\0\0");
    let inner = binary(Version::V1, &[bitcode]);
    let file = scratch::folder("select-nested").join("nested.bin");
    scratch::write(
        &file,
        binary(Version::V1, &[(StatedKind::OBJECT, OffloadKind::HIP, strings, &inner)]),
    );
    assert_gets(&file, "gfx90a", None);
    let reached = json(&run(own::offload(&["reach", "--json"]).arg(&file)));
    assert!(list(&reached[0]["devices"]).is_empty(), "{reached}");
}

/// LLVM 23 generates such images for Intel's GPUs (pull request 185413), and LLVM's Level Zero
/// runtime reads them.
#[test]
fn spirv_in_an_offload_binary_in_another() {
    let strings: &[(&str, &str)] = &[("triple", "spirv64-intel")];
    let spirv = corpus_file("image/shared.spv");
    let file = scratch::folder("select-nested-spirv").join("nested.bin");
    let inside = |images: &[&[u8]]| {
        let image = |bytes| (StatedKind::SPIRV, OffloadKind::OPENMP, strings, bytes);
        let images: Vec<Image<'_>> = images.iter().map(|bytes| image(*bytes)).collect();
        binary(Version::V2, &images)
    };
    for (inner, target) in [
        (inside(&[&spirv]), Some("spirv64-intel")),
        (inside(&[&spirv, &spirv]), Some("spirv64-intel")),
        (inside(&[&spirv, b"BC\xC0\xDE\x35\x14\0\0"]), None),
        (inside(&[&inside(&[&spirv])]), None),
        (inside(&[b""]), None),
    ] {
        let image = (StatedKind::NONE, OffloadKind::OPENMP, strings, &*inner);
        scratch::write(&file, binary(Version::V2, &[image]));
        let ran = run(own::offload(&["reach", "--require", "spirv64"]).arg(&file));
        assert_eq!(ran.code, i32::from(target.is_none()), "{ran:?}");
        let ran = run(own::offload(&["select", "--device", "spirv64"]).arg(&file));
        assert_eq!(ran.code, i32::from(target.is_none()), "{ran:?}");
    }
}

/// Tests that bundles of one crate for several architectures form one module.
#[test]
fn bundles_of_cuda_oxide() {
    for file in ["oxart/libsaxpy.so", "oxart/saxpy.oxart"] {
        let file = corpus_path(file);
        for (device, target) in [
            ("sm_90", Some("sm_90")),
            ("sm_86", Some("compute_80")),
            ("sm_75", None),
            ("gfx90a", None),
        ] {
            assert_gets(&file, device, target);
        }
        assert_eq!(chosen(&file, "sm_90", "module").as_deref(), Some("saxpy"));
    }
}

/// Selects from bundles of two crates with the same name. One crate may have a bundle only for
/// `sm_80`.
#[test]
fn crates_of_cuda_oxide_with_one_name() {
    let both = corpus_file("oxart/saxpy.oxart");
    let size = u32::from_le_bytes(both[12..16].try_into().expect("it has four bytes")) as usize;
    let file = scratch::folder("select-oxart").join("two.oxart");
    for (parts, expected) in [
        ([&both[..size], &both], ["compute_80", "sm_90"]),
        ([&both, &both[..size]], ["sm_90", "compute_80"]),
        ([&both, &both], ["sm_90", "sm_90"]),
    ] {
        scratch::write(&file, parts.concat());
        let document = json(&select(&file, "sm_90", &["--json"]));
        let found = images(&document).into_iter().map(|it| string(&it["target_id"]));
        assert!(found.eq(expected), "{document:#}");
    }
}

#[test(NOTHING.slow())]
fn json_is_that_of_ls() {
    let (mut found, mut none) = (0, 0);
    let folders = corpus_folders().into_iter().filter(|folder| folder != "malformed");
    for file in folders.flat_map(|folder| corpus(&folder)) {
        // For files with errors, `ls` fails, but prints the readable parts.
        let ls = json(&run(own::offload(&["ls", "--json"]).arg(&file)));
        // For a library with kernel packs, the images are in the packs.
        let records = if ls.is_array() { list(&ls) } else { std::slice::from_ref(&ls) };
        let ls: Vec<&Value> = records.iter().flat_map(|it| list(&it["images"])).collect();
        for device in ["gfx906:sramecc+:xnack+", "gfx1100", "sm_90", "cpu"] {
            let ran = select(&file, device, &["--json"]);
            let document = json(&ran);
            // If there are several modules, the JSON has an image or null for each module.
            let chosen = images(&document);
            assert_eq!(ran.code == 0, !chosen.is_empty(), "{}", file.display());
            for image in &chosen {
                assert!(ls.contains(image), "{} {device}: {image}", file.display());
            }
            found += chosen.len();
            none += ran.code;
        }
    }
    assert!(found > 40, "{found} devices get an image");
    assert!(none > 40, "{none} devices get none");
}

#[test]
fn header_before_name() {
    let file = scratch::folder("offload-select-header").join("file");
    let gfx90a = corpus_file("image/saxpy.gfx90a.hsaco");
    // Byte 49 is part of `e_flags`. The new value changes xnack from "any" to "on".
    assert_eq!(gfx90a[49], 5);
    let gfx90a_xnack = patched(&gfx90a, 49, &[7]);
    let v3 = corpus_file("image/v3.hsaco");
    for (name, image, device, is_chosen) in [
        // The code object's header decides, not the target in the entry's ID. Without a header, the
        // ID decides.
        ("gfx908", &gfx90a[..], "gfx90a:sramecc+:xnack-", true),
        ("gfx908", &gfx90a, "gfx908:sramecc+:xnack-", false),
        ("gfx90a:xnack-", b"no header", "gfx90a:sramecc+:xnack-", true),
        ("gfx90a:xnack-", b"no header", "gfx90a:sramecc+:xnack+", false),
        // The header is for xnack+ only, but the ID is for any mode. The stricter of the two
        // decides.
        ("gfx90a", &gfx90a_xnack, "gfx90a:sramecc+:xnack+", true),
        ("gfx90a", &gfx90a_xnack, "gfx90a:sramecc+:xnack-", false),
        // A version 3 header cannot state "any" for a feature, so the ID decides.
        ("gfx906", &v3, "gfx906:sramecc-:xnack-", true),
    ] {
        let id = format!("hipv4-amdgcn-amd-amdhsa--{name}");
        scratch::write(&file, hip_bundle(4096, &[(&id, image)]));
        let entry = chosen(&file, device, "entry_id");
        assert_eq!(entry, is_chosen.then_some(id), "{device}");
    }
}

#[test]
fn devices_and_containers() {
    let none = None;
    for (file, device, expected) in [
        ("bundle/hip_dev.hipfb", "gfx1100", Some("gfx1100")),
        ("fat_file/hip_nordc_compressed.o", "gfx906:sramecc-:xnack-", Some("gfx906")),
        ("fat_file/hip_nordc_compressed.o", "gfx1101", none),
        ("compressed/concat_padded.ccob", "gfx908", Some("gfx908")),
        ("nv_fatbin/lz4_12.4.fatbin", "sm_90", Some("sm_90")),
        ("nv_fatbin/lz4_12.4.fatbin", "sm_86", Some("sm_80")),
        ("nv_fatbin/lz4_12.4.fatbin", "sm_120", Some("compute_80")),
        ("nv_fatbin/lz4_12.4.fatbin", "sm_75", none),
        ("nv_fatbin/group.fatbin", "sm_100", Some("compute_90")),
        ("nv_fatbin/group.fatbin", "sm_90@driver13.5", Some("compute_90")),
        // The fatbin's header states the PTX version, so this version is known without reading the
        // compressed text.
        ("nv_fatbin/group.fatbin", "sm_90@driver9.0", none),
        // Drivers before CUDA 12.4 cannot read zstd, and HIP's runtime cannot read version 1 of
        // compressed bundles.
        ("nv_fatbin/group.fatbin", "sm_90@driver12.4", Some("compute_90")),
        ("nv_fatbin/group.fatbin", "sm_90@driver12.3", none),
        ("nv_fatbin/lz4_12.4.fatbin", "sm_80@driver12.0", Some("compute_80")),
        ("nv_fatbin/lz4_12.4.fatbin", "sm_80@driver13.0", Some("sm_80")),
        ("compressed/v2_zstd.ccob", "gfx908", Some("gfx908")),
        ("compressed/synthetic_v1_zstd.ccob", "gfx908", none),
        ("image/saxpy.compute_80.ptx", "sm_121@driver13.0", Some("compute_80")),
        ("image/saxpy.compute_80.ptx", "sm_121@driver9.0", none),
        ("image/saxpy.sm_90.cubin", "sm_90", Some("sm_90")),
        ("image/v3.hsaco", "gfx906:sramecc-:xnack-", none),
        ("offload_binary/multi.bin", "sm_75", Some("sm_70")),
        // Only the first of the archive's two members has this image.
        ("archive/lib.a", "gfx906:sramecc+:xnack+", Some("gfx906")),
        ("object_bundle/fat.o", "gfx906", Some("gfx906")),
        // The object's entry for gfx908 is empty.
        ("object_bundle/fat.o", "gfx908", none),
        ("text_bundle/basic.ii", "gfx906", Some("gfx906")),
        ("malformed/empty.bin", "gfx906", none),
    ] {
        assert_gets(&corpus_path(file), device, expected);
    }
    // The image for the CPU is selected because its triple matches this machine.
    let pack = scratch::folder("offload-select-cpu").join("pack");
    let program = std::env::current_exe().unwrap();
    let mut make = own::offload(&["pack", "gfx90a=image/saxpy.gfx90a.hsaco"]);
    make.arg(format!("cpu={}", program.display())).arg("--output").arg(&pack);
    assert_eq!(run(&mut make).code, 0);
    assert_eq!(chosen(&pack, "cpu", "image_kind").as_deref(), Some("elf"));
    let triple = chosen(&pack, "cpu", "triple").expect("an image");
    assert!(triple.starts_with(std::env::consts::ARCH), "{triple}");
}

#[test]
fn what_people_see() {
    let lines = "
        select -d sm_90 nv_fatbin/lz4_12.4.fatbin
        select -d gfx90a:xnack- object_bundle/fat.o
        select -d gfx908 compressed/concat_padded.ccob
        select -d gfx908 image/two.ll
        select -d gfx bundle/basic.bc
        select -d sm_90a bundle/basic.bc
        select -d compute_80 bundle/basic.bc
        select -d gfx9-generic bundle/basic.bc
        select --device= bundle/basic.bc
        select -d sm_90@driverX bundle/basic.bc";
    assert_transcript(&corpus_path(""), "select", lines);
    // The name contains control characters that would clear a terminal, so they must be escaped.
    let file = scratch::folder("offload-select-people").join("odd");
    let image = (StatedKind::NONE, OffloadKind::NONE, &[("arch", "\x1b[2J\n")][..], &b"x"[..]);
    scratch::write(&file, binary(Version::V1, &[image]));
    let ran = select(&file, "gfx906", &["--color=never"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert_prints(&ran, &["\\x1b[2J\\n  not an image"]);
    assert!(!ran.stdout.contains('\x1b'), "{ran:?}");
    let ran = select(&file, "\x1b", &[]);
    assert!(ran.code == 1 && !ran.stderr.contains('\x1b'), "{ran:?}");
}

#[test]
fn modules_are_told_apart() {
    let folder = scratch::folder("offload-select-modules");
    // Writes an offload binary with an image for each module and target.
    let write = |images: &[(&str, &str)]| {
        let file = images.iter().flat_map(|(module, target)| {
            let triple = ("triple", "nvptx64-nvidia-cuda");
            let strings = [triple, ("arch", *target), ("module", *module)];
            let strings = &strings[..if module.is_empty() { 2 } else { 3 }];
            let image = (StatedKind::CUBIN, OffloadKind::CUDA, strings, &b"no image"[..]);
            binary(Version::V1, &[image])
        });
        scratch::write(folder.join("many"), file.collect::<Vec<u8>>());
    };
    write(&[
        ("affine", "sm_80"),
        ("affine", "sm_90"),
        ("fp8", "sm_100"),
        ("softmax", "sm_90"),
        ("softmax", "sm_90a"),
    ]);
    // The last command must fail, because it cannot know which module's image to write.
    let lines = "
        select many -d sm_90
        select many -d sm_75
        select many -d sm_90 --json
        select many -d sm_90 -o image";
    assert_transcript(&folder, "select_modules", lines);
    assert!(!folder.join("image").exists());
    // Images without a module name belong to one module, even if they are in several offload
    // binaries.
    write(&[("", "sm_80"), ("", "sm_90")]);
    assert_transcript(&folder, "select_one_module", "select many -d sm_90");
}

/// Checks `cargo offload select` with a published library, whose only module was linked from six
/// fatbins.
#[test(needs(&[Tool::PublishedCuda]))]
fn a_published_library() {
    let file = published::path(published::BITSANDBYTES_CUDA132);
    let ran = select(&file, "sm_90", &["--color=never"]);
    let expected = "sm_90 gets\n  \
         sm_90        machine code for 9.0: same major, minor not higher\n               \
         .nv_fatbin, fatbin [6], 2.0 MiB\nnot chosen\n";
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.starts_with(&format!("{}: {expected}", file.display())), "{ran:?}");
    // Each part has PTX for 12.0, but none for older GPUs.
    assert_eq!(select(&file, "sm_110", &[]).code, 1);
    let ran = select(&file, "sm_130", &["--color=never"]);
    let fit =
        "PTX for 12.0 and up, compiled by the driver, linked at load time with 5 other images\n";
    assert!(ran.stdout.contains(fit), "{ran:?}");
}

/// Tests `--output`. If no image fits, an existing file must stay unchanged.
#[test]
fn the_image_in_a_file() {
    let folder = scratch::folder("offload-select-output");
    let files = ["nv_fatbin/lz4_12.4.fatbin", "image/saxpy.sm_90.cubin", "bundle/hip_dev.hipfb"];
    for file in files {
        scratch::write(folder.join(file), corpus_file(file));
    }
    let lines = "
        cargo-offload select nv_fatbin/* -d sm_90 -o image.out && cmp image.out image/*
        cargo-offload select nv_fatbin/* -d sm_75 -o image.out; cmp image.out image/*
        cargo-offload select bundle/* -d gfx906 -o x && tail -c +8193 bundle/* | cmp - x";
    assert_session(&folder, "select_output", lines);
}
