//! Our `llvm-offload-binary` and `clang-offload-packager` beside those of LLVM 22: what they print, how they end, and every
//! file they leave.
//!
//! LLVM's tool puts archives in the place of what is there, devices too: no case here names one for an archive.

use offload_format::offload_binary::{ImageKind, OffloadBinaryBuilder, OffloadKind, Version};
use offload_tests::data::{corpus, read, some_bytes};
use offload_tests::side_by_side::{Case, Ran, Whose};
use offload_tests::tools::{Tool, llvm, succeed};
use offload_tests::{own, scratch, test};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

const LLVM: &[Tool] = &[Tool::Llvm22];
const TOOL: &str = "llvm-offload-binary";

fn main() -> ExitCode {
    offload_tests::run(vec![
        test("images_of_all_kinds_are_packed", LLVM, images_of_all_kinds_are_packed),
        test("what_image_takes", LLVM, what_image_takes),
        test("spellings_of_options", LLVM, spellings_of_options),
        test("messages_about_the_command_line", LLVM, messages_about_the_command_line),
        test("misspelled_options", LLVM, misspelled_options),
        test("response_files", LLVM, response_files),
        test("help_and_version", LLVM, help_and_version),
        test("the_old_name", LLVM, the_old_name),
        test("files_that_cannot_be_packed", LLVM, files_that_cannot_be_packed),
        test("standard_input_and_output", LLVM, standard_input_and_output),
        test("images_are_extracted", LLVM, images_are_extracted),
        test("what_is_asked_for", LLVM, what_is_asked_for),
        test("one_file_for_several_images", LLVM, one_file_for_several_images),
        test("archives_are_written", LLVM, archives_are_written),
        test("files_that_have_offload_binaries_in_them", LLVM, files_that_have_offload_binaries_in_them),
        test("files_that_have_none", LLVM, files_that_have_none),
        test("archives_are_read", LLVM, archives_are_read),
        test("thin_archives", LLVM, thin_archives),
        test("malformed_offload_binaries", LLVM, malformed_offload_binaries),
        test("malformed_objects_and_archives", LLVM, malformed_objects_and_archives),
        test("malformed_bitcode_in_an_archive", LLVM, malformed_bitcode_in_an_archive),
        test("later_versions_and_gaps", LLVM, later_versions_and_gaps),
        test("the_old_kind_of_hip", LLVM, the_old_kind_of_hip),
        test("a_key_file_without_a_value", LLVM, a_key_file_without_a_value),
        test("names_stay_in_the_folder", LLVM, names_stay_in_the_folder),
        test("permissions_of_outputs", LLVM, permissions_of_outputs),
        test("options_of_libraries", LLVM, options_of_libraries),
        test("arguments_that_are_no_text", LLVM, arguments_that_are_no_text),
        test("bitcode_for_hosts", LLVM, bitcode_for_hosts),
        test("outputs_that_are_links", LLVM, outputs_that_are_links),
        test("a_full_disk", LLVM, a_full_disk),
        test("an_error_leaves_the_old_output", &[], an_error_leaves_the_old_output),
        test("pipes_as_input", &[], pipes_as_input),
        test("sizes_that_a_header_claims", &[], sizes_that_a_header_claims),
    ])
}

/// A case with the files that all of these work on.
fn case(arguments: &[&str]) -> Case {
    case_of(TOOL, arguments)
}

fn case_of(tool: &str, arguments: &[&str]) -> Case {
    let mut case = Case::new(tool, arguments);
    for (name, bytes) in inputs() {
        case = case.file(name, bytes);
    }
    case
}

