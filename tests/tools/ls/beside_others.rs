//! Tests that compare lists and extracted files with those of LLVM's and NVIDIA's tools, for the
//! same files.

use super::{copied, extracted, images};
use crate::{assert_ends, corpus_path, list, number, offload, string, text};
use offload_tests::judges::{Listed, objdump_extracts, objdump_lists, readobj_lists_all};
use offload_tests::prelude::*;
use serde_json::Value;

offload_tests::tests! {
    LLVM => [
        bundles_as_readobj_lists_them, offload_binaries_as_objdump_lists_them,
        kernels_as_the_notes_have_them, bundles_as_objdump_extracts_them,
        bundles_as_the_bundler_extracts_them, members_of_thin_archives_are_named,
    ],
    needs(&[Tool::Cuda]) => [fatbins_as_cuobjdump_extracts_them],
}

fn bundles_as_readobj_lists_them() {
    let mut compared = 0;
    for file in ["fat_file/hip_nordc.o", "fat_file/hip_rdc_olddriver.o"] {
        let theirs = readobj_lists_all(&copied(&scratch::folder("ls-readobj"), file));
        let mut images = images(file);
        images.retain(|image| image["section"] == ".hip_fatbin");
        let entry = |image: &Value| -> Listed {
            let id = string(&image["entry_id"]).to_owned();
            (id, number(&image["offset"]), number(&image["size"]))
        };
        let ours: Vec<Listed> = images.iter().map(entry).collect();
        assert_eq!(ours, theirs, "{file}");
        compared += ours.len();
    }
    assert!(compared > 1, "{compared} entries");
}

fn offload_binaries_as_objdump_lists_them() {
    for file in ["fat_file/llvm_offloading.o", "fat_file/hip_rdc_newdriver.o"] {
        let folder = scratch::folder("ls-objdump");
        let theirs = objdump_lists(&copied(&folder, file)).into_iter();
        let theirs = theirs.map(|[_, arch, triple, producer]| [arch, triple, producer]);
        let mut images = images(file);
        images.retain(|image| image["container"] == "offload-binary");
        let fields = ["target_id", "triple", "offload_kind"];
        let ours: Vec<_> =
            images.iter().map(|image| fields.map(|key| string(&image[key]).to_owned())).collect();
        assert!(!ours.is_empty());
        assert_eq!(ours, theirs.collect::<Vec<_>>(), "{file}");
    }
}

fn kernels_as_the_notes_have_them() {
    let file = "image/saxpy.gfx90a.hsaco";
    let image = &images(file)[0];
    let notes =
        stdout(&succeed(llvm("llvm-readelf").args(["-n", "-s", "--wide"]).arg(corpus_path(file))));
    // In the notes, the lines about a kernel or an argument can start with `-`.
    let values = |key: &str| -> Vec<&str> {
        let lines = notes.lines().map(|line| line.trim().trim_start_matches("- "));
        let values = lines.filter_map(|line| line.strip_prefix(key));
        values.map(|value| value.trim().trim_matches('\'')).collect()
    };
    let [kernel] = list(&image["kernels"]) else { panic!("{image}") };
    for (key, theirs) in [
        ("vgprs", ".vgpr_count:"),
        ("sgprs", ".sgpr_count:"),
        ("agprs", ".agpr_count:"),
        ("arguments_size", ".kernarg_segment_size:"),
        ("shared_memory", ".group_segment_fixed_size:"),
        ("private_memory", ".private_segment_fixed_size:"),
        ("vgpr_spills", ".vgpr_spill_count:"),
        ("sgpr_spills", ".sgpr_spill_count:"),
    ] {
        assert_eq!(kernel[key].to_string(), values(theirs)[0], "{key}");
    }
    // The arguments that the runtime fills in come last.
    let kinds = values(".value_kind:");
    let passed = kinds.iter().take_while(|kind| !kind.starts_with("hidden_")).count();
    let parameters = list(&kernel["parameters"]);
    assert_eq!(parameters.len(), passed);
    for (key, theirs) in [("offset", ".offset:"), ("size", ".size:")] {
        let ours: Vec<String> = parameters.iter().map(|it| it[key].to_string()).collect();
        assert_eq!(ours, values(theirs)[..passed], "{key}");
    }
    let rows = notes.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let mut symbols = rows.filter(|row| row.get(3) == Some(&"FUNC"));
    let symbol = symbols.find(|row| row.last().copied() == kernel["name"].as_str());
    assert_eq!(kernel["code_size"].to_string(), symbol.expect("the kernel has a symbol")[2]);
    let target = values("amdhsa.target:")[0].rsplit('-').next().expect("a target");
    assert_eq!(image["target_id"], target);
}

