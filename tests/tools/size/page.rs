//! Tests of the HTML page that `--html` writes: its numbers, its security policy, and hostile
//! names.

use super::{check_sums, list, number, sum};
use crate::containers::binary;
use crate::{assert_ends, assert_fails, string, text};
use offload_format::offload_binary::{OffloadKind, StatedKind, Version};
use offload_tests::own::{Ran, run};
use offload_tests::prelude::*;
use serde_json::Value;

fn write(file: &str, page: &Path) -> Ran {
    run(own::offload(&["size", file, "--html"]).arg(page))
}

fn page(folder: &Path, file: &str) -> (String, Value) {
    let out = folder.join("page.html");
    let run = write(file, &out);
    assert!(run.code <= 1, "{file}: {} {}", run.code, run.stderr);
    assert!(!run.stderr.contains("panicked"), "{file}: {}", run.stderr);
    let page = String::from_utf8(read(out)).expect("the page is UTF-8");
    let data = between(&page, "<script type=\"application/json\" id=\"data\">", "</script>");
    assert!(!data.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{file}");
    let data = serde_json::from_str(data).unwrap_or_else(|error| panic!("{file}: {error}"));
    (page, data)
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let rest = text.split_once(start).and_then(|(_, rest)| rest.split_once(end));
    rest.unwrap_or_else(|| panic!("no {start} and {end}")).0
}

/// Returns the rows of a list in the page's data: a name and two numbers each.
fn shares<'a>(data: &'a Value, all: &Value) -> Vec<(&'a str, u64, u64)> {
    let row = |row: &[Value]| {
        let name = data["names"][number(&row[0]) as usize].as_str().expect("a name");
        (name, number(&row[1]), number(&row[2]))
    };
    list(all).chunks(3).map(row).collect()
}

/// Returns the rows of a list in the output of `--json`.
fn named<'a>(all: &'a Value) -> Vec<(&'a str, u64, u64)> {
    let row = |it: &'a Value| (string(&it["name"]), number(&it["bytes"]), number(&it["size"]));
    list(all).iter().map(row).collect()
}

/// Asserts that a file's HTML page has the same numbers as this account.
pub fn assert_has(folder: &Path, file: &str, account: &Value) {
    let (_, data) = page(folder, file);
    assert_eq!(data["size"], account["size"], "{file}");
    assert_eq!(data["rest"], account["rest_bytes"], "{file}");
    assert_eq!(number(&data["containers"]), sum(list(&account["containers"]), "bytes"), "{file}");
    assert_eq!(shares(&data, &data["host"]), named(&account["sections"]), "{file}");
    let (drawn, images) = (list(&data["images"]), list(&account["images"]));
    assert_eq!(drawn.len(), images.len(), "{file}");
    for (drawn, image) in drawn.iter().zip(images) {
        for key in ["bytes", "size"] {
            assert_eq!(drawn[key], image[key], "{file}");
        }
        // The drawn sizes must add up to the image's size.
        let mut bytes = number(&drawn["other"][1]);
        for key in ["kernels", "sections"] {
            let rows = shares(&data, &drawn[key]);
            assert_eq!(drawn[key].is_null(), image[key].is_null(), "{file}");
            assert_eq!(rows, named(&image[key]), "{file}");
            bytes += rows.iter().map(|row| row.1).sum::<u64>();
        }
        assert_eq!(bytes, number(&drawn["bytes"]), "{file}");
    }
}

#[test(needs(&[Tool::Python]))]
fn the_page_needs_nothing_else() {
    let (page, _) = page(&scratch::folder("size-alone"), "fat_file/hip_nordc.o");
    let words = "http: https: //cdn src= href= url( @import import( fetch( eval( innerHTML";
    for word in words.split(' ') {
        assert!(!page.contains(word), "the page has {word}");
    }
    let policy = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-";
    assert!(page.contains(policy), "the page has no policy");
    assert!(!page.contains("unsafe-inline"), "the policy lets anything run");
    // The content security policy must precede all content that it restricts.
    assert!(page.find(policy) < page.find("<title>"), "the title comes before the policy");
    assert!(page.find(policy) < page.find("<style>"), "the style comes before the policy");
    // The policy must allow only the page's own scripts and styles.
    let hash = "import base64, hashlib, sys\n\
                print(base64.b64encode(hashlib.sha256(sys.argv[1].encode()).digest()).decode())";
    for (start, end) in [("<style>", "</style>"), ("<script>", "</script>")] {
        let mut python = Command::new("python3");
        let sum = stdout(&succeed(python.args(["-c", hash, between(&page, start, end)])));
        assert!(page.contains(&format!("'sha256-{}'", sum.trim())), "the hash of {start}");
    }
}

