//! Tests of writing and reading bundles of every file type.

use super::{GFX906, GFX908, HOST, bundler, reading};
use offload_tests::prelude::*;
use offload_tests::side_by_side::Ran;

/// All types except archives, which cannot be bundled.
const TYPES: [&str; 11] = ["i", "ii", "cui", "hipi", "d", "ll", "bc", "s", "o", "gch", "ast"];

fn sorted(ran: &Ran) -> Vec<String> {
    let mut lines: Vec<_> = ran.printed().lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

#[test(LLVM.slow())]
fn every_type() {
    for file_type in TYPES {
        let line = format!("-type={file_type} -targets=HOST,GFX906,GFX908 -input=host -input=one");
        let bundle = bundler(&format!("{line} -input=empty -output=x")).assert_same();
        let bundle = bundle.file("x");
        let line = format!("-type={file_type} -unbundle -targets=GFX908,HOST,GFX906");
        let taken = reading(bundle, &format!("{line} -output=e -output=h -output=o")).assert_same();
        assert_eq!((taken.file("e"), taken.file("h")), (&b""[..], &b"host's own\n"[..]));
        assert_eq!(taken.file("o"), b"code for one\n");
        // LLVM lists a binary bundle's entries in hash table order, so sort them.
        let (theirs, ours) = reading(bundle, &format!("-type={file_type} -list")).both();
        assert_eq!(ours.printed(), format!("{HOST}\n{GFX906}\n{GFX908}\n"));
        assert_eq!(sorted(&ours), sorted(&theirs), "{file_type}");
    }
}

#[test(LLVM)]
fn order_and_hosts() {
    for line in [
        "-type=bc -targets=GFX906,HOST -input=one -input=host -output=x",
        "-type=bc -targets=GFX906,GFX908 -input=one -input=two -output=x",
        "-type=o -targets=GFX906,GFX908 -input=one -input=two -output=x",
        "-type=bc -targets=HOST -input=host -output=x",
        "-type=bc -targets=GFX906 -input=/dev/null -output=x",
        "-type=bc -targets=HOST,openmp-nvptx64-nvidia-cuda--sm_70 -input=host -input=one -output=x",
        "-type=bc -bundle-align=65536 -targets=HOST,GFX906 -input=empty -input=one -output=x",
        // Text bundles have no alignment.
        "-type=s -bundle-align=64 -targets=HOST,GFX906 -input=host -input=one -output=x",
        // An existing output must be replaced.
        "-type=bc -targets=HOST,GFX906 -input=host -input=one -output=two",
        // An output may also be a device.
        "-type=bc -targets=HOST,GFX906 -input=host -input=one -output=/dev/null",
    ] {
        bundler(line).assert_same().success();
    }
}

#[test(LLVM)]
fn targets_without_entries() {
    for (file_type, file) in [("bc", "bundle/basic.bc"), ("ii", "text_bundle/basic.ii")] {
        let run = |rest: &str| {
            let rest = rest.replace("HIP", "hip-amdgcn-amd-amdhsa-");
            let case = reading(corpus_file(file), &format!("-type={file_type} -unbundle {rest}"));
            case.file("old", "what was there").assert_same()
        };
        // If an entry is missing, the tool writes the other outputs, then prints a message. If a
        // file exists under the name of the missing entry's output, it stays unchanged.
        let ran = run("-targets=HOST,HIP-gfx90a -output=h -output=old").failure("");
        assert_eq!(ran.file("old"), b"what was there");
        run("-targets=HIP-gfx90a,HIP-gfx90a:xnack+ -output=a -output=b");
        run("-targets=HIP-gfx90a,openmp-amdgcn-amd-amdhsa--gfx90a -output=a -output=b");
        run("-targets=HIP-gfx90a,HIP-gfx90c,HIP-gfx942 -output=a -output=b -output=c");
        let allowed = "-allow-missing-bundles -targets=HOST,HIP-gfx90a -output=h -output=old";
        assert_eq!(run(allowed).success().file("old"), b"");
        run("-allow-missing-bundles -targets=HIP-gfx90a -output=a");
        // Both requested IDs differ from the entry's ID, but the entry fits them.
        run("-targets=hipv4-amdgcn-amd-amdhsa--gfx906:xnack+ -output=a").success();
        let openmp = "-targets=openmp-amdgcn-amd-amdhsa--gfx906 -output=a";
        run(&format!("-hip-openmp-compatible {openmp}")).success();
        run(openmp).failure("");
        run("-targets=GFX906 -output=-");
        run("-targets=GFX906 -output=no/a");
        run("-targets=GFX908,GFX906 -output=old -output=old");
    }
}

#[test(LLVM.slow())]
fn what_is_no_bundle() {
    for file_type in TYPES {
        for bytes in [&b""[..], b"short", b"some text\nand more of it\n"] {
            let unbundle = "-unbundle -targets=HOST,GFX906 -output=h -output=g";
            let run =
                |line: &str| reading(bytes, &format!("-type={file_type} {line}")).assert_same();
            run("-list");
            run(unbundle);
            let ran = run(&format!("-allow-missing-bundles {unbundle}"));
            assert_eq!((ran.file("h"), ran.file("g")), (bytes, &b""[..]));
        }
    }
}

#[test(LLVM.slow())]
fn objects() {
    let unbundle = "-type=o -unbundle -targets=GFX906,HOST";
    for object in ["host.o", "host.obj"] {
        let host = corpus_file(&format!("object_bundle/{object}"));
        for line in [
            "-targets=HOST,GFX906 -input=h.o -input=one",
            "-targets=GFX906,HOST,GFX908 -input=one -input=h.o -input=empty -bundle-align=64",
        ] {
            let case = bundler(&format!("-type=o {line} -output=x")).file("h.o", host.clone());
            let ran = case.assert_same();
            for line in [
                "-type=o -list",
                &format!("{unbundle} -output=g -output=h"),
                &format!("{unbundle} -output=- -output=h"),
            ] {
                reading(ran.file("x"), line).assert_same();
            }
        }
        // The tools treat an object without a bundle as the host's entry.
        let line = format!("{unbundle} -allow-missing-bundles -output=g -output=h");
        assert_eq!(reading(host.clone(), &line).assert_same().file("h"), host);
        reading(host, "-type=o -list").assert_same();
    }
    // The tools recognize neither a truncated object nor an archive as an object, so they bundle
    // them in binary form.
    let host = corpus_file("object_bundle/host.o");
    for bytes in [host[..100].to_vec(), corpus_file("archive/lib.a")] {
        let line = "-type=o -targets=HOST,GFX906 -input=h -input=one -output=x";
        let ran = bundler(line).file("h", bytes).assert_same();
        assert!(ran.file("x").starts_with(b"__CLANG_OFFLOAD_BUNDLE__"));
    }
}

/// `-###` prints the commands that LLVM's tool would run. The name of a temporary file in them
/// differs from run to run.
#[test(LLVM)]
fn commands_for_objects() {
    // Six digits follow the constant part of the name.
    let without_number = |text: &str| -> String {
        let mut parts = text.split("clang-offload-bundler-");
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |all, part| all + part.get(6..).expect("six digits"))
    };
    for (object, line) in [
        ("host.o", "-targets=HOST,GFX906 -input=x -input=one -output=y"),
        ("fat.o", "-unbundle -targets=HOST,GFX906 -input=x -output=h -output=g"),
    ] {
        let case = bundler(&format!("-type=o -### {line}"));
        let object = corpus_file(&format!("object_bundle/{object}"));
        let (theirs, ours) = case.file("x", object).both();
        assert!(ours.stderr.contains("llvm-objcopy\" \"--"), "{}", ours.stderr);
        assert_eq!(without_number(&ours.stderr), without_number(&theirs.stderr));
        let rest = |ran: Ran| (ran.status, ran.stdout, ran.files);
        assert_eq!(rest(ours), rest(theirs));
    }
    // Types other than `o` need no commands.
    let line = "-type=bc -### -targets=HOST,GFX906 -input=host -input=one -output=x";
    bundler(line).assert_same();
}