fn inputs() -> [(&'static str, Vec<u8>); 8] {
    [
        ("one.o", b"one".to_vec()),
        ("two.cubin", some_bytes(2, 1000)),
        ("three.s", b".version 8.0\n".to_vec()),
        ("four.bc", some_bytes(4, 8)),
        ("five.fatbin", some_bytes(5, 9)),
        ("six.spv", some_bytes(6, 17)),
        ("bitcode", b"BC\xc0\xderest".to_vec()),
        ("empty", Vec::new()),
    ]
}

/// Packs with LLVM's tool.
fn packed(images: &[&str]) -> Vec<u8> {
    let mut arguments = vec!["-o", "out"];
    arguments.extend(images);
    let ran = case(&arguments).run(Whose::Llvm);
    assert!(ran.succeeded(), "{images:?}: {}", ran.stderr);
    ran.file("out").to_vec()
}

/// Several images, of which two are for the same target.
fn several() -> Vec<u8> {
    packed(&[
        "--image=file=one.o,triple=amdgcn-amd-amdhsa,arch=gfx906,kind=hip",
        "--image=file=two.cubin,triple=nvptx64-nvidia-cuda,arch=sm_80,kind=cuda",
        "--image=file=three.s,triple=nvptx64-nvidia-cuda,kind=cuda,feature=+ptx80",
        "--image=file=four.bc,triple=amdgcn-amd-amdhsa,arch=gfx90a:xnack+,kind=openmp",
        "--image=file=five.fatbin,triple=nvptx64-nvidia-cuda,kind=sycl",
        "--image=file=six.spv,triple=spirv64",
        "--image=file=empty,triple=amdgcn-amd-amdhsa,arch=gfx906,kind=hip",
    ])
}

/// Both end with this message, and with no file that was not there.
fn assert_fails(case: &Case, message: &str) {
    let ran = case.assert_same();
    assert_eq!((ran.status.as_str(), ran.stderr.as_str()), ("exit status: 1", message));
}

fn names(ran: &Ran) -> Vec<String> {
    let given: Vec<&str> = inputs().map(|(name, _)| name).to_vec();
    let names = ran.files.keys().map(|path| path.display().to_string());
    names.filter(|name| !given.contains(&name.as_str())).collect()
}

// ------------------------------------------------------------------------------------------------------------- packing

fn images_of_all_kinds_are_packed() {
    for (name, _) in inputs() {
        let image = format!("--image=file={name},triple=amdgcn-amd-amdhsa,arch=gfx906");
        let ran = case(&["-o", "out", &image]).assert_same();
        assert!(ran.succeeded());
        for kind in ["openmp", "cuda", "hip", "sycl", "none", "HIP", ""] {
            let image = format!("--image=file={name},kind={kind},triple=x,arch=y");
            assert!(case(&["-o", "out", &image]).assert_same().succeeded());
        }
    }
    for name in ["x.O", "x.o.bc", ".o", "a.b/x", "x.", "x.hsaco", "dir/x.ptx"] {
        let image = format!("--image=file={name}");
        case(&["-o", "out", &image]).file(name, b"bytes").assert_same();
    }
    // In a wrapper.
    let wrapped = [b"\xde\xc0\x17\x0b".as_slice(), &[0; 40]].concat();
    case(&["-o", "out", "--image=file=x"]).file("x", wrapped).assert_same();
    let ran = case(&["-o", "out"]).assert_same();
    assert_eq!(ran.file("out"), b"");
    let images: Vec<String> = (0..40).map(|number| format!("--image=file=three.s,arch=sm_{number}")).collect();
    let arguments = ["-o", "out"].into_iter().chain(images.iter().map(String::as_str)).collect::<Vec<_>>();
    assert!(case(&arguments).assert_same().succeeded());
}

fn what_image_takes() {
    for image in [
        "file=one.o",
        "file=one.o,kind=hip,kind=cuda",
        "file=one.o,triple=t,triple=u,arch=,=v",
        "file=one.o,=",
        "file=one.o,,,",
        "file=one.o,flag",
        "file=one.o,flag,flag=x",
        "file=one.o,opts=-O2 -g=1=2",
        "kind=sycl,arch=a,triple=b,file=one.o,feature=+ptx63,alpha=1,beta=22,gamma=333,delta=4444",
        "file=one.o,file=two.cubin,triple=t",
        "triple=t,file=one.o,kind=hip,file=one.o",
        "file=one.o,arch=gfx90a:sramecc+:xnack-",
        "file=one.o,a-very-long-key-name-that-exceeds-thirty-two-bytes=v,and-one-that-is-longer-than-sixty-four-bytes-so-that-it-takes-two-blocks=w",
        "file=one.o,arch=ä",
        "file=./one.o,File=x",
    ] {
        let ran = case(&["-o", "out", &format!("--image={image}")]).assert_same();
        assert!(ran.succeeded(), "{image}");
    }
    // Nothing says that the triple is required, but the help.
    for image in ["", "triple=x", "files=one.o", "FILE=one.o", "=one.o"] {
        let message = "llvm-offload-binary: error: 'file' is a required image arguments\n";
        assert_fails(&case(&["-o", "out", &format!("--image={image}")]), message);
    }
    let message = "llvm-offload-binary: error: No such file or directory\n";
    for image in ["file=", "file=,triple=x", "file=one.o,file=", "file=none", "file=one.o,file"] {
        assert_fails(&case(&["-o", "out", &format!("--image={image}")]), message);
    }
    // One good image does not help.
    assert_fails(&case(&["-o", "out", "--image=file=one.o", "--image=file=none"]), message);
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

/// Groups of options of one letter, of which there are `-o` and `-h`, and what is proposed where an option is misspelled.
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
    for arguments in [&["-h", "x", "y"][..], &["--bogus", "-h"], &["-h", "--bogus"], &["-h=0", "-o", "out"]] {
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
    case(&["@arguments"]).file("arguments", [b"-o out ", image.as_bytes(), b",x=\xff\xfe"].concat()).assert_same();
    for bytes in [u16::to_le_bytes, u16::to_be_bytes] {
        let units = format!("\u{feff}-o out {image},x=ä").encode_utf16().flat_map(bytes).collect::<Vec<u8>>();
        assert!(case(&["@arguments"]).file("arguments", units).assert_same().succeeded());
    }
    // Neither a folder nor a file that asks for itself ends this tool with a signal.
    for (argument, name) in [("@folder", "folder/x"), ("@itself", "itself")] {
        let (theirs, ours) = case(&[argument]).file(name, argument).both();
        assert!(theirs.status.starts_with("signal"), "{}", theirs.status);
        let message = format!("llvm-offload-binary: error: '{argument}': No such file or directory\n");
        assert_eq!((ours.status.as_str(), ours.stderr), ("exit status: 1", message));
    }
}

/// The words of the help are our own; its layout and the options in it are LLVM's.
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
            assert_eq!((&ours.status, &ours.stderr), (&theirs.status, &theirs.stderr), "{arguments:?}");
            let [theirs, ours] = [theirs, ours].map(|ran| String::from_utf8(ran.stdout).unwrap());
            let structure = |help: &str| -> Vec<String> {
                let mut lines = Vec::new();
                for line in help.lines() {
                    match line.split_once(" - ") {
                        Some((option, _)) => lines.push(option.trim_end().to_owned()),
                        None if line.starts_with("OVERVIEW") => lines.push("OVERVIEW".to_owned()),
                        None if line.starts_with("USAGE") => {
                            lines.push(line.split(" [options]").next().unwrap().to_owned());
                        }
                        // What goes on from the line before has no name of an option.
                        None if line.starts_with("   ") => {}
                        // They have the name that the tool has now, whatever it was called by.
                        None if line.ends_with(" options:") => lines.push("its own options".to_owned()),
                        None if line.ends_with(':') => lines.push(line.to_owned()),
                        None => {}
                    }
                }
                lines
            };
            assert_eq!(structure(&ours), structure(&theirs), "{arguments:?}\n{ours}");
            assert!(ours.contains("--image=<<key>=<value>,...>"), "{ours}");
            assert!(ours.lines().all(|line| line.len() <= 120), "{ours}");
        }
    }
    for arguments in [&["--version"][..], &["-version"], &["--bogus", "--version"]] {
        for tool in [TOOL, "clang-offload-packager"] {
            let (theirs, ours) = case_of(tool, arguments).both();
            assert_eq!((&ours.status, &ours.stderr), (&theirs.status, &theirs.stderr), "{arguments:?}");
            for ran in [theirs, ours] {
                let text = String::from_utf8(ran.stdout).unwrap();
                assert!(text.lines().next().unwrap().ends_with(" LLVM version 22.1.8"), "{text}");
            }
        }
    }
}

