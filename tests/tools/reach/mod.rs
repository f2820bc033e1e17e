//! Tests of `cargo offload reach`, which lists the GPUs that a file serves.

mod alternatives;
mod by_hand;
mod linked_code;
mod packages;

use crate::containers::binary;
use crate::inside::made::{Entry, zip};
use crate::{assert_transcript, json, list, offload, string};
use offload_format::offload_binary::{OffloadKind, StatedKind, Version};
use offload_format::target::NvidiaArch;
use offload_format::target::amdgpu::{self, PROCESSORS};
use offload_format::target::product::PRODUCTS;
use offload_tests::hidden;
use offload_tests::judges::{cuobjdump_extracts, cuobjdump_toolkits, roc_obj_lists};
use offload_tests::own::run;
use offload_tests::prelude::*;
use offload_tests::published;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn what_people_see() {
    // The archive's modules are for different modes. The images of `libk.so` are in kernel packs,
    // one per processor.
    let lines = "
        reach nv_fatbin/group.fatbin
        reach bundle/hip_dev.hipfb image/two.ll
        reach archive/lib.a
        reach kpack/libk.so
        reach nv_fatbin/group.fatbin --require sm_90,sm_121@driver13.0
        reach nv_fatbin/group.fatbin --require sm_90@driver9.0,gfx906
        reach archive/lib.a --require gfx906
        reach kpack/libk.so --json --require MI50
        reach image/saxpy.sm_90.cubin --require compute_90";
    assert_transcript(&corpus_path(""), "reach", lines);
}

/// Tests that processors without a known product are also listed, and that unknown numbers are
/// reported.
#[test]
fn each_processor_is_served_by_its_code() {
    let folder = scratch::folder("offload-reach-processors");
    let file = folder.join("k.hsaco");
    let write = |number: u8, flags: u32| {
        let mut data = corpus_file("image/v3.hsaco");
        data[8] = 4;
        data[48..52].copy_from_slice(&(u32::from(number) | flags).to_le_bytes());
        scratch::write(&file, data);
    };
    for row in PROCESSORS.iter().filter(|row| !amdgpu::is_generic(row.name)) {
        write(row.mach, 0);
        assert_eq!(devices(&file, "machine-code"), BTreeSet::from([row.name.to_owned()]));
    }
    // On gfx1250, XNACK is always on.
    write(amdgpu::find("gfx1250").expect("a processor").mach, 0x300);
    let ran = offload(&folder, "reach k.hsaco --require gfx1250");
    assert_eq!((ran.code, &*ran.stderr), (0, ""));
    assert!(
        ran.stdout.starts_with("k.hsaco\n  gfx1250  machine code\n  nothing for gfx900"),
        "{ran:?}"
    );
    write(0x99, 0);
    let told =
        "made for AMD's processor number 0x99, which this version of offload-format does not know";
    for (line, code) in
        [("select k.hsaco --device gfx1250", 1), ("ls k.hsaco", 0), ("verify --notes k.hsaco", 0)]
    {
        let ran = offload(&folder, line);
        assert!(ran.code == code && ran.stdout.contains(told), "{ran:?}");
    }
}

/// Tests SPIR-V for AMD's GPUs in a compressed bundle, which only some versions of ROCm read.
#[test]
fn spirv_that_rocm_compiles() {
    let folder = scratch::folder("offload-reach-spirv");
    let image = corpus_path("image/shared.spv");
    let made = format!("bundle --compress -o x amdgcnspirv={}", image.display());
    assert_eq!(offload(&folder, &made).code, 0);
    let ran = offload(&folder, "reach x");
    assert!(ran.stdout.contains("  amdgcnspirv, compiled by ROCm 7.0 or later  "), "{ran:?}");
}

/// Tests that files without device code need no image, but that an archive with only such files
/// serves no GPU.
#[test]
fn an_archive_serves_what_its_files_serve() {
    let folder = scratch::folder("offload-reach-archives");
    let text = Entry::new(b"a.txt", b"text");
    let image = Entry::new(b"image.cubin", &corpus_file("image/saxpy.sm_90.cubin"));
    for (name, entries, code) in
        [("none.zip", vec![text.clone()], 1), ("one.zip", vec![text, image], 0)]
    {
        scratch::write(folder.join(name), zip(&entries));
        let ran = offload(&folder, &format!("reach {name} --require sm_90"));
        assert_eq!(ran.code, code, "{ran:?}");
        let is_said = ran.stderr.contains("none.zip: no image for sm_90: there are no images");
        assert_eq!(is_said, code == 1, "{ran:?}");
    }
}