/// The test has no compressed bundle: from compressed bundles, llvm-objdump extracts bytes of the
/// compressed file.
fn bundles_as_objdump_extracts_them() {
    let file = "fat_file/hip_nordc.o";
    let folder = scratch::folder("ls-extract-objdump");
    let theirs = objdump_extracts(&copied(&folder, file));
    let ours = extracted(&folder.join("ours"), &[file, "--empty"]);
    assert!(theirs.len() > 1);
    assert_eq!(ours.len(), theirs.len());
    for (ours, (_, theirs)) in ours.iter().zip(&theirs) {
        assert_same_bytes(ours, &read(theirs), file);
    }
}

fn bundles_as_the_bundler_extracts_them() {
    let folder = scratch::folder("ls-extract-bundler");
    let mut compared = 0;
    let files = "bundle/basic.bc=bc bundle/align256.bc=bc bundle/hip_dev.hipfb=o \
        compressed/v3_zstd.ccob=bc compressed/v2_zstd.ccob=bc \
        compressed/synthetic_v1_zlib.ccob=bc text_bundle/basic.ll=ll object_bundle/func_2.o=o";
    for (file, kind) in files.split(' ').map(|it| it.split_once('=').unwrap()) {
        let ours = extracted(&folder.join("ours"), &[file, "--empty"]);
        let images = images(file);
        assert_eq!(ours.len(), images.len());
        for (image, ours) in images.iter().zip(ours) {
            if image["offload_kind"] == "host" && image["container"] == "object-bundle" {
                // For the host's entry, which is a placeholder, LLVM's tool writes the object
                // itself.
                continue;
            }
            let id = string(&image["entry_id"]);
            let theirs = folder.join("theirs");
            let line = format!("-type={kind} -unbundle -targets={id} -input={file}");
            let mut bundler = llvm("clang-offload-bundler");
            bundler.current_dir(corpus_path("")).args(line.split(' '));
            succeed(bundler.arg(format!("-output={}", text(&theirs))));
            assert_same_bytes(&ours, &read(&theirs), &format!("{file}: {id}"));
            compared += 1;
        }
    }
    assert!(compared > 15, "{compared} entries");
}

fn fatbins_as_cuobjdump_extracts_them() {
    let folder = scratch::folder("ls-cuobjdump");
    let mut compared = 0;
    for file in ["nv_fatbin/lz4_12.4.fatbin", "nv_fatbin/group.fatbin", "nv_fatbin/lto.fatbin"] {
        let input = copied(&folder, file);
        for (option, listing, kind) in [("-xelf", "-lelf", "cubin"), ("-xptx", "-lptx", "ptx")] {
            let names = stdout(&succeed(cuda("cuobjdump").arg(listing).arg(&input)));
            let names: Vec<_> = names.lines().filter_map(|line| line.split(": ").nth(1)).collect();
            if names.is_empty() {
                continue;
            }
            succeed(cuda("cuobjdump").current_dir(&folder).args([option, "all"]).arg(&input));
            let mut images = images(file);
            images.retain(|image| image["sha256"].is_string());
            let ours = extracted(&folder.join("ours"), &[file]);
            let mut ours: Vec<(Value, Vec<u8>)> = images.into_iter().zip(ours).collect();
            ours.retain(|(image, _)| image["image_kind"] == kind);
            assert_eq!(ours.len(), names.len(), "{file} {kind}");
            for ((image, ours), name) in ours.iter().zip(&names) {
                let arch = string(&image["target_id"]).replace("compute_", "sm_");
                assert!(name.contains(&arch), "{file}: {name}");
                assert_same_bytes(ours, &read(folder.join(name)), &format!("{file}: {name}"));
                compared += 1;
            }
        }
    }
    assert!(compared >= 4, "{compared} images");
}

fn members_of_thin_archives_are_named() {
    let folder = scratch::folder("ls-thin");
    copied(&folder, "fat_file/hip_nordc.o");
    succeed(llvm("llvm-ar").current_dir(&folder).args(["crT", "thin.a", "hip_nordc.o"]));
    let note = "note: hip_nordc.o: not listed, as it is in a file of its own\n";
    assert_ends(&offload(&folder, "ls thin.a"), 0, note);
}
