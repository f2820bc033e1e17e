//! Tests of compressed bundles, and of the variables that enable compression.

use super::{bundler, reading, written};
use crate::containers::with;
use offload_tests::prelude::*;
use offload_tests::side_by_side::{Case, Ran, Whose};

fn compress(file_type: &str, rest: &str) -> Case {
    let line = format!("-type={file_type} -targets=HOST,GFX906 -input=host -input=one -output=x");
    bundler(&format!("{line} {rest}"))
}

/// Checks that LLVM's tool extracts the same files from both tools' bundles, that the headers have
/// the same version, and that our bundle is not larger. Both tools must print the same text, except
/// for the figures that `without_figures` removes.
fn assert_alike(case: &Case, file_type: &str) -> Ran {
    let (theirs, ours) = case.both();
    assert_eq!(without_figures(&ours.stderr), without_figures(&theirs.stderr));
    assert_eq!((&ours.status, &ours.stdout), (&theirs.status, &theirs.stdout));
    let bundles = [ours.file("x"), theirs.file("x")];
    assert_eq!(bundles[0][..8], bundles[1][..8], "magic, version and method");
    let sizes = bundles.map(<[u8]>::len);
    assert!(sizes[0] <= sizes[1], "{sizes:?} bytes");
    let line = format!("-type={file_type} -unbundle -targets=HOST,GFX906 -output=h -output=g");
    let [a, b] = bundles.map(|bundle| reading(bundle, &line).run(Whose::Llvm).success());
    assert_eq!((a.file("h"), a.file("g")), (b.file("h"), b.file("g")));
    ours
}

/// Removes figures that depend on the compression library's version or the machine.
fn without_figures(text: &str) -> Vec<&str> {
    let varies = ["Total file size", "Binary size after", "rate: ", "ratio: ", "speed: "];
    let mut lines: Vec<&str> = text.lines().collect();
    for line in lines.iter_mut().filter(|line| varies.iter().any(|part| line.contains(part))) {
        *line = line.split(": ").next().unwrap_or_default();
    }
    lines
}

#[test(LLVM.slow())]
fn compressed_bundles() {
    for file_type in ["bc", "o", "gch", "ii", "s"] {
        for rest in ["", "-compression-level=9", "-compression-level=-5 -bundle-align=64"] {
            assert_alike(&compress(file_type, &format!("-compress {rest}")), file_type);
        }
    }
    // Level 0 means the default level, and 22 is the highest level.
    for level in ["0", "22", "100"] {
        assert_alike(&compress("bc", &format!("-compress -compression-level={level}")), "bc");
    }
    // `-compress` has no effect on unbundling.
    let line = "-type=bc -compress -unbundle -targets=HOST -output=h";
    reading(corpus_file("bundle/basic.bc"), line).assert_same();
}

#[test(LLVM.slow())]
fn environment() {
    const ON: (&str, &str) = ("OFFLOAD_BUNDLER_COMPRESS", "1");
    const VERBOSE: (&str, &str) = ("OFFLOAD_BUNDLER_VERBOSE", "1");
    const VERSION: &str = "COMPRESSED_BUNDLE_FORMAT_VERSION";
    const LEVEL: &str = "OFFLOAD_BUNDLER_COMPRESSION_LEVEL";
    let case = |rest: &str, variables: &[(&str, &str)]| {
        variables.iter().fold(compress("bc", rest), |case, (name, value)| case.env(name, value))
    };
    assert_alike(&case("", &[ON]), "bc");
    for version in ["2", "003", "4", "0", "abc", "", "2x", "-2", "+2", "65535", "65536"] {
        assert_alike(&case("", &[ON, (VERSION, version)]), "bc");
    }
    for level in ["9", "-3", "zz", "", "9x", " 9", "+3"] {
        assert_alike(&case("", &[ON, VERBOSE, (LEVEL, level)]), "bc");
    }
    let both = case("-compression-level=5", &[ON, VERBOSE, (LEVEL, "9")]);
    let said = assert_alike(&both, "bc").stderr;
    assert!(said.contains("Compression level: 5\n"), "{said}");
    // Only the value 1 enables compression. Options override the variables, and
    // `OFFLOAD_BUNDLER_IGNORE_ENV_VAR` disables all variables.
    for value in ["true", "", "01", "2"] {
        case("", &[(ON.0, value)]).assert_same();
        case("", &[(VERBOSE.0, value)]).assert_same();
    }
    case("-compress=false", &[ON]).assert_same();
    let ignore = ("OFFLOAD_BUNDLER_IGNORE_ENV_VAR", "1");
    case("", &[ON, ignore, (LEVEL, "zz"), (VERSION, "9")]).assert_same();
}

