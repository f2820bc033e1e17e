//! `offload ls` and `offload extract`, judged by LLVM's and NVIDIA's tools and by `sha256sum`, on the corpus and on files that
//! mean harm.
//!
//! What they print of the corpus is checked in, in `ls/`. `BLESS=1 cargo test -p offload-tests --test offload_ls` writes it
//! anew.

use offload_format::archive::ArchiveBuilder;
use offload_format::bundle::BundleBuilder;
use offload_format::compressed::{CompressOptions, compress};
use offload_format::compression::Method;
use offload_format::offload_binary::{ImageKind, OffloadBinaryBuilder, OffloadKind, Version};
use offload_tests::data::{
    assert_as_checked_in, assert_same_bytes, corpus, corpus_files, corpus_folders, read, some_bytes,
};
use offload_tests::own::{self, Ran, in_terminal, run};
use offload_tests::tools::{Tool, cuda, llvm, stdout, succeed};
use offload_tests::{scratch, test};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

const LLVM: &[Tool] = &[Tool::Llvm22];
const CUDA: &[Tool] = &[Tool::Cuda];

fn main() -> ExitCode {
    let mut tests = vec![
        test("json_has_these_fields", &[], json_has_these_fields),
        test("json_of_several_files_is_an_array", &[], json_of_several_files_is_an_array),
        test("sha256_is_that_of_the_bytes", &[], sha256_is_that_of_the_bytes),
        test("bundles_as_readobj_lists_them", LLVM, bundles_as_readobj_lists_them),
        test("offload_binaries_as_objdump_lists_them", LLVM, offload_binaries_as_objdump_lists_them),
        test("kernels_as_the_notes_have_them", LLVM, kernels_as_the_notes_have_them),
        test("bundles_as_objdump_extracts_them", LLVM, bundles_as_objdump_extracts_them),
        test("bundles_as_the_bundler_extracts_them", LLVM, bundles_as_the_bundler_extracts_them),
        test("fatbins_as_cuobjdump_extracts_them", CUDA, fatbins_as_cuobjdump_extracts_them),
        test("targets_choose_by_compatibility", &[], targets_choose_by_compatibility),
        test("names_choose_by_equality", &[], names_choose_by_equality),
        test("names_stay_in_the_folder", &[], names_stay_in_the_folder),
        test("names_do_not_clash", &[], names_do_not_clash),
        test("terminals_are_not_sent_commands", &[], terminals_are_not_sent_commands),
        test("damage_hides_nothing_else", &[], damage_hides_nothing_else),
        test("large_claims_cost_nothing", &[], large_claims_cost_nothing),
        test("shared_bytes_end_somewhere", &[], shared_bytes_end_somewhere),
        test("inputs_that_cannot_be_read", &[], inputs_that_cannot_be_read),
        test("pipes_are_read", &[], pipes_are_read),
        test("members_of_thin_archives_are_named", LLVM, members_of_thin_archives_are_named),
        test("outputs_that_cannot_be_written", &[], outputs_that_cannot_be_written),
        test("colour_is_for_terminals", &[Tool::Terminal], colour_is_for_terminals),
        test("lines_fit_the_terminal", &[Tool::Terminal], lines_fit_the_terminal),
        test("who_stops_reading_is_no_error", &[], who_stops_reading_is_no_error),
        test("help_fits_a_screen", &[], help_fits_a_screen),
        test("completions_are_shell_scripts", &[], completions_are_shell_scripts),
    ];
    for folder in corpus_folders() {
        tests.push(test(&format!("golden_{folder}"), &[], move || golden(&folder)));
    }
    offload_tests::run(tests)
}

// -------------------------------------------------------------------------------------------------------------- running it

/// Runs `offload` in the folder of the corpus.
fn offload(arguments: &[&str]) -> Ran {
    run(&mut own::offload(arguments))
}

fn path(path: &Path) -> &str {
    path.to_str().expect("paths of tests are text")
}

/// The object that `ls --json` prints.
#[track_caller]
fn json(file: &str) -> Value {
    let run = offload(&["ls", "--json", file]);
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{file}: {error}\n{}{}", run.stdout, run.stderr))
}

