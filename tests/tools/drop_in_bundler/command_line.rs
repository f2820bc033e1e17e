//! Tests of options, their spellings, and messages about invalid ones.

use super::{GFX906, HOST, bundler};
use offload_tests::registry::LLVM;
use offload_tests::side_by_side::{Case, Ran, Whose};
use std::path::Path;

#[test(LLVM.slow())]
fn wrong_options() {
    const WRONG: &str = " | -h | -type | -type= | -type=bc | -type=bc -list | -type=o -bogus=3 | -typ=o | \
        -type=bc -list=maybe | -type=bc -verbose=maybe -list -input=one | -type=bc -list -- one | \
        -type=bc -list -input=one - | -type=bc -list -input=one extra another | \
        -type=bc -list -input=one -bundle-align=-1 | \
        -type=bc -list -input=one -bundle-align=abc | \
        -type=bc -list -input=one -bundle-align=5000000000 | \
        -type=bc -list -input=one -bundle-align | \
        -type=bc -list -input=one -compression-level=x | \
        -type=bc -list -input=one -compression-level=99999999999 | \
        -type=bc -list -input=one -compression-level= | \
        -type=bc -list -input=one -compression-level=0x | --list --type=bc --input | \
        -type=bc -bogus -list=foo extra -input | ---type=bc -list | -type=bc -l | -type=bc -unb | \
        -type=bc -outputss=a | -type=bc -compress-level=3 | -type=bc -bundlealign=3 | \
        -type=bc -unbundle- | -type=bc -lst=3 | -type=bc -zzzzzzzzzzzzzzzzzzzzzzzz | \
        -target=a -type=bc | -type=bc @missing | -list -type=bc -input -list | \
        -list -type=bc -input -- a | -list -type=bc -- -input=a";
    for line in WRONG.split(" | ") {
        bundler(line).assert_same();
    }
    // Both tools treat an empty argument as an unknown one.
    Case::new("clang-offload-bundler", ["-type=bc", ""]).assert_same();
}

#[test(LLVM)]
fn what_may_not_stand_together() {
    let lines = "-list -unbundle=true -input=one | -list -input=one -input=two | \
        -list -input=one -output=x | -list -input=one -targets=HOST | -list=0 -input=one | \
        -input=one -output=x | -targets=HOST -input=one | \
        -targets=HOST -input=one -output=x -output=y | \
        -targets=HOST,GFX906 -input=one -output=x | \
        -targets=HOST,GFX906 -input=host -input=one -input=two -output=x | \
        -targets=HOST,GFX906 -input=host -inputs=one -output=x | \
        -targets=HOST,GFX906 -input=host -input=one -output=x -outputs=y | \
        -targets=HOST,GFX906 -inputs=host,one -outputs=x | \
        -targets=HOST,GFX906 -inputs=host,one -output=x | \
        -targets=HOST,GFX906 -input=host,one -output=x | \
        -targets=HOST,GFX906 -unbundle -input=one -input=two -output=x -output=y | \
        -targets=HOST,GFX906 -unbundle -input=one -output=x | \
        -targets=HOST,GFX906 -unbundle -output=x -output=y | \
        -targets=HOST -check-input-archive -input=one -output=x | \
        -targets=HOST -check-input-archive -unbundle -input=one -output=x | \
        -targets=HOST,GFX906 -input=one -input=two -output=x -list=false -unbundle=0 -compress=FALSE -verbose=False";
    for line in lines.split('|') {
        bundler(&format!("-type=bc {line}")).assert_same();
    }
    bundler("-type=a -targets=HOST -input=one -output=x").assert_same();
}

#[test(LLVM)]
fn spellings() {
    for line in [
        "--type bc --targets HOST,GFX906 --input host --input one --output x",
        "-type=o -type=bc -targets=HOST -targets=GFX906 -input=host --input=one -output=x",
        "-bundle-align=0x10 -type=bc -targets=HOST,GFX906,GFX908 -inputs=host -inputs=one,two -outputs=x",
        "-bundle-align=8 -bundle-align=010 -type=gch -targets=HOST,GFX906 -input=host -input=one -output=x",
        "-bundle-align 0b101 -type ast -targets HOST,GFX906 -input host -input one -output x",
        "-type=bc -list -input two -verbose=",
        "-type bc -list=TRUE -input two -print-options -print-all-options",
        "-type bc -list=1 -input two -compression-level=-3 -hip-openmp-compatible",
    ] {
        bundler(line).assert_same().success();
    }
}

