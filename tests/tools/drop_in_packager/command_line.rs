//! Tests of options and their spellings, response files, the help, and the name used to call the
//! tool.

use super::{TOOL, case, case_of};
use offload_tests::prelude::*;
use offload_tests::side_by_side::{Case, Ran};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

#[test(LLVM)]
fn spellings_of_options() {
    const IMAGE: &str = "file=one.o,triple=amdgcn-amd-amdhsa";
    let lines = "-o out --image IMAGE | -o out -image IMAGE | --o out -image IMAGE | \
        -o=out -image=IMAGE | --o=out --image=IMAGE | -o first -o out --image IMAGE | \
        --image IMAGE --image IMAGE -o out | --archive -o out --image IMAGE | \
        -archive=false --archive=TRUE -o out --image IMAGE | \
        --archive=1 --archive=0 -o out --image IMAGE | -o out --image IMAGE -- | \
        -o --image --image IMAGE | -o a=b --image IMAGE | -o= -o out --image IMAGE | \
        --print-options=0 -o out";
    for line in lines.split('|') {
        case(&line.replace("IMAGE", IMAGE)).assert_same().success();
    }
    case_of(TOOL, ["--image", IMAGE, "-o", "out", ""]).assert_same().success();
}

#[test(LLVM.slow())]
fn messages_about_the_command_line() {
    let exclusive = "llvm-offload-binary: error: Packaging to an output file and extracting from an input file are \
                     mutually exclusive.\n";
    let surplus = "llvm-offload-binary: Too many positional arguments specified!\n\
                   Can specify at most 1 positional arguments: See: llvm-offload-binary --help\n";
    case("one.o -o out").assert_same_error(exclusive);
    case("-o out --image=file=none none").assert_same_error(exclusive);
    case("one.o two.cubin").assert_same_error(surplus);
    case("one.o two.cubin three.s -o x").assert_same_error(surplus);
    const WRONG: &str = "-o | --image | -o out --image | -ofile | -oout --image=file=one.o | --offload | -x | \
        -bogus | --imag=x | --images file=one.o | --archiv | --archive=maybe | --archive=2 | \
        --vers | --hel | --halp=3 | -a | ---o x | -=x | --=x | -i x -o | --bogus --image -o | \
        one.o two.cubin --bogus --archive=x | - - | -- -o x | -- --image=file=one.o";
    for line in WRONG.split(" | ") {
        case(line).assert_same().failure("");
    }
}

/// Tests grouped one-letter options (only `-o` and `-h` exist), and suggestions for misspelled
/// options.
#[test(LLVM.slow())]
fn misspelled_options() {
    const OPTIONS: &str = "-h=x -h=1=2 -hox -hoh -ha -halp -oh -ooo=x --halp --halp=3 --hlp=3 --hell=3 --hel=3 \
        --versio=3 --archve=1 --imge= -g -p --g=1 --gg --helq --hexp --hi -ab --xx --arc --i --abcdefgh \
        --print-option --print-option= --print-all-option=2 --help-lis --help-hid --help-list-h \
        --help-list-hidde=1 --vers=abc --aaaa=bbbbbbb --abcdefghijklmn=x --version=x --version= --version=0 \
        --help=0 --help=1 --help= --help-list=0 --help-hidden=false -= --= ---x -ä -oä -hä --imäge=x -o-";
    for option in OPTIONS.split_whitespace() {
        case(option).assert_same().failure("");
        case(&format!("{option} one.o two.cubin")).assert_same();
    }
    for line in ["-h x y", "--bogus -h", "-h --bogus", "-h=0 -o out"] {
        case(line).assert_same();
    }
}