/// Tests reading files that LLVM's tools wrote.
#[test(LLVM.slow())]
fn golden_bundles() {
    // The tools differ for files with several bundles, and for IDs with three fields
    // (`differences`).
    const DIFFERENT: [&str; 4] = ["concat.bc", "concat_padded.ccob", "nvptx4.bc", "threefield.bc"];
    let folders = ["bundle", "text_bundle", "object_bundle", "compressed"];
    let is_same = |file: &PathBuf| !DIFFERENT.iter().any(|name| file.ends_with(name));
    for file in folders.into_iter().flat_map(corpus).filter(is_same) {
        let file_type = match file.extension().and_then(OsStr::to_str).unwrap_or_default() {
            "o" | "obj" | "hipfb" => "o",
            "ccob" if file.ends_with("text.ii.ccob") => "ii",
            "ccob" => "bc",
            other => other,
        };
        let case = |line: &str| reading(read(&file), &format!("-type={file_type} {line}"));
        let file = file.display();
        let (theirs, ours) = case("-list").both();
        assert_eq!((&ours.status, &ours.stderr), (&theirs.status, &theirs.stderr), "{file}");
        assert_eq!(sorted(&ours), sorted(&theirs), "{file}");
        for id in sorted(&ours) {
            case(&format!("-unbundle -targets={id} -output=y")).assert_same().success();
        }
        let ids = ours.printed().trim_end().replace('\n', ",");
        let outputs: String =
            (0..ids.split(',').count()).map(|index| format!(" -output=y{index}")).collect();
        case(&format!("-unbundle -targets={ids}{outputs}")).assert_same();
    }
}
