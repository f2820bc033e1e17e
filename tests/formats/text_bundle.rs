//! Compares our text bundles with those of LLVM 22's clang-offload-bundler: the bytes must be
//! equal, and each side must read the other's bundles.

use crate::properties::check;
use offload_format::ErrorKind;
use offload_format::bundle::WriteError;
use offload_format::text_bundle::{CommentLeader, TextBundle, TextBundleBuilder};
use offload_tests::bundler;
use offload_tests::prelude::*;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::sample::select;

const FILE_TYPES: [&str; 7] = ["i", "ii", "cui", "hipi", "d", "s", "ll"];

const IDS: [&str; 3] = [
    "host-x86_64-unknown-linux-gnu-",
    "hip-amdgcn-amd-amdhsa--gfx906:xnack+",
    "openmp-nvptx64-nvidia-cuda-unknown-sm_70",
];

fn leader(file_type: &str) -> CommentLeader {
    CommentLeader::of_file_type(file_type).expect("a type of text")
}

fn start(leader: CommentLeader, id: &str) -> String {
    format!("\n{} __CLANG_OFFLOAD_BUNDLE____START__ {id}\n", leader.as_str())
}

fn end(leader: CommentLeader, id: &str) -> String {
    format!("\n{} __CLANG_OFFLOAD_BUNDLE____END__ {id}\n", leader.as_str())
}

