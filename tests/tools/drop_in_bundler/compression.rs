//! Tests of compressed bundles, and of the environment variables that enable compression.

use super::{GFX906, HOST, bundler};
use crate::corpus_bytes;
use offload_tests::data::Random;
use offload_tests::registry::LLVM;
use offload_tests::side_by_side::{Case, Ran, Whose};

offload_tests::tests! {
    LLVM => [
        compressed_bundles,
        environment,
        verbose,
        large_bundles,
        compressed_bundles_that_are_damaged,
    ],
}

fn compress(file_type: &str, rest: &str) -> Case {
    bundler(&format!(
        "-type={file_type} -targets={HOST},{GFX906} -input=host -input=one -output=x {rest}"
    ))
}

/// Returns the content of a bundle, as LLVM's tool unbundles it.
fn unbundled(file_type: &str, bundle: &[u8]) -> Ran {
    let line = format!(
        "-type={file_type} -unbundle -targets={HOST},{GFX906} -input=x -output=h -output=g"
    );
    bundler(&line).file("x", bundle).run(Whose::Llvm)
}

/// Asserts that LLVM's tool finds the same content in the bundles of both tools. Both headers must
/// have the same version, and our bundle may not be larger. Both tools must print the same text,
/// apart from the figures that `without_figures` removes.
fn assert_alike(case: &Case, file_type: &str) -> Ran {
    let (theirs, ours) = case.both();
    assert_eq!(without_figures(&ours.stderr), without_figures(&theirs.stderr));
    assert_eq!((&ours.status, &ours.stdout), (&theirs.status, &theirs.stdout));
    let (their_bundle, our_bundle) = (theirs.file("x"), ours.file("x"));
    assert_eq!(our_bundle[..8], their_bundle[..8], "magic, version and method");
    assert!(
        our_bundle.len() <= their_bundle.len(),
        "{} and {} bytes",
        our_bundle.len(),
        their_bundle.len()
    );
    let (a, b) = (unbundled(file_type, our_bundle), unbundled(file_type, their_bundle));
    assert!(a.succeeded());
    assert_eq!((a.file("h"), a.file("g")), (b.file("h"), b.file("g")));
    ours
}

/// Removes figures that depend on the version of the compression library or on the machine.
fn without_figures(text: &str) -> Vec<String> {
    let varies = ["Total file size", "Binary size after", "rate: ", "ratio: ", "speed: "];
    let name = |line: &str| match varies.iter().find(|part| line.contains(*part)) {
        Some(_) => line.split(": ").next().unwrap_or_default().to_owned(),
        None => line.to_owned(),
    };
    text.lines().map(name).collect()
}

fn compressed_bundles() {
    for file_type in ["bc", "o", "gch", "ii", "s"] {
        for rest in [
            "-compress",
            "-compress -compression-level=9",
            "-compress -compression-level=-5 -bundle-align=64",
        ] {
            assert_alike(&compress(file_type, rest), file_type);
        }
    }
    // Level 0 means the default level, and 22 is the highest level.
    for level in ["0", "22", "100"] {
        assert_alike(&compress("bc", &format!("-compress -compression-level={level}")), "bc");
    }
    // `-compress` has no effect on unbundling.
    let line = format!("-type=bc -compress -unbundle -targets={HOST} -input=x -output=h");
    bundler(&line).file("x", corpus_bytes("bundle/basic.bc")).assert_same();
}

fn environment() {
    let on = compress("bc", "").env("OFFLOAD_BUNDLER_COMPRESS", "1");
    assert_alike(&on, "bc");
    assert_alike(&on.clone().env("COMPRESSED_BUNDLE_FORMAT_VERSION", "2"), "bc");
    assert_alike(&on.clone().env("COMPRESSED_BUNDLE_FORMAT_VERSION", "003"), "bc");
    for wrong in ["4", "0", "abc", "", "2x", "-2"] {
        assert_alike(&on.clone().env("COMPRESSED_BUNDLE_FORMAT_VERSION", wrong), "bc");
    }
    let level = "OFFLOAD_BUNDLER_COMPRESSION_LEVEL";
    for value in ["9", "-3", "zz", "", "9x", " 9"] {
        assert_alike(&on.clone().env(level, value).env("OFFLOAD_BUNDLER_VERBOSE", "1"), "bc");
    }
    let both = compress("bc", "-compression-level=5").env("OFFLOAD_BUNDLER_COMPRESS", "1");
    let said = assert_alike(&both.env(level, "9").env("OFFLOAD_BUNDLER_VERBOSE", "1"), "bc").stderr;
    assert!(said.contains("Compression level: 5\n"), "{said}");
    // Only the value 1 enables compression. Options override the variables, and
    // `OFFLOAD_BUNDLER_IGNORE_ENV_VAR` disables all variables.
    for value in ["true", "", "01", "2"] {
        compress("bc", "").env("OFFLOAD_BUNDLER_COMPRESS", value).assert_same();
        compress("bc", "").env("OFFLOAD_BUNDLER_VERBOSE", value).assert_same();
    }
    compress("bc", "-compress=false").env("OFFLOAD_BUNDLER_COMPRESS", "1").assert_same();
    let ignored = on.env("OFFLOAD_BUNDLER_IGNORE_ENV_VAR", "1").env(level, "zz");
    ignored.env("COMPRESSED_BUNDLE_FORMAT_VERSION", "9").assert_same();
}

