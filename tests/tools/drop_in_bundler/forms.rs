//! Tests that write and read bundles of every type of file.

use super::{GFX906, GFX908, HOST, bundler};
use crate::corpus_bytes;
use offload_tests::registry::LLVM;
use offload_tests::side_by_side::Whose;

offload_tests::tests! {
    LLVM => [
        every_type,
        alignment,
        order_and_hosts,
        targets_without_entries,
        what_is_no_bundle,
        objects,
        commands_for_objects,
        golden_bundles,
    ],
}

/// All types except archives, which are not bundled.
const TYPES: [&str; 11] = ["i", "ii", "cui", "hipi", "d", "ll", "bc", "s", "o", "gch", "ast"];

fn every_type() {
    for file_type in TYPES {
        let line = format!(
            "-type={file_type} -targets={HOST},{GFX906},{GFX908} -input=host -input=one -input=empty -output=x"
        );
        let bundle = bundler(&line).assert_same().file("x").to_vec();
        let line =
            format!("-type={file_type} -unbundle -targets={GFX908},{HOST},{GFX906} -input=x");
        let line = format!("{line} -output=e -output=h -output=o");
        let taken = bundler(&line).file("x", bundle.clone()).assert_same();
        assert_eq!((taken.file("e"), taken.file("h")), (&b""[..], &b"host's own\n"[..]));
        assert_eq!(taken.file("o"), b"code for one\n");
        // LLVM lists entries of the binary form in the order of a hash table, so the test sorts
        // them.
        let (theirs, ours) =
            bundler(&format!("-type={file_type} -list -input=x")).file("x", bundle).both();
        assert_eq!(String::from_utf8_lossy(&ours.stdout), format!("{HOST}\n{GFX906}\n{GFX908}\n"));
        let mut lines: Vec<_> = theirs.stdout.split_inclusive(|byte| *byte == b'\n').collect();
        lines.sort_by_key(|line| !line.starts_with(b"host"));
        lines[1..].sort_unstable();
        assert_eq!(lines.concat(), ours.stdout, "{file_type}");
    }
}

fn alignment() {
    for align in ["1", "2", "3", "7", "8", "16", "100", "4096", "65536"] {
        let line = format!("-type=bc -bundle-align={align} -targets={HOST},{GFX906},{GFX908}");
        bundler(&format!("{line} -input=empty -input=one -input=two -output=x")).assert_same();
    }
    // Text bundles have no alignment.
    bundler(&format!(
        "-type=s -bundle-align=64 -targets={HOST},{GFX906} -input=host -input=one -output=x"
    ))
    .assert_same();
}

fn order_and_hosts() {
    let lines = [
        format!("-type=bc -targets={GFX906},{HOST} -input=one -input=host -output=x"),
        format!("-type=bc -targets={GFX906},{GFX908} -input=one -input=two -output=x"),
        format!("-type=o -targets={GFX906},{GFX908} -input=one -input=two -output=x"),
        format!("-type=bc -targets={HOST} -input=host -output=x"),
        format!("-type=bc -targets={GFX906} -input=/dev/null -output=x"),
        format!(
            "-type=bc -targets={HOST},openmp-nvptx64-nvidia-cuda--sm_70 -input=host -input=one -output=x"
        ),
        // An existing output is replaced.
        format!("-type=bc -targets={HOST},{GFX906} -input=host -input=one -output=two"),
        // An output may also be a device.
        format!("-type=bc -targets={HOST},{GFX906} -input=host -input=one -output=/dev/null"),
    ];
    for line in lines {
        assert!(bundler(&line).assert_same().succeeded(), "{line}");
    }
}