fn ours(leader: CommentLeader, payloads: &[Vec<u8>]) -> Vec<u8> {
    let mut builder = TextBundleBuilder::new(leader);
    for (id, payload) in IDS.iter().zip(payloads) {
        builder.entry(id, payload.len() as u64).unwrap();
    }
    builder.layout().to_vec(&payloads.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

type Entry = (String, Vec<u8>);

fn owned<T: AsRef<[u8]>>(entries: &[(&str, T)]) -> Vec<Entry> {
    entries.iter().map(|(id, payload)| ((*id).to_owned(), payload.as_ref().to_vec())).collect()
}

/// Returns the IDs and payloads that our reader finds. Each payload must be at its entry's offset.
fn read(bytes: &[u8], leader: CommentLeader) -> Vec<Entry> {
    let bundle = TextBundle::parse(bytes, leader).unwrap();
    let entries = bundle.entries().map(|entry| {
        assert_eq!(&bytes[entry.offset as usize..][..entry.code_object.len()], entry.code_object);
        (entry.id_str.to_owned(), entry.code_object.to_vec())
    });
    entries.collect()
}

/// Writes a file with these bytes, and returns the IDs that LLVM lists for it.
fn listed(folder: &Path, file_type: &str, bytes: &[u8]) -> Vec<String> {
    scratch::write(folder.join("file"), bytes);
    bundler::listed(&format!("-type={file_type}"), &folder.join("file"))
}

/// Writes a file with these bytes, and returns what LLVM extracts for these IDs.
fn unbundled(folder: &Path, file_type: &str, bytes: &[u8], ids: &[&str]) -> Vec<Vec<u8>> {
    scratch::write(folder.join("file"), bytes);
    bundler::unbundled(&format!("-type={file_type}"), &folder.join("file"), ids)
}

/// Writes the same bundle with both implementations, compares the bytes, and reads the bundle.
fn compare(folder: &Path, file_type: &str, payloads: &[Vec<u8>]) {
    let ids = &IDS[..payloads.len()];
    let entries: Vec<_> = ids.iter().copied().zip(payloads).collect();
    let theirs = bundler::bundle(folder, &format!("-type={file_type}"), &entries, "theirs");
    let ours = ours(leader(file_type), payloads);
    assert!(ours == theirs, "{file_type}: {}", String::from_utf8_lossy(&ours));
    assert_eq!(read(&theirs, leader(file_type)), owned(&entries), "{file_type}");
    assert_eq!(TextBundle::detect(&theirs), Some(leader(file_type)));
}

/// Whether a payload contains a line, possibly without a line end.
fn has(payload: &[u8], line: &str) -> bool {
    let line = line.trim_end_matches('\n').as_bytes();
    payload.windows(line.len()).any(|window| window == line)
}

/// Generates payloads from pieces of markers, line ends, and arbitrary bytes.
fn payload() -> impl Strategy<Value = Vec<u8>> {
    const PIECES: &[&str] = &[
        "\n",
        "\r\n",
        "//",
        "#",
        ";",
        " ",
        "\n// ",
        "\n# ",
        "\n; ",
        "__CLANG_OFFLOAD_BUNDLE__",
        "__START__ ",
        "__END__",
        "id",
    ];
    let piece = prop_oneof![
        8 => select(PIECES).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 0..40),
        1 => Just(b"text\n".to_vec()),
        1 => select(&FILE_TYPES[..]).prop_map(|it| start(leader(it), IDS[0]).into_bytes()),
    ];
    proptest::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

#[test(LLVM.slow())]
fn random_payloads() {
    let folder = scratch::folder("text-bundle-random");
    let payloads = proptest::collection::vec(payload(), 1..=3);
    check(160, (select(&FILE_TYPES[..]), payloads), |(file_type, payloads)| {
        let leader = leader(file_type);
        let any_has = |line: String| payloads.iter().any(|payload| has(payload, &line));
        if any_has(end(leader, "")) {
            // An END line ends the payload early, so skip this case.
        } else if any_has(start(leader, "")) {
            // LLVM is inconsistent about START lines in payloads
            // (`a_start_line_in_a_payload_is_payload`).
            let entries: Vec<_> = IDS.into_iter().zip(&payloads).collect();
            assert_eq!(read(&ours(leader, &payloads), leader), owned(&entries));
        } else {
            compare(&folder, file_type, &payloads);
        }
    });
}

fn corpus() -> impl Iterator<Item = (&'static str, Vec<u8>)> {
    FILE_TYPES.into_iter().map(|it| (it, corpus_file(&format!("text_bundle/basic.{it}"))))
}

#[test(LLVM)]
fn duplicates_are_kept_in_file_order() {
    let folder = scratch::folder("text-bundle-duplicates");
    let leader = leader("ii");
    let entry =
        |id: &str, payload: &str| format!("{}{payload}{}", start(leader, id), end(leader, id));
    // The file has text outside entries, and an END line with a different ID.
    let file = [
        "before\n",
        &entry(IDS[1], "first"),
        &entry(IDS[0], "host"),
        "\nbetween",
        &entry(IDS[1], "second"),
        &start(leader, "foo"),
        "third",
        &end(leader, "bar"),
        "\nbehind\n",
    ]
    .concat();
    let expected = [(IDS[1], "first"), (IDS[0], "host"), (IDS[1], "second"), ("foo", "third")];
    assert_eq!(read(file.as_bytes(), leader), owned(&expected));
    assert_eq!(listed(&folder, "ii", file.as_bytes()), expected.map(|(id, _)| id));
    let found = unbundled(&folder, "ii", file.as_bytes(), &[IDS[1], IDS[0]]);
    assert_eq!(found, [b"first", b"host".as_slice()]);
    let mut entries = TextBundle::parse(file.as_bytes(), leader).unwrap().entries();
    assert_eq!(entries.find(|entry| entry.id().is_err()).unwrap().id_str, "foo");
}

/// If LLVM skips an entry because it searches for a different one, it treats a START line in the
/// skipped payload as an entry. Otherwise, it treats the line as payload.
#[test(LLVM)]
fn a_start_line_in_a_payload_is_payload() {
    let folder = scratch::folder("text-bundle-nested");
    let leader = leader("s");
    let payload = format!("a{}b", start(leader, IDS[2]));
    let file = ours(leader, &[payload.clone().into_bytes(), b"device".to_vec()]);
    assert_eq!(read(&file, leader), owned(&[(IDS[0], payload.as_str()), (IDS[1], "device")]));
    assert_eq!(listed(&folder, "s", &file), IDS[..2]);
    let found = |ids| unbundled(&folder, "s", &file, ids);
    assert_eq!(found(&IDS[..2]), [payload.as_bytes(), b"device"]);
    assert_eq!(found(&IDS[1..]), [b"device", b"b".as_slice()]);
}

/// A START line must follow a line end, even at the start of the file.
#[test(LLVM)]
fn text_without_entries() {
    let folder = scratch::folder("text-bundle-none");
    let leader = leader("ii");
    let at_start = ours(leader, &[b"HH\n".to_vec()])[1..].to_vec();
    let end = end(leader, IDS[0]);
    for text in [b"", b"\n".as_slice(), b"int main(void) {}\n", end.as_bytes(), &at_start] {
        assert_eq!(read(text, leader), []);
        assert_eq!(TextBundle::detect(text), None);
        // Skip empty files, because LLVM's tool would report that the file is empty.
        assert!(text.is_empty() || listed(&folder, "ii", text).is_empty());
    }
}

#[test(LLVM)]
fn entries_without_an_end() {
    let folder = scratch::folder("text-bundle-endless");
    let leader = leader("d");
    let whole = String::from_utf8(ours(leader, &[b"a: b\n".to_vec()])).unwrap();
    let cut = [
        start(leader, IDS[1]),
        start(leader, IDS[1]) + "payload\n",
        start(leader, IDS[1]).trim_end().to_owned(),
        // A line end must precede the END line. The line end of the START line does not count.
        start(leader, IDS[1]) + end(leader, IDS[1]).trim_start(),
        start(leader, IDS[1]) + &end(leader, "").trim_end().replace("END__", "END_"),
    ];
    for rest in cut {
        let file = whole.clone() + &rest;
        let error = TextBundle::parse(file.as_bytes(), leader).unwrap_err();
        let found = (error.kind(), error.offset());
        assert_eq!(found, (ErrorKind::Malformed, whole.len() as u64), "{file}");
        let message = "entry 1, bundle entry (START without END)";
        assert!(error.to_string().starts_with(message), "{error}");
    }
    // LLVM's `-list` never ends for an entry without an END line, so this test does not try it.
    // When LLVM unbundles such an entry, it reads past the end of its buffer.
    scratch::write(folder.join("file"), whole + &start(leader, IDS[1]) + "payload\n");
    let options = format!("-type=d -unbundle -input=file -output=out -targets={}", IDS[1]);
    assert!(!succeeds(llvm("clang-offload-bundler"), &folder, &options));
}

#[test]
fn ids_are_checked() {
    let gfx906 = "hip-amdgcn-amd-amdhsa--gfx906";
    let mut builder = TextBundleBuilder::new(CommentLeader::Hash);
    builder.entry("hip-amdgcn-amd-amdhsa-gfx906", 1).unwrap();
    let mut refused = |id: &str| builder.entry(id, 1).unwrap_err();
    assert_eq!(refused(gfx906), WriteError::Duplicate(gfx906.into()));
    assert!(matches!(refused(&format!("{gfx906}:xnack+")), WriteError::Conflict(..)));
    assert!(matches!(refused("hip"), WriteError::Id(_)));
    let file = builder.layout().to_vec(&[b"x"]);
    assert_eq!(read(&file, CommentLeader::Hash), owned(&[(gfx906, "x")]));

    // A CR is part of the ID. An ID that is not text is rejected.
    let file = start(CommentLeader::Hash, "id\r") + &end(CommentLeader::Hash, "id");
    assert_eq!(read(file.as_bytes(), CommentLeader::Hash)[0].0, "id\r");
    let mut file = file.into_bytes();
    let at = file.iter().position(|&byte| byte == b'\r').unwrap();
    file[at] = 0xff;
    let error = TextBundle::parse(&file, CommentLeader::Hash).unwrap_err();
    assert_eq!((error.kind(), error.offset()), (ErrorKind::Malformed, at as u64 - 2));
}

#[test]
fn leaders_are_found() {
    for leader in CommentLeader::ALL {
        let others = CommentLeader::ALL.into_iter().filter(|other| *other != leader);
        let others: String = others.map(|other| start(other, "id")).collect();
        let file = format!("text\n# comment\n{}{others}", start(leader, "id"));
        assert_eq!(TextBundle::detect(file.as_bytes()), Some(leader));
    }
    for file_type in ["", "bc", "o", "a", "gch", "ast", "hip", "cu", "LL"] {
        assert_eq!(CommentLeader::of_file_type(file_type), None);
    }
}

#[test]
fn every_truncation() {
    for (file_type, bytes) in corpus() {
        let whole = read(&bytes, leader(file_type));
        for length in 0..bytes.len() {
            match TextBundle::parse(&bytes[..length], leader(file_type)) {
                Ok(_) => assert!(whole.starts_with(&read(&bytes[..length], leader(file_type)))),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
                    assert!(error.offset() < length as u64, "{error}");
                }
            }
        }
    }
}

/// Tests files that would take hours if a search read the same bytes repeatedly.
#[test]
fn long_files_of_markers() {
    let leader = CommentLeader::Semicolon;
    let starts = start(leader, "id").repeat(1 << 16);
    assert!(TextBundle::parse(starts.as_bytes(), leader).is_err());
    let one = starts.clone() + &end(leader, "id");
    assert_eq!(TextBundle::parse(one.as_bytes(), leader).unwrap().entries().count(), 1);
    let many = (start(leader, "id") + &end(leader, "id")).repeat(1 << 16);
    assert_eq!(TextBundle::parse(many.as_bytes(), leader).unwrap().entries().count(), 1 << 16);
    let line_ends = "\n".repeat(1 << 22) + &starts;
    assert!(TextBundle::parse(line_ends.as_bytes(), leader).is_err());
    assert_eq!(TextBundle::detect(line_ends.as_bytes()), Some(leader));
}
