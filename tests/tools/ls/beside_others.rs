//! Tests that compare lists and extracted files with those of LLVM's and NVIDIA's tools, for the
//! same files.

use super::{copied, extracted, images, number, offload, string};
use crate::{corpus_path, text};
use offload_tests::data::{assert_same_bytes, read};
use offload_tests::registry::{LLVM, needs};
use offload_tests::scratch;
use offload_tests::tools::{Tool, cuda, llvm, stdout, succeed};
use serde_json::Value;

offload_tests::tests! {
    LLVM => [
        bundles_as_readobj_lists_them,
        offload_binaries_as_objdump_lists_them,
        kernels_as_the_notes_have_them,
        bundles_as_objdump_extracts_them,
        bundles_as_the_bundler_extracts_them,
        members_of_thin_archives_are_named,
    ],
    needs(&[Tool::Cuda]) => [fatbins_as_cuobjdump_extracts_them],
}

fn bundles_as_readobj_lists_them() {
    let mut compared = 0;
    for file in ["fat_file/hip_nordc.o", "fat_file/hip_rdc_olddriver.o"] {
        let folder = scratch::folder("ls-readobj");
        let listing =
            stdout(&succeed(llvm("llvm-readobj").arg("--offloading").arg(copied(&folder, file))));
        let theirs: Vec<(String, u64, u64)> = listing
            .lines()
            .filter_map(|line| {
                let (before, after) = line.split_once("file://")?;
                let (offset, size) = after.split_once("#offset=")?.1.split_once("&size=")?;
                Some((
                    before.split_whitespace().last()?.to_owned(),
                    offset.parse().ok()?,
                    size.parse().ok()?,
                ))
            })
            .collect();
        let in_section = |image: &&Value| image["section"] == ".hip_fatbin";
        let ours: Vec<(String, u64, u64)> = images(file)
            .iter()
            .filter(in_section)
            .map(|image| {
                (
                    string(&image["entry_id"]).to_owned(),
                    number(&image["offset"]),
                    number(&image["size"]),
                )
            })
            .collect();
        assert_eq!(ours, theirs, "{file}");
        compared += ours.len();
    }
    assert!(compared > 1, "{compared} entries");
}

fn offload_binaries_as_objdump_lists_them() {
    for file in ["fat_file/llvm_offloading.o", "fat_file/hip_rdc_newdriver.o"] {
        let folder = scratch::folder("ls-objdump");
        let mut objdump = llvm("llvm-objdump");
        let listing = stdout(&succeed(
            objdump.current_dir(&folder).arg("--offloading").arg(copied(&folder, file)),
        ));
        let value = |block: &str, key: &str| {
            block
                .lines()
                .find_map(|line| line.strip_prefix(key))
                .unwrap_or_default()
                .trim()
                .to_owned()
        };
        let theirs: Vec<[String; 3]> = listing
            .split("OFFLOADING IMAGE")
            .skip(1)
            .map(|block| ["arch", "triple", "producer"].map(|key| value(block, key)))
            .collect();
        let ours: Vec<[String; 3]> = images(file)
            .iter()
            .filter(|image| image["container"] == "offload-binary")
            .map(|image| {
                ["target_id", "triple", "offload_kind"].map(|key| string(&image[key]).to_owned())
            })
            .collect();
        assert!(!ours.is_empty());
        assert_eq!(ours, theirs, "{file}");
    }
}

fn kernels_as_the_notes_have_them() {
    let file = "image/saxpy.gfx90a.hsaco";
    let image = &images(file)[0];
    let notes =
        stdout(&succeed(llvm("llvm-readelf").args(["-n", "-s", "--wide"]).arg(corpus_path(file))));
    let value = |key: &str| {
        let line =
            notes.lines().find_map(|line| line.trim().trim_start_matches("- ").strip_prefix(key));
        line.unwrap_or_else(|| panic!("no {key} in {notes}")).trim().trim_matches('\'').to_owned()
    };
    let kernels = image["kernels"].as_array().expect("an array");
    assert_eq!(kernels.len(), 1);
    let kernel = &kernels[0];
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
        assert_eq!(kernel[key].to_string(), value(theirs), "{key}");
    }
    // In the notes, the lines about an argument start with `key`. The arguments that the runtime
    // fills in come last.
    let of_arguments = |key: &str| {
        let lines =
            notes.lines().filter_map(|line| line.trim().trim_start_matches("- ").strip_prefix(key));
        lines.map(|value| value.trim().to_owned()).collect::<Vec<_>>()
    };
    let passed =
        of_arguments(".value_kind:").iter().take_while(|kind| !kind.starts_with("hidden_")).count();
    let parameters = kernel["parameters"].as_array().expect("an array");
    assert_eq!(parameters.len(), passed);
    for (key, theirs) in [("offset", ".offset:"), ("size", ".size:")] {
        let ours: Vec<String> =
            parameters.iter().map(|parameter| parameter[key].to_string()).collect();
        assert_eq!(ours, of_arguments(theirs)[..passed], "{key}");
    }
    let symbol: Vec<&str> = notes
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .find(|words| {
            words.get(3) == Some(&"FUNC") && words.last().copied() == kernel["name"].as_str()
        })
        .expect("the kernel has a symbol");
    assert_eq!(kernel["code_size"].to_string(), symbol[2]);
    assert_eq!(image["target_id"], value("amdhsa.target:").rsplit('-').next().expect("a target"));
}