fn targets_without_entries() {
    let bundle = corpus_bytes("bundle/basic.bc");
    let text = corpus_bytes("text_bundle/basic.ii");
    let gfx90a = "hip-amdgcn-amd-amdhsa--gfx90a";
    for (file_type, bytes) in [("bc", bundle), ("ii", text)] {
        let run = |rest: &str| {
            let case = bundler(&format!("-type={file_type} -unbundle -input=x {rest}"))
                .file("x", bytes.clone());
            case.file("old", "what was there").assert_same()
        };
        // If an entry is missing, the tool writes the outputs of the other entries, then prints its
        // message. An existing file stays at the missing entry's output.
        let ran = run(&format!("-targets={HOST},{gfx90a} -output=h -output=old"));
        assert!(!ran.succeeded(), "{file_type}");
        assert_eq!(ran.file("old"), b"what was there");
        run(&format!("-targets={gfx90a},{gfx90a}:xnack+ -output=a -output=b"));
        run(&format!("-targets={gfx90a},openmp-amdgcn-amd-amdhsa--gfx90a -output=a -output=b"));
        run(
            "-targets=hip-amdgcn-amd-amdhsa--gfx90a,hip-amdgcn-amd-amdhsa--gfx90c,hip-amdgcn-amd-amdhsa--gfx942 \
             -output=a -output=b -output=c",
        );
        let ran =
            run(&format!("-allow-missing-bundles -targets={HOST},{gfx90a} -output=h -output=old"));
        assert!(ran.succeeded(), "{file_type}: {}", ran.stderr);
        assert_eq!(ran.file("old"), b"");
        run(&format!("-allow-missing-bundles -targets={gfx90a} -output=a"));
        run(&format!("-targets={GFX906} -output=-"));
        run(&format!("-targets={GFX906} -output=no/a"));
        run(&format!("-targets={GFX908},{GFX906} -output=old -output=old"));
    }
}

fn what_is_no_bundle() {
    for file_type in TYPES {
        for bytes in [&b""[..], b"short", b"some text\nand more of it\n"] {
            let case = |line: &str| {
                bundler(&format!("-type={file_type} -input=x {line}")).file("x", bytes)
            };
            case("-list").assert_same();
            case(&format!("-unbundle -targets={HOST},{GFX906} -output=h -output=g")).assert_same();
            let allowed = case(&format!(
                "-allow-missing-bundles -unbundle -targets={HOST},{GFX906} -output=h -output=g"
            ));
            let ran = allowed.assert_same();
            assert_eq!((ran.file("h"), ran.file("g")), (bytes, &b""[..]));
        }
    }
}

fn objects() {
    for object in ["host.o", "host.obj"] {
        let host = corpus_bytes(&format!("object_bundle/{object}"));
        for line in [
            format!("-targets={HOST},{GFX906} -input=h.o -input=one"),
            format!(
                "-targets={GFX906},{HOST},{GFX908} -input=one -input=h.o -input=empty -bundle-align=64"
            ),
        ] {
            let case = bundler(&format!("-type=o {line} -output=x")).file("h.o", host.clone());
            let bundle = case.assert_same().file("x").to_vec();
            bundler("-type=o -list -input=x").file("x", bundle.clone()).assert_same();
            let line =
                format!("-type=o -unbundle -targets={GFX906},{HOST} -input=x -output=g -output=h");
            bundler(&line).file("x", bundle.clone()).assert_same();
            let line =
                format!("-type=o -unbundle -targets={GFX906},{HOST} -input=x -output=- -output=h");
            bundler(&line).file("x", bundle).assert_same();
        }
        // An object without a bundle is treated as the host's entry.
        let line = format!(
            "-type=o -unbundle -allow-missing-bundles -targets={HOST},{GFX906} -input=x -output=h -output=g"
        );
        assert_eq!(bundler(&line).file("x", host.clone()).assert_same().file("h"), host);
        bundler("-type=o -list -input=x").file("x", host).assert_same();
    }
    // The tools treat neither a truncated object nor an archive as an object: they bundle both in
    // binary form.
    let host = corpus_bytes("object_bundle/host.o");
    for bytes in [host[..100].to_vec(), corpus_bytes("archive/lib.a")] {
        let line = format!("-type=o -targets={HOST},{GFX906} -input=h -input=one -output=x");
        let ran = bundler(&line).file("h", bytes).assert_same();
        assert!(ran.file("x").starts_with(b"__CLANG_OFFLOAD_BUNDLE__"));
    }
}

