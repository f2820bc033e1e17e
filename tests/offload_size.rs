//! `offload size`: every byte of a file counted once, beside what LLVM's readelf says of kernels and sections; bars, JSON and
//! the page.
//!
//! What it prints of the corpus is checked in, in `size/`. `BLESS=1 cargo test -p offload-tests --test offload_size` writes it
//! anew.

use offload_format::offload_binary::{ImageKind, OffloadBinaryBuilder, OffloadKind, Version};
use offload_tests::data::{assert_as_checked_in, corpus_files, corpus_folders, read, some_bytes};
use offload_tests::own::{self, Ran, in_terminal, run};
use offload_tests::tools::{Tool, llvm, stdout, succeed};
use offload_tests::{data, scratch, test};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const LLVM: &[Tool] = &[Tool::Llvm22];

fn main() -> ExitCode {
    let mut tests = vec![
        test("every_byte_of_the_corpus_counts_once", &[], every_byte_of_the_corpus_counts_once),
        test("bytes_that_images_share_count_once", &[], bytes_that_images_share_count_once),
        test("kernels_and_sections_as_readelf_has_them", LLVM, kernels_and_sections_as_readelf_has_them),
        test("sections_of_the_host_as_readelf_has_them", LLVM, sections_of_the_host_as_readelf_has_them),
        test("compressed_images_share_what_is_stored", LLVM, compressed_images_share_what_is_stored),
        test("kernels_of_compressed_images_are_asked_for", &[], kernels_of_compressed_images_are_asked_for),
        test("the_page_has_what_json_has", &[], the_page_has_what_json_has),
        test("the_page_needs_nothing_else", &[], the_page_needs_nothing_else),
        test("names_stay_text", &[], names_stay_text),
        test("the_page_is_whole_or_not_there", &[], the_page_is_whole_or_not_there),
        test("lines_fit_the_terminal", &[Tool::Terminal], lines_fit_the_terminal),
        test("rows_that_are_left_out_are_counted", &[], rows_that_are_left_out_are_counted),
    ];
    for folder in corpus_folders() {
        tests.push(test(&format!("golden_{folder}"), &[], move || golden(&folder)));
    }
    offload_tests::run(tests)
}

// -------------------------------------------------------------------------------------------------------------- running it

/// Runs `offload size` in the folder of the corpus.
fn size(arguments: &[&str]) -> Ran {
    run(own::offload(&["size"]).args(arguments))
}

fn corpus() -> PathBuf {
    scratch::workspace().join("tests/corpus")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("paths of tests are text")
}

/// What `--json` says.
#[track_caller]
fn json(arguments: &[&str]) -> Value {
    let run = size(&[&["--json"], arguments].concat());
    serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}\n{}{}", run.stdout, run.stderr))
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn sum<'v>(values: impl IntoIterator<Item = &'v Value>, key: &str) -> u64 {
    values.into_iter().map(|value| number(&value[key])).sum()
}

/// Size by name.
fn sizes(values: &[Value]) -> BTreeMap<String, u64> {
    values.iter().map(|it| (it["name"].as_str().expect("a name").to_owned(), number(&it["size"]))).collect()
}

// ------------------------------------------------------------------------------------------------------------------- the sums

#[track_caller]
fn check_sums(file: &Path, arguments: &[&str]) -> Value {
    let account = json(&[arguments, &[text(file)]].concat());
    let what = format!("{} {arguments:?}", file.display());
    assert_eq!(number(&account["size"]), fs::metadata(file).expect("it is there").len(), "{what}");
    let images = list(&account["images"]);
    let all = sum(images, "bytes") + sum(list(&account["containers"]), "bytes") + number(&account["rest_bytes"]);
    assert_eq!(all, number(&account["size"]), "{what}");
    assert!(sum(list(&account["sections"]), "bytes") <= number(&account["rest_bytes"]), "{what}");
    for image in images {
        let parts = sum(list(&image["kernels"]), "bytes") + sum(list(&image["sections"]), "bytes");
        assert!(parts <= number(&image["bytes"]), "{what}: {image}");
    }
    account
}