fn bundles_as_objdump_extracts_them() {
    // The test has no compressed bundle: from compressed bundles, llvm-objdump extracts bytes of
    // the compressed file.
    for file in ["fat_file/hip_nordc.o"] {
        let folder = scratch::folder("ls-extract-objdump");
        let mut objdump = llvm("llvm-objdump");
        let listing = stdout(&succeed(
            objdump.current_dir(&folder).arg("--offloading").arg(copied(&folder, file)),
        ));
        let names =
            listing.lines().filter_map(|line| line.strip_prefix("Extracting offload bundle: "));
        let theirs: Vec<Vec<u8>> = names.map(|name| read(folder.join(name))).collect();
        let ours = extracted(&folder.join("ours"), &[file, "--empty"]);
        assert!(theirs.len() > 1);
        assert_eq!(ours.len(), theirs.len());
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert_same_bytes(ours, theirs, file);
        }
    }
}

fn bundles_as_the_bundler_extracts_them() {
    let folder = scratch::folder("ls-extract-bundler");
    let mut compared = 0;
    for (file, kind) in [
        ("bundle/basic.bc", "bc"),
        ("bundle/align256.bc", "bc"),
        ("bundle/hip_dev.hipfb", "o"),
        ("compressed/v3_zstd.ccob", "bc"),
        ("compressed/v2_zstd.ccob", "bc"),
        ("compressed/synthetic_v1_zlib.ccob", "bc"),
        ("text_bundle/basic.ll", "ll"),
        ("object_bundle/func_2.o", "o"),
    ] {
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
            let target = format!("-targets={id}");
            let theirs = folder.join("theirs");
            succeed(
                llvm("clang-offload-bundler")
                    .args([&format!("-type={kind}"), "-unbundle", &target])
                    .arg(format!("-input={file}"))
                    .arg(format!("-output={}", text(&theirs)))
                    .current_dir(corpus_path("")),
            );
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
            let names: Vec<&str> =
                names.lines().filter_map(|line| line.split(": ").nth(1)).collect();
            if names.is_empty() {
                continue;
            }
            succeed(cuda("cuobjdump").current_dir(&folder).args([option, "all"]).arg(&input));
            let images = images(file);
            let ours = extracted(&folder.join("ours"), &[file]);
            let readable: Vec<&Value> =
                images.iter().filter(|image| image["sha256"].is_string()).collect();
            let ours: Vec<(&Value, Vec<u8>)> = readable.into_iter().zip(ours).collect();
            let ours: Vec<_> =
                ours.into_iter().filter(|(image, _)| image["image_kind"] == kind).collect();
            assert_eq!(ours.len(), names.len(), "{file} {kind}");
            for ((image, ours), name) in ours.iter().zip(&names) {
                let theirs = read(folder.join(name));
                assert!(
                    name.contains(&string(&image["target_id"]).replace("compute_", "sm_")),
                    "{file}: {name}"
                );
                assert_same_bytes(ours, &theirs, &format!("{file}: {name}"));
                compared += 1;
            }
        }
    }
    assert!(compared >= 4, "{compared} images");
}

fn members_of_thin_archives_are_named() {
    let folder = scratch::folder("ls-thin");
    let object = copied(&folder, "fat_file/hip_nordc.o");
    succeed(
        llvm("llvm-ar")
            .current_dir(&folder)
            .args(["crT", "thin.a"])
            .arg(object.file_name().expect("a file")),
    );
    let run = offload(&["ls", text(&folder.join("thin.a"))]);
    assert_eq!(
        (run.code, run.stderr.as_str()),
        (0, "note: hip_nordc.o: not listed, as it is in a file of its own\n")
    );
}
