//! Tests of options and their spellings, response files, the help, and the name of the called tool.

use super::{TOOL, assert_fails, case, case_of};
use offload_tests::registry::LLVM;
use offload_tests::side_by_side::Case;
use offload_tests::tools::llvm_bin;
use offload_tests::{own, scratch};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

offload_tests::tests! {
    LLVM => [
        spellings_of_options,
        messages_about_the_command_line,
        misspelled_options,
        response_files,
        help_and_version,
        the_old_name,
        options_of_libraries,
        arguments_that_are_no_text,
    ],
}

fn spellings_of_options() {
    let image = "file=one.o,triple=amdgcn-amd-amdhsa";
    for arguments in [
        &["-o", "out", "--image", image][..],
        &["-o", "out", "-image", image],
        &["--o", "out", "-image", image],
        &["-o=out", &format!("-image={image}")],
        &["--o=out", &format!("--image={image}")],
        &["-o", "first", "-o", "out", "--image", image],
        &["--image", image, "--image", image, "-o", "out"],
        &["--archive", "-o", "out", "--image", image],
        &["-archive=false", "--archive=TRUE", "-o", "out", "--image", image],
        &["--archive=1", "--archive=0", "-o", "out", "--image", image],
        &["--image", image, "-o", "out", ""],
        &["-o", "out", "--image", image, "--"],
        &["-o", "--image", "--image", image],
        &["-o", "a=b", "--image", image],
        &["-o=", "-o", "out", "--image", image],
        &["--print-options=0", "-o", "out"],
    ] {
        assert!(case(arguments).assert_same().succeeded(), "{arguments:?}");
    }
}

fn messages_about_the_command_line() {
    let exclusive = "llvm-offload-binary: error: Packaging to an output file and extracting from an input file are \
                     mutually exclusive.\n";
    assert_fails(&case(&["one.o", "-o", "out"]), exclusive);
    assert_fails(&case(&["-o", "out", "--image=file=none", "none"]), exclusive);
    let surplus = "llvm-offload-binary: Too many positional arguments specified!\n\
                   Can specify at most 1 positional arguments: See: llvm-offload-binary --help\n";
    assert_fails(&case(&["one.o", "two.cubin"]), surplus);
    assert_fails(&case(&["one.o", "two.cubin", "three.s", "-o", "x"]), surplus);
    for arguments in [
        &["-o"][..],
        &["--image"],
        &["-o", "out", "--image"],
        &["-ofile"],
        &["-oout", "--image=file=one.o"],
        &["--offload"],
        &["-x"],
        &["-bogus"],
        &["--imag=x"],
        &["--images", "file=one.o"],
        &["--archiv"],
        &["--archive=maybe"],
        &["--archive=2"],
        &["--vers"],
        &["--hel"],
        &["--halp=3"],
        &["-a"],
        &["---o", "x"],
        &["-=x"],
        &["--=x"],
        &["-i", "x", "-o"],
        &["--bogus", "--image", "-o"],
        &["one.o", "two.cubin", "--bogus", "--archive=x"],
        &["-", "-"],
        &["--", "-o", "x"],
        &["--", "--image=file=one.o"],
    ] {
        let ran = case(arguments).assert_same();
        assert!(!ran.succeeded(), "{arguments:?}");
    }
}

/// Tests groups of one-letter options (only `-o` and `-h` exist), and the suggestions for
/// misspelled options.
fn misspelled_options() {
    for argument in [
        "-h=x",
        "-h=1=2",
        "-hox",
        "-hoh",
        "-ha",
        "-halp",
        "-oh",
        "-ooo=x",
        "--halp",
        "--halp=3",
        "--hlp=3",
        "--hell=3",
        "--hel=3",
        "--versio=3",
        "--archve=1",
        "--imge=",
        "-g",
        "-p",
        "--g=1",
        "--gg",
        "--helq",
        "--hexp",
        "--hi",
        "-ab",
        "--xx",
        "--arc",
        "--i",
        "--abcdefgh",
        "--print-option",
        "--print-option=",
        "--print-all-option=2",
        "--help-lis",
        "--help-hid",
        "--help-list-h",
        "--help-list-hidde=1",
        "--vers=abc",
        "--aaaa=bbbbbbb",
        "--abcdefghijklmn=x",
        "--version=x",
        "--version=",
        "--version=0",
        "--help=0",
        "--help=1",
        "--help=",
        "--help-list=0",
        "--help-hidden=false",
        "-=",
        "--=",
        "---x",
        "-ä",
        "-oä",
        "-hä",
        "--imäge=x",
        "-o-",
    ] {
        let ran = case(&[argument]).assert_same();
        assert!(!ran.succeeded(), "{argument}");
        case(&[argument, "one.o", "two.cubin"]).assert_same();
    }
    for arguments in
        [&["-h", "x", "y"][..], &["--bogus", "-h"], &["-h", "--bogus"], &["-h=0", "-o", "out"]]
    {
        case(arguments).assert_same();
    }
}