fn the_old_name() {
    let warning = "warning: 'clang-offload-packager' is deprecated. Use 'llvm-offload-binary' instead.\n";
    let image = "--image=file=one.o,triple=x";
    let packager = |arguments: &[&str]| case_of("clang-offload-packager", arguments).assert_same();
    assert_eq!(packager(&["-o", "out", image]).stderr, warning);
    let error = "clang-offload-packager: error: 'file' is a required image arguments\n";
    assert_eq!(packager(&["-o", "out", "--image=triple=x"]).stderr, format!("{warning}{error}"));
    assert!(!packager(&["--bogus"]).stderr.contains(warning));

    // How it is called decides, and messages begin with that.
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
        let said = [own::tool(TOOL), offload_tests::tools::llvm_bin().join(TOOL)].map(|tool| {
            let link = folder.join(name);
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            let _ = fs::remove_file(&link);
            std::os::unix::fs::symlink(tool, &link).unwrap();
            let by_path = Command::new(&link).args(["-o", "out", "--image=triple=x"]).output().unwrap();
            let of_options = Command::new(&link).arg("--bogus").output().unwrap();
            [by_path.stderr, of_options.stderr].map(|text| String::from_utf8(text).unwrap())
        });
        assert_eq!(said[0], said[1], "{name}");
    }
}

fn files_that_cannot_be_packed() {
    let folder = |arguments: &[&str]| case(arguments).file("folder/inside", b"");
    assert_fails(&folder(&["-o", "out", "--image=file=folder"]), "llvm-offload-binary: error: Is a directory\n");
    assert_fails(&folder(&["-o", "folder", "--image=file=one.o"]), "llvm-offload-binary: error: Is a directory\n");
    let nowhere = "llvm-offload-binary: error: No such file or directory\n";
    assert_fails(&case(&["-o", "nowhere/out", "--image=file=one.o"]), nowhere);
    assert_fails(&case(&["-o", "/proc/out", "--image=file=one.o"]), nowhere);
    case(&["-o", "one.o/out", "--image=file=one.o"]).assert_same();
    case(&["-o", "out", "--image=file=one.o/x"]).assert_same();
    let long = format!("--image=file={}", "x".repeat(300));
    case(&["-o", "out", &long]).assert_same();
    case(&["-o", &"x".repeat(300), "--image=file=one.o"]).assert_same();
    // Its own input as output.
    let ran = case(&["-o", "one.o", "--image=file=one.o,triple=x"]).assert_same();
    assert!(ran.succeeded() && ran.file("one.o").len() > 72);
}

fn standard_input_and_output() {
    let ran = case(&["-o", "-", "--image=file=one.o,triple=x"]).assert_same();
    assert!(ran.succeeded() && ran.stdout.starts_with(b"\x10\xff\x10\xad"));
    for image in ["--image=file=-,triple=x", "--image=file=-,file=-", "--image=file=one.o,file=-"] {
        assert!(case(&["-o", "out", image]).stdin("from the pipe").assert_same().succeeded());
        assert!(case(&["-o", "-", image]).stdin("BC\u{0}").assert_same().succeeded());
        assert!(case(&["-o", "out", image]).assert_same().succeeded());
    }
    for arguments in
        [&["-", "--image="][..], &["-", "--image=file=-,kind=cuda"], &["-", "--archive", "--image=file=x.a"]]
    {
        assert!(case(arguments).stdin(several()).assert_same().succeeded());
    }
    assert!(case(&["-", "--image="]).assert_same().succeeded());
    let ran = case(&["in", "--image=file=-,arch=sm_80"]).file("in", several()).assert_same();
    assert_eq!(ran.stdout, some_bytes(2, 1000));
    let (theirs, ours) = case(&["in", "--archive", "--image=file=-,arch=sm_80"]).file("in", several()).both();
    assert!(theirs.file("-").starts_with(b"!<arch>\n"));
    assert!(ours.stdout == theirs.file("-") && names(&ours) == ["in"]);
}

// ---------------------------------------------------------------------------------------------------------- extraction

fn images_are_extracted() {
    let ran = case(&["in.bin", "--image="]).file("in.bin", several()).assert_same();
    assert!(ran.succeeded());
    let expected = [
        "in-amdgcn-amd-amdhsa-gfx906.0.o",
        "in-amdgcn-amd-amdhsa-gfx906.6.",
        "in-amdgcn-amd-amdhsa-gfx90a:xnack+.3.bc",
        "in-nvptx64-nvidia-cuda-.2.s",
        "in-nvptx64-nvidia-cuda-.4.fatbin",
        "in-nvptx64-nvidia-cuda-sm_80.1.cubin",
        "in-spirv64-.5.",
        "in.bin",
    ];
    assert_eq!(names(&ran), expected);
    assert_eq!(ran.file("in-amdgcn-amd-amdhsa-gfx906.6."), b"");
    for name in ["in", "in.", ".bin", "in.a.b", "dir/in.o", "dir.d/in"] {
        let ran = case(&[name, "--image=kind=cuda"]).file(name, several()).assert_same();
        assert_eq!(names(&ran).len(), 3, "{name}");
    }
    // Nothing is asked for.
    let ran = case(&["in.bin"]).file("in.bin", several()).assert_same();
    assert_eq!(names(&ran), ["in.bin"]);
    // A file that is there is written anew.
    let old = case(&["in", "--image=kind=openmp"]).file("in-amdgcn-amd-amdhsa-gfx90a:xnack+.0.bc", [0; 100]);
    let ran = old.file("in", several()).assert_same();
    assert_eq!(ran.file("in-amdgcn-amd-amdhsa-gfx90a:xnack+.0.bc"), some_bytes(4, 8));
    // Images of all kinds that there are numbers for.
    for kind in [0, 1, 2, 3, 4, 5, 7, 100] {
        let binary = binary(Version::V1, &[(ImageKind(kind), OffloadKind::HIP, &[("arch", "a")], b"bytes")]);
        assert!(case(&["in", "--image="]).file("in", binary).assert_same().succeeded());
    }
}

