//! Tests of `cargo offload select`, which finds the image of a device. tests/runtimes/comgr.rs
//! checks that AMD's own reader chooses the same image.

use crate::{corpus_bytes, corpus_path, text};
use offload_format::bundle::BundleBuilder;
use offload_format::offload_binary::{ImageKind, OffloadBinaryBuilder, OffloadKind, Version};
use offload_tests::data::{corpus, corpus_folders, read};
use offload_tests::registry::{NOTHING, needs};
use offload_tests::tools::{Tool, stdout, succeed};
use offload_tests::{own, published, scratch};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

offload_tests::tests! {
    NOTHING => [
        json_is_that_of_ls,
        header_before_name,
        devices_and_containers,
        what_people_see,
        modules_are_told_apart,
        the_image_in_a_file,
        wrong_devices,
    ],
    needs(&[Tool::PublishedCuda]) => [a_published_library],
}

/// Returns the exit status of `cargo offload select`, and its output.
fn select(file: &Path, device: &str, arguments: &[&str]) -> (i32, String) {
    let mut offload = Command::new(own::cargo_offload());
    let output = offload
        .arg("select")
        .arg(file)
        .args(["--device", device])
        .args(arguments)
        .output()
        .unwrap();
    (
        output.status.code().unwrap_or_else(|| panic!("{}: {}", file.display(), output.status)),
        stdout(&output),
    )
}

/// Returns the values of a field in JSON text that has each field in a separate line.
fn values<'a>(json: &'a str, field: &str) -> Vec<&'a str> {
    let start = format!("\"{field}\": ");
    let values = json.lines().filter_map(|line| line.trim_start().strip_prefix(&start));
    values.map(|value| value.trim_end_matches(',').trim_matches('"')).collect()
}

/// Returns the target ID of the chosen image in the first module that has one; `None` if no image
/// is chosen.
fn chosen(file: &Path, device: &str) -> Option<String> {
    let (status, json) = select(file, device, &["--json"]);
    match status {
        0 => Some(values(&json, "target_id")[0].to_owned()),
        _ => {
            assert_eq!((status, values(&json, "target_id")), (1, vec![]), "{}", file.display());
            None
        }
    }
}

fn json_is_that_of_ls() {
    let (mut found, mut none) = (0, 0);
    for folder in corpus_folders().iter().filter(|folder| *folder != "malformed") {
        for file in corpus(folder) {
            // `ls` fails on files with errors, and prints the parts that it can read.
            let ls = own::run(own::offload(&["ls", "--json"]).arg(&file)).stdout;
            let ls: Value = serde_json::from_str(&ls).expect("JSON");
            // If a library has kernel packs beside it, the images are in the packs.
            let records = ls.as_array().cloned().unwrap_or_else(|| vec![ls]);
            let ls: Vec<Value> = records
                .iter()
                .flat_map(|it| it["images"].as_array().expect("an array").clone())
                .collect();
            for device in ["gfx906:sramecc+:xnack+", "gfx1100", "sm_90", "cpu"] {
                let (status, document) = select(&file, device, &["--json"]);
                let document: Value = serde_json::from_str(&document).expect("JSON");
                // If there are several modules, the JSON has an image or null for each of them.
                let chosen: Vec<&Value> = match document["modules"].as_array() {
                    Some(modules) => modules.iter().map(|module| &module["image"]).collect(),
                    None => vec![&document],
                };
                assert_eq!(
                    status == 0,
                    chosen.iter().any(|image| !image.is_null()),
                    "{}",
                    file.display()
                );
                for image in chosen.into_iter().filter(|image| !image.is_null()) {
                    assert!(ls.contains(image), "{} {device}: {image}", file.display());
                    found += 1;
                }
                none += status;
            }
        }
    }
    assert!(found > 40, "{found} devices get an image");
    assert!(none > 40, "{none} devices get none");
}

/// Writes a bundle for HIP.
fn bundle(path: &Path, entries: &[(&str, &[u8])]) {
    let mut builder = BundleBuilder::hip();
    for (target, code_object) in entries {
        builder
            .entry(&format!("hipv4-amdgcn-amd-amdhsa--{target}"), code_object.len() as u64)
            .unwrap();
    }
    let images: Vec<&[u8]> =
        [&b""[..]].into_iter().chain(entries.iter().map(|(_, image)| *image)).collect();
    scratch::write(path, builder.layout().to_vec(&images));
}

