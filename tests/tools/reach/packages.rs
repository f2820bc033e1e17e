//! Tests of `cargo offload reach --for`. The readers of package managers apply the metadata to
//! simulated machines. They must install a package exactly on the machines whose GPU gets an image
//! of each module.

use super::by_hand::image_for;
use crate::containers::{binary, with};
use crate::faults::thin_archive;
use crate::inside::made::{Entry, zip};
use crate::kernel_packs::patched;
use crate::{assert_fails, assert_prints, assert_transcript, json, list, offload, string};
use offload_format::image::CubinHeader;
use offload_format::offload_binary::{OffloadKind, StatedKind, Version};
use offload_format::target::NvidiaArch;
use offload_tests::judges::cuobjdump_toolkits;
use offload_tests::own::Ran;
use offload_tests::prelude::*;
use offload_tests::published::{self, OLD_PTXAS, PACKAGE_READERS};
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[test]
fn what_people_see() {
    let lines = "
        reach nv_fatbin/group.fatbin --for conda
        reach nv_fatbin/group.fatbin --for pep825
        reach image/saxpy.sm_90.cubin bundle/hip_dev.hipfb --for conda --require sm_90
        reach image/saxpy.sm_90.cubin bundle/hip_dev.hipfb --for pep825
        reach image/two.ll --for conda
        reach kpack/libk.so --for conda --json";
    assert_transcript(&corpus_path(""), "packages", lines);
}

/// Tests that each error names what the files lack.
#[test]
fn nothing_follows() {
    let folder = scratch::folder("offload-packages-nothing");
    write(&folder, "modules.bin", &[("a", "sm_80"), ("b", "sm_90")]);
    write(&folder, "sm_80.bin", &[("", "sm_80")]);
    write(&folder, "sm_90.bin", &[("", "sm_90")]);
    write(&folder, "vendors.bin", &[("a", "sm_80"), ("b", "gfx90a")]);
    write(&folder, "newer.bin", &[("", "sm_130")]);
    write(&folder, "intel.bin", &[("", "spirv64")]);
    scratch::write(folder.join("text"), "no device code");
    scratch::write(folder.join("library.bc"), corpus_file("fat_file/llvm_offloading.bc"));
    scratch::write(folder.join("bitcode.o"), corpus_file("fat_file/hip_rdc_newdriver.o"));
    for (files, reason) in [
        ("modules.bin", "no NVIDIA GPU has an image in all 2 modules of modules.bin"),
        (
            "sm_80.bin sm_90.bin",
            "no NVIDIA GPU has an image in every module of every file: sm_80.bin, sm_90.bin",
        ),
        (
            "vendors.bin",
            "no NVIDIA GPU has an image in every module of vendors.bin; modules without an image \
             for any NVIDIA GPU: b (gfx90a); no AMD GPU has an image in every module of \
             vendors.bin; modules without an image for any AMD GPU: a (sm_80)",
        ),
        ("intel.bin", "all images are for devices other than AMD's and NVIDIA's GPUs: spirv64"),
        ("text", "there are no images for GPUs"),
        ("bitcode.o", "there are no images for GPUs"),
    ] {
        for kind in ["conda", "pep825"] {
            let ran = offload(&folder, &format!("reach {files} --for {kind}"));
            assert_fails(
                &ran,
                &[&format!("error: cannot compute a package's metadata: {reason}\n")],
            );
            assert_eq!(ran.stdout, "");
        }
    }
    let ran = offload(&folder, "reach bitcode.o");
    assert_prints(&ran, &["bitcode.o: there are no images for GPUs"]);
    let warning = "warning: bitcode.o: no known driver loads these images, so they serve no GPU: gfx906 \
        (LLVM bitcode)\n";
    assert_eq!(ran.stderr, warning);
    assert_eq!(offload(&folder, "reach library.bc").stderr, "");
    let ran = offload(&folder, "reach newer.bin --for pep825");
    assert_fails(&ran, &["nvidia-variant-provider 0.0.2 knows none of the GPUs that have images"]);
    assert_prints(&offload(&folder, "reach newer.bin --for conda"), &["- __cuda_arch >=13.0"]);
    // One vendor's metadata must be printed even if no file serves the other vendor's GPUs.
    write(&folder, "gfx90a.bin", &[("", "gfx90a")]);
    let ran = offload(&folder, "reach modules.bin gfx90a.bin --for conda");
    assert_prints(&ran, &["- __amdgpu_arch ==9.0.10\n"]);
    assert!(
        ran.stderr.starts_with("warning: nothing is printed for NVIDIA: no NVIDIA GPU has"),
        "{ran:?}"
    );
}