fn every_byte_of_the_corpus_counts_once() {
    let mut kernels = 0;
    for file in corpus_files() {
        for arguments in [&[][..], &["--kernels"]] {
            let account = check_sums(&corpus().join(&file), arguments);
            kernels += list(&account["images"]).iter().map(|image| list(&image["kernels"]).len()).sum::<usize>();
        }
    }
    assert!(kernels > 20, "{kernels} kernels in the corpus");
}

fn bytes_that_images_share_count_once() {
    let account = check_sums(&corpus().join("malformed/overlap.bc"), &[]);
    let images = list(&account["images"]);
    assert!(images.iter().any(|image| number(&image["bytes"]) < number(&image["size"])), "{account}");
    // As many images as there are all have the same bytes.
    let mut bundle = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    let count = 40u64;
    let ids: Vec<String> = (0..count).map(|number| format!("hip-amdgcn-amd-amdhsa--gfx9{number:02}")).collect();
    let table = ids.iter().map(|id| 24 + id.len() as u64).sum::<u64>() + 32;
    bundle.extend(count.to_le_bytes());
    for id in &ids {
        [table, 5000, id.len() as u64].iter().for_each(|number| bundle.extend(number.to_le_bytes()));
        bundle.extend(id.bytes());
    }
    bundle.extend(some_bytes(1, 5000));
    let file = scratch::folder("size-shared").join("shared.bundle");
    scratch::write(&file, bundle);
    let account = check_sums(&file, &[]);
    assert_eq!(sum(list(&account["images"]), "bytes"), 5000);
    assert_eq!(number(&account["images"][0]["bytes"]), 5000);
}

// --------------------------------------------------------------------------------------------------------- beside LLVM's readelf

/// Sizes of functions by name.
fn functions(file: &Path) -> BTreeMap<String, u64> {
    let printed = stdout(&succeed(llvm("llvm-readelf").arg("-sW").arg(file)));
    let rows = printed.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let rows = rows.filter(|row| row.len() >= 8 && row[3] == "FUNC");
    rows.map(|row| (row[row.len() - 1].to_owned(), row[2].parse().expect("a size"))).collect()
}

/// Sizes in the file of sections by name; those of the same name together.
fn sections(file: &Path) -> BTreeMap<String, u64> {
    let printed = stdout(&succeed(llvm("llvm-readelf").arg("-SW").arg(file)));
    let mut sizes = BTreeMap::new();
    // [Nr] Name Type Address Off Size ...
    for row in printed.lines().filter_map(|line| line.trim_start().strip_prefix('[')?.split_once("] ")) {
        let columns: Vec<&str> = row.1.split_whitespace().collect();
        if let [name, kind, _, _, size, ..] = columns[..]
            && name.starts_with(['.', '_'])
            && kind != "NOBITS"
        {
            *sizes.entry(name.to_owned()).or_default() += u64::from_str_radix(size, 16).expect("a size");
        }
    }
    sizes.retain(|_, size| *size > 0);
    sizes
}

#[track_caller]
fn check_image(file: &Path) -> usize {
    let account = check_sums(file, &[]);
    let image = &account["images"][0];
    let (functions, mut expected) = (functions(file), sections(file));
    let kernels = sizes(list(&image["kernels"]));
    for kernel in list(&image["kernels"]) {
        let name = kernel["name"].as_str().expect("a name");
        assert_eq!(Some(&number(&kernel["size"])), functions.get(name), "{}: {name}", file.display());
        assert_eq!(kernel["bytes"], kernel["size"], "{}: {name}", file.display());
        // The sections of one kernel are with those of the others.
        let own: Vec<String> = expected.keys().filter(|it| it.ends_with(&format!(".{name}"))).cloned().collect();
        for section in own {
            let size = expected.remove(&section).expect("it was listed");
            *expected.entry(section[..section.len() - name.len() - 1].to_owned()).or_default() += size;
        }
    }
    if let Some(text) = expected.get_mut(".text") {
        *text -= kernels.values().sum::<u64>();
    }
    expected.retain(|_, size| *size > 0);
    assert_eq!(sizes(list(&image["sections"])), expected, "{}", file.display());
    kernels.len()
}

