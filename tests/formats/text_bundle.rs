//! Our text bundles compared with those of LLVM 22's clang-offload-bundler: the bytes are equal,
//! and each side reads the other's bundles.

use offload_format::ErrorKind;
use offload_format::bundle::WriteError;
use offload_format::text_bundle::{CommentLeader, TextBundle, TextBundleBuilder};
use offload_tests::registry::{LLVM, NOTHING};
use offload_tests::scratch;
use offload_tests::tools::{llvm, stdout, succeed};
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof};
use proptest::test_runner::TestRunner;
use std::fs;
use std::path::Path;

offload_tests::tests! {
    LLVM => [files_of_llvm_are_read, duplicates_are_kept_in_file_order, a_start_line_in_a_payload_is_payload, text_without_entries, entries_without_an_end],
    LLVM.slow() => [random_payloads, every_file_type],
    NOTHING => [ids_are_checked, leaders_are_found, every_truncation, long_files_of_markers],
}

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

/// Returns our text bundle of payloads with the IDs [`IDS`].
fn ours(leader: CommentLeader, payloads: &[Vec<u8>]) -> Vec<u8> {
    let mut builder = TextBundleBuilder::new(leader);
    for (id, payload) in IDS.iter().zip(payloads) {
        builder.entry(id, payload.len() as u64).unwrap();
    }
    builder.layout().to_vec(&payloads.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

/// Returns the IDs and payloads that our reader finds; each payload must be at its entry's offset.
fn read(bytes: &[u8], leader: CommentLeader) -> Vec<(String, Vec<u8>)> {
    let bundle = TextBundle::parse(bytes, leader).unwrap();
    let entries = bundle.entries().map(|entry| {
        assert_eq!(&bytes[entry.offset() as usize..][..entry.payload().len()], entry.payload());
        (entry.id_str().to_owned(), entry.payload().to_vec())
    });
    entries.collect()
}

fn listed(folder: &Path, file_type: &str, file: &str) -> Vec<String> {
    let mut tool = llvm("clang-offload-bundler");
    tool.current_dir(folder).args([
        format!("-type={file_type}"),
        "-list".to_owned(),
        format!("-input={file}"),
    ]);
    stdout(&succeed(&mut tool)).lines().map(str::to_owned).collect()
}

fn unbundled(folder: &Path, file_type: &str, file: &str, ids: &[&str]) -> Vec<Vec<u8>> {
    let mut tool = llvm("clang-offload-bundler");
    tool.current_dir(folder).args([
        format!("-type={file_type}"),
        "-unbundle".to_owned(),
        format!("-input={file}"),
    ]);
    tool.arg(format!("-targets={}", ids.join(",")));
    tool.args((0..ids.len()).map(|number| format!("-output=out{number}")));
    succeed(&mut tool);
    (0..ids.len()).map(|number| fs::read(folder.join(format!("out{number}"))).unwrap()).collect()
}

/// Writes the same bundle with both implementations, and reads each with the other.
fn compare(folder: &Path, file_type: &str, payloads: &[Vec<u8>]) {
    let ids = &IDS[..payloads.len()];
    let mut tool = llvm("clang-offload-bundler");
    tool.current_dir(folder)
        .args([format!("-type={file_type}"), format!("-targets={}", ids.join(","))]);
    for (number, payload) in payloads.iter().enumerate() {
        scratch::write(folder.join(format!("in{number}")), payload);
        tool.arg(format!("-input=in{number}"));
    }
    succeed(tool.arg("-output=theirs"));
    let theirs = fs::read(folder.join("theirs")).unwrap();
    let ours = ours(leader(file_type), payloads);
    assert!(ours == theirs, "{file_type}: {}", String::from_utf8_lossy(&ours));

    let expected: Vec<(String, Vec<u8>)> =
        ids.iter().zip(payloads).map(|(id, payload)| ((*id).to_owned(), payload.clone())).collect();
    assert_eq!(read(&theirs, leader(file_type)), expected, "{file_type}");
    assert_eq!(TextBundle::detect(&theirs), Some(leader(file_type)));
    scratch::write(folder.join("ours"), &ours);
    assert_eq!(listed(folder, file_type, "ours"), ids, "{file_type}");
    assert_eq!(unbundled(folder, file_type, "ours", ids), payloads, "{file_type}");
}

fn every_file_type() {
    let folder = scratch::folder("text-bundle-types");
    let payloads = [
        b"".as_slice(),
        b"\n",
        b"\n\n\n",
        b"no line end",
        b"one line\n",
        b"first\r\nsecond\r\n",
        b"\r",
        b"\0\xff\xfe no text\0\n\0",
        b"__CLANG_OFFLOAD_BUNDLE__",
        // Lines that are nearly END or START lines.
        b"// __CLANG_OFFLOAD_BUNDLE____END__ x\n# __CLANG_OFFLOAD_BUNDLE____END__ x\n; __CLANG_OFFLOAD_BUNDLE____END__ x",
        b"\n//__CLANG_OFFLOAD_BUNDLE____END__ \n#\n;__CLANG_OFFLOAD_BUNDLE____START__ \n/ __CLANG_OFFLOAD_BUNDLE__",
        b"\n// __CLANG_OFFLOAD_BUNDLE__END__ x\n# __CLANG_OFFLOAD_BUNDLE____END__\n; __CLANG_OFFLOAD_BUNDLE____END__",
        b"\n// __CLANG_OFFLOAD_BUNDLE____END__",
    ];
    for file_type in FILE_TYPES {
        // An END line of one file type is not an END line in another type.
        let own_end = end(leader(file_type), "").into_bytes();
        let own_end = &own_end[..own_end.len() - 1];
        let fits =
            |payload: &&&[u8]| !payload.windows(own_end.len()).any(|window| window == own_end);
        let payloads: Vec<Vec<u8>> =
            payloads.iter().filter(fits).map(|payload| payload.to_vec()).collect();
        for three in payloads.windows(3) {
            compare(&folder, file_type, three);
        }
        compare(&folder, file_type, &payloads[..1]);
    }
}

/// Generates text from pieces of markers and line ends, or any bytes.
fn payload() -> impl Strategy<Value = Vec<u8>> {
    let pieces = [
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
        8 => (0..pieces.len()).prop_map(move |at| pieces[at].as_bytes().to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 0..40),
        1 => Just(b"text\n".to_vec()),
    ];
    proptest::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

fn random_payloads() {
    let folder = scratch::folder("text-bundle-random");
    let mut runner = TestRunner::new(ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let strategy = (0..FILE_TYPES.len(), proptest::collection::vec(payload(), 1..=3));
    let result = runner.run(&strategy, |(file_type, payloads)| {
        let marker =
            [start(leader(FILE_TYPES[file_type]), ""), end(leader(FILE_TYPES[file_type]), "")];
        let has = |payload: &Vec<u8>, marker: &String| {
            let marker = marker.trim_end_matches('\n').as_bytes();
            payload.windows(marker.len()).any(|window| window == marker)
        };
        // Another test covers payloads that contain a whole marker.
        let whole = payloads.iter().any(|payload| marker.iter().any(|marker| has(payload, marker)));
        if !whole {
            compare(&folder, FILE_TYPES[file_type], &payloads);
        }
        Ok(())
    });
    result.unwrap();
}

fn corpus() -> impl Iterator<Item = (&'static str, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/text_bundle");
    FILE_TYPES
        .into_iter()
        .map(move |it| (it, fs::read(folder.join(format!("basic.{it}"))).unwrap()))
}

fn files_of_llvm_are_read() {
    let folder = scratch::folder("text-bundle-corpus");
    for (file_type, bytes) in corpus() {
        let (a, b) = ("hip-amdgcn-amd-amdhsa--gfx906", "hip-amdgcn-amd-amdhsa--gfx908");
        let expected =
            [(IDS[0], "host line 1\nhost line 2\n"), (a, "dev1 no trailing newline"), (b, "")];
        let expected = expected.map(|(id, payload)| (id.to_owned(), payload.as_bytes().to_vec()));
        assert_eq!(read(&bytes, leader(file_type)), expected, "{file_type}");
        scratch::write(folder.join("file"), &bytes);
        assert_eq!(listed(&folder, file_type, "file"), expected.clone().map(|(id, _)| id));
        assert_eq!(TextBundle::detect(&bytes), Some(leader(file_type)));
        for other in CommentLeader::ALL.into_iter().filter(|other| *other != leader(file_type)) {
            assert!(read(&bytes, other).is_empty(), "{file_type}");
        }
    }
}

fn duplicates_are_kept_in_file_order() {
    let folder = scratch::folder("text-bundle-duplicates");
    let leader = leader("ii");
    let entry =
        |id: &str, payload: &str| format!("{}{payload}{}", start(leader, id), end(leader, id));
    // The file has text outside entries, and an END line with a different ID.
    let file = [
        "before\n".to_owned(),
        entry(IDS[1], "first"),
        entry(IDS[0], "host"),
        "\nbetween".to_owned(),
    ]
    .concat()
        + &entry(IDS[1], "second")
        + &start(leader, "foo")
        + "third"
        + &end(leader, "bar")
        + "\nbehind\n";
    let found = read(file.as_bytes(), leader);
    let expected = [(IDS[1], "first"), (IDS[0], "host"), (IDS[1], "second"), ("foo", "third")];
    assert_eq!(found, expected.map(|(id, payload)| (id.to_owned(), payload.as_bytes().to_vec())));
    scratch::write(folder.join("file"), &file);
    assert_eq!(listed(&folder, "ii", "file"), expected.map(|(id, _)| id));
    assert_eq!(unbundled(&folder, "ii", "file", &[IDS[1], IDS[0]]), [b"first", b"host".as_slice()]);
    let unknown = TextBundle::parse(file.as_bytes(), leader)
        .unwrap()
        .entries()
        .find(|entry| entry.id().is_err());
    assert_eq!(unknown.unwrap().id_str(), "foo");
}

/// LLVM treats a START line in a payload as an entry while it skips the payload to find another
/// entry, and otherwise as payload.
fn a_start_line_in_a_payload_is_payload() {
    let folder = scratch::folder("text-bundle-nested");
    let leader = leader("s");
    let payload = format!("a{}b", start(leader, IDS[2]));
    let file = ours(leader, &[payload.clone().into_bytes(), b"device".to_vec()]);
    let expected = [
        (IDS[0].to_owned(), payload.clone().into_bytes()),
        (IDS[1].to_owned(), b"device".to_vec()),
    ];
    assert_eq!(read(&file, leader), expected);
    scratch::write(folder.join("file"), &file);
    assert_eq!(listed(&folder, "s", "file"), IDS[..2]);
    assert_eq!(unbundled(&folder, "s", "file", &IDS[..2]), [payload.as_bytes(), b"device"]);
    assert_eq!(unbundled(&folder, "s", "file", &IDS[1..]), [b"device", b"b".as_slice()]);
}

/// A START line needs a line end before it, even at the start of the file.
fn text_without_entries() {
    let folder = scratch::folder("text-bundle-none");
    let leader = leader("ii");
    let at_start = ours(leader, &[b"HH\n".to_vec()])[1..].to_vec();
    for text in [
        b"".to_vec(),
        b"\n".to_vec(),
        b"int main(void) {}\n".to_vec(),
        end(leader, IDS[0]).into_bytes(),
        at_start,
    ] {
        assert_eq!(read(&text, leader), []);
        assert_eq!(TextBundle::detect(&text), None);
        // LLVM's tool gets no empty file: it would report that the file is empty.
        if !text.is_empty() {
            scratch::write(folder.join("file"), &text);
            assert!(listed(&folder, "ii", "file").is_empty());
        }
    }
}

fn entries_without_an_end() {
    let folder = scratch::folder("text-bundle-endless");
    let leader = leader("d");
    let whole = String::from_utf8(ours(leader, &[b"a: b\n".to_vec()])).unwrap();
    let cut = [
        start(leader, IDS[1]),
        start(leader, IDS[1]) + "payload\n",
        start(leader, IDS[1]).trim_end().to_owned(),
        // The END line needs a line end before it: the one at the end of the START line does not
        // count.
        start(leader, IDS[1]) + end(leader, IDS[1]).trim_start(),
        start(leader, IDS[1]) + &end(leader, "").trim_end().replace("END__", "END_"),
    ];
    for rest in cut {
        let file = whole.clone() + &rest;
        let error = TextBundle::parse(file.as_bytes(), leader).unwrap_err();
        assert_eq!(
            (error.kind(), error.offset()),
            (ErrorKind::Malformed, whole.len() as u64),
            "{file}"
        );
        assert!(
            error.to_string().starts_with("entry 1, bundle entry (START without END)"),
            "{error}"
        );
    }
    // LLVM lists an entry without an END line in an endless loop, which this test does not try.
    // When LLVM unbundles the entry, it reads past the end of its memory.
    scratch::write(folder.join("file"), whole + &start(leader, IDS[1]) + "payload\n");
    let mut tool = llvm("clang-offload-bundler");
    tool.current_dir(&folder).args(["-type=d", "-unbundle", "-input=file", "-output=out"]);
    assert!(!tool.arg(format!("-targets={}", IDS[1])).output().unwrap().status.success());
}

fn ids_are_checked() {
    let mut builder = TextBundleBuilder::new(CommentLeader::Hash);
    builder.entry("hip-amdgcn-amd-amdhsa-gfx906", 1).unwrap();
    let error = builder.entry("hip-amdgcn-amd-amdhsa--gfx906", 1).unwrap_err();
    assert_eq!(error, WriteError::Duplicate("hip-amdgcn-amd-amdhsa--gfx906".into()));
    assert!(matches!(
        builder.entry("hip-amdgcn-amd-amdhsa--gfx906:xnack+", 1),
        Err(WriteError::Conflict(..))
    ));
    assert!(matches!(builder.entry("hip", 1), Err(WriteError::Id(_))));
    let file = builder.layout().to_vec(&[b"x"]);
    assert_eq!(
        read(&file, CommentLeader::Hash),
        [("hip-amdgcn-amd-amdhsa--gfx906".to_owned(), b"x".to_vec())]
    );

    // A CR is part of the ID; an ID that is not text is rejected.
    let file = start(CommentLeader::Hash, "id\r") + &end(CommentLeader::Hash, "id");
    assert_eq!(read(file.as_bytes(), CommentLeader::Hash)[0].0, "id\r");
    let mut file = file.into_bytes();
    let at = file.iter().position(|&byte| byte == b'\r').unwrap();
    file[at] = 0xff;
    let error = TextBundle::parse(&file, CommentLeader::Hash).unwrap_err();
    assert_eq!((error.kind(), error.offset()), (ErrorKind::Malformed, at as u64 - 2));
}

fn leaders_are_found() {
    for leader in CommentLeader::ALL {
        let others: String = CommentLeader::ALL
            .into_iter()
            .filter(|other| *other != leader)
            .map(|other| start(other, "id"))
            .collect();
        let file = "text\n# comment\n".to_owned() + &start(leader, "id") + &others;
        assert_eq!(TextBundle::detect(file.as_bytes()), Some(leader));
    }
    for file_type in ["", "bc", "o", "a", "gch", "ast", "hip", "cu", "LL"] {
        assert_eq!(CommentLeader::of_file_type(file_type), None);
    }
}

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