fn header_before_name() {
    let folder = scratch::folder("offload-select-header");
    let gfx90a = corpus_bytes("image/saxpy.gfx90a.hsaco");
    let mut gfx90a_xnack = gfx90a.clone();
    // The byte at 49 is part of `e_flags`; the new value changes xnack from "any" to "on".
    assert_eq!(gfx90a[49], 5);
    gfx90a_xnack[49] = 7;

    // The entry for gfx908 contains a code object for gfx90a. The code object's header decides, not
    // the entry's name.
    let file = folder.join("exchanged");
    bundle(&file, &[("gfx908", &gfx90a), ("gfx90a", b"no header")]);
    let (_, json) = select(&file, "gfx90a:sramecc+:xnack-", &["--json"]);
    assert_eq!(values(&json, "entry_id"), ["hipv4-amdgcn-amd-amdhsa--gfx908"]);
    assert_eq!(chosen(&file, "gfx908:sramecc+:xnack-"), None);

    // If a code object has no header, the name of its entry decides.
    bundle(&file, &[("gfx906", b"no header"), ("gfx90a:xnack-", b"none either")]);
    assert_eq!(chosen(&file, "gfx906:sramecc+:xnack-").as_deref(), Some("gfx906"));
    assert_eq!(chosen(&file, "gfx90a:sramecc+:xnack-").as_deref(), Some("gfx90a:xnack-"));
    assert_eq!(chosen(&file, "gfx90a:sramecc+:xnack+"), None);
    assert_eq!(chosen(&file, "gfx90a"), None);

    // The header is for xnack+ only, and the name for any mode. The stricter of the two decides.
    bundle(&file, &[("gfx90a", &gfx90a_xnack)]);
    assert_eq!(chosen(&file, "gfx90a:sramecc+:xnack+").as_deref(), Some("gfx90a"));
    assert_eq!(chosen(&file, "gfx90a:sramecc+:xnack-"), None);

    // A header of version 3 cannot state "any" for a feature. So if the entry's name has no
    // features, the name decides.
    let v3 = corpus_bytes("image/v3.hsaco");
    bundle(&file, &[("gfx906", &v3)]);
    assert_eq!(chosen(&file, "gfx906:sramecc-:xnack-").as_deref(), Some("gfx906"));
    assert_eq!(chosen(&corpus_path("image/v3.hsaco"), "gfx906:sramecc-:xnack-"), None);
    assert_eq!(
        chosen(&corpus_path("image/v3.hsaco"), "gfx906:sramecc+:xnack+").as_deref(),
        Some("gfx906:sramecc+:xnack+")
    );

    // The letter of an architecture (`sm_90a`) is only in the name; a cubin's header does not
    // contain it.
    let cubin = corpus_bytes("image/saxpy.sm_90.cubin");
    let mut builder = OffloadBinaryBuilder::new();
    builder.image(ImageKind::CUBIN, OffloadKind::CUDA, cubin.len() as u64).string("arch", "sm_90a");
    scratch::write(&file, builder.layout(Version::V1).to_vec(&[&cubin]));
    assert_eq!(chosen(&file, "sm_90").as_deref(), Some("sm_90a"));
}

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
        // The fatbin's header states the version of the PTX, so the version is known although the
        // compressed text is not read.
        ("nv_fatbin/group.fatbin", "sm_90@driver9.0", none),
        ("image/saxpy.compute_80.ptx", "sm_121@driver13.0", Some("compute_80")),
        ("image/saxpy.compute_80.ptx", "sm_121@driver9.0", none),
        ("image/saxpy.sm_90.cubin", "sm_90", Some("sm_90")),
        ("offload_binary/multi.bin", "sm_75", Some("sm_70")),
        // The first of two members of the archive has this image.
        ("archive/lib.a", "gfx906:sramecc+:xnack+", Some("gfx906")),
        ("object_bundle/fat.o", "gfx906", Some("gfx906")),
        // The object's entry for gfx908 is empty.
        ("object_bundle/fat.o", "gfx908", none),
        ("text_bundle/basic.ii", "gfx906", Some("gfx906")),
        ("malformed/empty.bin", "gfx906", none),
    ] {
        assert_eq!(chosen(&corpus_path(file), device).as_deref(), expected, "{file} {device}");
    }
    // The image for the CPU is selected by its triple, which is that of this machine.
    let folder = scratch::folder("offload-select-cpu");
    let program = std::env::current_exe().unwrap();
    succeed(
        Command::new(own::cargo_offload())
            .args(["pack", "--output", "pack"])
            .arg(format!("cpu={}", program.display()))
            .arg(format!("gfx90a={}", corpus_path("image/saxpy.gfx90a.hsaco").display()))
            .current_dir(&folder),
    );
    let (status, json) = select(&folder.join("pack"), "cpu", &["--json"]);
    assert_eq!((status, values(&json, "image_kind")), (0, vec!["elf"]));
    assert!(values(&json, "triple")[0].starts_with(std::env::consts::ARCH), "{json}");
}