const SOURCE: &str = r#"
__device__ int table[300] = {1, 2, 3};
__device__ __attribute__((noinline)) int helper(int n) { return n * table[n]; }
template <int N> __global__ void step(int *out) {
#pragma unroll
  for (int i = 0; i < N; i++) out[i * threadIdx.x] += helper(i);
}
template __global__ void step<1>(int *); template __global__ void step<7>(int *); template __global__ void step<40>(int *);
extern "C" __global__ void last(int *out) { out[0] = 1; }
"#;

/// A code object of four kernels.
fn compile(folder: &Path, target: &str) -> PathBuf {
    scratch::write(folder.join("kernels.hip"), SOURCE);
    let out = folder.join(format!("{target}.hsaco"));
    let mut clang = llvm("clang");
    clang.args([
        "-x",
        "hip",
        "--cuda-device-only",
        "--no-gpu-bundle-output",
        "-nogpuinc",
        "-nogpulib",
        "-O2",
        "-include",
    ]);
    clang
        .arg(scratch::workspace().join("offload-build/include/offload/kernel.h"))
        .arg(format!("--offload-arch={target}"));
    succeed(clang.arg(folder.join("kernels.hip")).arg("-o").arg(&out));
    out
}

fn kernels_and_sections_as_readelf_has_them() {
    let folder = scratch::folder("size-readelf");
    for target in ["gfx90a", "gfx1100"] {
        assert_eq!(check_image(&compile(&folder, target)), 4);
    }
    let images = data::corpus("image").into_iter();
    let images = images.filter(|file| file.extension().is_some_and(|it| it == "cubin" || it == "hsaco"));
    let kernels: usize = images.map(|file| check_image(&file)).sum();
    assert!(kernels > 8, "{kernels} kernels");
}

fn sections_of_the_host_as_readelf_has_them() {
    let file = corpus().join("fat_file/hip_nordc.o");
    let account = check_sums(&file, &[]);
    let mut expected = sections(&file);
    assert!(expected.remove(".hip_fatbin").is_some());
    assert_eq!(sizes(list(&account["sections"])), expected);
}

fn compressed_images_share_what_is_stored() {
    let folder = scratch::folder("size-compressed");
    let targets = ["gfx906", "gfx90a", "gfx1100"];
    let bundle = |name: &str, options: &[&str]| {
        let out = folder.join(name);
        let mut bundler = llvm("clang-offload-bundler");
        let ids = targets.map(|target| format!("hipv4-amdgcn-amd-amdhsa--{target}")).join(",");
        bundler.args(["-type=o", "-bundle-align=4096", "-input=/dev/null"]).args(options);
        bundler.arg(format!("-targets=host-x86_64-unknown-linux-gnu,{ids}")).arg(format!("-output={}", out.display()));
        for target in targets {
            bundler.arg(format!("-input={}", compile(&folder, target).display()));
        }
        succeed(&mut bundler);
        out
    };
    let plain = check_sums(&bundle("plain.hipfb", &[]), &[]);
    let file = bundle("compressed.hipfb", &["-compress"]);
    let compressed = check_sums(&file, &["--kernels"]);
    let stored = fs::metadata(&file).expect("it is there").len();
    for (plain, compressed) in list(&plain["images"]).iter().zip(list(&compressed["images"])) {
        assert_eq!(plain["target"], compressed["target"]);
        assert_eq!(plain["size"], compressed["size"]);
        for key in ["kernels", "sections"] {
            assert_eq!(sizes(list(&plain[key])), sizes(list(&compressed[key])), "{key} of {}", plain["target"]);
            assert!(!list(&plain[key]).is_empty());
        }
        // Its share is that of its size.
        let [size, inflated] = [&plain["size"], &plain["bytes"]].map(number);
        assert_eq!(size, inflated);
        let whole = number(&json(&[text(&folder.join("plain.hipfb"))])["size"]);
        let share =
            number(&compressed["bytes"]).abs_diff((u128::from(stored) * u128::from(size) / u128::from(whole)) as u64);
        assert!(share <= 1, "{compressed}");
    }
    assert_eq!(list(&compressed["images"]).len(), targets.len());
}