#[test(LLVM)]
fn verbose() {
    assert_alike(&compress("bc", "-compress -verbose"), "bc");
    // These command lines do not compress anything, so only the speeds in the messages may differ.
    let files = "v2_zstd v3_zstd v3_zstd_l9 synthetic_v1_zlib synthetic_v2_zlib synthetic_v1_zstd";
    for file in files.split(' ') {
        let bytes = corpus_file(&format!("compressed/{file}.ccob"));
        let (theirs, ours) = reading(bytes, "-type=bc -list -verbose").both();
        let [ours, theirs] = [&ours, &theirs].map(|ran| {
            ran.stderr.lines().filter(|line| !line.contains("speed: ")).collect::<Vec<_>>()
        });
        assert_eq!(ours, theirs, "{file}");
    }
    let basic = corpus_file("bundle/basic.bc");
    for bytes in [&basic[..], b"1234567", b"12345678", b""] {
        for file_type in ["bc", "o", "ii"] {
            let line = "-verbose -unbundle -allow-missing-bundles -targets=HOST -output=h";
            reading(bytes, &format!("-type={file_type} {line}")).assert_same();
        }
    }
}

/// Tests bundles that are so large that our tool uses threads and large buffers.
#[test(LLVM.slow())]
fn large_bundles() {
    let host = Random::new(1).bytes(5_000_000);
    let device: Vec<u8> = host.iter().rev().copied().collect();
    for compress in ["", "-compress"] {
        let line = "-targets=HOST,GFX906 -input=large -input=other -output=x";
        let case = bundler(&format!("-type=bc {compress} {line}"));
        let case = case.file("large", host.clone()).file("other", device.clone());
        let bundle = written(&case);
        for targets in [
            "HOST,GFX906 -output=y -output=z",
            "GFX906,HOST -output=y -output=z",
            "HOST -output=y",
            "GFX906 -output=y",
        ] {
            let line = format!("-type=bc -unbundle -targets={targets}");
            reading(bundle.clone(), &line).assert_same().success();
        }
        if compress.is_empty() {
            case.assert_same().success();
            continue;
        }
        // Cut the bundle after the first of two entries, and request both entries: no output may
        // remain.
        let cut = &bundle[..bundle.len() - 1_000_000];
        let cut = with(cut, 8, &(cut.len() as u64).to_le_bytes());
        let line = "-type=bc -unbundle -targets=HOST,GFX906 -output=y -output=z";
        let (theirs, ours) = reading(cut, line).both();
        let [theirs, ours] = [theirs, ours].map(|ran| ran.failure(DAMAGED));
        assert_eq!(ours.files, theirs.files);
    }
}

const DAMAGED: &str = "error: Failed to decompress input: ";

#[test(LLVM)]
fn compressed_bundles_that_are_damaged() {
    let good = corpus_file("compressed/v3_zstd.ccob");
    for (what, bytes) in [
        ("header", good[..20].to_vec()),
        ("method", with(&good, 6, &[7])),
        ("frame", with(&good, 32, &[0])),
        ("stream", with(&good, 40, &[good[40] ^ 0x55])),
        ("too little room", with(&good, 16, &[3])),
    ] {
        for line in ["-list", "-unbundle -targets=HOST -output=y"] {
            let (theirs, ours) = reading(bytes.clone(), &format!("-type=bc {line}")).both();
            assert_eq!((&ours.status, &ours.stdout), (&theirs.status, &theirs.stdout), "{what}");
            assert_eq!(ours.files, theirs.files, "{what}");
            let message = format!("clang-offload-bundler: {DAMAGED}");
            assert!(ours.stderr.starts_with(&message), "{what}: {}", ours.stderr);
        }
    }
}