fn what_is_asked_for() {
    for image in [
        "kind=hip",
        "kind=cuda",
        "kind=openmp",
        "kind=sycl",
        "kind=none",
        "kind=bogus",
        "kind",
        "kind=",
        "kind=cuda,kind=cuda",
        "triple=amdgcn-amd-amdhsa",
        "triple=amdgcn-amd-amdhsa,arch=gfx906",
        "triple=amdgcn-amd-amdhsa,arch=gfx90a",
        "arch=gfx90a:xnack+",
        "arch=",
        "arch",
        "triple=",
        "feature=+ptx80",
        "feature=",
        "arch=sm_80,triple=nvptx64-nvidia-cuda,kind=cuda",
        "arch=sm_80,kind=hip",
        "other=x",
        "other=",
        "arch=sm_*",
        "=",
        "=x",
        ",,",
        "Kind=hip",
    ] {
        let ran = case(&["in", &format!("--image={image}")]).file("in", several()).assert_same();
        assert!(ran.succeeded(), "{image}");
        let with_file = format!("--image={image},file=out");
        assert!(case(&["in", &with_file]).file("in", several()).assert_same().succeeded(), "{image}");
    }
    // Each `--image` for itself, with numbers from 0.
    let two = case(&["in", "--image=kind=hip", "--image=kind=cuda", "--image=kind=hip,file=x"]);
    assert_eq!(names(&two.file("in", several()).assert_same()).len(), 6);
}

fn one_file_for_several_images() {
    let warning = "llvm-offload-binary: warning: Multiple inputs match to a single file, 'out'\n";
    let ran = case(&["in", "--image=file=out,kind=cuda"]).file("in", several()).assert_same();
    assert_eq!((ran.stderr.as_str(), ran.file("out")), (warning, b".version 8.0\n".as_slice()));
    // As a name, no list.
    let ran = case(&["in", "--image=file=a,file=b,arch=sm_80"]).file("in", several()).assert_same();
    assert_eq!(names(&ran), ["a,b", "in"]);
    let path = case(&["in", "--image=file=new/out,arch=sm_80"]).file("in", several()).file("new/x", b"");
    assert!(path.assert_same().succeeded());
    for file in ["nowhere/out", "", "folder"] {
        let ran = case(&["in", &format!("--image=file={file},arch=sm_80")]);
        assert!(!ran.file("in", several()).file("folder/x", b"").assert_same().succeeded(), "{file}");
    }
    let ran =
        case(&["in", "--image=file=out,arch=sm_80", "--image=file=nowhere/x"]).file("in", several()).assert_same();
    assert!(!ran.succeeded() && ran.file("out").len() == 1000);
}

/// A real object, so that the archive has a symbol table.
fn object() -> Vec<u8> {
    let folder = scratch::folder("drop_in_packager/object");
    scratch::write(
        folder.join("k.c"),
        "int answer(void) { return 42; } static int hidden; int *also(void) { return &hidden; }",
    );
    succeed(llvm("clang").current_dir(&folder).args(["-c", "k.c", "-o", "k.o"]));
    read(folder.join("k.o"))
}

fn archives_are_written() {
    let object = object();
    let binary = binary(
        Version::V1,
        &[
            (ImageKind::OBJECT, OffloadKind::HIP, &[("arch", "a")], &object),
            (ImageKind::PTX, OffloadKind::CUDA, &[("arch", "b")], b"ptx"),
            (ImageKind::OBJECT, OffloadKind::HIP, &[("arch", "b")], &object),
        ],
    );
    for image in
        ["--image=file=lib.a", "--image=file=lib.a,kind=hip", "--image=file=lib.a,arch=b", "--image=file=lib.a,arch=c"]
    {
        for name in ["in", "a-name-of-more-than-fifteen-bytes.bin", "dir/in"] {
            let ran = case(&[name, "--archive", image]).file(name, binary.clone()).assert_same();
            assert!(ran.succeeded());
            assert_eq!(ran.files.contains_key(Path::new("lib.a")), !image.ends_with("arch=c"));
        }
    }
    let missing = "llvm-offload-binary: error: Image must have a 'file' argument.\n";
    for image in ["--image=", "--image=kind=hip"] {
        assert_fails(&case(&["in", "--archive", image]).file("in", binary.clone()), missing);
    }
    // What is not there needs no file.
    assert!(case(&["in", "--archive", "--image=arch=c"]).file("in", binary.clone()).assert_same().succeeded());
    let first = case(&["in", "--archive", "--image=file=lib.a,kind=hip", "--image=kind=cuda"]);
    let ran = first.file("in", binary.clone()).assert_same();
    assert!(!ran.succeeded() && ran.files.contains_key(Path::new("lib.a")));
    assert!(!case(&["in", "--archive", "--image=file=nowhere/lib.a"]).file("in", binary).assert_same().succeeded());
    for file in corpus("offload_binary") {
        case(&["in", "--archive", "--image=file=out.a"]).file("in", read(file)).assert_same();
    }
}

fn files_that_have_offload_binaries_in_them() {
    for folder in ["offload_binary", "fat_file"] {
        for file in corpus(folder) {
            let name = file.file_name().unwrap().to_str().unwrap();
            for arguments in
                [&[name, "--image="][..], &[name, "--archive", "--image=file=lib.a"], &[name, "--image=kind=hip"]]
            {
                case(arguments).file(name, read(&file)).assert_same();
            }
        }
    }
    // A shared object that keeps the section.
    let folder = scratch::folder("drop_in_packager/shared");
    scratch::write(folder.join("images"), several());
    let source = "__attribute__((section(\".llvm.offloading\"), used, aligned(8))) static const char images[] = {\n\
                  #embed \"images\"\n};\nint f(void) { return 0; }\n";
    scratch::write(folder.join("a.c"), source);
    succeed(llvm("clang").current_dir(&folder).args([
        "-shared",
        "-fPIC",
        "-nostdlib",
        "-fuse-ld=lld",
        "a.c",
        "-o",
        "a.so",
    ]));
    let ran = case(&["a.so", "--image="]).file("a.so", read(folder.join("a.so"))).assert_same();
    assert_eq!(names(&ran).len(), 8);
}