/// `-###` prints the commands that LLVM's tool would run. The name of its temporary file differs
/// from run to run.
fn commands_for_objects() {
    let without_number = |text: &str| {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("clang-offload-bundler-") {
            out += before;
            rest = after.get(6..).expect("six digits");
        }
        out + rest
    };
    let host = corpus_bytes("object_bundle/host.o");
    let bundle = corpus_bytes("object_bundle/fat.o");
    let cases = [
        bundler(&format!("-type=o -### -targets={HOST},{GFX906} -input=h.o -input=one -output=x"))
            .file("h.o", host),
        bundler(&format!(
            "-type=o -### -unbundle -targets={HOST},{GFX906} -input=b.o -output=h -output=g"
        ))
        .file("b.o", bundle),
    ];
    for case in cases {
        let (theirs, ours) = case.both();
        assert!(ours.stderr.contains("llvm-objcopy\" \"--"), "{}", ours.stderr);
        assert_eq!(without_number(&ours.stderr), without_number(&theirs.stderr));
        assert_eq!(
            (ours.status, ours.stdout, ours.files),
            (theirs.status, theirs.stdout, theirs.files)
        );
    }
    // Types other than `o` need no commands.
    bundler(&format!("-type=bc -### -targets={HOST},{GFX906} -input=host -input=one -output=x"))
        .assert_same();
}

/// Tests with files that LLVM's tools have written.
fn golden_bundles() {
    for (file, file_type) in [
        ("bundle/align7.bc", "bc"),
        ("bundle/devfirst.bc", "gch"),
        ("bundle/nohost.bc", "ast"),
        ("bundle/hipv4_4096.hipfb", "o"),
        ("bundle/hip_dev.hipfb", "o"),
        ("text_bundle/basic.d", "d"),
        ("text_bundle/basic.ll", "ll"),
        ("object_bundle/fat.o", "o"),
        ("object_bundle/fat.obj", "o"),
        ("compressed/v2_zstd.ccob", "bc"),
        ("compressed/v3_zstd.ccob", "bc"),
        ("compressed/v3_zstd_l9.ccob", "o"),
        ("compressed/synthetic_v1_zlib.ccob", "bc"),
        ("compressed/synthetic_v1_zstd.ccob", "bc"),
        ("compressed/synthetic_v2_zlib.ccob", "bc"),
        ("compressed/synthetic_v3_zlib.ccob", "bc"),
        ("compressed/text.ii.ccob", "ii"),
    ] {
        let list =
            bundler(&format!("-type={file_type} -list -input=x")).file("x", corpus_bytes(file));
        let (theirs, ours) = list.both();
        assert_eq!((&ours.status, &ours.stderr), (&theirs.status, &theirs.stderr), "{file}");
        let sorted = |text: &[u8]| {
            let mut lines: Vec<_> =
                String::from_utf8_lossy(text).lines().map(str::to_owned).collect();
            lines.sort_unstable();
            lines
        };
        assert_eq!(sorted(&ours.stdout), sorted(&theirs.stdout), "{file}");
        for id in sorted(&ours.stdout) {
            let line = format!("-type={file_type} -unbundle -targets={id} -input=x -output=y");
            assert!(
                bundler(&line).file("x", corpus_bytes(file)).assert_same().succeeded(),
                "{file}: {id}"
            );
        }
        let ids =
            String::from_utf8_lossy(&list.run(Whose::Ours).stdout).trim_end().replace('\n', ",");
        let outputs: String =
            (0..ids.split(',').count()).map(|index| format!(" -output=y{index}")).collect();
        let line = format!("-type={file_type} -unbundle -targets={ids} -input=x{outputs}");
        bundler(&line).file("x", corpus_bytes(file)).assert_same();
    }
}