#[test(LLVM)]
fn response_files() {
    let image = "--image=file=one.o,triple=amdgcn-amd-amdhsa,arch=gfx906";
    for text in [
        "-o out IMAGE",
        "-o\nout\nIMAGE\n",
        "\"-o\" 'out'\tIMAGE\r\n",
        "-o out IMAGE,flag=\"a b\"",
        "-o out IMAGE,flag=a\\ b\\\\c",
        "-o out --image='file=one.o,note=it\\'s'",
        "-o out @inner",
        "-o out --image=file=one.o,note=#no comment",
        "-o out IMAGE\u{b}x\u{c}y",
        "-o out IMAGE,a\\\nb 'c",
        "-o out IMAGE \\",
        "-o out\0x IMAGE,y\0z",
        "-o out --image=\"file=one.o,note=\\\"\\a\"",
    ] {
        let text = text.replace("IMAGE", image);
        case("@arguments").file("arguments", text).file("inner", image).assert_same();
    }
    case("-o out @arguments").file("arguments", image).assert_same();
    case("@none").assert_same();
    // If a response file names a second one, the tool searches for the second in the working
    // folder, not beside the first.
    case("@d/r").file("d/r", "-o out @s").file("d/s", image).assert_same().failure("");
    case_of(TOOL, ["-o", "@arguments", image]).file("arguments", "out").assert_same();
    case("-o out --image @arguments").file("arguments", "file=one.o").assert_same();
    let line = format!("-o out {image}");
    for bytes in
        [[b"\xef\xbb\xbf", line.as_bytes()].concat(), [line.as_bytes(), b",x=\xff\xfe"].concat()]
    {
        case("@arguments").file("arguments", bytes).assert_same();
    }
    for bytes in [u16::to_le_bytes, u16::to_be_bytes] {
        let units: Vec<u8> = format!("\u{feff}{line},x=ä").encode_utf16().flat_map(bytes).collect();
        case("@arguments").file("arguments", units).assert_same().success();
    }
    // If a response file is a folder or includes itself, LLVM's tool ends by a signal. Our tool
    // must report an error.
    for (argument, name) in [("@folder", "folder/x"), ("@itself", "itself")] {
        let (theirs, ours) = case(argument).file(name, argument).both();
        assert!(theirs.status.starts_with("signal"), "{}", theirs.status);
        let message =
            format!("llvm-offload-binary: error: '{argument}': No such file or directory\n");
        assert_eq!((ours.status.as_str(), ours.stderr), ("exit status: 1", message));
    }
}

/// Runs the tool under both names. Checks that both implementations print the same text on standard
/// error, and exit with the same status.
fn under_both_names(arguments: &[&str]) -> [(Ran, Ran); 2] {
    [TOOL, "clang-offload-packager"].map(|tool| {
        let (theirs, ours) = case_of(tool, arguments).both();
        let ended = |ran: &Ran| (ran.status.clone(), ran.stderr.clone());
        assert_eq!(ended(&ours), ended(&theirs), "{arguments:?}");
        (theirs, ours)
    })
}