fn response_files() {
    let image = "--image=file=one.o,triple=amdgcn-amd-amdhsa,arch=gfx906";
    for text in [
        format!("-o out {image}"),
        format!("-o\nout\n{image}\n"),
        format!("\"-o\" 'out'\t{image}\r\n"),
        format!("-o out {image},flag=\"a b\""),
        format!("-o out {image},flag=a\\ b\\\\c"),
        "-o out --image='file=one.o,note=it\\'s'".to_owned(),
        "-o out @inner".to_owned(),
        "-o out --image=file=one.o,note=#no comment".to_owned(),
        format!("-o out {image}\u{b}x\u{c}y"),
        format!("-o out {image},a\\\nb 'c"),
        format!("-o out {image} \\"),
        format!("-o out\0x {image},y\0z"),
        "-o out --image=\"file=one.o,note=\\\"\\a\"".to_owned(),
    ] {
        let case = case(&["@arguments"]).file("arguments", text.clone()).file("inner", image);
        case.assert_same();
    }
    case(&["-o", "out", "@arguments"]).file("arguments", image).assert_same();
    case(&["@none"]).assert_same();
    case(&["-o", "@arguments", image]).file("arguments", "out").assert_same();
    case(&["-o", "out", "--image", "@arguments"]).file("arguments", "file=one.o").assert_same();
    let marked = [b"\xef\xbb\xbf".as_slice(), b"-o out ", image.as_bytes()].concat();
    case(&["@arguments"]).file("arguments", marked).assert_same();
    case(&["@arguments"])
        .file("arguments", [b"-o out ", image.as_bytes(), b",x=\xff\xfe"].concat())
        .assert_same();
    for bytes in [u16::to_le_bytes, u16::to_be_bytes] {
        let units = format!("\u{feff}-o out {image},x=ä")
            .encode_utf16()
            .flat_map(bytes)
            .collect::<Vec<u8>>();
        assert!(case(&["@arguments"]).file("arguments", units).assert_same().succeeded());
    }
    // If a response file is a folder or includes itself, LLVM's tool ends with a signal, and ours
    // with an error.
    for (argument, name) in [("@folder", "folder/x"), ("@itself", "itself")] {
        let (theirs, ours) = case(&[argument]).file(name, argument).both();
        assert!(theirs.status.starts_with("signal"), "{}", theirs.status);
        let message =
            format!("llvm-offload-binary: error: '{argument}': No such file or directory\n");
        assert_eq!((ours.status.as_str(), ours.stderr), ("exit status: 1", message));
    }
}

/// The help has LLVM's text, which scripts search for, and LLVM's layout and options.
fn help_and_version() {
    for arguments in [
        &["--help"][..],
        &["-help"],
        &["-h"],
        &["--h"],
        &["-h=1"],
        &["--help-hidden"],
        &["--help-list"],
        &["--help-list-hidden"],
        &[],
        &[""],
        &["-o", ""],
        &["-o="],
        &["--image=file=one.o"],
        &["--archive"],
        &["--archive="],
        &["-hh"],
        &["-hh=1"],
        &["-ho", "out"],
        &["-ho=out"],
        &["-h", "one.o", "-o", "out"],
        &["@empty"],
        &["--", ""],
        &["--bogus", "--help"],
        &["--help", "--bogus"],
        &["one.o", "two.cubin", "--help"],
    ] {
        for tool in [TOOL, "clang-offload-packager"] {
            let (theirs, ours) = case_of(tool, arguments).both();
            assert_eq!(
                (&ours.status, &ours.stderr),
                (&theirs.status, &theirs.stderr),
                "{arguments:?}"
            );
            let [theirs, ours] = [theirs, ours].map(|ran| String::from_utf8(ran.stdout).unwrap());
            let structure = |help: &str| -> Vec<String> {
                let mut lines = Vec::new();
                for line in help.lines() {
                    // The options for compression are from LLVM's main branch, so LLVM 22's help
                    // lacks them.
                    if line.trim_start().starts_with("--compress") {
                        continue;
                    }
                    match line.split_once(" - ") {
                        Some((option, _)) => lines.push(option.trim_end().to_owned()),
                        None if line.starts_with("OVERVIEW") => lines.push("OVERVIEW".to_owned()),
                        None if line.starts_with("USAGE") => {
                            lines.push(line.split(" [options]").next().unwrap().to_owned());
                        }
                        // A line that continues the previous one has no option name.
                        None if line.starts_with("   ") => {}
                        // The headings of options contain the tool's current name, even if the tool
                        // was called by its old name.
                        None if line.ends_with(" options:") => {
                            lines.push("its own options".to_owned())
                        }
                        None if line.ends_with(':') => lines.push(line.to_owned()),
                        None => {}
                    }
                }
                lines
            };
            let squeezed = |lines: Vec<String>| -> Vec<String> {
                lines
                    .iter()
                    .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
                    .collect()
            };
            assert_eq!(
                squeezed(structure(&ours)),
                squeezed(structure(&theirs)),
                "{arguments:?}\n{ours}"
            );
            assert!(ours.contains("--image=<<key>=<value>,...>"), "{ours}");
            assert!(ours.lines().all(|line| line.len() <= 120), "{ours}");
        }
    }
    for arguments in [&["--version"][..], &["-version"], &["--bogus", "--version"]] {
        for tool in [TOOL, "clang-offload-packager"] {
            let (theirs, ours) = case_of(tool, arguments).both();
            assert_eq!(
                (&ours.status, &ours.stderr),
                (&theirs.status, &theirs.stderr),
                "{arguments:?}"
            );
            for ran in [theirs, ours] {
                let text = String::from_utf8(ran.stdout).unwrap();
                assert!(text.lines().next().unwrap().ends_with(" LLVM version 22.1.8"), "{text}");
            }
        }
    }
}