/// Returns the GPUs, without their modes, that run an image of any module in this way.
fn devices(file: &Path, how: &str) -> BTreeSet<String> {
    let ran = run(own::offload(&["reach", "--json"]).arg(file));
    assert_eq!(ran.code, 0, "{ran:?}");
    let document = json(&ran);
    let has = |row: &&Value| list(&row["gets"]).iter().any(|gets| gets["how"] == how);
    let rows = list(&document[0]["devices"]).iter().filter(has);
    let without_modes = |name: &str| name.split(':').next().unwrap_or(name).to_owned();
    rows.map(|row| without_modes(string(&row["device"]))).collect()
}

/// Returns the targets among these that have products.
fn with_products<'a>(targets: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    targets
        .filter(|target| PRODUCTS.iter().any(|(known, _)| known == target))
        .map(str::to_owned)
        .collect()
}

/// ptxas accepts the first text for all GPUs. It refuses the second text, which only GPUs from 9.0
/// on would get, and reports the line.
#[test(needs(&[Tool::Cuda]))]
fn ptx_that_no_driver_has_compiled() {
    let text = |target: u32, instruction: &str| {
        format!(
            ".version 7.8\n.target sm_{target}\n.address_size 64\n.visible .entry k()\n{{\n.reg .b32 %r<3>;\n\
             {instruction}\nret;\n}}\n"
        )
    };
    let right = text(80, "shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1;");
    let wrong = text(90, "shfl.bfly.b32 %r1, %r2, 1, 31;");
    let images = [("right", "compute_80", right), ("wrong", "compute_90", wrong)];
    let images = images.map(|(name, arch, text)| {
        (StatedKind::PTX, OffloadKind::CUDA, [("arch", arch), ("module", name)], text)
    });
    let folder = scratch::folder("offload-reach-compile");
    scratch::write(folder.join("right.bin"), binary(Version::V2, &images[..1]));
    scratch::write(folder.join("both.bin"), binary(Version::V2, &images));
    let compile = |args: &[&str]| {
        let ptxas = cuda("ptxas").get_program().to_owned();
        let mut command = own::offload(&[&["reach", "--compile"], args].concat());
        run(command.current_dir(&folder).env("OFFLOAD_PTXAS", ptxas))
    };
    let ran = compile(&["right.bin"]);
    assert_eq!((ran.code, &*ran.stderr), (0, ""));
    assert!(ran.stdout.contains("sm_90, sm_89, sm_87, sm_86, sm_80: ptxas compiles it"), "{ran:?}");
    let own =
        text(90, "wgmma.fence.sync.aligned;").replace("7.8", "8.0").replace("sm_90", "sm_90a");
    scratch::write(folder.join("own.ptx"), &own);
    // clang names PTX after the GPU, not `compute_90a`.
    let own = [(StatedKind::PTX, OffloadKind::CUDA, [("arch", "sm_90a")], own)];
    scratch::write(folder.join("own.bin"), binary(Version::V2, &own));
    for file in ["own.ptx", "own.bin"] {
        let ran = compile(&[file]);
        assert_eq!((ran.code, &*ran.stderr), (0, ""), "{file}");
    }
    let ran = compile(&["both.bin"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    for part in
        [" does not compile for sm_121, ", ", sm_90:\n", "line 7; error", "'shfl' without '.sync'"]
    {
        assert!(ran.stderr.contains(part), "{part} is not in {}", ran.stderr);
    }
    assert!(!ran.stderr.contains("sm_89"), "{ran:?}");
    let ran = compile(&["--json", "both.bin"]);
    let compiled = &json(&ran)[0]["compiled"];
    assert_eq!(list(&compiled["refused"]).len(), 1, "{compiled}");
    let ran = run(own::offload(&["reach", "--compile", "right.bin"])
        .current_dir(&folder)
        .env("OFFLOAD_PTXAS", "none"));
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        ran.stderr
            .contains("OFFLOAD_PTXAS names none, which cannot be used: there is no such file"),
        "{ran:?}"
    );
}

/// Tests that the help contains the commands that install ptxas, and no advice for builds.
#[test(needs(&[Tool::OwnMounts]))]
fn compile_without_ptxas() {
    let folder = scratch::folder("offload-reach-no-ptxas");
    let mut reach = own::offload(&["reach", "--compile", "image/saxpy.compute_80.ptx"]);
    reach.env("HOME", &folder).env_remove("OFFLOAD_PTXAS").env_remove("VIRTUAL_ENV");
    let ran = run(&mut hidden::without_compilers(&reach, &folder.join("tools")));
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("install ptxas, NVIDIA's assembler"), "{ran:?}");
    assert!(ran.stderr.contains("or name ptxas in OFFLOAD_PTXAS\n"), "{ran:?}");
}