/// Bitcode in which clang has embedded offload binaries, of several shapes.
fn bitcode_for_hosts() {
    let folder = scratch::folder("drop_in_packager/bitcode_for_hosts");
    scratch::write(folder.join("several"), several());
    scratch::write(
        folder.join("text"),
        packed(&["--image=file=three.s,triple=nvptx64-nvidia-cuda,arch=sm_80,kind=cuda"]),
    );
    scratch::write(folder.join("big"), {
        let mut builder = OffloadBinaryBuilder::new();
        builder.image(ImageKind::OBJECT, OffloadKind::HIP, 300_000).string("arch", "gfx906");
        builder.layout(Version::V1).to_vec(&[&some_bytes(9, 300_000)])
    });
    let source = "int first = 5; const char *text = \"text\"; extern int other(long); static double table[] = {1, 2, 0.5};\n\
                  __attribute__((section(\"elsewhere\"))) char apart[] = \"\\x10\\xff\\x10\\xad\";\n\
                  int f(int a) { return other(a * 0x123456789abcL) + (int)table[a] + text[a]; }\n";
    scratch::write(folder.join("a.c"), source);
    let clang = |output: &str, arguments: &[&str], embedded: &[&str]| {
        let mut clang = llvm("clang");
        clang.current_dir(&folder).args(["-c", "-emit-llvm", "a.c", "-o", output]).args(arguments);
        for file in embedded {
            clang.args(["-Xclang", &format!("-fembed-offload-object={file}")]);
        }
        succeed(&mut clang);
    };
    clang("plain.bc", &[], &[]);
    clang("one.bc", &[], &["text"]);
    clang("three.bc", &["-O2"], &["several", "text", "several"]);
    clang("debug.bc", &["-g", "-O1"], &["text", "several"]);
    clang("big.bc", &["-Df=g", "-Dfirst=second", "-Dtext=word", "-Dapart=along"], &["big"]);
    clang("lto.bc", &["-flto"], &["several"]);
    clang("thin.bc", &["-flto=thin", "-O1"], &["several"]);
    clang("apple.bc", &["--target=x86_64-pc-windows-msvc"], &["several"]);
    succeed(llvm("llvm-link").current_dir(&folder).args(["big.bc", "three.bc", "-o", "linked.bc"]));
    succeed(llvm("llvm-cat").current_dir(&folder).args(["-b", "one.bc", "big.bc", "-o", "cat.bc"]));
    let mut wrapped = b"\xde\xc0\x17\x0b\0\0\0\0\x14\0\0\0".to_vec();
    let inside = read(folder.join("three.bc"));
    wrapped.extend((inside.len() as u32).to_le_bytes());
    wrapped.extend([7, 0, 0, 1]);
    wrapped.extend(inside);
    scratch::write(folder.join("wrapped.bc"), wrapped);
    for name in ["plain", "one", "three", "debug", "big", "lto", "thin", "apple", "linked", "wrapped"] {
        let name = format!("{name}.bc");
        let bytes = read(folder.join(&name));
        let ran = case(&[&name, "--image="]).file(&name, bytes.clone()).assert_same();
        assert!(ran.succeeded() && (names(&ran).len() == 1) == (name == "plain.bc"), "{name}: {:?}", names(&ran));
        assert!(case(&[&name, "--archive", "--image=file=x.a"]).file(&name, bytes).assert_same().succeeded());
    }
    // LLVM's tool takes one module only.
    let (theirs, ours) = case(&["cat.bc", "--image="]).file("cat.bc", read(folder.join("cat.bc"))).both();
    assert!(!theirs.succeeded());
    assert_eq!(names(&ours).len(), 3);
    // Members of archives, and what is cut short.
    let library = archive("bitcode_in_archives", "rcD", &[("three.bc", read(folder.join("three.bc")))]);
    assert!(case(&["in.a", "--archive", "--image=file=x.a"]).file("in.a", read(library)).assert_same().succeeded());
    let three = read(folder.join("three.bc"));
    for size in [8, 100, 400, three.len() - 400] {
        let ran = case(&["in.bc", "--image="]).file("in.bc", &three[..size]).run(Whose::Ours);
        assert!(ran.status.starts_with("exit status: "), "{size}: {}", ran.status);
    }
}

fn files_that_have_none() {
    for folder in ["bundle", "compressed", "image", "nv_fatbin", "object_bundle", "text_bundle"] {
        for file in corpus(folder) {
            let ran = case(&["in", "--image="]).file("in", read(&file)).assert_same();
            assert!(ran.succeeded() && names(&ran) == ["in"], "{}", file.display());
        }
    }
    for bytes in [b"".as_slice(), b"text\n", b"\x10\xff\x10", b"\x7fEL", &[0; 100]] {
        assert!(case(&["in", "--image="]).file("in", bytes).assert_same().succeeded());
    }
    let missing = "llvm-offload-binary: error: 'none': No such file or directory\n";
    assert_fails(&case(&["none", "--image="]), missing);
    assert_fails(&case(&["none"]), missing);
    let folder = case(&["folder", "--image="]).file("folder/x", b"");
    assert_fails(&folder, "llvm-offload-binary: error: 'folder': Is a directory\n");
    case(&["one.o/x", "--image="]).assert_same();
}

// --------------------------------------------------------------------------------------------------- archives as input

/// An archive that `llvm-ar` makes of these files.
fn archive(name: &str, options: &str, files: &[(&str, Vec<u8>)]) -> PathBuf {
    let folder = scratch::folder(&format!("drop_in_packager/{name}"));
    for (name, bytes) in files {
        scratch::write(folder.join(name), bytes);
    }
    let names = files.iter().map(|(name, _)| *name);
    succeed(llvm("llvm-ar").current_dir(&folder).args([options, "lib.a"]).args(names));
    folder.join("lib.a")
}

fn archives_are_read() {
    let corpus = scratch::workspace().join("tests/corpus/fat_file");
    let files = [
        ("llvm_offloading.o", read(corpus.join("llvm_offloading.o"))),
        ("text", b"no object".to_vec()),
        ("a-long-name-for-a-member.o", read(corpus.join("llvm_offloading.obj"))),
        ("images.bin", several()),
    ];
    for options in ["rcD", "rcSD"] {
        let library = read(archive("archives_are_read", options, &files));
        for arguments in
            [&["lib.a", "--image="][..], &["lib.a", "--archive", "--image=file=out.a"], &["lib.a", "--image=kind=cuda"]]
        {
            let ran = case(arguments).file("lib.a", library.clone()).assert_same();
            assert!(ran.succeeded());
        }
    }
    let inner = read(archive("archives_in_archives", "rcD", &files));
    let outer =
        read(archive("archives_outside", "rcD", &[("inner.a", inner), ("llvm_offloading.o", files[0].1.clone())]));
    let ran = case(&["outer.a", "--archive", "--image=file=x.a"]).file("outer.a", outer).assert_same();
    assert!(ran.succeeded() && ran.files.contains_key(Path::new("x.a")));
}

