//! Tests of the command lines with full disks, folders instead of files, pipes, files that change
//! while the tool reads them, and interrupts. Each fault must cause a message. An existing output
//! must stay unchanged, and no other file may remain.

use crate::containers::with;
use offload_format::compression::Method;
use offload_format::offload_binary::{OffloadBinaryBuilder, OffloadKind, StatedKind};
use offload_tests::prelude::*;
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const SIGINT: i32 = 2;
const SIGBUS: i32 = 7;
const SIGTERM: i32 = 15;
const O_NONBLOCK: i32 = 0o4000;

const OLD: &[u8] = b"what was there before";

/// Returns bytes that compression cannot shorten.
fn random(seed: u64) -> Vec<u8> {
    data::Random::new(seed).bytes(300_000)
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

fn start(folder: &Path, line: &str) -> Child {
    let mut command = command(folder, line);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("it starts")
}

fn ended(folder: &Path, line: &str) -> Output {
    processes::output(&mut command(folder, line)).expect("it starts")
}

#[track_caller]
fn succeeds(folder: &Path, line: &str) {
    succeed(&mut command(folder, line));
}

/// Runs a command line in a shell for at most a minute. The shell first runs `limit`, for example
/// `ulimit`.
fn under_limit(folder: &Path, line: &str, limit: &str) -> Output {
    let tool = command(folder, line);
    let mut shell = Command::new("bash");
    shell.args(["-c", &format!("{limit}; exec timeout 60 \"$0\" \"$@\"")]);
    shell.arg(tool.get_program()).args(tool.get_args()).current_dir(folder);
    processes::output(&mut shell).expect("there is a shell")
}

#[track_caller]
fn assert_fails(line: &str, ran: &Output, expected: &str) {
    let message = stderr(ran);
    assert_eq!(ran.status.code(), Some(1), "{line}: {message}");
    assert!(message.contains(expected), "{line}: {message}");
}

/// A folder with the inputs of all command lines, an old output, and files that a test adds.
struct Folder {
    path: PathBuf,
    before: Vec<String>,
}

impl Folder {
    /// Creates the folder, to which `prepare` adds files.
    fn new(name: &str, prepare: impl FnOnce(&Path)) -> Self {
        let path = scratch::folder(&format!("faults-{name}"));
        scratch::write(path.join("one"), random(1));
        scratch::write(path.join("two"), random(2));
        for (line, name) in [(BUNDLE, "bundle"), (PACK, "binary")] {
            succeeds(&path, line);
            fs::rename(path.join("out"), path.join(name)).expect("it was written");
        }
        scratch::write(path.join("out"), OLD);
        prepare(&path);
        let before = names(&path);
        Self { path, before }
    }

    /// Asserts that the old output is unchanged, and no file was added or removed.
    #[track_caller]
    fn assert_unchanged(&self, line: &str) {
        assert_eq!(data::read(self.path.join("out")), OLD, "{line}");
        assert_eq!(names(&self.path), self.before, "{line}");
    }

    /// Asserts that a command line failed with this message, and changed nothing.
    #[track_caller]
    fn assert_fails(&self, line: &str, ran: &Output, expected: &str) {
        assert_fails(line, ran, expected);
        self.assert_unchanged(line);
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder can be read");
    let mut names: Vec<_> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Tests a disk that becomes full while the tool writes a file, and a full device.
#[test]
fn no_room() {
    let folder = Folder::new("no-room", |path| scratch::write(path.join("tiny"), "tiny"));
    for line in WRITERS {
        // A limit of 100 KiB for the size of files simulates a disk that becomes full.
        let ran = under_limit(&folder.path, line, "trap '' XFSZ; ulimit -f 100");
        folder.assert_fails(line, &ran, "File too large");
        // A device has no old contents to lose, so check only the error.
        let ran = ended(&folder.path, &with_output(line, "/dev/full"));
        assert_fails(line, &ran, "No space left on device");
    }
    // A small output stays in standard output's buffer until the end.
    let line = "llvm-offload-binary -o - --image=file=tiny";
    let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("it is a device");
    let ran = command(&folder.path, line).stdout(full).output().expect("it starts");
    assert_fails(line, &ran, "No space left on device");
}

/// Tests inputs and outputs that are folders, that are missing, or whose folder is a file.
#[test]
fn folders_and_missing_files() {
    let folder = Folder::new("folders", |path| {
        fs::create_dir(path.join("folder")).expect("it can be made");
    });
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
            folder.assert_fails(&line, &ended(&folder.path, &line), expected);
        }
    }
}

fn pipe(path: &Path) {
    succeed(Command::new("mkfifo").arg(path));
}

/// Tests named pipes as inputs and outputs: the bytes must be the same as with files.
#[test]
fn pipes() {
    let folder = Folder::new("pipes", |path| pipe(&path.join("pipe"))).path;
    for (line, input) in [
        (BUNDLE, "two"),
        (UNBUNDLE, "bundle"),
        (PACK, "two"),
        (EXTRACT, "binary"),
        (OFFLOAD_BUNDLE, "two"),
        (OFFLOAD_PACK, "two"),
        (OFFLOAD_SELECT, "binary"),
    ] {
        succeeds(&folder, line);
        let expected = data::read(folder.join("out"));
        let ends = |child: Child, line: &str| {
            let output = child.wait_with_output().expect("it ends");
            assert!(output.status.success(), "{line}: {}", stderr(&output));
        };
        // In the first run, the input is a pipe. In the second run, the output is one.
        let piped = line.replace(&format!("={input}"), "=pipe").replace(" binary", " pipe");
        let child = start(&folder, &piped);
        // A tool that fails may never open the pipe. In this case, only the thread keeps waiting.
        let (pipe, bytes) = (folder.join("pipe"), data::read(folder.join(input)));
        let writer = thread::spawn(move || fs::write(pipe, bytes));
        ends(child, &piped);
        writer.join().expect("it does not panic").expect("somebody reads");
        assert!(data::read(folder.join("out")) == expected, "{piped}");
        let piped = with_output(line, "pipe");
        let child = start(&folder, &piped);
        let pipe = folder.join("pipe");
        let reader = thread::spawn(move || data::read(pipe));
        ends(child, &piped);
        assert!(reader.join().expect("it is read") == expected, "{piped}");
        fs::write(folder.join("out"), OLD).expect("it can be written");
    }
}

/// Tests outputs that are links: the link must stay, and its target must be created or replaced.
#[test]
fn links() {
    let folder = Folder::new("links", |_| ()).path;
    fs::create_dir(folder.join("elsewhere")).expect("it can be made");
    let cases = [("elsewhere/second", "link"), ("made", "elsewhere/second"), ("round", "round")];
    for (target, link) in cases {
        symlink(target, folder.join(link)).expect("it can be made");
    }
    for line in WRITERS {
        succeeds(&folder, line);
        let expected = data::read(folder.join("out"));
        let to_link = with_output(line, "link");
        for what in ["it is made", "it is replaced"] {
            succeeds(&folder, &to_link);
            for link in ["link", "elsewhere/second"] {
                assert!(folder.join(link).is_symlink(), "{to_link}: {link} is no link any more");
            }
            assert!(data::read(folder.join("elsewhere/made")) == expected, "{to_link}: {what}");
        }
        fs::remove_file(folder.join("elsewhere/made")).expect("it is there");
        let to_itself = with_output(line, "round");
        assert_fails(&to_itself, &ended(&folder, &to_itself), "");
        assert_eq!(names(&folder.join("elsewhere")), ["second"], "nothing else is left");
    }
}

/// Tests outputs whose names come from inside a file: a link with such a name must be replaced, and
/// the link's target must stay unchanged.
#[test]
fn links_where_files_are_extracted() {
    let folder = Folder::new("extracted-links", |_| ()).path;
    for line in ["cargo-offload extract ../binary", "llvm-offload-binary ../binary --image="] {
        let out = folder.join("extracted");
        let _ = fs::remove_dir_all(&out);
        fs::create_dir(&out).expect("it can be made");
        succeeds(&out, line);
        let files = names(&out);
        assert_eq!(files.len(), 2, "{line}: {files:?}");
        let file = out.join(&files[0]);
        let expected = data::read(&file);
        let outside = folder.join("outside");
        let victim = outside.join("victim");
        scratch::write(&victim, OLD);
        for what in [
            "a link to a file",
            "a link to nowhere",
            "a link to a folder",
            "a link to a device",
            "another name of a file",
            "a pipe",
        ] {
            fs::remove_file(&file).expect("it is there");
            match what {
                "a link to a file" => symlink(&victim, &file),
                "a link to nowhere" => symlink(outside.join("new"), &file),
                "a link to a folder" => symlink(&outside, &file),
                "a link to a device" => symlink("/dev/full", &file),
                "another name of a file" => fs::hard_link(&victim, &file),
                _ => {
                    pipe(&file);
                    Ok(())
                }
            }
            .expect("it can be made");
            succeeds(&out, line);
            let is_file = fs::symlink_metadata(&file).expect("it is there").is_file();
            assert!(is_file, "{line}: {what} is still there");
            assert!(data::read(&file) == expected, "{line}: {what}");
            assert_eq!(data::read(&victim), OLD, "{line}: {what}");
            assert_eq!(names(&outside), ["victim"], "{line}: {what}");
            assert_eq!(names(&out), files, "{line}: {what}");
        }
    }
}

/// Returns a thin archive with one member: the file with this name.
pub fn thin_archive(name: &str) -> Vec<u8> {
    let mut names = format!("{name}/\n");
    let size = names.len();
    names += if size % 2 == 1 { "\n" } else { "" };
    let table = format!("{:<48}{size:<10}`\n{names}", "//");
    let member = format!("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", "/0", 0, 0, 0, 644, 8);
    format!("!<thin>\n{table}{member}").into_bytes()
}

/// Tests members of thin archives, which are separate files. The tool must refuse members that are
/// not regular files, because reading a device may never end, and a pipe may have no writer.
#[test]
fn thin_archives_of_what_is_no_file() {
    let folder = Folder::new("thin-archives", |path| {
        pipe(&path.join("pipe"));
        fs::create_dir(path.join("folder")).expect("it can be made");
        symlink("/dev/zero", path.join("link")).expect("it can be made");
        scratch::write(path.join("thin.a"), "");
    });
    for line in [
        "clang-offload-bundler -type=a -unbundle -allow-missing-bundles \
            -targets=openmp-amdgcn-amd-amdhsa--gfx906 -input=thin.a -output=out",
        "llvm-offload-binary thin.a --image=file=out",
    ] {
        let with_member = |member: &str| {
            scratch::write(folder.path.join("thin.a"), thin_archive(member));
            under_limit(&folder.path, line, "ulimit -v 500000")
        };
        for (member, expected) in [
            ("/dev/zero", "'/dev/zero': members of thin archives must be regular files"),
            ("pipe", "'pipe': members of thin archives must be regular files"),
            ("link", "'link': members of thin archives must be regular files"),
            ("folder", "'folder': Is a directory"),
            ("gone", "'gone': No such file or directory"),
            ("g\u{1b}[31mone", "'g\\x1b[31mone': No such file or directory"),
        ] {
            folder.assert_fails(line, &with_member(member), expected);
        }
        // This regular file has size 0, but reading it to its end would take too long.
        let ran = with_member("/proc/self/pagemap");
        assert!(ran.status.success(), "{line}: {}", stderr(&ran));
        scratch::write(folder.path.join("out"), OLD);
    }
}

/// Tests inputs that are devices. The tool must refuse devices that may have no end, and must
/// accept an empty one.
#[test]
fn devices_are_not_read() {
    let folder = Folder::new("devices", |_| {});
    let in_little_memory = |line: &str| under_limit(&folder.path, line, "ulimit -v 500000");
    for line in [
        "cargo-offload ls FILE",
        "cargo-offload verify FILE",
        "cargo-offload size FILE",
        "cargo-offload extract FILE",
        "cargo-offload reach FILE",
        "cargo-offload select FILE --device gfx906",
        "cargo-offload pack --force -o out gfx906=FILE",
        "clang-offload-bundler -type=bc -list -input=FILE",
        "llvm-offload-binary FILE --image=file=out",
    ] {
        for device in ["/dev/zero", "/dev/urandom"] {
            let expected = "it is a device, which may have no end; copy the content to a file";
            folder.assert_fails(line, &in_little_memory(&line.replace("FILE", device)), expected);
        }
    }
    succeeds(&folder.path, "cargo-offload ls /dev/null");
}

/// Truncates the first input after the tool has mapped this file, while the tool waits for the
/// second input, a pipe.
#[test]
fn inputs_that_shrink() {
    let folder = Folder::new("shrink", |path| pipe(&path.join("pipe")));
    let input = folder.path.join("one");
    for line in [BUNDLE, COMPRESS, PACK, OFFLOAD_BUNDLE, OFFLOAD_COMPRESS, OFFLOAD_PACK] {
        let child = start(&folder.path, &line.replace("=two", "=pipe"));
        // When the tool reads the pipe, it has already mapped its first input.
        let mut pipe = None;
        wait_until(&format!("{line}: the tool reads the pipe"), || {
            pipe = writer_if_read(&folder.path.join("pipe"));
            pipe.is_some()
        });
        let maps = data::read(format!("/proc/{}/maps", child.id()));
        let maps = String::from_utf8_lossy(&maps);
        assert!(
            maps.lines().any(|line| line.ends_with(&*input.to_string_lossy())),
            "{line}: {maps}"
        );
        let one = fs::OpenOptions::new().write(true).open(&input).expect("it is there");
        one.set_len(10).expect("it can be cut");
        pipe.expect("it is read").write_all(b"the second").expect("it fits into the pipe");
        let output = child.wait_with_output().expect("it ends");
        // If the kernel copies the file, the tool notices that the file became shorter. If the tool
        // reads the mapped bytes itself, it gets SIGBUS.
        let (text, status) = (stderr(&output), output.status);
        assert!(text.contains("truncated while it was read"), "{line}: {text}{status}");
        assert!(status.code() == Some(1) || status.signal() == Some(SIGBUS), "{status}");
        folder.assert_unchanged(line);
        scratch::write(&input, random(1));
    }
}

/// Ends a tool by a signal while the tool writes.
#[test]
fn interrupts() {
    // The input is large, so that copying takes long. The file is sparse.
    let folder = Folder::new("interrupts", |path| {
        let huge = fs::File::create(path.join("one")).expect("it can be made");
        huge.set_len(3 << 30).expect("it can be made longer");
    });
    for (line, signal) in [(BUNDLE, SIGINT), (PACK, SIGTERM), (OFFLOAD_BUNDLE, SIGINT)] {
        let child = start(&folder.path, line);
        wait_until(&format!("{line}: the tool writes"), || {
            names(&folder.path).len() > folder.before.len()
        });
        // Use the shell's built-in `kill`, because not every system has a program with that name.
        succeed(Command::new("bash").args(["-c", &format!("kill -{signal} {}", child.id())]));
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.signal(), Some(signal), "{line}: {}", output.status);
        folder.assert_unchanged(line);
    }
}