/// The page's script must define each function that it calls: an undefined one is an error only
/// when somebody opens the page. A name that never occurs except in calls has no definition.
#[test]
fn the_script_defines_what_it_calls() {
    let (page, _) = page(&scratch::folder("size-script"), "fat_file/hip_nordc.o");
    let of_browsers = "Number Set addEventListener clearTimeout getComputedStyle hsl matchMedia \
                       requestAnimationFrame setTimeout";
    let mut called: BTreeSet<&str> = BTreeSet::new();
    let mut defined: BTreeSet<&str> = of_browsers.split(' ').collect();
    let script = between(&page, "<script>", "</script>");
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let mut before = "";
    for word in script.split_inclusive(|c| !is_word(c)) {
        let (name, after) = word.split_at(word.trim_end_matches(|c| !is_word(c)).len());
        if before != "." {
            let calls = after == "(" && !name.is_empty();
            if calls {
                called.insert(name)
            } else {
                defined.insert(name)
            };
        }
        before = after;
    }
    assert!(called.len() > 20, "{called:?}");
    assert_eq!(called.difference(&defined).collect::<Vec<_>>(), [] as [&&str; 0]);
}

/// Names that could inject code or control sequences into a page or terminal.
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

#[test]
fn names_stay_text() {
    let folder = scratch::folder("size-names");
    let long = "x".repeat(10_000);
    let names: Vec<&str> = BAD_NAMES.into_iter().chain([long.as_str()]).collect();
    let images = names.iter().enumerate().map(|(number, name)| {
        let strings = ["triple", "arch", "module"].map(|key| (key, *name));
        (StatedKind::OBJECT, OffloadKind::HIP, strings, some_bytes(number, 64))
    });
    // The file itself also has such a name.
    let file = folder.join("<b>&\"'\u{202e}.bin");
    scratch::write(&file, binary(Version::V2, &images.collect::<Vec<_>>()));
    let account = check_sums(&file, &[]);
    for line in ["", "--json", "--by target", "--by module", "--by kernel -n 99"] {
        let run = run(own::offload(&["size"]).args(line.split_whitespace()).arg(&file));
        assert_eq!(run.code, 0, "{}", run.stderr);
        let bad = |c: &char| (c.is_control() && *c != '\n') || ['\u{202e}', '\u{2028}'].contains(c);
        assert_eq!(run.stdout.chars().find(bad), None, "{line}");
    }
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

#[test]
fn the_page_is_whole_or_not_there() {
    let folder = scratch::folder("size-output");
    let out = folder.join("page.html");
    scratch::write(&out, "old");
    let missing = "error: cannot read no/such/file: No such file or directory\n";
    assert_ends(&write("no/such/file", &out), 1, missing);
    assert_eq!(read(&out), b"old");
    let file = "bundle/basic.bc";
    assert_fails(&write(file, &folder), &["cannot write", "Is a directory"]);
    assert_fails(&write(file, &folder.join("no/page.html")), &["cannot write", "No such file"]);
    let full = Path::new("/dev/full");
    if full.exists() {
        let no_room = "error: cannot write /dev/full: No space left on device\n";
        assert_ends(&write(file, full), 1, no_room);
    }
    let names: Vec<_> =
        fs::read_dir(&folder).expect("it is there").flatten().map(|it| it.file_name()).collect();
    assert_eq!(names, ["page.html"]);
    assert_eq!(write(file, &out).code, 0);
    assert!(read(&out).starts_with(b"<!DOCTYPE html>"));
}