fn thin_archives() {
    let files = [("images.bin", several()), ("dir/more.bin", packed(&["--image=file=one.o,arch=x"]))];
    let library = read(archive("thin_archives", "rcTD", &files));
    for place in ["", "elsewhere/"] {
        for arguments in [&["--image="][..], &["--archive", "--image=file=out.a"]] {
            let name = format!("{place}lib.a");
            let mut arguments = arguments.to_vec();
            arguments.push(&name);
            let mut case = case(&arguments).file(&name, library.clone());
            for (file, bytes) in &files {
                case = case.file(format!("{place}{file}"), bytes.clone());
            }
            assert!(case.assert_same().succeeded());
        }
    }
    let ran = case(&["lib.a", "--image="]).file("lib.a", library).assert_same();
    assert_eq!(ran.stderr, "llvm-offload-binary: error: 'images.bin': No such file or directory\n");
    // One that names itself.
    let own = b"!<thin>\nlib.a/          0           0     0     644     8         `\n";
    let ran = case(&["lib.a", "--image="]).file("lib.a", own).run(Whose::Ours);
    assert_eq!(ran.stderr, "llvm-offload-binary: error: 'lib.a': thin archives that name each other\n");
}

// ----------------------------------------------------------------------------------------------------- malformed input

/// Kinds, strings and bytes.
type Image<'a> = (ImageKind, OffloadKind, &'a [(&'a str, &'a str)], &'a [u8]);