fn images(file: &str) -> Vec<Value> {
    json(file)["images"].as_array().expect("images are an array").clone()
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

fn string(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

/// Extracts into an empty folder; returns the files by name.
fn extract(folder: &Path, arguments: &[&str]) -> (Ran, BTreeMap<String, Vec<u8>>) {
    let _ = fs::remove_dir_all(folder);
    let run = run(own::offload(&[]).args(["extract", "-o", path(folder)]).args(arguments));
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = files.map(|file| (file.file_name().into_string().expect("names are ASCII"), read(file.path())));
    (run, files.collect())
}

/// The files in the order in which their names were printed.
fn extracted(folder: &Path, arguments: &[&str]) -> Vec<Vec<u8>> {
    let (run, files) = extract(folder, arguments);
    let names = run.stdout.lines().map(|line| Path::new(line).file_name().expect("a file").to_str().expect("text"));
    let bytes: Vec<Vec<u8>> = names.map(|name| files[name].clone()).collect();
    assert_eq!(bytes.len(), files.len(), "each file is named once");
    bytes
}

// ----------------------------------------------------------------------------------------------------------- what is printed

fn golden(folder: &str) {
    let mut text = String::new();
    let mut document = String::new();
    for file in corpus_files().iter().filter(|file| Path::new(file).parent() == Some(Path::new(folder))) {
        let run = offload(&["ls", "--kernels", file]);
        text += &format!("{}{}status {}\n\n", run.stdout, run.stderr, run.code);
        document += &offload(&["ls", "--json", file]).stdout;
    }
    for (name, found) in [(format!("{folder}.txt"), text), (format!("{folder}.json"), document)] {
        assert_as_checked_in(&scratch::workspace().join("tests/ls").join(name), &found);
    }
}

/// Whether a field has what it may have.
type IsRight<'a> = &'a dyn Fn(&Value) -> bool;

fn json_has_these_fields() {
    let is_text = |value: &Value| value.is_string();
    let is_text_or_null = |value: &Value| value.is_string() || value.is_null();
    let one_of = |names: &'static [&str]| move |value: &Value| names.contains(&string(value));
    let containers: &[&str] =
        &["bundle", "compressed-bundle", "text-bundle", "object-bundle", "offload-binary", "fatbin", "raw"];
    let kinds: &[&str] = &["elf", "cubin", "ptx", "bitcode", "spirv", "empty", "unknown"];
    let mut seen = Vec::new();
    for file in corpus_files() {
        let document = json(&file);
        let keys: Vec<&String> = document.as_object().expect("an object").keys().collect();
        assert_eq!(keys.len(), 3, "{keys:?}");
        assert_eq!(document["file"], file.as_str());
        assert_eq!(number(&document["size"]), read(scratch::workspace().join("tests/corpus").join(&file)).len() as u64);
        let mut last = 0;
        for image in document["images"].as_array().expect("an array") {
            let fields: [(&str, IsRight<'_>); 14] = [
                ("section", &is_text_or_null),
                ("container", &one_of(containers)),
                ("container_index", &Value::is_u64),
                ("entry_id", &is_text_or_null),
                ("module", &is_text_or_null),
                ("offload_kind", &is_text_or_null),
                ("triple", &is_text_or_null),
                ("target_id", &is_text_or_null),
                ("image_kind", &one_of(kinds)),
                ("offset", &|value| value.is_u64() || value.is_null()),
                ("size", &Value::is_u64),
                ("sha256", &is_text_or_null),
                ("kernels", &|value| value.is_null() || value.is_array()),
                ("member", &is_text_or_null),
            ];
            for (name, is_right) in fields {
                assert!(image.get(name).is_some_and(is_right), "{file}: {name} is {:?}", image.get(name));
            }
            assert_eq!(image.as_object().map(|object| object.len()), Some(fields.len()), "{file}");
            for kernel in image["kernels"].as_array().into_iter().flatten() {
                assert!(is_text(&kernel["name"]) && kernel.get("code_size").is_some(), "{file}: {kernel}");
            }
            let index = number(&image["container_index"]);
            assert!(index == last || index == last + 1, "{file}: containers count from 0, without gaps");
            last = index;
            seen.push(string(&image["container"]).to_owned());
        }
    }
    assert!(containers.iter().all(|name| seen.iter().any(|it| it == name)), "the corpus has every container: {seen:?}");
}

fn json_of_several_files_is_an_array() {
    let files = ["bundle/basic.bc", "image/saxpy.gfx90a.hsaco"];
    let run = offload(&["ls", "--json", files[0], files[1]]);
    let array: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(array.as_array().map(Vec::len), Some(2));
    for (document, file) in array.as_array().expect("an array").iter().zip(files) {
        assert_eq!(*document, json(file));
    }
    // One that is not there takes none of the others away.
    let run = offload(&["ls", "--json", files[0], "nowhere"]);
    let array: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!((array.as_array().map(Vec::len), run.code), (Some(1), 1));
    assert_eq!(run.stderr, "offload: error: cannot read nowhere: No such file or directory\n");
}

fn sha256_is_that_of_the_bytes() {
    let folder = scratch::folder("ls-sha256");
    let mut compared = 0;
    for file in corpus_files() {
        let bytes = read(scratch::workspace().join("tests/corpus").join(&file));
        // What is extracted, in the order of the images that can be read.
        let all = extracted(&folder.join("out"), &[&file, "--empty"]);
        let readable: Vec<Value> = images(&file).into_iter().filter(|image| image["sha256"].is_string()).collect();
        assert_eq!(all.len(), readable.len(), "{file}");
        for (image, extracted) in readable.iter().zip(all) {
            let size = number(&image["size"]) as usize;
            if let Some(offset) = image["offset"].as_u64() {
                assert_same_bytes(&extracted, &bytes[offset as usize..][..size], &file);
            }
            assert_eq!(extracted.len(), size, "{file}");
            fs::write(folder.join("image"), &extracted).expect("the target folder can be written");
            let output = stdout(&succeed(Command::new("sha256sum").arg(folder.join("image"))));
            assert_eq!(output.split(' ').next(), image["sha256"].as_str(), "{file}");
            compared += 1;
        }
    }
    assert!(compared > 100, "{compared} images");
}

// ------------------------------------------------------------------------------------------------------- beside other tools

/// A copy of a file in a folder of its own: LLVM's tools write beside their input.
fn copied(folder: &Path, file: &str) -> PathBuf {
    let from = scratch::workspace().join("tests/corpus").join(file);
    let to = folder.join(from.file_name().expect("a file"));
    fs::copy(&from, &to).expect("the target folder can be written");
    to
}

fn bundles_as_readobj_lists_them() {
    let mut compared = 0;
    for file in ["fat_file/hip_nordc.o", "fat_file/hip_rdc_olddriver.o"] {
        let folder = scratch::folder("ls-readobj");
        let listing = stdout(&succeed(llvm("llvm-readobj").arg("--offloading").arg(copied(&folder, file))));
        let theirs: Vec<(String, u64, u64)> = listing
            .lines()
            .filter_map(|line| {
                let (before, after) = line.split_once("file://")?;
                let (offset, size) = after.split_once("#offset=")?.1.split_once("&size=")?;
                Some((before.split_whitespace().last()?.to_owned(), offset.parse().ok()?, size.parse().ok()?))
            })
            .collect();
        let in_section = |image: &&Value| image["section"] == ".hip_fatbin";
        let ours: Vec<(String, u64, u64)> = images(file)
            .iter()
            .filter(in_section)
            .map(|image| (string(&image["entry_id"]).to_owned(), number(&image["offset"]), number(&image["size"])))
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
        let listing = stdout(&succeed(objdump.current_dir(&folder).arg("--offloading").arg(copied(&folder, file))));
        let value = |block: &str, key: &str| {
            block.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default().trim().to_owned()
        };
        let theirs: Vec<[String; 3]> = listing
            .split("OFFLOADING IMAGE")
            .skip(1)
            .map(|block| ["arch", "triple", "producer"].map(|key| value(block, key)))
            .collect();
        let ours: Vec<[String; 3]> = images(file)
            .iter()
            .filter(|image| image["container"] == "offload-binary")
            .map(|image| ["target_id", "triple", "offload_kind"].map(|key| string(&image[key]).to_owned()))
            .collect();
        assert!(!ours.is_empty());
        assert_eq!(ours, theirs, "{file}");
    }
}

fn kernels_as_the_notes_have_them() {
    let file = "image/saxpy.gfx90a.hsaco";
    let image = &images(file)[0];
    let path = scratch::workspace().join("tests/corpus").join(file);
    let notes = stdout(&succeed(llvm("llvm-readelf").args(["-n", "-s", "--wide"]).arg(&path)));
    let value = |key: &str| {
        let line = notes.lines().find_map(|line| line.trim().trim_start_matches("- ").strip_prefix(key));
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
    let symbol: Vec<&str> = notes
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .find(|words| words.get(3) == Some(&"FUNC") && words.last().copied() == kernel["name"].as_str())
        .expect("the kernel has a symbol");
    assert_eq!(kernel["code_size"].to_string(), symbol[2]);
    assert_eq!(image["target_id"], value("amdhsa.target:").rsplit('-').next().expect("a target"));
}

fn bundles_as_objdump_extracts_them() {
    // Of a compressed bundle it takes out bytes of the file itself.
    for file in ["fat_file/hip_nordc.o"] {
        let folder = scratch::folder("ls-extract-objdump");
        let mut objdump = llvm("llvm-objdump");
        let listing = stdout(&succeed(objdump.current_dir(&folder).arg("--offloading").arg(copied(&folder, file))));
        let names = listing.lines().filter_map(|line| line.strip_prefix("Extracting offload bundle: "));
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
                // The tool gives the object itself for the placeholder.
                continue;
            }
            let id = string(&image["entry_id"]);
            let target = format!("-targets={id}");
            let theirs = folder.join("theirs");
            succeed(
                llvm("clang-offload-bundler")
                    .args([&format!("-type={kind}"), "-unbundle", &target])
                    .arg(format!("-input={file}"))
                    .arg(format!("-output={}", path(&theirs)))
                    .current_dir(scratch::workspace().join("tests/corpus")),
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
            let names: Vec<&str> = names.lines().filter_map(|line| line.split(": ").nth(1)).collect();
            if names.is_empty() {
                continue;
            }
            succeed(cuda("cuobjdump").current_dir(&folder).args([option, "all"]).arg(&input));
            let images = images(file);
            let ours = extracted(&folder.join("ours"), &[file]);
            let readable: Vec<&Value> = images.iter().filter(|image| image["sha256"].is_string()).collect();
            let ours: Vec<(&Value, Vec<u8>)> = readable.into_iter().zip(ours).collect();
            let ours: Vec<_> = ours.into_iter().filter(|(image, _)| image["image_kind"] == kind).collect();
            assert_eq!(ours.len(), names.len(), "{file} {kind}");
            for ((image, ours), name) in ours.iter().zip(&names) {
                let theirs = read(folder.join(name));
                assert!(name.contains(&string(&image["target_id"]).replace("compute_", "sm_")), "{file}: {name}");
                assert_same_bytes(ours, &theirs, &format!("{file}: {name}"));
                compared += 1;
            }
        }
    }
    assert!(compared >= 4, "{compared} images");
}

// ------------------------------------------------------------------------------------------------------------- what is chosen

/// An offload binary with an image for each target; each image is its target's name.
fn packed(folder: &Path, targets: &[&str]) -> PathBuf {
    let mut file = Vec::new();
    for target in targets {
        let mut builder = OffloadBinaryBuilder::new();
        let (kind, triple) = match target {
            it if it.starts_with("gfx") => (OffloadKind::HIP, "amdgcn-amd-amdhsa"),
            it if it.contains('_') && !it.contains("linux") => (OffloadKind::CUDA, "nvptx64-nvidia-cuda"),
            it => (OffloadKind::NONE, *it),
        };
        let image = builder.image(ImageKind::OBJECT, kind, target.len() as u64);
        image.string("triple", triple);
        if triple != *target {
            image.string("arch", target);
        }
        file.extend(builder.layout(Version::V1).to_vec(&[target.as_bytes()]));
    }
    let path = folder.join("packed.bin");
    scratch::write(&path, file);
    path
}

fn targets_choose_by_compatibility() {
    let folder = scratch::folder("ls-targets");
    let all = [
        "gfx90a:xnack-",
        "gfx90a:xnack+",
        "gfx90a",
        "gfx1100",
        "gfx11-generic",
        "sm_80",
        "sm_86",
        "sm_90a",
        "compute_80",
        "x86_64-unknown-linux-gnu",
    ];
    let file = packed(&folder, &all);
    for (asked, expected) in [
        (&["gfx90a:xnack-"][..], &["gfx90a:xnack-", "gfx90a"][..]),
        (&["gfx90a:sramecc+:xnack+"], &["gfx90a:xnack+", "gfx90a"]),
        (&["gfx90a"], &["gfx90a"]),
        (&["gfx1100"], &["gfx1100", "gfx11-generic"]),
        (&["gfx1103"], &["gfx11-generic"]),
        (&["gfx11-generic"], &["gfx11-generic"]),
        (&["sm_80"], &["sm_80", "compute_80"]),
        (&["sm_89"], &["sm_80", "sm_86", "compute_80"]),
        (&["sm_90a"], &["sm_90a", "compute_80"]),
        (&["sm_120"], &["compute_80"]),
        (&["compute_90"], &["compute_80"]),
        (&["x86_64-unknown-linux-gnu"], &["x86_64-unknown-linux-gnu"]),
        (&["gfx1100", "sm_80"], &["gfx1100", "gfx11-generic", "sm_80", "compute_80"]),
    ] {
        let mut arguments = vec![path(&file)];
        asked.iter().for_each(|target| arguments.extend(["--target", target]));
        let found = extracted(&folder.join("out"), &arguments);
        let found: Vec<&str> = found.iter().map(|bytes| str::from_utf8(bytes).expect("text")).collect();
        assert_eq!(found, expected, "{asked:?}");
    }
    // Nothing for it: what there is, and no folder.
    let (run, files) = extract(&folder.join("none"), &[path(&file), "--target", "gfx906"]);
    assert_eq!((run.code, files.len(), folder.join("none").exists()), (1, 0, false));
    assert!(run.stderr.contains("no image for gfx906\n  there is:\n    gfx90a:xnack-\n"), "{}", run.stderr);
    // Nothing for one of two: the other is written.
    let (run, files) = extract(&folder.join("half"), &[path(&file), "-t", "gfx906", "-t", "sm_80"]);
    assert_eq!((run.code, files.len()), (1, 2));
    assert_eq!(run.stderr, "offload: warning: no image for gfx906\n");
    // No target at all.
    let (run, _) = extract(&folder.join("wrong"), &[path(&file), "-t", "sm_8x"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("--target sm_8x: no target has such a name"), "{}", run.stderr);
    // An entry of a bundle goes by LLVM's rules, and by its kind.
    for (id, count) in [
        ("hip-amdgcn-amd-amdhsa--gfx906", 1),
        ("hip-amdgcn-amd-amdhsa--gfx906:xnack+", 1),
        ("openmp-amdgcn-amd-amdhsa--gfx906", 0),
        ("hip-amdgcn-amd-amdhsa--gfx90a", 0),
    ] {
        let (_, files) = extract(&folder.join("bundle"), &["bundle/basic.bc", "--target", id]);
        assert_eq!(files.len(), count, "{id}");
    }
}

fn names_choose_by_equality() {
    let folder = scratch::folder("ls-exact");
    let file = packed(&folder, &["gfx90a", "gfx90a:xnack-", "gfx11-generic"]);
    let found = extracted(&folder.join("out"), &[path(&file), "--exact", "gfx90a"]);
    assert_eq!(found, [b"gfx90a"]);
    let (run, _) = extract(&folder.join("none"), &[path(&file), "--exact", "gfx1100"]);
    assert_eq!(run.code, 1);
    // The host's empty entry is written to who asks for it.
    let (_, files) = extract(&folder.join("all"), &["fat_file/hip_nordc.o"]);
    assert_eq!(files.keys().collect::<Vec<_>>(), ["hip_nordc.o.0.hipv4.gfx906.hsaco"]);
    let host = "host-x86_64-unknown-linux-gnu-";
    for arguments in [&["fat_file/hip_nordc.o", "--exact", host][..], &["fat_file/hip_nordc.o", "--empty"]] {
        let (_, files) = extract(&folder.join("host"), arguments);
        assert_eq!(files["hip_nordc.o.0.host.x86_64-unknown-linux-gnu.bin"], b"");
    }
    let (run, files) = extract(&folder.join("quiet"), &["fat_file/hip_nordc.o", "-q"]);
    assert_eq!((run.stdout.as_str(), files.len()), ("", 1));
}

// ------------------------------------------------------------------------------------------------------------------ bad files

const BAD_NAMES: [&str; 12] = [
    "../../../../tmp/evil",
    "/etc/passwd",
    "..",
    ".",
    "",
    "a\u{1b}[31mred\u{7}\n\r\tx",
    "nul\0byte",
    "C:\\Windows\\system32",
    "gfx906\u{202e}\u{9b}31mtxt",
    "con",
    "a?*<>|\"b",
    "-rf",
];

/// Files with names in all places that have some: entries of bundles, strings of offload binaries, members of archives.
fn hostile_files(folder: &Path) -> Vec<PathBuf> {
    let long = "x".repeat(10_000);
    let names: Vec<&str> = BAD_NAMES.into_iter().chain([long.as_str()]).collect();
    // Made by hand: our writer refuses them.
    let mut bundle = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    bundle.extend((names.len() as u64).to_le_bytes());
    let mut binary = OffloadBinaryBuilder::new();
    let mut archive = ArchiveBuilder::new();
    let payload = |number: usize| some_bytes(number, 32);
    let image = read(corpus("image").iter().find(|it| it.ends_with("saxpy.gfx90a.hsaco")).expect("it is there"));
    for name in &names {
        let id = format!("hip-amdgcn-amd-amdhsa--{name}");
        [32, 24, id.len() as u64].iter().for_each(|number| bundle.extend(number.to_le_bytes()));
        bundle.extend(id.bytes());
        let image = binary.image(ImageKind::OBJECT, OffloadKind::HIP, 32);
        image.string("triple", name).string("arch", name).string("module", name);
    }
    for name in names.iter().filter(|name| !name.contains(['\0', '\n', '/']) && name.len() < 1000) {
        let _ = archive.member(name, image.len() as u64);
    }
    let payloads: Vec<Vec<u8>> = (0..names.len()).map(payload).collect();
    let payloads: Vec<&[u8]> = payloads.iter().map(Vec::as_slice).collect();
    let mut made = Vec::new();
    let mut write = |name: &str, bytes: Vec<u8>| {
        scratch::write(folder.join(name), bytes);
        made.push(folder.join(name));
    };
    write("bad.bundle", bundle);
    write("bad.bin", binary.layout(Version::V2).to_vec(&payloads));
    write("bad.a", archive.layout().to_vec(&vec![&image[..]; names.len()]));
    made
}

fn names_stay_in_the_folder() {
    let folder = scratch::folder("ls-hostile");
    for file in hostile_files(&folder.join("in")) {
        let out = folder.join("deep/in/here");
        let _ = fs::remove_dir_all(folder.join("deep"));
        let before = everything_in(&folder);
        let (run, files) = extract(&out, &[path(&file)]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let count = images(path(&file)).len();
        assert!(count >= 6, "{}: {count} images", file.display());
        assert_eq!(files.len(), count, "{}", file.display());
        for name in files.keys() {
            let is_harmless = |c: char| c.is_ascii_alphanumeric() || "-_+.".contains(c);
            assert!(name.chars().all(is_harmless) && name.len() < 255, "{name}");
            assert!(!name.starts_with(['.', '-']) && !name.contains("..") && !name.ends_with('.'), "{name}");
        }
        let after = everything_in(&folder);
        assert!(after.iter().all(|it| before.contains(it) || it.starts_with(&out) || out.starts_with(it)), "{after:?}");
    }
}

fn everything_in(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            all.extend(everything_in(&path));
        }
        all.push(path);
    }
    all
}

fn names_do_not_clash() {
    let folder = scratch::folder("ls-clash");
    let targets = ["gfx90a:x", "gfx90a_x", "GFX90A:X", "gfx90a:x", "gfx90a:x.2", "gfx90a/x"];
    let mut builder = OffloadBinaryBuilder::new();
    for target in targets {
        builder.image(ImageKind::OBJECT, OffloadKind::HIP, 8).string("arch", target);
    }
    let payloads: Vec<Vec<u8>> = (0..targets.len()).map(|number| some_bytes(number, 8)).collect();
    let payloads: Vec<&[u8]> = payloads.iter().map(Vec::as_slice).collect();
    let file = folder.join("clash.bin");
    scratch::write(&file, builder.layout(Version::V2).to_vec(&payloads));
    let (run, files) = extract(&folder.join("out"), &[path(&file)]);
    let mut lower: Vec<String> = files.keys().map(|name| name.to_lowercase()).collect();
    lower.sort();
    lower.dedup();
    assert_eq!(lower.len(), targets.len(), "{}", run.stdout);
    for (line, payload) in run.stdout.lines().zip(payloads) {
        assert_same_bytes(&read(line), payload, line);
    }
    // The same again: the same names.
    assert_eq!(extract(&folder.join("out"), &[path(&file)]).0.stdout, run.stdout);
}

fn terminals_are_not_sent_commands() {
    let folder = scratch::folder("ls-escape");
    for file in hostile_files(&folder) {
        for arguments in [&["ls", "--kernels"][..], &["ls", "--bytes"], &["ls", "--json"], &["extract", "-t", "sm_90"]]
        {
            let run = run(own::offload(&[]).args(arguments).arg(&file));
            for text in [&run.stdout, &run.stderr] {
                let bad = text.chars().find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
                assert_eq!(bad, None, "{text}");
            }
        }
    }
}

/// A bundle of two images, compressed.
fn compressed_bundle(seed: usize) -> Vec<u8> {
    let mut builder = BundleBuilder::new();
    let payloads = [some_bytes(seed, 3000), some_bytes(seed + 1, 5000)];
    for (payload, target) in payloads.iter().zip(["gfx906", "gfx1100"]) {
        builder.entry(&format!("hipv4-amdgcn-amd-amdhsa--{target}"), payload.len() as u64).expect("an entry");
    }
    let bundle = builder.layout().to_vec(&[&payloads[0], &payloads[1]]);
    compress(&bundle, &CompressOptions::default()).expect("it is compressed")
}

fn damage_hides_nothing_else() {
    let folder = scratch::folder("ls-damage");
    let mut file = compressed_bundle(1);
    let second = file.len();
    file.extend(compressed_bundle(2));
    let third = file.len();
    file.extend(compressed_bundle(3));
    // The stream of the second, behind its frame header.
    file[second + 32 + 20..third].fill(0x55);
    let path_of = folder.join("damaged.ccob");
    scratch::write(&path_of, &file);
    let run = offload(&["ls", path(&path_of)]);
    assert_eq!(run.code, 1);
    assert!(
        run.stdout.contains("[0] compressed bundle") && run.stdout.contains("[2] compressed bundle"),
        "{}",
        run.stdout
    );
    assert_eq!(run.stdout.matches("gfx906").count(), 2, "{}", run.stdout);
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    assert!(run.stderr.contains("does not decompress") && run.stderr.contains(path(&path_of)), "{}", run.stderr);
    let (run, files) = extract(&folder.join("out"), &[path(&path_of)]);
    assert_eq!((run.code, files.len()), (1, 4), "{}", run.stderr);

    // A member that is cut short between two that are not.
    let good = read(corpus("image").iter().find(|it| it.ends_with("saxpy.gfx90a.hsaco")).expect("it is there"));
    let bad = read(corpus("malformed").iter().find(|it| it.ends_with("oob_first.bc")).expect("it is there"));
    let mut archive = ArchiveBuilder::new();
    for (name, bytes) in [("a.o", &good), ("b.bc", &bad), ("c.o", &good)] {
        archive.member(name, bytes.len() as u64).expect("a member");
    }
    let path_of = folder.join("lib.a");
    scratch::write(&path_of, archive.layout().to_vec(&[&good, &bad, &good]));
    let run = offload(&["ls", path(&path_of)]);
    assert_eq!((run.code, run.stdout.matches("gfx90a").count()), (1, 2), "{}", run.stdout);
    assert!(run.stderr.contains("member b.bc: entry 0, code object"), "{}", run.stderr);
}

fn large_claims_cost_nothing() {
    let folder = scratch::folder("ls-claims");
    let file = folder.join("claim.ccob");
    for claim in [1u64 << 62, u64::MAX, 60 << 30] {
        let mut bytes = compressed_bundle(1);
        bytes[16..24].copy_from_slice(&claim.to_le_bytes());
        scratch::write(&file, &bytes);
        for command in [&["ls", "--json"][..], &["extract", "-o", path(&folder.join("out"))]] {
            let run = run(own::offload(&[]).args(command).arg(&file));
            if claim > 1 << 60 {
                assert_eq!(run.code, 1);
                assert!(run.stderr.contains(&format!("{claim} bytes are needed")), "{}", run.stderr);
            } else {
                // More is claimed than comes, and what comes is all there.
                assert_eq!(run.code, 0, "{}", run.stderr);
            }
        }
    }
    // So does the header of an offload binary of version 3.
    let mut builder = OffloadBinaryBuilder::new();
    builder.image(ImageKind::OBJECT, OffloadKind::HIP, 3000).string("arch", "gfx906");
    let image = some_bytes(1, 3000);
    let binary = builder.compressed(Method::Zstd, None, &[&image]).expect("it is compressed");
    let file_of_3 = folder.join("claim.bin");
    scratch::write(&file_of_3, &binary);
    assert_eq!(extracted(&folder.join("out"), &[path(&file_of_3)]), [image]);
    for claim in [1u64 << 62, 60 << 30] {
        let mut bytes = binary.clone();
        bytes[32..40].copy_from_slice(&claim.to_le_bytes());
        scratch::write(&file_of_3, &bytes);
        let run = offload(&["ls", path(&file_of_3)]);
        assert_eq!(run.code, 1);
        // A system may give 60 GiB to who does not use them.
        let refused = run.stderr.contains(&format!("{claim} bytes are needed"));
        let ends = claim < 1 << 60 && run.stderr.contains("inflated size (more than the content has)");
        assert!(refused || ends, "{}", run.stderr);
        assert_eq!(run.stderr.contains("--max-size"), claim > 1 << 60, "{}", run.stderr);
    }
    // The limit is the user's to choose.
    scratch::write(&file, compressed_bundle(1));
    let run = offload(&["ls", "--max-size", "4K", path(&file)]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("4096 are allowed") && run.stderr.contains("--max-size"), "{}", run.stderr);
    assert_eq!(offload(&["ls", "--max-size", "9K", path(&file)]).code, 0);
    assert_eq!(offload(&["ls", "--max-size", "9Q", path(&file)]).code, 2);
}

fn shared_bytes_end_somewhere() {
    let folder = scratch::folder("ls-shared");
    // Thousands of entries, all of the same megabyte: gigabytes to hash.
    let id = "hip-amdgcn-amd-amdhsa--gfx906";
    let mut file = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    file.extend(4000u64.to_le_bytes());
    let table = 32 + 4000 * (24 + id.len() as u64);
    for _ in 0..4000 {
        [table, 1 << 20, id.len() as u64].iter().for_each(|number| file.extend(number.to_le_bytes()));
        file.extend(id.bytes());
    }
    file.extend(some_bytes(1, 1 << 20));
    scratch::write(folder.join("shared.bc"), &file);
    let run = offload(&["ls", "--json", path(&folder.join("shared.bc"))]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("they share too many bytes"), "{}", run.stderr);
    let document: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let count = document["images"].as_array().map_or(0, Vec::len);
    assert!((1..100).contains(&count), "{count}");
}

fn inputs_that_cannot_be_read() {
    for (arguments, expected) in [
        (&["ls", "nowhere"][..], "offload: error: cannot read nowhere: No such file or directory\n"),
        (&["ls", "bundle"], "offload: error: cannot read bundle: Is a directory\n"),
        (&["extract", "bundle"], "offload: error: cannot read bundle: Is a directory\n"),
    ] {
        let run = offload(arguments);
        assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (1, "", expected));
    }
    // Nothing in it is no failure.
    let run = offload(&["ls", "object_bundle/host.o", "README.md"]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    assert!(run.stdout.contains("host.o") && run.stdout.matches("no device code").count() == 2, "{}", run.stdout);
    assert_eq!(images("README.md"), [Value::Null; 0]);
    let run = offload(&["extract", "README.md"]);
    assert_eq!(run.code, 1);
    assert_eq!(offload(&["ls"]).code, 2);
}

fn pipes_are_read() {
    let folder = scratch::folder("ls-pipe");
    let file = "tests/corpus/fat_file/hip_nordc.o";
    let script = format!(
        "cat {file} | {0} ls /dev/stdin && cat {file} | {0} extract -o {1} /dev/stdin",
        path(&own::tool("offload")),
        path(&folder)
    );
    let output = succeed(Command::new("sh").args(["-c", &script]).current_dir(scratch::workspace()));
    assert!(stdout(&output).contains("bundle in .hip_fatbin"), "{}", stdout(&output));
    let whole = extracted(&folder.join("whole"), &["fat_file/hip_nordc.o"]);
    assert_eq!([read(folder.join("stdin.0.hipv4.gfx906.hsaco"))], whole[..]);
}

fn members_of_thin_archives_are_named() {
    let folder = scratch::folder("ls-thin");
    let object = copied(&folder, "fat_file/hip_nordc.o");
    succeed(llvm("llvm-ar").current_dir(&folder).args(["crT", "thin.a"]).arg(object.file_name().expect("a file")));
    let run = offload(&["ls", path(&folder.join("thin.a"))]);
    assert_eq!(
        (run.code, run.stderr.as_str()),
        (0, "offload: note: hip_nordc.o: not listed, as it is in a file of its own\n")
    );
}

fn outputs_that_cannot_be_written() {
    let folder = scratch::folder("ls-outputs");
    scratch::write(folder.join("file"), "old");
    let run = offload(&["extract", "fat_file/hip_nordc.o", "-o", path(&folder.join("file"))]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("cannot write") && run.stderr.contains("File exists"), "{}", run.stderr);
    assert_eq!(read(folder.join("file")), b"old");
    // A folder has the image's name.
    let name = "hip_nordc.o.0.hipv4.gfx906.hsaco";
    fs::create_dir_all(folder.join("out").join(name)).expect("the target folder can be written");
    let run = offload(&["extract", "fat_file/hip_nordc.o", "-o", path(&folder.join("out"))]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains(name) && run.stderr.contains("Is a directory"), "{}", run.stderr);
    assert_eq!(everything_in(&folder.join("out")), [folder.join("out").join(name)]);
    if Path::new("/dev/full").exists() {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("it is a device");
        let output = own::offload(&[]).args(["ls", "bundle/basic.bc"]).stdout(full).output().expect("offload starts");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(text, "offload: error: cannot write to standard output: No space left on device\n");
        assert_eq!(output.status.code(), Some(1));
    }
}

// ---------------------------------------------------------------------------------------------------------------- the terminal

fn colour_is_for_terminals() {
    let arguments = ["ls", "bundle/basic.bc"];
    let plain = offload(&arguments).stdout;
    let has_colour = |text: &str| text.contains('\x1b');
    assert!(!has_colour(&plain));
    for (name, value, expected) in [("CLICOLOR_FORCE", "1", true), ("NO_COLOR", "1", false)] {
        let run = run(own::offload(&[]).args(arguments).env(name, value));
        assert_eq!(has_colour(&run.stdout), expected, "{name}");
    }
    assert!(has_colour(&offload(&["--color", "always", "ls", "bundle/basic.bc"]).stdout));
    assert!(has_colour(&in_terminal(80, "", "ls bundle/basic.bc")));
    for environment in ["NO_COLOR=1", "CLICOLOR=0"] {
        assert!(!has_colour(&in_terminal(80, environment, "ls bundle/basic.bc")), "{environment}");
    }
    assert!(!has_colour(&in_terminal(80, "", "--color never ls bundle/basic.bc")));
    assert_eq!(in_terminal(80, "NO_COLOR=1", "ls bundle/basic.bc"), plain);
    // What goes wrong is coloured by where it goes.
    assert!(!has_colour(&offload(&["ls", "malformed/wrap.bc"]).stderr));
}

fn lines_fit_the_terminal() {
    let folder = scratch::folder("ls-width");
    let mut files: Vec<String> = hostile_files(&folder).iter().map(|file| path(file).to_owned()).collect();
    files.extend(["image/saxpy.gfx90a.hsaco", "nv_fatbin/lto.fatbin", "archive/lib.a"].map(str::to_owned));
    for file in files {
        for columns in [80, 100] {
            let text = in_terminal(columns, "NO_COLOR=1", &format!("ls --kernels {file}"));
            // The first line has the path that the user gave.
            for line in text.lines().skip(1).filter(|line| !line.starts_with("offload: ")) {
                assert!(line.chars().count() <= columns, "{columns} columns: {line:?}");
            }
        }
    }
    // Where nobody looks, nothing is left out.
    let run = offload(&["ls", path(&folder.join("bad.bin"))]);
    assert!(run.stdout.contains(&"x".repeat(10_000)));
}

fn who_stops_reading_is_no_error() {
    let files = corpus_files();
    let mut child = own::offload(&[])
        .args(["ls", "--kernels"])
        .args(files.iter().cycle().take(files.len() * 20))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("offload starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !text.contains("panicked") && !text.contains("error"), "{text}");
}

fn help_fits_a_screen() {
    for command in ["", "ls", "extract", "pack", "bundle", "select", "verify", "size", "completions"] {
        let arguments: Vec<&str> = [command, "--help"].into_iter().filter(|word| !word.is_empty()).collect();
        let run = offload(&arguments);
        assert_eq!(run.code, 0);
        assert!(run.stdout.lines().count() <= 24, "{command}: {} lines", run.stdout.lines().count());
        let wide = run.stdout.lines().find(|line| line.chars().count() > 80);
        assert_eq!(wide, None, "{command}");
    }
}

fn completions_are_shell_scripts() {
    let folder = scratch::folder("ls-completions");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let run = offload(&["completions", shell]);
        assert_eq!(run.code, 0);
        for word in ["extract", "verify", "max-size"] {
            assert!(run.stdout.contains(word), "{shell} knows {word}");
        }
        if shell == "bash" {
            scratch::write(folder.join("offload.bash"), &run.stdout);
            let script = format!(
                "source {}; COMP_WORDS=(offload ex); COMP_CWORD=1; _offload offload ex offload; echo ${{COMPREPLY[@]}}",
                path(&folder.join("offload.bash"))
            );
            assert_eq!(stdout(&succeed(Command::new("bash").args(["--norc", "-c", &script]))).trim(), "extract");
        }
    }
    assert_eq!(offload(&["completions", "tcsh"]).code, 2);
}