fn what_people_see() {
    let folder = scratch::folder("offload-select-people");
    let text = |file: &str, device: &str| {
        let ran = own::run(&mut own::offload(&["select", file, "-d", device]));
        (ran.code, ran.stdout)
    };
    assert_eq!(
        text("nv_fatbin/lz4_12.4.fatbin", "sm_90"),
        (
            0,
            "nv_fatbin/lz4_12.4.fatbin: sm_90 gets\n  \
             sm_90       machine code for 9.0: same major, minor not higher\n              \
             fatbin [0], module saxpy, 3.5 KiB\n\
             and not\n  \
             sm_80       machine code for compute capability 8.x, from 8.0 on\n  \
             compute_80  fits less well: PTX for 8.0 and up, compiled by the driver\n"
                .to_owned()
        )
    );
    assert_eq!(
        text("object_bundle/fat.o", "gfx90a:xnack-"),
        (
            1,
            "object_bundle/fat.o: no image for gfx90a:xnack-\n  \
             gfx906  code for another processor\n  \
             gfx908  there is nothing in it\n\
             to run on this device, add \"gfx90a\" to the list of targets that the file is built for\n"
                .to_owned()
        )
    );
    assert_eq!(
        text("compressed/concat_padded.ccob", "gfx908"),
        (
            0,
            "compressed/concat_padded.ccob: gfx908 gets an image in 2 of 2 modules\n  \
             gfx908  made for this processor, in any mode\n          \
             2 modules, 5.9 KiB\n            \
             compressed bundles [0-1]\n"
                .to_owned()
        )
    );
    assert_eq!(
        text("image/two.ll", "gfx908"),
        (1, "image/two.ll: no image for gfx908: there are no images\n".to_owned())
    );
    // The name has control characters that clear a terminal, so they are printed as text.
    let file = folder.join("odd");
    let mut builder = OffloadBinaryBuilder::new();
    builder.image(ImageKind::NONE, OffloadKind::NONE, 1).string("arch", "\x1b[2J\n");
    scratch::write(&file, builder.layout(Version::V1).to_vec(&[b"x"]));
    let (status, shown) = select(&file, "gfx906", &["--color=never"]);
    assert_eq!(status, 1, "{shown}");
    assert!(shown.contains("\\x1b[2J\\n  not an image"), "{shown}");
    assert!(!shown.contains('\x1b'), "{shown}");
}

/// Writes an offload binary for each module and target.
fn packed(path: &Path, images: &[(Option<&str>, &str)]) {
    let mut file = Vec::new();
    for (module, target) in images {
        let mut builder = OffloadBinaryBuilder::new();
        let image = builder.image(ImageKind::CUBIN, OffloadKind::CUDA, 8);
        image.string("triple", "nvptx64-nvidia-cuda").string("arch", target);
        if let Some(module) = module {
            image.string("module", module);
        }
        file.extend(builder.layout(Version::V1).to_vec(&[b"no image"]));
    }
    scratch::write(path, file);
}

