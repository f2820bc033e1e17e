//! Compilers that are started through a launcher: caches, and what can go wrong with them.

use offload_tests::data::read;
use offload_tests::package::{Package, printed};
use offload_tests::scratch;
use offload_tests::tools::{Tool, cuda, llvm_bin, sccache, stderr, succeed};
use offload_tests::{run, test};
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::Duration;

fn main() -> ExitCode {
    const LLVM: &[Tool] = &[Tool::Llvm22, Tool::Gcc];
    const CACHE: &[Tool] = &[Tool::Llvm22, Tool::Gcc, Tool::Cuda, Tool::Sccache];
    run(vec![
        test("a_second_build_is_all_hits", CACHE, all_hits),
        test("a_header_counts_under_a_cache", CACHE, header),
        test("an_error_is_the_compilers_own", CACHE, compiler_error),
        test("it_gets_what_reads_a_source", LLVM, what_is_launched),
        test("two_other_machines_make_the_same_bytes", &[Tool::Llvm22, Tool::Gcc, Tool::Distcc], two_nodes),
        test("a_launcher_that_is_not_there", LLVM, not_there),
        test("a_launcher_that_writes_nothing", LLVM, writes_nothing),
    ])
}

const KERNEL: &str = "#include \"value.h\"\nextern \"C\" __global__ void add(int n, const float *x, float *y) {\n  \
                      int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n)\n    y[i] = x[i] + VALUE;\n}\n";

fn package(name: &str, archs: &str) -> Package {
    let package = Package::new(name);
    let main = format!(
        "fn main() {{\n    offload_build::Build::new().file(\"add.cu\").include(\"include\").archs({archs}).compile(\"add\");\n}}\n"
    );
    package.write("src/lib.rs", "").write("build.rs", main);
    package.write("add.cu", KERNEL).write("include/value.h", "#define VALUE 1.0f\n");
    package
}

fn cargo_build(package: &Package) -> Command {
    let mut command = package.cargo(&["build"]);
    command.env("OFFLOAD_CLANG", llvm_bin().join("clang"));
    command
}

/// sccache with a cache and a server of this test's own.
struct Sccache {
    folder: PathBuf,
    socket: PathBuf,
}

impl Sccache {
    fn new(package: &Package) -> Self {
        let name = package.folder.file_name().expect("a scratch folder has a name").to_string_lossy().into_owned();
        // A socket's path has at most 107 bytes.
        let socket = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        let sccache = Self { folder: package.folder.join("cache"), socket };
        // Two compilers that start at a time would start a server each, of which one counts for nobody.
        succeed(sccache.set(&mut Command::new(self::sccache())).arg("--start-server"));
        sccache
    }

    fn set<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command
            .env("SCCACHE_DIR", &self.folder)
            .env("SCCACHE_SERVER_UDS", &self.socket)
            .env("SCCACHE_IDLE_TIMEOUT", "300")
            .env("OFFLOAD_COMPILER_LAUNCHER", sccache())
            .env("OFFLOAD_PTXAS", cuda("ptxas").get_program())
    }

    /// Expects so many hits and misses since this was last asked. It counts behind its answers, so that the last may be missing.
    #[track_caller]
    fn expect(&self, hits: u64, misses: u64) {
        let mut counted = self.counts();
        for _ in 0..100 {
            if counted.0 + counted.1 >= hits + misses {
                break;
            }
            thread::sleep(Duration::from_millis(100));
            counted = self.counts();
        }
        assert_eq!(counted, (hits, misses), "hits and misses");
        succeed(self.set(&mut Command::new(sccache())).arg("--zero-stats"));
    }

    fn counts(&self) -> (u64, u64) {
        let output = succeed(self.set(&mut Command::new(sccache())).args(["--show-stats", "--stats-format", "json"]));
        let stats: serde_json::Value = serde_json::from_slice(&output.stdout).expect("sccache prints JSON");
        let sum = |name: &str| {
            let counts = stats["stats"][name]["counts"].as_object().expect("it counts by language");
            counts.values().map(|count| count.as_u64().expect("a count is a number")).sum()
        };
        (sum("cache_hits"), sum("cache_misses"))
    }
}

impl Drop for Sccache {
    fn drop(&mut self) {
        let _ = self.set(&mut Command::new(sccache())).arg("--stop-server").output();
        let _ = fs::remove_file(&self.socket);
    }
}

/// Makes the next build compile everything.
fn forget(package: &Package) {
    let index = package.own_output("debug", "add.index");
    fs::remove_dir_all(index.parent().expect("it lies in a folder")).expect("OUT_DIR can be emptied");
    package.write("build.rs", read(package.folder.join("build.rs")));
}