/// Only nvJitLink loads NVIDIA's LTO code, so a module with only such code must not limit the GPUs.
#[test]
fn modules_that_no_driver_loads() {
    let folder = scratch::folder("offload-packages-lto");
    let strings =
        |module| [("module", module), ("arch", "lto_80"), ("triple", "nvptx64-nvidia-cuda")];
    let (lto, code) = (strings("lto"), [("module", "code"), ("arch", "sm_80")]);
    let cubin = corpus_file("image/cuda12.sm_80.cubin");
    let images: [(_, _, &[_], &[u8]); 2] = [
        (StatedKind::NONE, OffloadKind::CUDA, &lto, b"lto"),
        (StatedKind::CUBIN, OffloadKind::CUDA, &code, &cubin),
    ];
    scratch::write(folder.join("file.bin"), binary(Version::V2, &images));
    let ran = offload(&folder, "reach file.bin --for conda");
    assert_prints(&ran, &["- __cuda >=12.0\n- __cuda_arch >=8.0,<8.7|>=8.8,<9.0\n"]);
    let warning = "warning: file.bin: no known driver loads these images, so they serve no GPU: lto_80 \
        of the module lto\n";
    assert_eq!(ran.stderr, warning);
    assert_eq!(offload(&folder, "reach file.bin --require sm_80").code, 0);
    // `reach` cannot see the contents of a fatbin in an offload binary.
    let fatbin = corpus_file("nv_fatbin/group.fatbin");
    let strings = [("triple", "nvptx64-nvidia-cuda")];
    let images: [(_, _, &[_], &[u8]); 1] =
        [(StatedKind::FATBINARY, OffloadKind::CUDA, &strings, &fatbin)];
    scratch::write(folder.join("fatbin.bin"), binary(Version::V2, &images));
    let ran = offload(&folder, "reach file.bin fatbin.bin --for conda");
    assert_fails(
        &ran,
        &["error: cannot compute a package's metadata, because these files cannot be read: \
             fatbin.bin\n"],
    );
}

/// Tests that a library for one vendor need not serve another vendor's GPUs.
#[test]
fn gpus_that_a_package_must_serve() {
    let folder = scratch::folder("offload-packages-require");
    write(&folder, "nvidia.bin", &[("", "sm_80")]);
    write(&folder, "amd.bin", &[("", "gfx90a:xnack+"), ("", "gfx90a:xnack-")]);
    for (gpus, missing) in [
        ("sm_80,gfx90a,MI250X", None),
        ("sm_90", Some("error: nvidia.bin: no image for sm_90\n")),
        ("gfx942", Some("error: amd.bin: no image for gfx942\n")),
        ("cpu", Some("error: nvidia.bin: no image for cpu\n")),
    ] {
        let ran =
            offload(&folder, &format!("reach nvidia.bin amd.bin --for conda --require {gpus}"));
        match missing {
            None => assert_eq!(ran.code, 0, "{ran:?}"),
            Some(missing) => {
                assert_fails(&ran, &[missing]);
                assert_eq!(ran.stdout, "");
            }
        }
    }
}

