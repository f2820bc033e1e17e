//! Tests of the page that `--html` writes: its numbers, its requirements, and hostile names in it.

use super::{check_sums, json, list, number, size, sum};
use crate::{assert_fails, text};
use offload_format::offload_binary::{ImageKind, OffloadBinaryBuilder, OffloadKind, Version};
use offload_tests::data::{corpus_files, read, some_bytes};
use offload_tests::registry::NOTHING;
use offload_tests::scratch;
use offload_tests::tools::{stdout, succeed};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

offload_tests::tests! {
    NOTHING => [
        the_page_has_what_json_has,
        the_page_needs_nothing_else,
        names_stay_text,
        the_page_is_whole_or_not_there,
    ],
}

/// Returns the page, and the data in it.
fn page(folder: &Path, file: &str) -> (String, Value) {
    let out = folder.join("page.html");
    let run = size(&[file, "--html", text(&out)]);
    assert!(run.code <= 1, "{file}: {} {}", run.code, run.stderr);
    assert!(!run.stderr.contains("panicked"), "{file}: {}", run.stderr);
    let page = String::from_utf8(read(out)).expect("the page is UTF-8");
    let (_, rest) =
        page.split_once("<script type=\"application/json\" id=\"data\">").expect("it has data");
    let (data, _) = rest.split_once("</script>").expect("the data ends");
    assert!(!data.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{file}");
    let data = serde_json::from_str(data).unwrap_or_else(|error| panic!("{file}: {error}"));
    (page, data)
}

/// Returns the rows of a list in the page's data: each has a name and two numbers.
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
        assert_eq!(
            number(&data["containers"]),
            sum(list(&account["containers"]), "bytes"),
            "{file}"
        );
        assert_eq!(list(&data["images"]).len(), list(&account["images"]).len(), "{file}");
        let named = |all: &Value| -> Vec<(String, u64, u64)> {
            let row = |it: &Value| {
                (
                    it["name"].as_str().expect("text").to_owned(),
                    number(&it["bytes"]),
                    number(&it["size"]),
                )
            };
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
            // The sizes that are drawn add up to the size of the image.
            let drawn_bytes: u64 = ["kernels", "sections"]
                .iter()
                .flat_map(|key| shares(&data, &drawn[*key]))
                .map(|it| it.1)
                .sum();
            assert_eq!(drawn_bytes + number(&drawn["other"][1]), number(&drawn["bytes"]), "{file}");
        }
    }
}

fn the_page_needs_nothing_else() {
    let (page, _) = page(&scratch::folder("size-alone"), "fat_file/hip_nordc.o");
    for word in [
        "http:",
        "https:",
        "//cdn",
        "src=",
        "href=",
        "url(",
        "@import",
        "import(",
        "fetch(",
        "eval(",
        "innerHTML",
    ] {
        assert!(!page.contains(word), "the page has {word}");
    }
    let policy = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-";
    assert!(page.contains(policy), "the page has no policy");
    assert!(!page.contains("unsafe-inline"), "the policy lets anything run");
    // The content security policy comes before all content that it restricts.
    assert!(page.find(policy) < page.find("<title>"), "the title comes before the policy");
    assert!(page.find(policy) < page.find("<style>"), "the style comes before the policy");
    // The policy allows the page's own scripts and styles, and no others.
    for (start, end) in [("<style>", "</style>"), ("<script>", "</script>")] {
        let (_, rest) = page.split_once(start).expect("it has one");
        let (inside, _) = rest.split_once(end).expect("it ends");
        let file = scratch::folder("size-hash").join("inside");
        scratch::write(&file, inside);
        let sum = stdout(&succeed(Command::new("sha256sum").arg(&file)));
        assert!(page.contains(&format!("'sha256-{}'", base64(&sum[..64]))), "the hash of {start}");
    }
}

/// Returns the Base64 of bytes that are given as hexadecimal digits.
fn base64(digits: &str) -> String {
    let bits: String =
        digits.chars().map(|c| format!("{:04b}", c.to_digit(16).expect("a digit"))).collect();
    let alphabet: Vec<char> =
        ('A'..='Z').chain('a'..='z').chain('0'..='9').chain(['+', '/']).collect();
    let mut text: String = (0..bits.len().div_ceil(6))
        .map(|at| format!("{:0<6}", &bits[at * 6..bits.len().min(at * 6 + 6)]))
        .map(|six| alphabet[usize::from_str_radix(&six, 2).expect("bits")])
        .collect();
    while !text.len().is_multiple_of(4) {
        text.push('=');
    }
    text
}

/// Names that could insert code or control sequences into a page or a terminal.
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
    // The file itself has such a name, too.
    let file = folder.join("<b>&\"'\u{202e}.bin");
    scratch::write(&file, binary.layout(Version::V2).to_vec(&payloads));
    check_sums(&file, &[]);
    for arguments in [
        &[][..],
        &["--json"],
        &["--by", "target"],
        &["--by", "module"],
        &["--by", "kernel", "-n", "99"],
    ] {
        let run = size(&[arguments, &[text(&file)]].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        let bad = |c: &char| (c.is_control() && *c != '\n') || ['\u{202e}', '\u{2028}'].contains(c);
        assert_eq!(run.stdout.chars().find(bad), None, "{arguments:?}");
    }
    let account = json(&[text(&file)]);
    let modules: Vec<&str> =
        list(&account["images"]).iter().filter_map(|it| it["module"].as_str()).collect();
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
        (1, "error: cannot read no/such/file: No such file or directory\n")
    );
    assert_eq!(read(&out), b"old");
    let run = size(&["bundle/basic.bc", "--html", text(&folder)]);
    assert_fails(&run, &["cannot write", "Is a directory"]);
    let run = size(&["bundle/basic.bc", "--html", text(&folder.join("no/page.html"))]);
    assert_fails(&run, &["cannot write", "No such file"]);
    if Path::new("/dev/full").exists() {
        let run = size(&["bundle/basic.bc", "--html", "/dev/full"]);
        assert_eq!(
            (run.code, run.stderr.as_str()),
            (1, "error: cannot write /dev/full: No space left on device\n")
        );
    }
    let names: Vec<_> =
        fs::read_dir(&folder).expect("it is there").flatten().map(|it| it.file_name()).collect();
    assert_eq!(names, ["page.html"]);
    assert_eq!(size(&["bundle/basic.bc", "--html", text(&out)]).code, 0);
    assert!(read(&out).starts_with(b"<!DOCTYPE html>"));
}