fn all_hits() {
    let package = package("launcher_hits", r#"["gfx90a", "gfx1100", "sm_80", "compute_90", "cpu"]"#);
    let sccache = Sccache::new(&package);
    let pack = || read(package.own_output("debug", "add.pack"));
    let cargo_build = |package: &Package| {
        let mut command = cargo_build(package);
        // ptxas with -g is nothing that sccache knows.
        command.env("CARGO_PROFILE_DEV_DEBUG", "false").env("OFFLOAD_PTXAS", cuda("ptxas").get_program());
        command
    };
    succeed(&mut cargo_build(&package));
    let plain = pack();

    // A source for each of five targets, and ptxas.
    for (hits, misses) in [(0, 6), (6, 0)] {
        forget(&package);
        succeed(sccache.set(&mut cargo_build(&package)));
        sccache.expect(hits, misses);
        assert!(pack() == plain, "another pack than without a launcher");
    }

    // It is no input: what was made through it is what would be made without it.
    let image = package.own_output("debug", "add/gfx90a.hsaco");
    let made = || fs::metadata(&image).and_then(|it| it.modified()).expect("the image is there");
    let before = made();
    package.write("build.rs", read(package.folder.join("build.rs")));
    succeed(&mut cargo_build(&package));
    assert_eq!(made(), before, "compiled again because there is no launcher now");
}

fn header() {
    let package = package("launcher_header", r#"["gfx90a", "compute_80", "cpu"]"#);
    let sccache = Sccache::new(&package);
    let ptx = || {
        succeed(sccache.set(&mut cargo_build(&package)));
        String::from_utf8(read(package.own_output("debug", "add/compute_80.ptx"))).expect("PTX is text")
    };
    // As PTX has 1.0f and 2.0f.
    let (one, two) = ("0f3F800000", "0f40000000");
    assert!(ptx().contains(one));
    forget(&package);
    assert!(ptx().contains(one));
    sccache.expect(3, 3);
    // After a build out of the cache, Cargo knows of the header as after one by the compiler.
    package.write("include/value.h", "#define VALUE 2.0f\n");
    assert!(ptx().contains(two));
    sccache.expect(0, 3);
    package.write("include/value.h", "#define VALUE 1.0f\n");
    assert!(ptx().contains(one));
    sccache.expect(3, 0);
}

fn compiler_error() {
    let package = package("launcher_error", r#"["gfx90a"]"#);
    package.write("include/value.h", "#define VALUE undefined_name\n");
    let sccache = Sccache::new(&package);
    let output = sccache.set(&mut cargo_build(&package)).output().expect("cargo starts");
    let text = stderr(&output);
    assert!(!output.status.success(), "{text}");
    assert_eq!(text.matches("error: use of undeclared identifier 'undefined_name'").count(), 1, "{text}");
    assert!(text.contains("include/value.h:1:15: "), "{text}");
    // The command to copy is the one that ran.
    assert!(text.contains("the command was\n    ") && text.contains("/scripts/sccache /"), "{text}");
}

/// A launcher that writes down what it starts.
fn logging(package: &Package) -> PathBuf {
    let launcher = package.folder.join("launch");
    let log = package.folder.join("log");
    scratch::write(&launcher, format!("#!/bin/sh\necho \"$WORD $*\" >> '{}'\nexec \"$@\"\n", log.display()));
    succeed(Command::new("chmod").arg("+x").arg(&launcher));
    launcher
}

fn what_is_launched() {
    let package = package("launcher_log", r#"["gfx90a", "compute_80", "cpu"]"#);
    let launcher = format!("env; WORD=one;{}", logging(&package).display());
    succeed(cargo_build(&package).env("OFFLOAD_COMPILER_LAUNCHER", launcher));
    let log = String::from_utf8(read(package.folder.join("log"))).expect("the log is text");
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines.len(), 3, "{log}");
    for line in lines {
        assert!(line.starts_with("one /") && line.contains(" -c ") && line.contains(" add.cu -o "), "{line}");
    }
}

/// A server of distcc, which ends with the test.
struct Node {
    server: Child,
    port: u16,
    log: PathBuf,
}

impl Node {
    fn start(package: &Package, name: &str) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port is free");
        let (port, log) = (free.port(), package.folder.join(name));
        let file = fs::File::create(&log).expect("the scratch folder can be written");
        let mut server = Command::new("distccd");
        // It compiles with whatever compiler it is told, here for this machine alone.
        server.args(["--no-detach", "--daemon", "--make-me-a-botnet", "--allow", "127.0.0.1", "--listen", "127.0.0.1"]);
        server.args([
            "--port",
            &port.to_string(),
            "--jobs",
            "4",
            "--user",
            "nobody",
            "--log-stderr",
            "--log-level",
            "info",
        ]);
        let server = server
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(file)
            .spawn()
            .expect("distccd starts");
        let node = Self { server, port, log };
        for _ in 0..100 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return node;
            }
            thread::sleep(Duration::from_millis(100));
        }
        panic!("distccd does not listen: {}", fs::read_to_string(&node.log).unwrap_or_default())
    }

    /// How many compilations it has ended well.
    fn compiled(&self) -> usize {
        fs::read_to_string(&self.log).expect("the log is text").matches(" COMPILE_OK ").count()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // With its children, which do the work. The shell's own `kill`: as a program it is not everywhere.
        let kill = format!("kill -- -{}", self.server.id());
        if Command::new("sh").args(["-c", &kill]).status().is_ok_and(|status| status.success()) {
            let _ = self.server.wait();
        }
    }
}