fn modules_are_told_apart() {
    let folder = scratch::folder("offload-select-modules");
    let file = folder.join("many");
    let see = |arguments: &[&str]| {
        own::run(own::offload(&["select", "many"]).args(arguments).current_dir(&folder))
    };
    packed(
        &file,
        &[
            (Some("affine"), "sm_80"),
            (Some("affine"), "sm_90"),
            (Some("fp8"), "sm_100"),
            (Some("softmax"), "sm_90"),
            (Some("softmax"), "sm_90a"),
        ],
    );
    let ran = see(&["-d", "sm_90"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (
            0,
            "many: sm_90 gets an image in 2 of 3 modules\n  \
             sm_90   machine code for 9.0: same major, minor not higher\n          \
             1 module, 8 B\n            \
             affine: offload binaries [0-1]\n  \
             sm_90a  machine code for 9.0 alone\n          \
             1 module, 8 B\n            \
             softmax: offload binaries [3-4]\n\
             and none in 1 module\n  \
             fp8: offload binary [2]\n    \
             sm_100  machine code for compute capability 10.x, from 10.0 on\n"
        ),
        "{ran:?}"
    );
    let ran = see(&["-d", "sm_75"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stdout.starts_with("many: no image for sm_75 in any of 3 modules\n  affine: "),
        "{}",
        ran.stdout
    );
    let ran = see(&["-d", "sm_90", "--json"]);
    let document: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let modules: Vec<(&str, &str)> = document["modules"]
        .as_array()
        .expect("an array")
        .iter()
        .map(|it| {
            (
                it["module"].as_str().expect("a name"),
                it["image"]["target_id"].as_str().unwrap_or("none"),
            )
        })
        .collect();
    assert_eq!(modules, [("affine", "sm_90"), ("fp8", "none"), ("softmax", "sm_90a")]);
    // The command refuses to guess which module's image to write.
    let ran = see(&["-d", "sm_90", "-o", "image"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr
            .contains("many has 3 modules with one each\n  cargo offload extract --target sm_90 "),
        "{}",
        ran.stderr
    );
    assert!(!folder.join("image").exists());
    // Images without a module's name belong to a pack of one module, in any number of offload
    // binaries.
    packed(&file, &[(None, "sm_80"), (None, "sm_90")]);
    assert!(see(&["-d", "sm_90"]).stdout.starts_with("many: sm_90 gets\n  sm_90  "));
}

/// Checks `cargo offload select` with a published library. Each of its modules has an image for the
/// device, and no single image serves them all.
fn a_published_library() {
    let file = published::path(published::BITSANDBYTES_CUDA132);
    let (status, shown) = select(&file, "sm_90", &["--color=never"]);
    assert_eq!(status, 0);
    let (_, shown) = shown.split_once(": ").expect("the file's name comes first");
    assert_eq!(
        shown,
        "sm_90 gets an image in 7 of 7 modules\n  \
         sm_90  machine code for 9.0: same major, minor not higher\n         \
         7 modules, 4.2 MiB\n           \
         fatbins [0-5] in __nv_relfatbin\n           \
         fatbin [6] in .nv_fatbin\n"
    );
}

fn the_image_in_a_file() {
    let folder = scratch::folder("offload-select-output");
    let output = folder.join("image");
    let path = text(&output);
    let code_object = corpus_bytes("image/saxpy.sm_90.cubin");
    let (status, _) = select(&corpus_path("nv_fatbin/lz4_12.4.fatbin"), "sm_90", &["-o", path]);
    assert_eq!(status, 0);
    assert!(read(&output) == code_object, "another image is written");
    // If no image fits, the existing file stays.
    assert_eq!(select(&corpus_path("nv_fatbin/lz4_12.4.fatbin"), "sm_75", &["-o", path]).0, 1);
    assert_eq!(read(&output), code_object);
    let bundle = corpus_bytes("bundle/hip_dev.hipfb");
    let (_, json) = select(&corpus_path("bundle/hip_dev.hipfb"), "gfx906", &["--json", "-o", path]);
    let [at, size] =
        ["offset", "size"].map(|field| values(&json, field)[0].parse::<usize>().unwrap());
    assert_eq!(read(&output), bundle[at..at + size]);
}

fn wrong_devices() {
    for device in ["gfx", "sm_90a", "compute_80", "gfx9-generic", "", "sm_90@driverX", "\x1b"] {
        let ran = own::run(&mut own::offload(&["select", "bundle/basic.bc", "-d", device]));
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
        assert!(ran.stderr.starts_with("error: --device '"), "{}", ran.stderr);
        assert!(!ran.stderr.contains('\x1b'), "{}", ran.stderr);
    }
}