/// Tests that a library's packs are alternatives, and that a GPU needs code for every library.
#[test]
fn kernel_packs_in_wheels() {
    let folder = scratch::folder("offload-packages-kernel-packs");
    let [gfx906, gfx1100] = ["gfx906", "gfx1100"].map(|it| format!("kpack/demo_{it}.kpack"));
    let files = |files: &[(&str, &str)]| -> Vec<Entry> {
        let entry = |(name, file): &(&str, &str)| Entry::new(name.as_bytes(), &corpus_file(file));
        files.iter().map(entry).collect()
    };
    let library = ("a/lib/libk.so", "kpack/libk.so");
    let packs = [("a/lib/demo_gfx906.kpack", &*gfx906), ("a/lib/demo_gfx1100.kpack", &*gfx1100)];
    let other = ("b.hsaco", "image/saxpy.gfx90a.hsaco");
    let dll = ("k.dll", "kpack/k.dll");
    let in_root = [("demo_gfx906.kpack", &*gfx906), ("demo_gfx1100.kpack", &*gfx1100)];
    for (name, mut entries, expected) in [
        ("both", files(&[packs[0], library, packs[1]]), "==9.0.6|==11.0.0"),
        ("one", files(&[library, packs[0]]), "==9.0.6"),
        // Between a library's two packs, the wheel has a file with other images.
        (
            "two",
            files(&[library, packs[0], ("b.hipfb", "bundle/hip_dev.hipfb"), packs[1]]),
            "==9.0.6|==11.0.0",
        ),
        (
            "dll",
            files(&[dll, ("demo.kpm", "kpack/demo.kpm"), in_root[0], in_root[1]]),
            "==9.0.6|==11.0.0",
        ),
        // The packs' libraries are in a different package.
        ("packs", files(&[packs[0], packs[1]]), "==9.0.6|==11.0.0"),
        ("pack", files(&[packs[0]]), "==9.0.6"),
        ("other", files(&[library, packs[0], packs[1], other]), ""),
        ("apart", files(&[library, in_root[0]]), "no pack"),
        ("gone", files(&[library]), "no pack"),
        ("gone_dll", files(&[dll, ("demo.kpm", "kpack/demo.kpm"), in_root[0]]), "no pack"),
    ] {
        if name == "two" {
            entries.push(Entry::new(b"a/notes.kpm", b"no manifest of a library"));
        }
        scratch::write(folder.join(format!("{name}.whl")), zip(&entries));
        let ran = offload(&folder, &format!("reach {name}.whl --for conda"));
        let line = ran.stdout.lines().find_map(|line| line.strip_prefix("- __amdgpu_arch "));
        match expected {
            "" => assert_fails(&ran, &["no AMD GPU has an image in every module of every file"]),
            "no pack" => assert_fails(
                &ran,
                &["error: cannot compute a package's metadata, because these files cannot be read"],
            ),
            expected => assert_eq!((ran.code, line), (0, Some(expected)), "{name}: {ran:?}"),
        }
    }
    // The packs have no code objects for a library with a different name.
    let renamed = patched("libk.so", "lib/libk.so", "lib/libz.so");
    let entries = [Entry::new(b"a/lib/libk.so", &renamed), files(&[packs[0]]).remove(0)];
    scratch::write(folder.join("renamed.whl"), zip(&entries));
    scratch::write(folder.join("libz.so"), renamed);
    scratch::write(folder.join("b.hipfb"), corpus_file("bundle/hip_dev.hipfb"));
    scratch::write(folder.join("demo_gfx906.kpack"), corpus_file(&gfx906));
    for (file, name) in [("libz.so", "libz.so"), ("renamed.whl", "renamed.whl: a/lib/libk.so")] {
        let ran = offload(&folder, &format!("reach b.hipfb {file} --for conda"));
        assert_fails(&ran, &[&format!("because these files cannot be read: {name}\n")]);
        let warning =
            format!("warning: {name}: its kernel packs have no code objects for 'lib/libz.so'\n");
        assert!(ran.stderr.starts_with(&warning), "{ran:?}");
    }
    let ran = offload(&folder, "reach both.whl --require gfx906,gfx1100");
    assert_prints(&ran, &["both.whl: a/lib/libk.so\n  gfx906   machine code"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let ran = offload(&folder, "reach gone.whl");
    let warning = "warning: gone.whl: a/lib/libk.so: the library's code objects are in kernel \
                   packs under the name 'lib/libk.so', but the archive has no such pack. Looked \
                   for a/lib/demo_@GFXARCH@.kpack\n";
    assert!(ran.stderr.contains(warning), "{ran:?}");
    let ran = offload(&folder, "reach gone_dll.whl");
    let warning =
        "warning: gone_dll.whl: k.dll: a manifest lists demo_gfx1100.kpack, which is missing\n";
    assert!(ran.stderr.contains(warning), "{ran:?}");
}

/// Tests that an unreadable file is an error, because the metadata of all files would be wrong.
#[test]
fn files_that_cannot_be_read() {
    let folder = scratch::folder("offload-packages-unread");
    write(&folder, "file.bin", &[("", "sm_80"), ("", "gfx90a")]);
    for name in ["damaged/libk.so", "missing/libk.so"] {
        scratch::write(folder.join(name), corpus_file("kpack/libk.so"));
    }
    // Bytes 72 to 75 are the magic of the first compressed stream.
    let pack = with(&corpus_file("kpack/demo_gfx906.kpack"), 72, &[0x55; 4]);
    scratch::write(folder.join("damaged/demo_gfx906.kpack"), pack);
    scratch::write(folder.join("long.bc"), corpus_file("malformed/idlen_long.bc"));
    scratch::write(folder.join("thin.a"), thin_archive("a.o"));
    scratch::write(folder.join("file.7z"), b"7z\xbc\xaf\x27\x1c and more");
    let damaged = Entry { checksum: 0, ..Entry::new(b"lib/b.cubin", b"text") };
    let malformed = Entry::new(b"lib/c.bc", &corpus_file("malformed/idlen_long.bc"));
    for (name, entry) in [("damaged.whl", damaged), ("malformed.whl", malformed)] {
        let image = Entry::new(b"a.cubin", &corpus_file("image/saxpy.sm_90.cubin"));
        scratch::write(folder.join(name), zip(&[image, entry]));
    }
    for (file, named) in [
        ("damaged/libk.so", "damaged/demo_gfx906.kpack"),
        ("missing/libk.so", "missing/libk.so"),
        ("long.bc", "long.bc"),
        ("thin.a", "thin.a"),
        ("file.7z", "file.7z"),
        ("damaged.whl", "damaged.whl"),
        ("malformed.whl", "malformed.whl: lib/c.bc"),
    ] {
        for kind in ["conda", "pep825"] {
            let ran = offload(&folder, &format!("reach file.bin {file} --for {kind}"));
            let error = format!(
                "error: cannot compute a package's metadata, because these files cannot be read: \
                 {named}\n"
            );
            assert_fails(&ran, &[&error]);
            assert_eq!(ran.stdout, "", "{file}");
        }
    }
}

/// Tests processors with images for only one mode: a package manager does not know a machine's
/// mode.
#[test]
fn processors_in_one_mode() {
    let folder = scratch::folder("offload-packages-modes");
    write(&folder, "one.bin", &[("", "gfx90a:xnack+"), ("", "gfx1100")]);
    write(&folder, "both.bin", &[("", "gfx90a:xnack+"), ("", "gfx90a:xnack-")]);
    write(
        &folder,
        "modules.bin",
        &[("a", "gfx90a:xnack+"), ("b", "gfx90a:xnack-"), ("b", "gfx942")],
    );
    write(&folder, "any.bin", &[("", "gfx90a"), ("", "gfx90a:xnack+")]);
    for (file, processors, lacking) in [
        ("one.bin", "==11.0.0", Some("xnack-")),
        ("both.bin", "==9.0.10", None),
        ("any.bin", "==9.0.10", None),
        ("modules.bin", "", Some("xnack- and xnack+")),
    ] {
        let ran = offload(&folder, &format!("reach {file} --for conda"));
        let line = ran.stdout.lines().find_map(|line| line.strip_prefix("- __amdgpu_arch "));
        assert_eq!(line.unwrap_or_default(), processors, "{ran:?}");
        if processors.is_empty() {
            let reason = format!("no AMD GPU has an image for each of its modes in {file}\n");
            assert_fails(&ran, &[&reason]);
        }
        let warnings: Vec<&str> =
            ran.stderr.lines().filter(|line| line.starts_with("warning: ")).collect();
        match lacking {
            None => assert_eq!(warnings, [""; 0]),
            Some(lacking) => assert_eq!(
                warnings,
                [format!(
                    "warning: {file}: leaving out gfx90a, because no image runs on machines with \
                     {lacking}; compile for the processor without a mode, or for both modes"
                )]
            ),
        }
    }
}

/// The images of each file: modules and their targets.
const FILES: [&[(&str, &str)]; 11] = [
    &[("", "sm_80")],
    &[("", "sm_75")],
    &[("", "sm_75"), ("", "sm_90a"), ("", "compute_90")],
    &[("", "compute_52")],
    &[("", "compute_86")],
    &[("", "compute_75")],
    &[("", "compute_80"), ("", "sm_89")],
    &[("", "sm_100f"), ("", "sm_120")],
    &[("", "sm_86"), ("", "compute_80")],
    &[("a", "sm_80"), ("a", "sm_90"), ("b", "compute_80"), ("b", "sm_75")],
    &[("", "gfx90a"), ("", "gfx11-generic"), ("", "gfx906:xnack+"), ("", "sm_89")],
];

/// Compute capabilities of products, and one of a GPU that does not exist yet.
const CAPABILITIES: [&str; 20] = [
    "5.0", "5.2", "5.3", "6.0", "6.1", "6.2", "7.0", "7.2", "7.5", "8.0", "8.6", "8.7", "8.9",
    "9.0", "10.0", "10.3", "11.0", "12.0", "12.1", "13.0",
];

/// AMD's processors with their ISA versions.
const PROCESSORS: [(&str, &str); 8] = [
    ("gfx906", "9.0.6"),
    ("gfx90a", "9.0.10"),
    ("gfx90c", "9.0.12"),
    ("gfx942", "9.4.2"),
    ("gfx1030", "10.3.0"),
    ("gfx1100", "11.0.0"),
    ("gfx1103", "11.0.3"),
    ("gfx1201", "12.0.1"),
];

#[test(needs(&[Tool::PackageReaders]))]
fn readers_install_packages_where_images_run() {
    let mut readers = Readers::default();
    for (number, images) in FILES.iter().enumerate() {
        let folder = scratch::folder(&format!("offload-packages-{number}"));
        write(&folder, "file.bin", images);
        let conda = offload(&folder, "reach file.bin --for conda");
        let wheel = offload(&folder, "reach file.bin --for pep825");
        assert_eq!((conda.code, wheel.code), (0, 0), "{conda:?} {wheel:?}");
        let is_for_amd = |(_, target): &(&str, &str)| target.starts_with("gfx");
        if !images.iter().all(is_for_amd) {
            let served = served(&folder, &CAPABILITIES.map(device));
            let machines = CAPABILITIES.map(|it| nvidia_machine(it, "13.5"));
            readers.install(requirements(&conda, "__cuda"), &machines, &served);
            let machines = CAPABILITIES.map(|it| nvidia_plugin(it, "13.5"));
            let by_plugin: Vec<bool> = served
                .iter()
                .zip(CAPABILITIES)
                // The plugin does not support GPUs that do not exist yet.
                .map(|(served, it)| it != "13.0" && (*served || is_named_in_a_warning(&wheel, it)))
                .collect();
            // Each value in the metadata must be one that the plugin lists for a machine that runs
            // the images.
            for value in list(&json(&wheel)["variants"]["nvidia"]["nvidia"]["sm_arch"]) {
                let value = json!(format!("nvidia :: sm_arch :: {}", string(value)));
                let mut machines = machines.iter().zip(&served);
                assert!(
                    machines.any(|(machine, served)| *served && list(machine).contains(&value)),
                    "{images:?}: {value}"
                );
            }
            readers.install(variant(&wheel, "nvidia"), &machines, &by_plugin);
        }
        if images.iter().any(is_for_amd) {
            let served = served(&folder, &PROCESSORS.map(|(name, _)| name.to_owned()));
            let machines = PROCESSORS.map(
                |(_, version)| json!({"CONDA_OVERRIDE_AMDGPU": "0", "CONDA_OVERRIDE_AMDGPU_ARCH": version}),
            );
            readers.install(requirements(&conda, "__amdgpu"), &machines, &served);
            let machines =
                PROCESSORS.map(|(name, _)| json!([format!("amd :: gfx_arch :: {name}")]));
            readers.install(variant(&wheel, "amd"), &machines, &served);
        } else {
            // Simulate machines without a GPU.
            readers.install(requirements(&conda, "__"), &[json!({})], &[false]);
            readers.install(variant(&wheel, "nvidia"), &[json!([])], &[false]);
        }
    }
    readers.check(&scratch::folder("offload-packages-questions"));
}

/// Tests PTX 9.0. It needs a driver for CUDA 13.0, which is newer than the first drivers for 8.0
/// and 9.0.
#[test(needs(&[Tool::PackageReaders]))]
fn drivers_that_are_too_old() {
    let mut readers = Readers::default();
    let folder = scratch::folder("offload-packages-drivers");
    write(&folder, "file.bin", &[("", "compute_80")]);
    let machines = [("8.0", "12.8"), ("9.0", "12.9"), ("8.0", "13.0"), ("7.5", "13.0")];
    let expected = [false, false, true, false];
    let devices = machines.map(|(it, driver)| format!("{}@driver{driver}", device(it)));
    assert_eq!(served(&folder, &devices), expected);
    let conda = offload(&folder, "reach file.bin --for conda");
    let own = machines.map(|(capability, driver)| nvidia_machine(capability, driver));
    readers.install(requirements(&conda, "__cuda"), &own, &expected);
    let wheel = offload(&folder, "reach file.bin --for pep825");
    let own = machines.map(|(capability, driver)| nvidia_plugin(capability, driver));
    readers.install(variant(&wheel, "nvidia"), &own, &expected);
    // One requirement covers all GPUs. If some GPUs use PTX, the driver must be new enough for it.
    // Machine code alone needs only the first driver for the GPU.
    for (images, machines) in [
        (&["sm_80", "compute_80"][..], [("9.0", "12.0", false), ("9.0", "13.0", true)]),
        (&["sm_80", "sm_90"], [("8.0", "11.0", true), ("8.0", "10.2", false)]),
    ] {
        let images: Vec<_> = images.iter().map(|image| ("", *image)).collect();
        write(&folder, "file.bin", &images);
        let conda = offload(&folder, "reach file.bin --for conda");
        let own = machines.map(|(capability, driver, _)| nvidia_machine(capability, driver));
        readers.install(requirements(&conda, "__cuda"), &own, &machines.map(|it| it.2));
    }
    readers.check(&folder);
}

/// Tests the required driver: a driver runs machine code from toolkits with its own or an older
/// major version. Also tests the architecture in a cubin's header.
#[test(needs(&[Tool::OldPtxas, Tool::Cuda]))]
fn drivers_for_the_toolkit_of_machine_code() {
    let folder = scratch::folder("offload-packages-toolkits");
    let old = OLD_PTXAS.map(|(major, minor, file)| ((major, minor), published::path(file)));
    let newest = PathBuf::from(cuda("ptxas").get_program());
    for ((major, minor), ptxas) in old.into_iter().chain([((9, 0), newest)]) {
        for (target, since) in [
            ("sm_80", (7, 0)),
            ("sm_90", (7, 8)),
            ("sm_90a", (8, 0)),
            ("sm_100", (8, 6)),
            ("sm_100a", (8, 6)),
            ("sm_100f", (8, 8)),
            ("sm_120a", (8, 7)),
        ] {
            if (major, minor) < since {
                continue;
            }
            let text = format!(
                ".version {major}.{minor}\n.target {target}\n.address_size 64\n.visible .entry k()\n{{\nret;\n}}\n"
            );
            scratch::write(folder.join("k.ptx"), text);
            let mut compile = Command::new(&ptxas);
            succeed(compile.args(["k.ptx", "-o", "k.cubin", "-arch", target]).current_dir(&folder));
            let path = folder.join("k.cubin");
            let found = CubinHeader::toolkit(&read(&path)).expect("a cubin").expect("a toolkit");
            let arch = CubinHeader::parse(&read(&path)).expect("a cubin").arch();
            let own = NvidiaArch::parse(target).unwrap().first_driver().unwrap();
            // Machine code for a family has the number of the family's first GPU. cuobjdump 13.5
            // does not list the cubins that ptxas 12.0 and 12.1 write for sm_90 and sm_90a.
            assert_eq!(arch.to_string(), target.trim_end_matches('f'));
            if !(target.starts_with("sm_90") && [(8, 0), (8, 1)].contains(&(major, minor))) {
                let listed = BTreeMap::from([(arch.to_string(), found)]);
                assert_eq!(cuobjdump_toolkits(&path), listed);
            }
            let ran = offload(&folder, "reach k.cubin --for conda");
            let least = (found / 10 * 1000).max(own);
            let line = format!("- __cuda >={}.{}\n", least / 1000, least % 1000 / 10);
            assert_prints(&ran, &[&line]);
        }
    }
}

/// Tests that an invalid toolkit version in a cubin does not raise the required driver.
#[test]
fn toolkits_that_are_no_versions() {
    let folder = scratch::folder("offload-packages-no-toolkit");
    let cubin = corpus_file("image/cuda12.sm_80.cubin");
    for version in [[0xff; 4], [1, 0, 0, 0]] {
        scratch::write(folder.join("file.cubin"), with(&cubin, 20, &version));
        assert_prints(&offload(&folder, "reach file.cubin --for conda"), &["- __cuda >=11.0\n"]);
    }
}

/// Returns the name of a GPU with a compute capability.
fn device(capability: &str) -> String {
    format!("sm_{}", capability.replace('.', ""))
}

/// Writes an offload binary with an image for each target.
fn write(folder: &Path, name: &str, targets: &[(&str, &str)]) {
    let images: Vec<_> = targets.iter().map(|(module, target)| image_for(module, target)).collect();
    scratch::write(folder.join(name), binary(Version::V2, &images));
}

/// Returns, for each GPU, whether it gets an image of each module in `file.bin`.
fn served(folder: &Path, devices: &[String]) -> Vec<bool> {
    let ran = offload(folder, &format!("reach file.bin --json --require {}", devices.join(",")));
    let document = json(&ran);
    // A GPU has one row per mode if its modes get different images.
    let rows = list(&document[0]["required"]);
    let is_served = |device: &String| {
        let is_of = |row: &&Value| {
            let name = row["device"].as_str().expect("a text");
            name == device || name.split(':').next() == Some(device)
        };
        let mut gets = rows.iter().filter(is_of).flat_map(|row| list(&row["gets"]));
        gets.all(|gets| gets["how"] != "nothing")
    };
    devices.iter().map(is_served).collect()
}

/// Returns the variables that make conda's readers simulate this machine.
fn nvidia_machine(capability: &str, driver: &str) -> Value {
    json!({"CONDA_OVERRIDE_CUDA": driver, "CONDA_OVERRIDE_CUDA_ARCH": capability})
}

/// Returns the properties that nvidia-variant-provider 0.0.2 lists for a machine with this compute
/// capability and driver.
fn nvidia_plugin(capability: &str, driver: &str) -> Value {
    let (major, minor) = capability.split_once('.').expect("two numbers");
    let minors = 0..=minor.parse::<u32>().expect("a number");
    let mut all: Vec<String> =
        minors.map(|minor| format!("nvidia :: sm_arch :: {major}{minor}_real")).collect();
    all.push(format!("nvidia :: sm_arch :: {major}0_virtual"));
    let (newest, newest_minor) = driver.split_once('.').expect("two numbers");
    let [newest, newest_minor] =
        [newest, newest_minor].map(|it| it.parse::<u32>().expect("a number"));
    for major in 11..=newest {
        let last = if major == newest { newest_minor } else { 20 };
        all.extend(
            (0..=last).map(|it| format!("nvidia :: cuda_version_lower_bound :: {major}.{it}")),
        );
    }
    json!(all)
}

/// Whether a warning states that the plugin accepts the wheel for a GPU without an image.
fn is_named_in_a_warning(ran: &Ran, capability: &str) -> bool {
    let lines = ran
        .stderr
        .lines()
        .filter(|line| line.starts_with("warning: nvidia-variant-provider would install"));
    let mut lists = lines.filter_map(|line| line.rsplit_once(": "));
    lists.any(|(_, list)| list.split(", ").any(|it| it == capability))
}

/// Returns a recipe's requirements that start with a text.
fn requirements(ran: &Ran, start: &str) -> Value {
    let lines = ran.stdout.lines().filter_map(|line| line.strip_prefix("- "));
    json!({"conda": lines.filter(|line| line.starts_with(start)).collect::<Vec<_>>()})
}

/// Returns this vendor's part of a wheel's metadata.
fn variant(ran: &Ran, name: &str) -> Value {
    let mut document = json(ran);
    document["default-priorities"]["namespace"] = json!([name]);
    document["variants"] = json!({name: document["variants"][name]});
    json!({"wheel": document})
}

/// The readers of package managers. One call passes all questions to the readers.
#[derive(Default)]
struct Readers {
    questions: Vec<Value>,
    expected: Vec<Vec<bool>>,
}

impl Readers {
    /// Adds a question: on which of these machines does the reader install a package?
    fn install(&mut self, mut asked: Value, machines: &[Value], expected: &[bool]) {
        asked["machines"] = json!(machines);
        self.questions.push(asked);
        self.expected.push(expected.to_vec());
    }

    #[track_caller]
    fn check(self, folder: &Path) {
        let file = folder.join("questions.json");
        scratch::write(&file, json!(self.questions).to_string());
        let paths = PACKAGE_READERS.map(|(folder, _)| published::path(folder));
        let mut python = Command::new("python3");
        python.arg(workspace().join("tests/tools/reach/packages.py")).arg(file);
        python.env("PYTHONPATH", env::join_paths(paths).expect("a list of folders"));
        let output = succeed(python.env("PYTHONDONTWRITEBYTECODE", "1"));
        let answers: Vec<Vec<bool>> = serde_json::from_str(&stdout(&output)).expect("lists");
        assert_eq!(answers.len(), self.expected.len());
        for ((question, expected), found) in self.questions.iter().zip(self.expected).zip(answers) {
            assert_eq!(found, expected, "{question}");
        }
    }
}