fn two_nodes() {
    let package = package("launcher_nodes", r#"["gfx90a", "gfx1100", "compute_80"]"#);
    let names = ["a", "b", "c", "d"];
    for name in names {
        let text = format!(
            "#include <gpuintrin.h>\n__gpu_kernel void {name}(float *x) {{ x[__gpu_thread_id(0)] += {}.5f; }}\n",
            name.len()
        );
        package.write(&format!("{name}.c"), text);
    }
    let sources: Vec<String> = names.iter().map(|name| format!("{name}.c")).collect();
    let build = fs::read_to_string(package.folder.join("build.rs")).expect("it was written");
    package.write("build.rs", build.replace(".file(\"add.cu\")", &format!(".modules({sources:?})")));
    let pack = || read(package.own_output("debug", "add.pack"));
    let build = || {
        let mut command = cargo_build(&package);
        // Debug information has checksums of the sources, which on the way are preprocessed.
        command.env("CARGO_PROFILE_DEV_DEBUG", "false").arg("-j4");
        command
    };
    succeed(&mut build());
    let plain = pack();
    forget(&package);

    let nodes = ["one", "two"].map(|name| Node::start(&package, name));
    let hosts: Vec<String> = nodes.iter().map(|node| format!("127.0.0.1:{}", node.port)).collect();
    let own = package.folder.join("distcc");
    fs::create_dir_all(&own).expect("the scratch folder can be written");
    let mut command = build();
    command.env("OFFLOAD_COMPILER_LAUNCHER", "distcc").env("DISTCC_HOSTS", hosts.join(" "));
    // What cannot be sent fails.
    succeed(command.env("DISTCC_DIR", own).env("DISTCC_FALLBACK", "0"));
    assert!(pack() == plain, "other bytes than from this machine");
    let compiled = nodes.each_ref().map(Node::compiled);
    assert_eq!(compiled.iter().sum::<usize>(), 12, "{compiled:?}");
    assert!(compiled.iter().all(|count| *count > 0), "{compiled:?}");
}

fn not_there() {
    let package = package("launcher_missing", r#"["gfx90a"]"#);
    for (launcher, expected) in [
        ("sccachee", "is 'sccachee', and PATH has no such program: sccachee\n"),
        ("tools/ccache;-v", "is 'tools/ccache;-v', and there is no such file: tools/ccache\n"),
    ] {
        let output = cargo_build(&package).env("OFFLOAD_COMPILER_LAUNCHER", launcher).output().expect("cargo starts");
        let text = stderr(&output).replace("\n  ", "\n");
        let cure =
            "Install it, give its full path, or unset OFFLOAD_COMPILER_LAUNCHER: compilers are then started directly.";
        assert!(!output.status.success(), "{text}");
        assert!(text.contains(&format!("OFFLOAD_COMPILER_LAUNCHER {expected}{cure}")), "{text}");
    }
    // Empty is not set.
    succeed(cargo_build(&package).env("OFFLOAD_COMPILER_LAUNCHER", ""));
    // Nor does it count where nothing is to be compiled.
    package.write("build.rs", read(package.folder.join("build.rs")));
    succeed(cargo_build(&package).env("OFFLOAD_COMPILER_LAUNCHER", "sccachee").env("OFFLOAD_JOBS", "none"));
}

fn writes_nothing() {
    let package = package("launcher_silent", r#"["gfx90a"]"#);
    let output = cargo_build(&package).env("OFFLOAD_COMPILER_LAUNCHER", "true").output().expect("cargo starts");
    let text = printed(&output);
    assert!(!output.status.success(), "{text}");
    assert!(text.contains("/true ended as if all were well, but did not write "), "{text}");
}
