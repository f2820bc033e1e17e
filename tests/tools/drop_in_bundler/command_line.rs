//! Tests of options, their spellings, and the messages about wrong ones.

use super::{GFX906, GFX908, HOST, bundler};
use offload_tests::registry::LLVM;
use offload_tests::side_by_side::{Case, Whose};

offload_tests::tests! {
    LLVM => [
        wrong_options,
        what_may_not_stand_together,
        spellings,
        response_files,
        files_that_cannot_be_opened,
        standard_input_and_output,
        help_and_version,
    ],
}

fn wrong_options() {
    let lines = [
        "",
        "-h",
        "-type",
        "-type=",
        "-type=bc",
        "-type=bc -list",
        "-type=o -bogus=3",
        "-typ=o",
        "-type=bc -list=maybe",
        "-type=bc -verbose=maybe -list -input=one",
        "-type=bc -list -- one",
        "-type=bc -list -input=one -",
        "-type=bc -list -input=one extra another",
        "-type=bc -list -input=one -bundle-align=-1",
        "-type=bc -list -input=one -bundle-align=abc",
        "-type=bc -list -input=one -bundle-align=5000000000",
        "-type=bc -list -input=one -bundle-align",
        "-type=bc -list -input=one -compression-level=x",
        "-type=bc -list -input=one -compression-level=99999999999",
        "-type=bc -list -input=one -compression-level=",
        "-type=bc -list -input=one -compression-level=0x",
        "--list --type=bc --input",
        "-type=bc -bogus -list=foo extra -input",
        "---type=bc -list",
        "-type=bc -l",
        "-type=bc -unb",
        "-type=bc -outputss=a",
        "-type=bc -compress-level=3",
        "-type=bc -bundlealign=3",
        "-type=bc -unbundle-",
        "-type=bc -lst=3",
        "-type=bc -zzzzzzzzzzzzzzzzzzzzzzzz",
        "-target=a -type=bc",
        "-type=bc @missing",
        "-list -type=bc -input -list",
        "-list -type=bc -input -- a",
        "-list -type=bc -- -input=a",
    ];
    for line in lines {
        bundler(line).assert_same();
    }
    // Both tools report an empty argument as unknown.
    Case::new("clang-offload-bundler", ["-type=bc", ""]).assert_same();
}

fn what_may_not_stand_together() {
    let (host, gpu) =
        (format!("-type=bc -targets={HOST}"), format!("-type=bc -targets={HOST},{GFX906}"));
    let lines = [
        "-type=bc -list -unbundle=true -input=one".to_owned(),
        "-type=bc -list -input=one -input=two".into(),
        "-type=bc -list -input=one -output=x".into(),
        format!("-type=bc -list -input=one -targets={HOST}"),
        "-type=bc -list=0 -input=one".into(),
        "-type=bc -input=one -output=x".into(),
        format!("{host} -input=one"),
        format!("{host} -input=one -output=x -output=y"),
        format!("{gpu} -input=one -output=x"),
        format!("{gpu} -input=host -input=one -input=two -output=x"),
        format!("{gpu} -input=host -inputs=one -output=x"),
        format!("{gpu} -input=host -input=one -output=x -outputs=y"),
        format!("{gpu} -inputs=host,one -outputs=x"),
        format!("{gpu} -inputs=host,one -output=x"),
        format!("{gpu} -input=host,one -output=x"),
        format!("{gpu} -unbundle -input=one -input=two -output=x -output=y"),
        format!("{gpu} -unbundle -input=one -output=x"),
        format!("{gpu} -unbundle -output=x -output=y"),
        format!("{host} -check-input-archive -input=one -output=x"),
        format!("{host} -check-input-archive -unbundle -input=one -output=x"),
        format!("-type=a -targets={HOST} -input=one -output=x"),
        format!(
            "{gpu} -input=one -input=two -output=x -list=false -unbundle=0 -compress=FALSE -verbose=False"
        ),
    ];
    for line in lines {
        bundler(&line).assert_same();
    }
}

fn spellings() {
    let lines = [
        format!("--type bc --targets {HOST},{GFX906} --input host --input one --output x"),
        format!(
            "-type=o -type=bc -targets={HOST} -targets={GFX906} -input=host --input=one -output=x"
        ),
        format!(
            "-bundle-align=0x10 -type=bc -targets={HOST},{GFX906},{GFX908} -inputs=host -inputs=one,two -outputs=x"
        ),
        format!(
            "-bundle-align=8 -bundle-align=010 -type=gch -targets={HOST},{GFX906} -input=host -input=one -output=x"
        ),
        format!(
            "-bundle-align 0b101 -type ast -targets {HOST},{GFX906} -input host -input one -output x"
        ),
        "-type=bc -list -input two -verbose=".into(),
        "-type bc -list=TRUE -input two -print-options -print-all-options".into(),
        "-type bc -list=1 -input two -compression-level=-3 -hip-openmp-compatible".into(),
    ];
    for line in lines {
        assert!(bundler(&line).assert_same().succeeded(), "{line}");
    }
}