/// Opens a named pipe for writing if the pipe has a reader. Without `O_NONBLOCK`, the call would
/// wait for a reader.
fn writer_if_read(pipe: &Path) -> Option<fs::File> {
    fs::OpenOptions::new().write(true).custom_flags(O_NONBLOCK).open(pipe).ok()
}

fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < Duration::from_secs(60), "never came: {what}");
        std::thread::yield_now();
    }
}

/// Tests files whose headers claim impossible sizes, with a low memory limit.
#[test]
fn sizes_that_cannot_be() {
    let mut builder = OffloadBinaryBuilder::new();
    builder.image(StatedKind::PTX, OffloadKind::CUDA, 1000).string("arch", "sm_80");
    let binary = builder.compressed(Method::Zstd, None, &[&[7; 1000]]).expect("it is compressed");
    let compressed = corpus_file("compressed/v3_zstd.ccob");
    let folder = Folder::new("sizes", |path| {
        let write = |name: &str, file: &[u8], at: usize, claim: u64| {
            scratch::write(path.join(name), with(file, at, &claim.to_le_bytes()));
        };
        write("compressed", &compressed, 16, 1 << 62);
        write("entries", &data::read(path.join("bundle")), 24, 1 << 62);
        for claim in CLAIMS {
            write(&format!("binary{claim}"), &binary, 32, claim);
        }
    });
    let fails = |line: &str, expected: &str| {
        folder.assert_fails(line, &under_limit(&folder.path, line, "ulimit -v 500000"), expected);
    };
    for line in ["-unbundle -targets=hip-amdgcn-amd-amdhsa--gfx906 -output=out", "-list"] {
        let line = format!("clang-offload-bundler -type=bc -verbose {line} -input=");
        fails(&format!("{line}compressed"), "4611686018427387904 bytes");
        fails(&format!("{line}entries"), "extend past the end of the");
    }
    for claim in CLAIMS {
        let expected = format!("'binary{claim}': offload binary: {claim} bytes are needed");
        fails(&format!("llvm-offload-binary binary{claim} --image="), &expected);
    }
}

/// The uncompressed sizes that headers of offload binaries claim.
const CLAIMS: [u64; 3] = [1 << 34, 1 << 62, u64::MAX];