fn the_old_name() {
    let warning =
        "warning: 'clang-offload-packager' is deprecated. Use 'llvm-offload-binary' instead.\n";
    let image = "--image=file=one.o,triple=x";
    let packager = |arguments: &[&str]| case_of("clang-offload-packager", arguments).assert_same();
    assert_eq!(packager(&["-o", "out", image]).stderr, warning);
    let error = "clang-offload-packager: error: 'file' is a required image arguments\n";
    assert_eq!(packager(&["-o", "out", "--image=triple=x"]).stderr, format!("{warning}{error}"));
    assert!(!packager(&["--bogus"]).stderr.contains(warning));

    // The name in the call decides which tool this is, and messages begin with that name.
    let folder = scratch::folder("drop_in_packager/the_old_name");
    for name in [
        "clang-offload-packager",
        "x86_64-linux-gnu-clang-offload-packager",
        "clang-offload-packager.exe",
        "clang-offload-packager-22",
        "clang-offload-packager.a.b",
        "clang-offload-packager.d/tool",
        "Clang-Offload-Packager",
    ] {
        let said = [own::tool(TOOL), llvm_bin().join(TOOL)].map(|tool| {
            let link = folder.join(name);
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            let _ = fs::remove_file(&link);
            symlink(tool, &link).unwrap();
            let by_path =
                Command::new(&link).args(["-o", "out", "--image=triple=x"]).output().unwrap();
            let of_options = Command::new(&link).arg("--bogus").output().unwrap();
            [by_path.stderr, of_options.stderr].map(|text| String::from_utf8(text).unwrap())
        });
        assert_eq!(said[0], said[1], "{name}");
    }
}

fn options_of_libraries() {
    for option in ["--color", "--time-passes", "--stats"] {
        let (theirs, ours) = case(&[option, "-o", "out"]).both();
        assert!(theirs.succeeded(), "{option}: {}", theirs.stderr);
        assert!(
            ours.stderr.starts_with("llvm-offload-binary: Unknown command line argument"),
            "{}",
            ours.stderr
        );
    }
}

fn arguments_that_are_no_text() {
    let (theirs, ours) = Case::new(TOOL, [OsStr::from_bytes(b"-\xff")]).both();
    // The argument is not UTF-8. The test decodes both outputs in the same way, so that they can be
    // compared.
    assert_eq!((&ours.stderr, &ours.status), (&theirs.stderr, &theirs.status));
    let with = |bytes: &[u8]| {
        let image = [b"--image=file=one.o,".as_slice(), bytes].concat();
        Case::new(TOOL, [OsStr::new("-o"), OsStr::new("out"), OsStr::from_bytes(&image)])
            .file("one.o", "one")
    };
    assert!(with(b"arch=\xff\xfe").assert_same().succeeded());
    let (theirs, ours) = with(b"\xff=x").both();
    assert!(theirs.succeeded());
    assert_eq!(
        ours.stderr,
        "llvm-offload-binary: error: the key '\u{fffd}' of an image is not UTF-8\n"
    );
    assert!(!ours.files.contains_key(Path::new("out")));
}