/// A binary for each image, or one for all.
fn binary(version: Version, images: &[Image<'_>]) -> Vec<u8> {
    let mut builder = OffloadBinaryBuilder::new();
    for (image_kind, offload_kind, strings, bytes) in images {
        let image = builder.image(*image_kind, *offload_kind, bytes.len() as u64);
        for (key, value) in *strings {
            image.string(key, value);
        }
    }
    builder.layout(version).to_vec(&images.iter().map(|(_, _, _, bytes)| *bytes).collect::<Vec<_>>())
}

fn malformed_offload_binaries() {
    const INVALID: &str = "llvm-offload-binary: error: Invalid data was encountered while parsing the file\n";
    const END: &str = "llvm-offload-binary: error: The end of the file was unexpectedly encountered\n";
    let good = packed(&["--image=file=one.o,triple=amdgcn-amd-amdhsa,arch=gfx906,kind=hip"]);
    let number = |at: usize, value: u64| {
        let mut bytes = good.clone();
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        bytes
    };
    let fails = |bytes: Vec<u8>, message| assert_fails(&case(&["in", "--image="]).file("in", bytes), message);
    for size in [4, 8, 16, 31, 71] {
        fails(good[..size].to_vec(), INVALID);
    }
    for size in [72, 80, good.len() - 8, good.len() - 1] {
        fails(good[..size].to_vec(), END);
    }
    fails([&good[..], b"no magic"].concat(), INVALID);
    fails([&good[..], &good[..40]].concat(), INVALID);
    fails([&good[..], &good[..good.len() - 8]].concat(), END);
    for version in [0, 4, 0x100, u64::from(u32::MAX)] {
        let mut bytes = good.clone();
        bytes[4..8].copy_from_slice(&(version as u32).to_le_bytes());
        fails(bytes, INVALID);
    }
    // The size, the entry's offset.
    for value in [good.len() as u64 + 8, 1 << 32, 1 << 62, u64::MAX, 0, 1] {
        fails(number(8, value), END);
    }
    for value in [good.len() as u64, 1 << 40, 1 << 62, u64::MAX] {
        fails(number(16, value), END);
    }
    // Offsets of the strings and the image, in the entry.
    for value in [good.len() as u64 + 1, 1 << 40, 1 << 62, u64::MAX] {
        fails(number(32 + 8, value), END);
        fails(number(32 + 24, value), END);
    }
    // Nothing is asked for, and still it is read.
    assert_fails(&case(&["in"]).file("in", good[..100].to_vec()), END);

    // What LLVM does not look at: it ends with a signal, or copies what lies behind.
    for (at, value) in
        [(32 + 16, 1_u64 << 40), (32 + 16, u64::MAX), (32 + 32, 1 << 20), (32 + 32, 1 << 62), (72, 1 << 40)]
    {
        let ran = case(&["in", "--image="]).file("in", number(at, value)).run(Whose::Ours);
        assert_eq!(ran.status, "exit status: 1", "{at} {value}: {}", ran.stderr);
        assert!(ran.stderr.starts_with("llvm-offload-binary: error: "), "{at} {value}: {}", ran.stderr);
        assert_eq!(names(&ran), ["in"]);
    }
    let ran = case(&["in", "--image="]).file("in", number(32 + 32, 1 << 20)).run(Whose::Ours);
    assert_eq!(
        ran.stderr,
        format!(
            "llvm-offload-binary: error: 'in': entry 0, device image: 1048576 bytes from 144 lie past the end of the {} \
             bytes there are (field at offset 56)\n",
            good.len()
        )
    );
}

fn malformed_objects_and_archives() {
    let corpus = scratch::workspace().join("tests/corpus/fat_file");
    let object = read(corpus.join("llvm_offloading.o"));
    for (name, bytes) in [("in.o", object[..300].to_vec()), ("in.a", b"!<arch>\nxx".to_vec())] {
        let (theirs, ours) = case(&[name, "--image="]).file(name, bytes).both();
        assert_eq!((ours.status.as_str(), names(&ours)), ("exit status: 1", names(&theirs)));
        assert_eq!(theirs.status, ours.status);
        assert!(ours.stderr.starts_with(&format!("llvm-offload-binary: error: '{name}': ")), "{}", ours.stderr);
        assert!(!theirs.stderr.contains(name), "{}", theirs.stderr);
    }
}

fn malformed_bitcode_in_an_archive() {
    let binary = binary(Version::V1, &[(ImageKind::BITCODE, OffloadKind::HIP, &[("arch", "x")], b"BC\xc0\xdexx")]);
    let (theirs, ours) = case(&["in", "--archive", "--image=file=lib.a"]).file("in", binary).both();
    assert_eq!(
        (theirs.status.as_str(), theirs.stderr.as_str()),
        ("exit status: 0", "warning: 'in': Invalid bitcode signature\n")
    );
    assert_eq!((ours.status.as_str(), ours.stderr.as_str()), ("exit status: 0", ""));
    assert_eq!(ours.file("lib.a"), theirs.file("lib.a"));
}

// ----------------------------------------------------------------------------------------------- deliberate differences

fn later_versions_and_gaps() {
    let images: [Image<'_>; 2] = [
        (ImageKind::OBJECT, OffloadKind::HIP, &[("triple", "amdgcn-amd-amdhsa"), ("arch", "gfx906")], b"one"),
        (ImageKind::SPIRV, OffloadKind::SYCL, &[("triple", "spirv64")], b"two!"),
    ];
    let first = binary(Version::V1, &images[..1]);
    let mut builder = OffloadBinaryBuilder::new();
    builder.image(ImageKind::PTX, OffloadKind::CUDA, 1000).string("arch", "sm_80");
    let compressed = builder.compressed(offload_format::compression::Method::Zstd, None, &[&[7; 1000]]).unwrap();
    for (what, bytes, expected) in [
        ("version 2", binary(Version::V2, &images), vec!["in-amdgcn-amd-amdhsa-gfx906.0.o", "in-spirv64-.1.spv"]),
        ("version 3", binary(Version::V3, &images), vec!["in-amdgcn-amd-amdhsa-gfx906.0.o", "in-spirv64-.1.spv"]),
        ("compressed", compressed, vec!["in--sm_80.0.s"]),
        ("zeros behind", [&first[..], &[0; 8]].concat(), vec!["in-amdgcn-amd-amdhsa-gfx906.0.o"]),
        (
            "zeros between",
            [&first[..], &[0; 16], &first].concat(),
            vec!["in-amdgcn-amd-amdhsa-gfx906.0.o", "in-amdgcn-amd-amdhsa-gfx906.1.o"],
        ),
    ] {
        let (theirs, ours) = case(&["in", "--image="]).file("in", bytes).both();
        let message = "llvm-offload-binary: error: Invalid data was encountered while parsing the file\n";
        assert_eq!(theirs.stderr, message, "{what}");
        assert!(ours.succeeded(), "{what}: {}", ours.stderr);
        let mut expected = expected;
        expected.insert(0, "in");
        expected.sort_unstable();
        let mut found = names(&ours);
        found.sort_unstable();
        assert_eq!(found, expected, "{what}");
        for name in found.iter().filter(|name| name.ends_with(".0.s")) {
            assert_eq!(ours.file(name), [7; 1000]);
        }
    }
}

fn the_old_kind_of_hip() {
    let old = binary(Version::V1, &[(ImageKind::OBJECT, OffloadKind::HIP_OLD, &[("arch", "gfx906")], b"one")]);
    let (theirs, ours) = case(&["in", "--image=kind=hip,file=out"]).file("in", old).both();
    assert_eq!(names(&theirs), ["in"]);
    assert_eq!(ours.file("out"), b"one");
}

fn a_key_file_without_a_value() {
    let (theirs, ours) = case(&["-o", "out", "--image=file,triple=x"]).both();
    assert!(theirs.succeeded() && theirs.file("out").is_empty());
    assert_eq!(ours.stderr, "llvm-offload-binary: error: No such file or directory\n");
    assert_eq!(names(&ours), [""; 0]);
}

fn names_stay_in_the_folder() {
    let long = "x".repeat(10_000);
    let nul: &[(&str, &str)] = &[("arch", "a\0b")];
    for (version, strings, name) in [
        (Version::V1, &[("triple", "../../up"), ("arch", "/etc/passwd")][..], "in-.._.._up-_etc_passwd.0.o".to_owned()),
        (Version::V1, &[("triple", "a/b")], "in-a_b-.0.o".to_owned()),
        (Version::V1, &[("arch", "a\nb\u{1b}[31m")], "in--a_b_[31m.0.o".to_owned()),
        (Version::V1, &[("arch", &long)], format!("in--{}.0.o", "x".repeat(247))),
        (Version::V2, nul, "in--a_b.0.o".to_owned()),
    ] {
        let bytes = binary(version, &[(ImageKind::OBJECT, OffloadKind::HIP, strings, b"one")]);
        let ran = case(&["sub/in", "--image="]).file("sub/in", bytes).run(Whose::Ours);
        assert!(ran.succeeded(), "{}", ran.stderr);
        assert_eq!(names(&ran), [name.as_str(), "sub/in"]);
        assert_eq!(ran.file(&name), b"one");
    }
}

fn outputs_that_are_links() {
    let folder = scratch::folder("drop_in_packager/outputs_that_are_links");
    for (name, bytes) in inputs() {
        scratch::write(folder.join(name), bytes);
    }
    let ran = [own::tool(TOOL), offload_tests::tools::llvm_bin().join(TOOL)].map(|tool| {
        for name in ["link", "target"] {
            let _ = fs::remove_file(folder.join(name));
        }
        scratch::write(folder.join("target"), "old");
        std::os::unix::fs::symlink("target", folder.join("link")).unwrap();
        succeed(Command::new(tool).current_dir(&folder).args(["-o", "link", "--image=file=one.o"]));
        (folder.join("link").is_symlink(), read(folder.join("target")) == b"old", read(folder.join("link")).len())
    });
    let [(ours_is_link, ours_left_target, our_size), (theirs_is_link, theirs_left_target, their_size)] = ran;
    assert_eq!((ours_is_link, ours_left_target), (true, false));
    assert_eq!((theirs_is_link, theirs_left_target), (false, true));
    assert_eq!(our_size, their_size);
}

fn permissions_of_outputs() {
    let folder = scratch::folder("drop_in_packager/permissions_of_outputs");
    scratch::write(folder.join("one.o"), "one");
    let modes = [own::tool(TOOL), offload_tests::tools::llvm_bin().join(TOOL)].map(|tool| {
        scratch::write(folder.join("out"), "old");
        fs::set_permissions(folder.join("out"), Permissions::from_mode(0o640)).unwrap();
        for output in ["out", "new"] {
            succeed(Command::new(&tool).current_dir(&folder).args(["-o", output, "--image=file=one.o"]));
        }
        let modes = ["out", "new"].map(|name| fs::metadata(folder.join(name)).unwrap().permissions().mode() & 0o777);
        fs::remove_file(folder.join("new")).unwrap();
        modes
    });
    let [[ours, our_new], [theirs, their_new]] = modes;
    assert_eq!((ours, our_new, theirs), (0o640, their_new, their_new));
}

fn options_of_libraries() {
    for option in ["--color", "--time-passes", "--stats"] {
        let (theirs, ours) = case(&[option, "-o", "out"]).both();
        assert!(theirs.succeeded(), "{option}: {}", theirs.stderr);
        assert!(ours.stderr.starts_with("llvm-offload-binary: Unknown command line argument"), "{}", ours.stderr);
    }
}

fn arguments_that_are_no_text() {
    let (theirs, ours) = Case::new(TOOL, [OsStr::from_bytes(b"-\xff")]).both();
    // Both as the harness shows them.
    assert_eq!((&ours.stderr, &ours.status), (&theirs.stderr, &theirs.status));
    let with = |bytes: &[u8]| {
        let image = [b"--image=file=one.o,".as_slice(), bytes].concat();
        Case::new(TOOL, [OsStr::new("-o"), OsStr::new("out"), OsStr::from_bytes(&image)]).file("one.o", "one")
    };
    assert!(with(b"arch=\xff\xfe").assert_same().succeeded());
    let (theirs, ours) = with(b"\xff=x").both();
    assert!(theirs.succeeded());
    assert_eq!(ours.stderr, "llvm-offload-binary: error: the key '\u{fffd}' of an image is not UTF-8\n");
    assert!(!ours.files.contains_key(Path::new("out")));
}

// -------------------------------------------------------------------------------------------------------------- faults

fn a_full_disk() {
    let (theirs, ours) = case(&["-o", "/dev/full", "--image=file=one.o"]).both();
    assert_eq!(theirs.stderr, "LLVM ERROR: IO failure on output stream: No space left on device\n");
    assert_eq!(ours.stderr, "llvm-offload-binary: error: '/dev/full': No space left on device\n");
    assert_eq!((&ours.status, names(&ours)), (&theirs.status, names(&theirs)));
    let (theirs, ours) = case(&["in", "--image=file=/dev/full,arch=sm_80"]).file("in", several()).both();
    assert_eq!(theirs.stderr, "LLVM ERROR: IO failure on output stream: No space left on device\n");
    assert_eq!(ours.stderr, "llvm-offload-binary: error: '/dev/full': No space left on device\n");
    // LLVM's tool would make an ordinary file of the device.
    let ran = case(&["in", "--archive", "--image=file=/dev/full,arch=sm_80"]).file("in", several()).run(Whose::Ours);
    assert_eq!(ran.stderr, "llvm-offload-binary: error: '/dev/full': No space left on device\n");
    assert!(!Path::new("/dev/full").is_file());
}

fn an_error_leaves_the_old_output() {
    let old = |arguments: &[&str]| case(arguments).file("out", b"old").run(Whose::Ours);
    for arguments in [
        &["-o", "out", "--image=file=none"][..],
        &["-o", "out", "--image=file=one.o", "--image=triple=x"],
        &["-o", "out", "--image=file=one.o", "--image=file=."],
        &["none", "--image=file=out"],
    ] {
        let ran = old(arguments);
        assert_eq!((ran.status.as_str(), ran.file("out")), ("exit status: 1", b"old".as_slice()), "{arguments:?}");
        assert_eq!(names(&ran), ["out"], "{arguments:?}");
    }
    // A limit on the size of files stands for a disk that becomes full in the middle.
    let folder = scratch::folder("drop_in_packager/an_error_leaves_the_old_output");
    scratch::write(folder.join("big"), some_bytes(1, 100_000));
    scratch::write(folder.join("out"), "old");
    let command = format!("trap '' XFSZ; ulimit -f 8; exec '{}' -o out --image=file=big", own::tool(TOOL).display());
    let output = Command::new("bash").args(["-c", &command]).current_dir(&folder).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.ends_with("error: 'out': File too large\n"), "{stderr}");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(files_in(&folder), BTreeMap::from([("big".into(), 100_000), ("out".into(), 3)]));
}