fn verbose() {
    assert_alike(&compress("bc", "-compress -verbose"), "bc");
    // These command lines compress nothing, so the messages are identical except for the speed.
    for file in [
        "v2_zstd",
        "v3_zstd",
        "v3_zstd_l9",
        "synthetic_v1_zlib",
        "synthetic_v2_zlib",
        "synthetic_v1_zstd",
    ] {
        let bytes = corpus_bytes(&format!("compressed/{file}.ccob"));
        let (theirs, ours) = bundler("-type=bc -list -verbose -input=x").file("x", bytes).both();
        let exact = |text: &str| -> Vec<String> {
            text.lines().filter(|line| !line.contains("speed: ")).map(str::to_owned).collect()
        };
        assert_eq!(exact(&ours.stderr), exact(&theirs.stderr), "{file}");
    }
    for bytes in
        [corpus_bytes("bundle/basic.bc"), b"1234567".to_vec(), b"12345678".to_vec(), Vec::new()]
    {
        for file_type in ["bc", "o", "ii"] {
            let line = format!(
                "-type={file_type} -verbose -unbundle -allow-missing-bundles -targets={HOST} -input=x"
            );
            bundler(&format!("{line} -output=h")).file("x", bytes.clone()).assert_same();
        }
    }
}

/// Tests bundles that are large enough for threads, and for buffers that small bundles do not use.
fn large_bundles() {
    let host = Random::new(1).bytes(5_000_000);
    let device: Vec<u8> = host.iter().rev().copied().collect();
    let targets = format!("-targets={HOST},{GFX906}");
    let with = |line: &str| bundler(line).file("large", host.clone()).file("other", device.clone());
    for compress in ["", "-compress"] {
        let line = format!("-type=bc {compress} {targets} -input=large -input=other -output=x");
        let bundle = with(&line).run(Whose::Llvm).file("x").to_vec();
        for targets in [targets.clone(), format!("-targets={GFX906},{HOST}")] {
            let line = format!("-type=bc -unbundle {targets} -input=x -output=y -output=z");
            assert!(bundler(&line).file("x", bundle.clone()).assert_same().succeeded());
        }
        for target in [HOST, GFX906] {
            let line = format!("-type=bc -unbundle -targets={target} -input=x -output=y");
            assert!(bundler(&line).file("x", bundle.clone()).assert_same().succeeded());
        }
        if compress.is_empty() {
            assert!(with(&line).assert_same().succeeded());
            continue;
        }
        // The test cuts the bundle short after the first of two entries, and requests both entries.
        // No output may be left.
        let mut cut = bundle[..bundle.len() - 1_000_000].to_vec();
        let size = cut.len() as u64;
        cut[8..16].copy_from_slice(&size.to_le_bytes());
        let line = format!("-type=bc -unbundle {targets} -input=x -output=y -output=z");
        let (theirs, ours) = bundler(&line).file("x", cut).both();
        for ran in [&theirs, &ours] {
            assert!(ran.stderr.contains("error: Failed to decompress input: "), "{}", ran.stderr);
        }
        assert_eq!((ours.status, ours.files), (theirs.status, theirs.files));
    }
}

fn compressed_bundles_that_are_damaged() {
    let good = corpus_bytes("compressed/v3_zstd.ccob");
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        bytes
    };
    let cases = [
        ("header", good[..20].to_vec()),
        ("method", with(6, 7)),
        ("frame", with(32, 0)),
        ("stream", with(40, good[40] ^ 0x55)),
        ("too little room", with(16, 3)),
    ];
    for (what, bytes) in cases {
        for line in ["-list".to_owned(), format!("-unbundle -targets={HOST} -output=y")] {
            let (theirs, ours) =
                bundler(&format!("-type=bc -input=x {line}")).file("x", bytes.clone()).both();
            assert_eq!((&ours.status, &ours.stdout), (&theirs.status, &theirs.stdout), "{what}");
            assert_eq!(ours.files, theirs.files, "{what}");
            assert!(
                ours.stderr
                    .starts_with("clang-offload-bundler: error: Failed to decompress input: "),
                "{what}"
            );
        }
    }
}
