//! Tests of the command lines with full disks, folders instead of files, pipes, files that change
//! while they are read, and interrupts. Each fault causes a message; an existing output stays
//! unchanged, and no other file is left.

use offload_tests::registry::NOTHING;
use offload_tests::{data, own, scratch};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const SIGINT: i32 = 2;
const SIGBUS: i32 = 7;
const SIGTERM: i32 = 15;

offload_tests::tests! {
    NOTHING => [
        no_room,
        folders_and_missing_files,
        pipes,
        inputs_that_shrink,
        links,
        links_where_files_are_extracted,
        thin_archives_of_what_is_no_file,
        interrupts,
        sizes_that_cannot_be,
    ],
}

const OLD: &[u8] = b"what was there before";

/// Returns bytes that compression cannot shorten.
fn random(seed: u64) -> Vec<u8> {
    data::Random::new(seed).bytes(300_000)
}

/// Makes a folder with the inputs of all command lines, and with old outputs.
fn folder(name: &str) -> PathBuf {
    let folder = scratch::folder(&format!("faults-{name}"));
    scratch::write(folder.join("one"), random(1));
    scratch::write(folder.join("two"), random(2));
    for (line, name) in [(BUNDLE, "bundle"), (PACK, "binary")] {
        let output = ended(&folder, line);
        assert!(output.status.success(), "{line}: {}", message(&output));
        fs::rename(folder.join("out"), folder.join(name)).expect("it was written");
    }
    scratch::write(folder.join("out"), OLD);
    folder
}

const BUNDLE: &str = "clang-offload-bundler -type=bc \
    -targets=host-x86_64-unknown-linux-gnu-,hip-amdgcn-amd-amdhsa--gfx906 -input=one -input=two -output=out";
const COMPRESS: &str = "clang-offload-bundler -type=bc -compress -compression-level=-7 \
    -targets=host-x86_64-unknown-linux-gnu-,hip-amdgcn-amd-amdhsa--gfx906 -input=one -input=two -output=out";
const UNBUNDLE: &str = "clang-offload-bundler -type=bc -unbundle -targets=hip-amdgcn-amd-amdhsa--gfx906 \
    -input=bundle -output=out";
const PACK: &str = "llvm-offload-binary -o out --image=file=one,triple=amdgcn-amd-amdhsa,arch=gfx906,kind=hip \
    --image=file=two,triple=nvptx64-nvidia-cuda,arch=sm_80,kind=cuda";
const EXTRACT: &str = "llvm-offload-binary binary --image=file=out,arch=gfx906";

const OFFLOAD_BUNDLE: &str = "cargo-offload bundle --force -o out gfx906=one gfx908=two";
const OFFLOAD_COMPRESS: &str =
    "cargo-offload bundle --force --compress -o out gfx906=one gfx908=two";
const OFFLOAD_PACK: &str = "cargo-offload pack --force -o out gfx906=one gfx908=two";
const OFFLOAD_SELECT: &str = "cargo-offload select binary --device gfx906 -o out";

/// All command lines that write to `out`.
const WRITERS: [&str; 9] = [
    BUNDLE,
    COMPRESS,
    UNBUNDLE,
    PACK,
    EXTRACT,
    OFFLOAD_BUNDLE,
    OFFLOAD_COMPRESS,
    OFFLOAD_PACK,
    OFFLOAD_SELECT,
];

/// Returns the command line with the output `output` instead of `out`.
fn with_output(line: &str, output: &str) -> String {
    line.replace("=out", &format!("={output}")).replace("-o out", &format!("-o {output}"))
}

fn command(folder: &Path, line: &str) -> Command {
    let mut words = line.split_whitespace();
    let mut command = Command::new(own::tool(words.next().expect("a name comes first")));
    command.args(words).current_dir(folder);
    command
}

fn run(folder: &Path, line: &str) -> std::io::Result<Child> {
    command(folder, line).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
}

fn ended(folder: &Path, line: &str) -> Output {
    run(folder, line).expect("it starts").wait_with_output().expect("it ends")
}

/// Runs a command line in a shell for at most one minute, after the shell command `limit`, for
/// example `ulimit`.
fn under_limit(folder: &Path, line: &str, limit: &str) -> Output {
    let tool = command(folder, line);
    let mut shell = Command::new("bash");
    shell
        .args(["-c", &format!("{limit}; exec timeout 60 \"$0\" \"$@\"")])
        .arg(tool.get_program())
        .args(tool.get_args());
    shell.current_dir(folder).output().expect("there is a shell")
}

