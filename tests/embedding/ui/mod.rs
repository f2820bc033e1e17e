//! The error messages of `include_offload!`. A case is a file or a line of `short.rs`. The expected
//! messages and places are checked in. Only the macro's own text is compared, not the text that
//! the compiler prints around it.

mod short;

use offload_format::offload_binary::{OffloadKind, StatedKind, Version};
use offload_tests::containers::{binary, hip_bundle, shared_bundle};
use offload_tests::prelude::*;
use offload_tests::spirv;
use serde_json::Value;

#[test(NOTHING.slow())]
fn every_error_is_as_checked_in() {
    let mut scenario = Scenario::without_sources("ui");
    scenario.feature("offload-gpu", "files");
    with_build_script(&scenario);
    errors_are_as_checked_in(&scenario, "cases");
}

#[test]
fn errors_without_a_build_script_are_as_checked_in() {
    let mut scenario = Scenario::without_sources("ui_no_script");
    scenario.feature("offload-gpu", "files");
    errors_are_as_checked_in(&scenario, "no_script");
}

#[test]
fn errors_without_the_feature_for_files_are_as_checked_in() {
    errors_are_as_checked_in(&Scenario::without_sources("ui_no_files"), "no_files");
}

/// Tests that the bugs in `docs/launch-bugs.md` do not compile.
#[test(CLANG.claimed())]
fn wrong_calls_of_kernels_do_not_compile() {
    errors_are_as_checked_in(&with_kernels("ui_calls", r#"["gfx90a", "compute_80"]"#), "calls");
}

/// Tests the same bugs with SPIR-V in place of machine code.
#[test(CLANG.slow())]
fn wrong_calls_of_kernels_in_spirv_do_not_compile() {
    errors_are_as_checked_in(
        &with_kernels("ui_calls_spirv", r#"["spirv64", "compute_80"]"#),
        "calls",
    );
}

/// Tests the bugs of [`wrong_calls_of_kernels_do_not_compile`] in declarations, which are checked
/// only against images.
#[test(CLANG.slow())]
fn wrong_declarations_of_kernels_do_not_compile() {
    errors_are_as_checked_in(
        &with_kernels("ui_declared", r#"["gfx90a", "compute_80"]"#),
        "declared",
    );
}

fn with_kernels(name: &str, targets: &str) -> Scenario {
    let mut scenario = Scenario::without_sources(name);
    scenario.feature("offload-gpu", "files");
    let source = read(workspace().join("tests/embedding/ui/calls/kernels.cu"));
    // g++ gives `kept` a symbol that all libraries of a program share.
    scenario.write(
        "unique.cpp",
        "template <class T> T *last() {\n  static T kept;\n  return &kept;\n}\n\
         template int *last<int>();\n",
    );
    let mut gcc = Command::new("g++");
    gcc.current_dir(&scenario.folder).args(["-shared", "-fPIC", "unique.cpp", "-o", "unique.so"]);
    succeed(&mut gcc);
    let library = read(scenario.folder.join("unique.so"));
    let triple = [("triple", "x86_64-unknown-linux-gnu")];
    let image = (StatedKind::OBJECT, OffloadKind::NONE, &triple[..], &*library);
    scenario
        .write("src/bin/files/unique.ob", binary(Version::V1, &[image]))
        .write("kernels/calls.cu", source)
        .pack("calls", &format!(".file(\"kernels/calls.cu\").archs({targets})"));
    scenario
}

/// Returns the cases of a folder: those that are files, and those of `short.rs`.
fn cases(folder: &Path) -> BTreeMap<String, String> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let short = short::of(&name).into_iter().map(|(name, text)| (name.to_owned(), text));
    let files = fs::read_dir(folder).expect("the folder is there").flatten();
    let files =
        files.map(|entry| entry.path()).filter(|path| path.extension() == Some("rs".as_ref()));
    let files = files.map(|path| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        (name, fs::read_to_string(&path).expect("the file can be read"))
    });
    short.chain(files).collect()
}

/// Checks all cases in one run of Cargo: they are binaries of one package.
fn errors_are_as_checked_in(scenario: &Scenario, folder: &str) {
    let folder = workspace().join("tests/embedding/ui").join(folder);
    let cases = cases(&folder);
    for (name, text) in &cases {
        scenario.write(&format!("src/bin/{name}.rs"), text);
    }
    let printed =
        scenario.check().args(["--bins", "--keep-going", "--message-format=json"]).fails();
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    for line in printed.stdout.lines() {
        let line: Value = serde_json::from_str(line).expect("Cargo prints JSON");
        if line["reason"] == "compiler-message" {
            let target = line["target"]["name"].as_str().unwrap_or_default().to_owned();
            *found.entry(target).or_default() += &message(&line["message"], &scenario.folder);
        }
    }
    for name in cases.keys() {
        let text = found.get(name).unwrap_or_else(|| panic!("{name} has no error:\n{printed}"));
        assert_as_checked_in(&folder.join(format!("{name}.txt")), text);
    }
    let expected = fs::read_dir(&folder).expect("the folder is there").flatten();
    let expected =
        expected.filter(|entry| entry.path().extension() == Some("txt".as_ref())).count();
    assert_eq!(expected, cases.len(), "{}: expected messages and cases", folder.display());
}

/// Returns `<message>` and below it `--> <line>:<column> <source text>`. For a file of this
/// repository, the file's name replaces line and column. Returns an empty text for messages without
/// a place, such as summaries.
fn message(message: &Value, folder: &Path) -> String {
    let text = message["message"].as_str().unwrap_or_default();
    let spans = message["spans"].as_array().map_or(&[][..], Vec::as_slice);
    let Some(span) = spans.iter().find(|span| span["is_primary"] == true) else {
        return String::new();
    };
    // For a panic during compilation, some versions of rustc print the panic's text in the message,
    // and others next to the place.
    const PANICKED: &str = "evaluation panicked: ";
    let all = [text].into_iter().chain(spans.iter().filter_map(|span| span["label"].as_str()));
    let panicked = all.filter_map(|text| text.strip_prefix(PANICKED)).next();
    let text = panicked.unwrap_or(text);
    let line = &span["text"][0];
    let (from, to) = (line["highlight_start"].as_u64(), line["highlight_end"].as_u64());
    let (from, to) = (from.unwrap_or(1) as usize - 1, to.unwrap_or(1) as usize - 1);
    let here = line["text"].as_str().and_then(|text| text.get(from..to)).unwrap_or_default();
    // Lines in this repository's own files are not relevant to the error.
    let file = Path::new(span["file_name"].as_str().unwrap_or_default());
    let place = match file.strip_prefix(workspace()) {
        Ok(own) if !file.starts_with(folder) => own.display().to_string(),
        _ => format!("{}:{}", span["line_start"], span["column_start"]),
    };
    format!("{}\n --> {place} {here}\n", anywhere(text, folder))
}

/// Returns a message without parts that differ between machines: folders and hashes.
fn anywhere(text: &str, folder: &Path) -> String {
    let text = text.replace(&folder.display().to_string(), "$PACKAGE");
    let mut words = Vec::new();
    for word in text.split(' ') {
        let word = match word.find("/out/offload") {
            // <target>/debug/build/<package>-<hash>/out/offload
            Some(at) => format!("$OUT_DIR{}", &word[at + "/out".len()..]),
            None => word.to_owned(),
        };
        let is_hash =
            |part: &&str| part.len() == 32 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
        let hash = word.split(['_', '.']).find(is_hash).map(str::to_owned);
        words.push(hash.map_or(word.clone(), |hash| word.replace(&hash, "<hash>")));
    }
    words.join(" ")
}

/// Writes the build script, its sources, and the files that the cases embed by their paths.
fn with_build_script(scenario: &Scenario) {
    let image = |name: &str| corpus_file(&format!("image/{name}"));
    let code_object = image("saxpy.gfx90a.hsaco");
    let (cubin, ptx) = (image("saxpy.sm_90.cubin"), image("saxpy.compute_80.ptx"));
    let entries = [("hipv4-amdgcn-amd-amdhsa--gfx90a", &*code_object)];
    let of_nvidia = |kind, bytes: &[u8]| {
        let strings = [("triple", "nvptx64-nvidia-cuda"), ("arch", "sm_90")];
        binary(Version::V1, &[(kind, OffloadKind::CUDA, &strings, bytes)])
    };
    // Make the length of the PTX a multiple of eight bytes, so that no padding is between the text
    // and the next binary.
    let mut full = ptx.clone();
    while !full.len().is_multiple_of(8) {
        full.push(b'\n');
    }
    let unlinked = {
        let mut object = code_object.clone();
        object[16] = 1;
        object
    };
    // From version 2 on, there is no padding between images: an image of odd size leaves the next
    // one unaligned.
    let odd = [&*code_object, b"\0"].concat();
    let archs = [[("arch", "gfx90a")], [("arch", "gfx90a:xnack-")]];
    let two = archs.each_ref().map(|arch| (StatedKind::OBJECT, OffloadKind::HIP, &arch[..], &*odd));
    let whole = hip_bundle(4096, &entries);
    scenario
        .write("build.rs", read(workspace().join("tests/embedding/ui/build.rs")))
        .write("kernels/saxpy.hsaco", &code_object)
        .write("kernels/saxpy.cubin", &cubin)
        .write("src/bin/files/saxpy.hsaco", &code_object)
        .write("src/bin/files/saxpy.hipfb", &whole)
        .write("src/bin/files/saxpy.ob", of_nvidia(StatedKind::CUBIN, &cubin))
        .write("src/bin/files/unaligned.hipfb", shared_bundle(&[entries[0].0], &code_object))
        .write("src/bin/files/unaligned.ob", binary(Version::V2, &two))
        .write("src/bin/files/no_nul.ob", of_nvidia(StatedKind::PTX, &full))
        .write("src/bin/files/unlinked.o", unlinked)
        .write("src/bin/files/saxpy.cu", "__global__ void saxpy() {}\n")
        .write("src/bin/files/empty.hsaco", "")
        .write("src/bin/files/words.txt", "nothing for a GPU\n")
        .write("src/bin/files/library.a", corpus_file("archive/lib.a"))
        .write("src/bin/files/host.o", corpus_file("fat_file/hip_nordc.o"))
        .write("src/bin/files/device.bc", b"BC\xC0\xDE\x35\x14\0\0")
        .write("src/bin/files/compressed.hipfb", corpus_file("compressed/v3_zstd.ccob"))
        .write("src/bin/files/cut.hipfb", &whole[..5000]);
    spirv::write_refused(&scenario.folder.join("src/bin/files"));
}
