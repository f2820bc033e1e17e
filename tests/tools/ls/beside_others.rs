//! Tests that compare lists and extracted files with those of LLVM's tools, for the same files.
//! `formats -- real_files` does this for HIP's bundles and for fatbins, with published libraries.

use super::{copied, extracted, images};
use crate::{assert_ends, corpus_path, list, offload, string, text};
use offload_tests::judges::objdump_lists;
use offload_tests::prelude::*;

offload_tests::tests! {
    LLVM => [
        offload_binaries_as_objdump_lists_them, kernels_as_the_notes_have_them,
        bundles_as_the_bundler_extracts_them, members_of_thin_archives_are_named,
    ],
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

fn members_of_thin_archives_are_named() {
    let folder = scratch::folder("ls-thin");
    copied(&folder, "fat_file/hip_nordc.o");
    succeed(llvm("llvm-ar").current_dir(&folder).args(["crT", "thin.a", "hip_nordc.o"]));
    let note = "note: hip_nordc.o: not listed, as it is in a file of its own\n";
    assert_ends(&offload(&folder, "ls thin.a"), 0, note);
}