#[test(LLVM)]
fn files_that_cannot_be_opened() {
    let lines = "-type=bc -list -input=missing | -type=zz -list -input=missing | \
        -type=zz -list -input=one | -type= -list -input=one | -type=bc -list -input= | \
        -type=bc -list -input=d | \
        -type=bc -targets=HOST,GFX906 -input=host -input=missing -output=x | \
        -type=zz -targets=HOST,GFX906 -input=host -input=missing -output=x | \
        -type=zz -targets=HOST,GFX906 -input=host -input=one -output=x | \
        -type=hip -targets=HOST,GFX906 -input=host -input=one -output=x | \
        -type=bc -targets=HOST,GFX906 -input=host -input=d -output=x | \
        -type=bc -targets=HOST,GFX906 -input=host -input=one -output=d | \
        -type=bc -targets=HOST,GFX906 -input=host -input=one -output=no/x | \
        -type=bc -targets=HOST,GFX906 -input=host -input=one -output= | \
        -type=zz -targets=HOST,GFX906 -unbundle -input=one -output=x -output=y | \
        -type=bc -targets=HOST,GFX906 -unbundle -input=missing -output=x -output=y | \
        -type=bc -targets=HOST -unbundle -allow-missing-bundles -input=one -output=d | \
        -type=bc -targets=HOST -unbundle -allow-missing-bundles -input=one -output=no/x";
    for line in lines.split('|') {
        bundler(line).file("d/file", "").assert_same().failure("");
    }
}

#[test(LLVM)]
fn standard_input_and_output() {
    for file_type in ["bc", "ii"] {
        let with = |stdin: &[u8], line: &str| {
            bundler(&format!("-type={file_type} -input=- {line}")).stdin(stdin)
        };
        let host = b"what the host has";
        let bundle = with(host, "-targets=HOST,GFX906 -input=one -output=-").assert_same().stdout;
        // If both inputs are standard input, no bytes are left for the second.
        with(host, "-targets=HOST,GFX906 -input=- -output=-").assert_same();
        let device = with(&bundle, "-unbundle -targets=GFX906 -output=-").assert_same();
        assert_eq!(device.stdout, b"code for one\n");
        let listed = with(&bundle, "-list").run(Whose::Ours);
        assert_eq!(listed.printed(), format!("{HOST}\n{GFX906}\n"));
    }
}

/// The help must have LLVM's text, because scripts search it. Our help also lists `--debug-only`,
/// which LLVM's release builds lack.
#[test(LLVM)]
fn help_and_version() {
    let both = |line: &str| {
        let (theirs, ours) = bundler(line).both();
        assert_eq!((&ours.status, &ours.stderr), (&theirs.status, &theirs.stderr), "{line}");
        (theirs, ours)
    };
    for option in
        ["--help", "-help", "--help-hidden", "--help-list", "--help-list-hidden", "-bogus --help"]
    {
        let (theirs, ours) = both(option);
        // In our tool, the two options `--print-…` have no effect, and the help says so. So the
        // lines about these options differ.
        let lines = |ran: &Ran| -> Vec<String> {
            let text = ran.printed();
            let lines = text.lines().filter(|line| !line.starts_with("  --print-"));
            lines.map(|line| line.trim_end().to_owned()).collect()
        };
        let mut ours = lines(&ours);
        let with_it = ours.len();
        ours.retain(|line| !line.trim_start().starts_with("--debug-only"));
        assert_eq!(ours.len() + 1, with_it, "{option}");
        assert_eq!(ours, lines(&theirs), "{option}");
    }
    let with_type = bundler("-type=bc -h").run(Whose::Ours).success();
    assert!(with_type.stdout.starts_with(b"OVERVIEW: "), "no help");
    for option in ["--version", "-bogus -version", "-version -bogus"] {
        let (theirs, ours) = both(option);
        for text in [theirs.printed(), ours.printed()] {
            assert!(text.contains("clang-offload-bundler version 22.1.8"), "{text:?}");
        }
    }
}

const SYSFS: &str = "/sys/devices/system/cpu/online";

fn why_no_sysfs() -> Option<String> {
    (!Path::new(SYSFS).exists()).then(|| format!("there is no {SYSFS}"))
}

#[test(LLVM.ignored_if(why_no_sysfs))]
fn a_file_that_cannot_be_mapped() {
    bundler(&format!("-type=bc -list -input={SYSFS}")).assert_same().success();
}