fn files_in(folder: &Path) -> BTreeMap<String, u64> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries.map(|entry| (entry.file_name().into_string().unwrap(), entry.metadata().unwrap().len())).collect()
}

fn pipes_as_input() {
    let folder = scratch::folder("drop_in_packager/pipes_as_input");
    succeed(Command::new("mkfifo").current_dir(&folder).arg("pipe"));
    let through_pipe = |arguments: &[&str], bytes: Vec<u8>| {
        let mut tool = Command::new(own::tool(TOOL));
        let child = tool.current_dir(&folder).args(arguments).stderr(Stdio::piped()).spawn().unwrap();
        fs::write(folder.join("pipe"), bytes).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    through_pipe(&["-o", "out", "--image=file=pipe,triple=t,arch=a"], b"content".to_vec());
    through_pipe(&["pipe", "--image="], read(folder.join("out")));
    assert_eq!(read(folder.join("pipe-t-a.0.")), b"content");
}

fn sizes_that_a_header_claims() {
    let mut builder = OffloadBinaryBuilder::new();
    builder.image(ImageKind::PTX, OffloadKind::CUDA, 1000).string("arch", "sm_80");
    let mut compressed = builder.compressed(offload_format::compression::Method::Zstd, None, &[&[7; 1000]]).unwrap();
    for size in [1_u64 << 34, 1 << 62, u64::MAX] {
        compressed[32..40].copy_from_slice(&size.to_le_bytes());
        let ran = case(&["in", "--image="]).file("in", compressed.clone()).run(Whose::Ours);
        assert_eq!(ran.status, "exit status: 1");
        assert!(ran.stderr.contains(&format!("'in': offload binary: {size} bytes are needed")), "{}", ran.stderr);
    }
}