fn response_files() {
    let quoted = "-type=bc -list \"-input=a b\" '-verbose'\n\\-compress";
    assert!(bundler("@r").file("r", quoted).file("a b", "0123456789").assert_same().succeeded());
    let nested = bundler("@r").file("r", "-type=bc\n-list\t@s").file("s", "-input=one");
    assert!(nested.assert_same().succeeded());
    // If a response file names another one, the tool searches for it in the working folder, not
    // beside the first file.
    assert!(
        !bundler("@d/r")
            .file("d/r", "-type=bc -list @s")
            .file("d/s", "-input=one")
            .assert_same()
            .succeeded()
    );
}

fn files_that_cannot_be_opened() {
    let gpu = format!("-targets={HOST},{GFX906}");
    let lines = [
        "-type=bc -list -input=missing".to_owned(),
        "-type=zz -list -input=missing".into(),
        "-type=zz -list -input=one".into(),
        "-type= -list -input=one".into(),
        "-type=bc -list -input=".into(),
        "-type=bc -list -input=d".into(),
        format!("-type=bc {gpu} -input=host -input=missing -output=x"),
        format!("-type=zz {gpu} -input=host -input=missing -output=x"),
        format!("-type=zz {gpu} -input=host -input=one -output=x"),
        format!("-type=hip {gpu} -input=host -input=one -output=x"),
        format!("-type=bc {gpu} -input=host -input=d -output=x"),
        format!("-type=bc {gpu} -input=host -input=one -output=d"),
        format!("-type=bc {gpu} -input=host -input=one -output=no/x"),
        format!("-type=bc {gpu} -input=host -input=one -output="),
        format!("-type=zz {gpu} -unbundle -input=one -output=x -output=y"),
        format!("-type=bc {gpu} -unbundle -input=missing -output=x -output=y"),
        format!("-type=bc -targets={HOST} -unbundle -allow-missing-bundles -input=one -output=d"),
        format!(
            "-type=bc -targets={HOST} -unbundle -allow-missing-bundles -input=one -output=no/x"
        ),
    ];
    for line in lines {
        assert!(!bundler(&line).file("d/file", "").assert_same().succeeded(), "{line}");
    }
}

fn standard_input_and_output() {
    for file_type in ["bc", "ii"] {
        let line =
            format!("-type={file_type} -targets={HOST},{GFX906} -input=- -input=one -output=-");
        let written = bundler(&line).stdin("what the host has").assert_same().stdout;
        // If both inputs are standard input, the second has no bytes left to read.
        let line =
            format!("-type={file_type} -targets={HOST},{GFX906} -input=- -input=- -output=-");
        bundler(&line).stdin("what the host has").assert_same();
        let line = format!("-type={file_type} -unbundle -targets={GFX906} -input=- -output=-");
        assert_eq!(bundler(&line).stdin(written.clone()).assert_same().stdout, b"code for one\n");
        let listed =
            bundler(&format!("-type={file_type} -list -input=-")).stdin(written).run(Whose::Ours);
        assert_eq!(String::from_utf8_lossy(&listed.stdout), format!("{HOST}\n{GFX906}\n"));
    }
}

/// The help has LLVM's text, which scripts search for. It also has `--debug-only`, which LLVM's
/// release builds leave out.
fn help_and_version() {
    for option in
        ["--help", "-help", "--help-hidden", "--help-list", "--help-list-hidden", "-bogus --help"]
    {
        let (theirs, ours) = bundler(option).both();
        let lines = |text: &[u8]| -> Vec<String> {
            String::from_utf8_lossy(text).lines().map(|line| line.trim_end().to_owned()).collect()
        };
        let mut ours_lines = lines(&ours.stdout);
        let with_it = ours_lines.len();
        ours_lines.retain(|line| !line.trim_start().starts_with("--debug-only"));
        assert_eq!(ours_lines.len() + 1, with_it, "{option}");
        // The two options `--print-…` have no effect in our tool, and its help does not promise
        // any. So the lines about them differ.
        let mut their_lines = lines(&theirs.stdout);
        for lines in [&mut ours_lines, &mut their_lines] {
            lines.retain(|line| !line.starts_with("  --print-"));
        }
        assert_eq!(ours_lines, their_lines, "{option}");
        assert_eq!((&ours.status, &ours.stderr), (&theirs.status, &theirs.stderr), "{option}");
    }
    let with_type = bundler("-type=bc -h").run(Whose::Ours);
    assert!(with_type.succeeded(), "{}", with_type.stderr);
    assert!(with_type.stdout.starts_with(b"OVERVIEW: "), "no help");
    for option in ["--version", "-bogus -version", "-version -bogus"] {
        let (theirs, ours) = bundler(option).both();
        assert_eq!((&ours.status, &ours.stderr), (&theirs.status, &theirs.stderr), "{option}");
        let version = "clang-offload-bundler version 22.1.8";
        for text in [theirs.stdout, ours.stdout] {
            assert!(String::from_utf8_lossy(&text).contains(version), "{text:?}");
        }
    }
}