fn kernels_of_compressed_images_are_asked_for() {
    let file = "fat_file/hip_nordc_compressed.o";
    let count = |account: &Value| list(&account["images"]).iter().map(|it| list(&it["kernels"]).len()).sum::<usize>();
    assert_eq!(count(&json(&[file])), 0);
    assert!(count(&json(&["--kernels", file])) > 0);
    let hint = "The kernels of 2 compressed images are not looked for without --kernels.";
    assert!(size(&[file]).stdout.contains(hint));
    assert!(!size(&["--kernels", file]).stdout.contains(hint));
}

// ------------------------------------------------------------------------------------------------------------------- the page

/// The page, and the data in it.
fn page(folder: &Path, file: &str) -> (String, Value) {
    let out = folder.join("page.html");
    let run = size(&[file, "--html", text(&out)]);
    assert!(run.code <= 1 && !run.stderr.contains("panicked"), "{file}: {}", run.stderr);
    let page = String::from_utf8(read(out)).expect("the page is UTF-8");
    let (_, rest) = page.split_once("<script type=\"application/json\" id=\"data\">").expect("it has data");
    let (data, _) = rest.split_once("</script>").expect("the data ends");
    assert!(!data.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{file}");
    let data = serde_json::from_str(data).unwrap_or_else(|error| panic!("{file}: {error}"));
    (page, data)
}

/// Three numbers each, as names and numbers.
fn shares(data: &Value, all: &Value) -> Vec<(String, u64, u64)> {
    let row = |row: &[Value]| {
        let name = data["names"][number(&row[0]) as usize].as_str().expect("a name");
        (name.to_owned(), number(&row[1]), number(&row[2]))
    };
    list(all).chunks(3).map(row).collect()
}

fn the_page_has_what_json_has() {
    let folder = scratch::folder("size-page");
    for file in corpus_files() {
        let (_, data) = page(&folder, &file);
        let account = json(&["--kernels", &file]);
        assert_eq!(data["size"], account["size"], "{file}");
        assert_eq!(data["rest"], account["rest_bytes"], "{file}");
        assert_eq!(number(&data["containers"]), sum(list(&account["containers"]), "bytes"), "{file}");
        assert_eq!(list(&data["images"]).len(), list(&account["images"]).len(), "{file}");
        let named = |all: &Value| -> Vec<(String, u64, u64)> {
            let row =
                |it: &Value| (it["name"].as_str().expect("text").to_owned(), number(&it["bytes"]), number(&it["size"]));
            list(all).iter().map(row).collect()
        };
        assert_eq!(shares(&data, &data["host"]), named(&account["sections"]), "{file}");
        for (drawn, image) in list(&data["images"]).iter().zip(list(&account["images"])) {
            for key in ["bytes", "size"] {
                assert_eq!(drawn[key], image[key], "{file}");
            }
            for key in ["kernels", "sections"] {
                assert_eq!(drawn[key].is_null(), image[key].is_null(), "{file}");
                assert_eq!(shares(&data, &drawn[key]), named(&image[key]), "{file}");
            }
            // What is drawn comes to the image.
            let drawn_bytes: u64 =
                ["kernels", "sections"].iter().flat_map(|key| shares(&data, &drawn[*key])).map(|it| it.1).sum();
            assert_eq!(drawn_bytes + number(&drawn["other"][1]), number(&drawn["bytes"]), "{file}");
        }
    }
}

fn the_page_needs_nothing_else() {
    let (page, _) = page(&scratch::folder("size-alone"), "fat_file/hip_nordc.o");
    for word in
        ["http:", "https:", "//cdn", "src=", "href=", "url(", "@import", "import(", "fetch(", "eval(", "innerHTML"]
    {
        assert!(!page.contains(word), "the page has {word}");
    }
    let policy = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-";
    assert!(page.contains(policy) && !page.contains("unsafe-inline"));
    // Before anything that it is to hold back.
    assert!(page.find(policy) < page.find("<title>") && page.find(policy) < page.find("<style>"));
    // What the policy lets run is what the page has.
    for (start, end) in [("<style>", "</style>"), ("<script>", "</script>")] {
        let (_, rest) = page.split_once(start).expect("it has one");
        let (inside, _) = rest.split_once(end).expect("it ends");
        let file = scratch::folder("size-hash").join("inside");
        scratch::write(&file, inside);
        let sum = stdout(&succeed(Command::new("sha256sum").arg(&file)));
        assert!(page.contains(&format!("'sha256-{}'", base64(&sum[..64]))), "the hash of {start}");
    }
}

/// Base64 of what hexadecimal digits stand for.
fn base64(digits: &str) -> String {
    let bits: String = digits.chars().map(|c| format!("{:04b}", c.to_digit(16).expect("a digit"))).collect();
    let alphabet: Vec<char> = ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(['+', '/']).collect();
    let mut text: String = (0..bits.len().div_ceil(6))
        .map(|at| format!("{:0<6}", &bits[at * 6..bits.len().min(at * 6 + 6)]))
        .map(|six| alphabet[usize::from_str_radix(&six, 2).expect("bits")])
        .collect();
    while !text.len().is_multiple_of(4) {
        text.push('=');
    }
    text
}

/// Names that mean harm to a page or a terminal.
const BAD_NAMES: [&str; 8] = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "\"'`{}&amp;<img src=x onerror=alert(1)>",
    "\u{2028}\u{2029}",
    "\x1b[31mred\x1b]0;title\x07",
    "\u{202e}gpj.exe",
    "__proto__",
    "a\nb\rc\t",
];