#[test(needs(&[Tool::PublishedCuda, Tool::Cuda]))]
fn published_libraries_for_cuda() {
    let mut of_ptx = 0;
    for file in [
        published::BITSANDBYTES_CUDA118,
        published::BITSANDBYTES_CUDA132,
        published::NVJPEG12,
        published::NVJPEG13,
    ] {
        let file = published::path(file);
        let folder = scratch::folder("offload-reach-cuda");
        let images = cuobjdump_extracts(&file, &folder);
        let of_kind = |end: &str| -> Vec<&str> {
            images.iter().filter_map(|(name, _)| name.strip_suffix(end)).collect()
        };
        let listed = with_products(of_kind(".cubin").into_iter());
        assert!(listed.len() > 3, "{}: {listed:?}", file.display());
        assert_eq!(devices(&file, "machine-code"), listed, "{}", file.display());
        // Only GPUs newer than the newest machine code need PTX.
        let needs_ptx = ["compiled", "linked"].iter().any(|how| !devices(&file, how).is_empty());
        assert!(!needs_ptx || !of_kind(".ptx").is_empty(), "{}", file.display());
        of_ptx += usize::from(needs_ptx);
        // The oldest driver must support the GPU, and have at least the toolkit's major version.
        let document = json(&run(own::offload(&["reach", "--json"]).arg(&file)));
        let mut compared = 0;
        let cubins =
            images.iter().filter_map(|(name, bytes)| Some((name.strip_suffix(".cubin")?, bytes)));
        // cuobjdump also prints the machine code, so let it read only the smallest cubin for each
        // GPU.
        let mut smallest: BTreeMap<&str, &[u8]> = BTreeMap::new();
        for (target, bytes) in cubins {
            let known = smallest.entry(target).or_insert(bytes);
            if bytes.len() < known.len() {
                *known = bytes;
            }
        }
        for (target, bytes) in smallest {
            let cubin = folder.join("smallest.cubin");
            scratch::write(&cubin, bytes);
            let toolkit = cuobjdump_toolkits(&cubin).into_values().next().expect("it prints one");
            let is_of = |row: &&Value| row["device"] == target;
            let Some(row) = list(&document[0]["devices"]).iter().find(is_of) else { continue };
            let first = NvidiaArch::parse(target).unwrap().first_driver().unwrap();
            let least = first.max(toolkit / 10 * 1000);
            for gets in list(&row["gets"]) {
                let version = format!("{}.{}", least / 1000, least % 1000 / 10);
                assert_eq!(string(&gets["driver"]), version, "{target} in {}", file.display());
                compared += 1;
            }
        }
        assert!(compared > 3, "{}", file.display());
    }
    assert!(of_ptx > 0, "a library serves newer GPUs by PTX");
}

#[test(needs(&[Tool::PublishedRocm, Tool::RocObj]))]
fn published_libraries_for_rocm() {
    for file in [published::JAX_ROCM60, published::ROCRAND] {
        let file = published::path(file);
        let listed = roc_obj_lists(&file);
        let processors = listed.iter().filter_map(|(id, ..)| id.rsplit_once("--"));
        let processors = processors.map(|(_, target)| target.split(':').next().unwrap_or(target));
        let listed: BTreeSet<String> = processors.map(str::to_owned).collect();
        assert!(listed.len() > 3, "{}: {listed:?}", file.display());
        assert_eq!(devices(&file, "machine-code"), listed, "{}", file.display());
    }
}