fn message(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Asserts that the command line has failed with this message. The old output must be unchanged,
/// and no file may be added or removed.
#[track_caller]
fn assert_fails_and_leaves_all(
    folder: &Path,
    before: &[String],
    line: &str,
    ran: &Output,
    expected: &str,
) {
    assert_eq!(ran.status.code(), Some(1), "{line}: {}", message(ran));
    assert!(message(ran).contains(expected), "{line}: {}", message(ran));
    assert_leaves_all(folder, before, line);
}

#[track_caller]
fn assert_leaves_all(folder: &Path, before: &[String], line: &str) {
    assert_eq!(data::read(folder.join("out")), OLD, "{line}");
    assert_eq!(names(folder), before, "{line}");
}

/// Returns the names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder can be read");
    let mut names: Vec<_> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Tests a disk that becomes full while a file is written, and a device that is full.
fn no_room() {
    let folder = folder("no-room");
    let before = names(&folder);
    for line in WRITERS {
        // A limit of 100 KiB on the size of files simulates a disk that becomes full while a file
        // is written.
        let output = under_limit(&folder, line, "trap '' XFSZ; ulimit -f 100");
        assert_fails_and_leaves_all(&folder, &before, line, &output, "File too large");
        // A device has no old content that could be lost, so only the error is checked.
        let output = ended(&folder, &with_output(line, "/dev/full"));
        assert_eq!(output.status.code(), Some(1), "{line}");
        assert!(
            message(&output).contains("No space left on device"),
            "{line}: {}",
            message(&output)
        );
    }
}

/// Tests inputs and outputs that are folders, that are missing, or whose folder is a file.
fn folders_and_missing_files() {
    let folder = folder("folders");
    fs::create_dir(folder.join("folder")).expect("it can be made");
    let before = names(&folder);
    for line in WRITERS {
        for (input, output, expected) in [
            ("folder", "out", "Is a directory"),
            ("gone", "out", "No such file or directory"),
            ("", "folder", "Is a directory"),
            ("", "no/such/folder", "No such file or directory"),
            ("", "one/two", "Not a directory"),
        ] {
            let mut line = with_output(line, output);
            if !input.is_empty() {
                for name in ["=one", "=bundle", " binary"] {
                    line = line.replace(name, &format!("{}{input}", &name[..1]));
                }
            }
            let ran = ended(&folder, &line);
            assert_fails_and_leaves_all(&folder, &before, &line, &ran, expected);
        }
    }
}

/// Makes a named pipe.
fn pipe(path: &Path) {
    let status = Command::new("mkfifo").arg(path).status().expect("there is mkfifo");
    assert!(status.success(), "mkfifo: {status}");
}

/// Tests named pipes as inputs and outputs: the bytes are the same as with files.
fn pipes() {
    let folder = folder("pipes");
    pipe(&folder.join("pipe"));
    for (line, input) in [
        (BUNDLE, "two"),
        (UNBUNDLE, "bundle"),
        (PACK, "two"),
        (EXTRACT, "binary"),
        (OFFLOAD_BUNDLE, "two"),
        (OFFLOAD_PACK, "two"),
        (OFFLOAD_SELECT, "binary"),
    ] {
        let expected = ended(&folder, line);
        assert!(expected.status.success(), "{line}: {}", message(&expected));
        let expected = data::read(folder.join("out"));
        // In the first run the input is a pipe, in the second run the output.
        let piped = line.replace(&format!("={input}"), "=pipe").replace(" binary", " pipe");
        let child = run(&folder, &piped).expect("it starts");
        fs::write(folder.join("pipe"), data::read(folder.join(input))).expect("somebody reads");
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{piped}: {}", message(&output));
        assert!(data::read(folder.join("out")) == expected, "{piped}");
        let piped = with_output(line, "pipe");
        let child = run(&folder, &piped).expect("it starts");
        assert!(data::read(folder.join("pipe")) == expected, "{piped}");
        assert!(child.wait_with_output().expect("it ends").status.success(), "{piped}");
        fs::write(folder.join("out"), OLD).expect("it can be written");
    }
}

/// Tests outputs that are links: the link stays, and its target is created or replaced.
fn links() {
    use std::os::unix::fs::symlink;
    let folder = folder("links");
    fs::create_dir(folder.join("elsewhere")).expect("it can be made");
    symlink("elsewhere/second", folder.join("link")).expect("it can be made");
    symlink("made", folder.join("elsewhere/second")).expect("it can be made");
    symlink("round", folder.join("round")).expect("it can be made");
    for line in WRITERS {
        assert!(ended(&folder, line).status.success(), "{line}");
        let expected = data::read(folder.join("out"));
        let to_link = with_output(line, "link");
        for what in ["it is made", "it is replaced"] {
            assert!(ended(&folder, &to_link).status.success(), "{to_link}: {what}");
            for link in ["link", "elsewhere/second"] {
                assert!(folder.join(link).is_symlink(), "{to_link}: {link} is no link any more");
            }
            assert!(data::read(folder.join("elsewhere/made")) == expected, "{to_link}: {what}");
        }
        fs::remove_file(folder.join("elsewhere/made")).expect("it is there");
        let to_itself = with_output(line, "round");
        let output = ended(&folder, &to_itself);
        assert_eq!(output.status.code(), Some(1), "{to_itself}: {}", message(&output));
        assert_eq!(names(&folder.join("elsewhere")), ["second"], "nothing else is left");
    }
}

/// Tests outputs whose names come from inside a file: a link of that name is replaced, and the
/// link's target stays unchanged.
fn links_where_files_are_extracted() {
    use std::os::unix::fs::symlink;
    let folder = folder("extracted-links");
    for line in ["cargo-offload extract ../binary", "llvm-offload-binary ../binary --image="] {
        let out = folder.join("extracted");
        let _ = fs::remove_dir_all(&out);
        fs::create_dir(&out).expect("it can be made");
        let extract = || {
            let ran = ended(&out, line);
            assert!(ran.status.success(), "{line}: {}", message(&ran));
        };
        extract();
        let files = names(&out);
        assert_eq!(files.len(), 2, "{line}: {files:?}");
        let file = out.join(&files[0]);
        let expected = data::read(&file);
        let outside = folder.join("outside");
        scratch::write(outside.join("victim"), OLD);
        let make = |what: &str| match what {
            "a link to a file" => symlink(outside.join("victim"), &file).expect("it can be made"),
            "a link to nowhere" => symlink(outside.join("new"), &file).expect("it can be made"),
            "a link to a folder" => symlink(&outside, &file).expect("it can be made"),
            "a link to a device" => symlink("/dev/full", &file).expect("it can be made"),
            "another name of a file" => {
                fs::hard_link(outside.join("victim"), &file).expect("it can be made")
            }
            _ => pipe(&file),
        };
        for what in [
            "a link to a file",
            "a link to nowhere",
            "a link to a folder",
            "a link to a device",
            "another name of a file",
            "a pipe",
        ] {
            fs::remove_file(&file).expect("it is there");
            make(what);
            extract();
            assert!(
                fs::symlink_metadata(&file).expect("it is there").is_file(),
                "{line}: {what} is still there"
            );
            assert!(data::read(&file) == expected, "{line}: {what}");
            assert_eq!(data::read(outside.join("victim")), OLD, "{line}: {what}");
            assert_eq!(
                (names(&outside), names(&out)),
                (vec!["victim".to_owned()], files.clone()),
                "{line}: {what}"
            );
        }
    }
}

/// Returns a thin archive with one member, the file of this name.
fn thin_archive(name: &str) -> Vec<u8> {
    let names = format!("{name}/\n");
    let mut archive = b"!<thin>\n".to_vec();
    archive.extend(format!("{:<48}{:<10}`\n{names}", "//", names.len()).bytes());
    if names.len() % 2 == 1 {
        archive.push(b'\n');
    }
    archive.extend(format!("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", "/0", 0, 0, 0, 644, 8).bytes());
    archive
}

/// Tests members of thin archives, which are separate files. The tool refuses members that are not
/// regular files: reading a device may never end, and a pipe may have no writer.
fn thin_archives_of_what_is_no_file() {
    let folder = folder("thin-archives");
    pipe(&folder.join("pipe"));
    fs::create_dir(folder.join("folder")).expect("it can be made");
    std::os::unix::fs::symlink("/dev/zero", folder.join("link")).expect("it can be made");
    scratch::write(folder.join("thin.a"), "");
    let before = names(&folder);
    for line in [
        "clang-offload-bundler -type=a -unbundle -allow-missing-bundles \
            -targets=openmp-amdgcn-amd-amdhsa--gfx906 -input=thin.a -output=out",
        "llvm-offload-binary thin.a --image=file=out",
    ] {
        for (member, expected) in [
            ("/dev/zero", "'/dev/zero': not a regular file"),
            ("pipe", "'pipe': not a regular file"),
            ("link", "'link': not a regular file"),
            ("folder", "'folder': Is a directory"),
            ("gone", "'gone': No such file or directory"),
            ("g\u{1b}[31mone", "'g\\x1b[31mone': No such file or directory"),
        ] {
            scratch::write(folder.join("thin.a"), thin_archive(member));
            let ran = under_limit(&folder, line, "ulimit -v 500000");
            assert_fails_and_leaves_all(&folder, &before, line, &ran, expected);
        }
        // This regular file has the size 0, but reading it to its end would take too long.
        scratch::write(folder.join("thin.a"), thin_archive("/proc/self/pagemap"));
        let ran = under_limit(&folder, line, "ulimit -v 500000");
        assert!(ran.status.success(), "{line}: {}", message(&ran));
        scratch::write(folder.join("out"), OLD);
    }
}

/// Cuts the first input short after the tool has mapped it into memory, while the tool waits for
/// its second input, a pipe.
fn inputs_that_shrink() {
    let folder = folder("shrink");
    pipe(&folder.join("pipe"));
    let before = names(&folder);
    for line in [BUNDLE, COMPRESS, PACK, OFFLOAD_BUNDLE, OFFLOAD_COMPRESS, OFFLOAD_PACK] {
        let child = run(&folder, &line.replace("=two", "=pipe")).expect("it starts");
        wait_until(&format!("{line}: the tool has mapped its first input"), || {
            has_mapped(&child, &folder.join("one"))
        });
        let one = fs::OpenOptions::new().write(true).open(folder.join("one")).expect("it is there");
        one.set_len(10).expect("it can be cut");
        fs::write(folder.join("pipe"), b"the second").expect("somebody reads");
        let output = child.wait_with_output().expect("it ends");
        // If the kernel copies the file's bytes, the tool notices that the file is shorter. If the
        // tool itself reads the mapped bytes, it gets the signal SIGBUS.
        let text = message(&output);
        assert!(
            text.contains("became shorter while it was read"),
            "{line}: {text}{}",
            output.status
        );
        assert!(
            output.status.code() == Some(1) || output.status.signal() == Some(SIGBUS),
            "{}",
            output.status
        );
        assert_leaves_all(&folder, &before, line);
        scratch::write(folder.join("one"), random(1));
    }
}

/// Whether a process has mapped a file into memory.
fn has_mapped(child: &Child, path: &Path) -> bool {
    let maps = fs::read_to_string(format!("/proc/{}/maps", child.id())).unwrap_or_default();
    maps.lines().any(|line| line.ends_with(&*path.to_string_lossy()))
}

/// Stops a tool by a signal while it writes.
fn interrupts() {
    let folder = folder("interrupts");
    // The large size makes the copy last long; the file uses no space on the disk.
    let huge = fs::File::create(folder.join("one")).expect("it can be made");
    huge.set_len(3 << 30).expect("it can be made longer");
    let before = names(&folder);
    for (line, signal) in [(BUNDLE, SIGINT), (PACK, SIGTERM), (OFFLOAD_BUNDLE, SIGINT)] {
        let child = run(&folder, line).expect("it starts");
        wait_until(&format!("{line}: the tool writes"), || names(&folder).len() > before.len());
        // `kill` is a built-in command of the shell, because not every system has a program of that
        // name.
        let sent =
            Command::new("bash").args(["-c", &format!("kill -{signal} {}", child.id())]).status();
        assert!(sent.expect("there is a shell").success());
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.signal(), Some(signal), "{line}: {}", output.status);
        assert_leaves_all(&folder, &before, line);
    }
}

fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < Duration::from_secs(60), "never came: {what}");
        std::thread::yield_now();
    }
}

/// Tests files whose headers claim 2^62 bytes, with a low limit on memory.
fn sizes_that_cannot_be() {
    let folder = folder("sizes");
    let mut compressed =
        data::read(scratch::workspace().join("tests/corpus/compressed/v3_zstd.ccob"));
    compressed[16..24].copy_from_slice(&(1u64 << 62).to_le_bytes());
    scratch::write(folder.join("compressed"), compressed);
    let mut bundle = data::read(folder.join("bundle"));
    bundle[24..32].copy_from_slice(&(1u64 << 62).to_le_bytes());
    scratch::write(folder.join("entries"), bundle);
    let before = names(&folder);
    for line in [
        "clang-offload-bundler -type=bc -unbundle -verbose -targets=hip-amdgcn-amd-amdhsa--gfx906 -output=out -input=",
        "clang-offload-bundler -type=bc -list -verbose -input=",
    ] {
        for (input, expected) in
            [("compressed", "4611686018427387904 bytes"), ("entries", "lie past the end of the")]
        {
            let line = format!("{line}{input}");
            let output = under_limit(&folder, &line, "ulimit -v 500000");
            assert_fails_and_leaves_all(&folder, &before, &line, &output, expected);
        }
    }
}