fn names_stay_text() {
    let folder = scratch::folder("size-names");
    let mut binary = OffloadBinaryBuilder::new();
    let long = "x".repeat(10_000);
    let names: Vec<&str> = BAD_NAMES.into_iter().chain([long.as_str()]).collect();
    for name in &names {
        let image = binary.image(ImageKind::OBJECT, OffloadKind::HIP, 64);
        image.string("triple", name).string("arch", name).string("module", name);
    }
    let payloads: Vec<Vec<u8>> = (0..names.len()).map(|number| some_bytes(number, 64)).collect();
    let payloads: Vec<&[u8]> = payloads.iter().map(Vec::as_slice).collect();
    // The file's own name is one of them.
    let file = folder.join("<b>&\"'\u{202e}.bin");
    scratch::write(&file, binary.layout(Version::V2).to_vec(&payloads));
    check_sums(&file, &[]);
    for arguments in [&[][..], &["--json"], &["--by", "target"], &["--by", "module"], &["--by", "kernel", "-n", "99"]] {
        let run = size(&[arguments, &[text(&file)]].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        let bad = |c: &char| (c.is_control() && *c != '\n') || ['\u{202e}', '\u{2028}'].contains(c);
        assert_eq!(run.stdout.chars().find(bad), None, "{arguments:?}");
    }
    let account = json(&[text(&file)]);
    let modules: Vec<&str> = list(&account["images"]).iter().filter_map(|it| it["module"].as_str()).collect();
    assert_eq!(modules, names);
    let (page, data) = page(&folder, text(&file));
    let count = |word: &str| page.matches(word).count();
    assert_eq!((count("<script"), count("</script>"), count("<!--"), count("<img")), (2, 2, 0, 0));
    assert_eq!(page.chars().find(|c| c.is_control() && *c != '\n'), None);
    assert!(page.contains("<title>&lt;b&gt;&amp;&quot;'\\u{202e}.bin: sizes</title>"));
    assert_eq!(data["images"][0]["module"], names[0]);
    assert_eq!(data["images"][4]["target"], "\\x1b[31mred\\x1b]0;title\\x07");
}

fn the_page_is_whole_or_not_there() {
    let folder = scratch::folder("size-output");
    let out = folder.join("page.html");
    scratch::write(&out, "old");
    let run = size(&["no/such/file", "--html", text(&out)]);
    assert_eq!(
        (run.code, run.stderr.as_str()),
        (1, "offload: error: cannot read no/such/file: No such file or directory\n")
    );
    assert_eq!(read(&out), b"old");
    let run = size(&["bundle/basic.bc", "--html", text(&folder)]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("cannot write") && run.stderr.contains("Is a directory"), "{}", run.stderr);
    let run = size(&["bundle/basic.bc", "--html", text(&folder.join("no/page.html"))]);
    assert!(run.stderr.contains("cannot write") && run.stderr.contains("No such file"), "{}", run.stderr);
    if Path::new("/dev/full").exists() {
        let run = size(&["bundle/basic.bc", "--html", "/dev/full"]);
        assert_eq!(
            (run.code, run.stderr.as_str()),
            (1, "offload: error: cannot write /dev/full: No space left on device\n")
        );
    }
    let names: Vec<_> = fs::read_dir(&folder).expect("it is there").flatten().map(|it| it.file_name()).collect();
    assert_eq!(names, ["page.html"]);
    assert_eq!(size(&["bundle/basic.bc", "--html", text(&out)]).code, 0);
    assert!(read(&out).starts_with(b"<!DOCTYPE html>"));
}

// ------------------------------------------------------------------------------------------------------------------- the bars

fn lines_fit_the_terminal() {
    for columns in [60, 80, 132] {
        for arguments in
            ["fat_file/hip_nordc.o", "-k fat_file/hip_nordc_compressed.o --by target", "archive/lib.a --by module"]
        {
            let printed = in_terminal(columns, "NO_COLOR=1", &format!("size {arguments}"));
            assert!(printed.contains("SHARE"), "{printed}");
            // The first line has the path that the user gave.
            for line in printed.lines().skip(1).filter(|line| !line.contains("--kernels")) {
                assert!(line.chars().count() <= columns, "{columns} columns: {line:?}");
            }
        }
    }
}

fn rows_that_are_left_out_are_counted() {
    let rows = |count: &str| size(&["nv_fatbin/lz4_12.4.fatbin", "--by", "target", "-n", count]).stdout;
    let all = rows("99");
    let targets = all.lines().filter(|line| line.contains("sm_") || line.contains("compute_")).count();
    assert!(targets > 2, "{all}");
    let few = rows("1");
    let top = few.lines().filter(|line| line.contains("and ") && !line.contains("    and")).collect::<Vec<_>>();
    assert_eq!(top.len(), 1, "{few}");
    // Named one by one, they would take no more room.
    assert!(!few.contains("and 1 more"), "{few}");
}

fn golden(folder: &str) {
    let mut found = String::new();
    for file in corpus_files().iter().filter(|file| Path::new(file).parent() == Some(Path::new(folder))) {
        for arguments in [&[][..], &["--kernels", "--by", "target"]] {
            let run = size(&[arguments, &[file]].concat());
            found += &format!("{}{}status {}\n\n", run.stdout, run.stderr, run.code);
        }
    }
    assert_as_checked_in(&scratch::workspace().join("tests/size").join(format!("{folder}.txt")), &found);
}