fn structure(help: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for line in help.lines() {
        // The compression options come from LLVM's main branch, so LLVM 22's help lacks them.
        if line.trim_start().starts_with("--compress") {
            continue;
        }
        let line = match line.split_once(" - ") {
            Some((option, _)) => option,
            None if line.starts_with("OVERVIEW") => "OVERVIEW",
            None if line.starts_with("USAGE") => line.split(" [options]").next().unwrap(),
            // Skip continuation lines, which have no option name.
            None if line.starts_with("   ") => continue,
            None => line,
        };
        lines.push(line.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    lines
}

/// The help must have LLVM's text, layout and options, because scripts search it.
#[test(LLVM.slow())]
fn help_and_version() {
    const HELP: &str = "--help | -help | -h | --h | -h=1 | --help-hidden | --help-list | --help-list-hidden | -o= | \
        --image=file=one.o | --archive | --archive= | -hh | -hh=1 | -ho out | -ho=out | -h one.o -o out | @empty | \
        --bogus --help | --help --bogus | one.o two.cubin --help";
    let words = |line: &'static str| line.split_whitespace().collect::<Vec<_>>();
    let with_empty_words = [vec![], vec![""], vec!["-o", ""], vec!["--", ""]];
    for arguments in HELP.split(" | ").map(words).chain(with_empty_words) {
        for (theirs, ours) in under_both_names(&arguments) {
            let [theirs, ours] = [theirs, ours].map(|ran| String::from_utf8(ran.stdout).unwrap());
            assert_eq!(structure(&ours), structure(&theirs), "{arguments:?}\n{ours}");
            assert!(ours.contains("--image=<<key>=<value>,...>"), "{ours}");
            assert!(ours.lines().all(|line| line.len() <= 120), "{ours}");
        }
    }
    for arguments in [&["--version"][..], &["-version"], &["--bogus", "--version"]] {
        for (theirs, ours) in under_both_names(arguments) {
            for text in [theirs.printed(), ours.printed()] {
                assert!(text.lines().next().unwrap().ends_with(" LLVM version 22.1.8"), "{text}");
            }
        }
    }
}

#[test(LLVM)]
fn the_old_name() {
    let warning =
        "warning: 'clang-offload-packager' is deprecated. Use 'llvm-offload-binary' instead.\n";
    let packager = |line: &str| {
        case_of("clang-offload-packager", line.split_whitespace()).assert_same().stderr
    };
    assert_eq!(packager("-o out --image=file=one.o,triple=x"), warning);
    let error = "clang-offload-packager: error: 'file' is a required image arguments\n";
    assert_eq!(packager("-o out --image=triple=x"), format!("{warning}{error}"));
    assert!(!packager("--bogus").contains(warning));

    // The name under which the program is called determines which tool it is. Messages begin with
    // this name.
    let folder = scratch::folder("drop_in_packager/the_old_name");
    let names = "clang-offload-packager x86_64-linux-gnu-clang-offload-packager \
        clang-offload-packager.exe clang-offload-packager-22 clang-offload-packager.a.b \
        clang-offload-packager.d/tool Clang-Offload-Packager";
    for name in names.split(' ') {
        let [ours, theirs] = [own::tool(TOOL), llvm_bin().join(TOOL)].map(|tool| {
            let link = folder.join(name);
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            let _ = fs::remove_file(&link);
            symlink(tool, &link).unwrap();
            [&["-o", "out", "--image=triple=x"][..], &["--bogus"]].map(|arguments| {
                let output = processes::output(Command::new(&link).args(arguments)).unwrap();
                String::from_utf8(output.stderr).unwrap()
            })
        });
        assert_eq!(ours, theirs, "{name}");
    }
}

#[test(LLVM)]
fn options_of_libraries() {
    for option in ["--color", "--time-passes", "--stats"] {
        let (theirs, ours) = case(&format!("{option} -o out")).both();
        theirs.success();
        let unknown = "llvm-offload-binary: Unknown command line argument";
        assert!(ours.stderr.starts_with(unknown), "{option}: {}", ours.stderr);
    }
}

#[test(LLVM)]
fn arguments_that_are_no_text() {
    let (theirs, ours) = Case::new(TOOL, [OsStr::from_bytes(b"-\xff")]).both();
    // The argument is not UTF-8, so decode both outputs in the same way before comparing them.
    assert_eq!((&ours.stderr, &ours.status), (&theirs.stderr, &theirs.status));
    let with = |bytes: &[u8]| {
        let image = [b"--image=file=one.o,", bytes].concat();
        case_of(TOOL, [OsStr::new("-o"), OsStr::new("out"), OsStr::from_bytes(&image)])
    };
    with(b"arch=\xff\xfe").assert_same().success();
    let (theirs, ours) = with(b"\xff=x").both();
    theirs.success();
    let message = "llvm-offload-binary: error: the key '\u{fffd}' of an image is not UTF-8\n";
    assert_eq!(ours.stderr, message);
    assert!(!ours.files.contains_key(Path::new("out")));
}
