//! distcc, a launcher that compiles on other machines.

use super::forget;
use offload_tests::prelude::*;
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

/// A distcc server, which stops at the end of the test.
struct Node {
    server: Child,
    port: u16,
    log: PathBuf,
}

impl Node {
    fn start(scenario: &Scenario, name: &str) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
        let free = free.expect("a port is free");
        let (port, log) = (free.port(), scenario.folder.join(name));
        let file = fs::File::create(&log).expect("the scratch folder can be written");
        let mut server = Command::new("distccd");
        // `--make-me-a-botnet` lets the server run any compiler that a client names. `--allow` and
        // `--listen` limit the clients to this machine.
        const OPTIONS: &str = "--no-detach --daemon --make-me-a-botnet --allow 127.0.0.1 --listen 127.0.0.1 --jobs 4 \
             --user nobody --log-stderr --log-level info --port";
        server.args(OPTIONS.split(' ')).arg(port.to_string()).process_group(0);
        server.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
        let server = server.spawn().expect("distccd starts");
        let node = Self { server, port, log };
        for _ in 0..100 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return node;
            }
            thread::sleep(Duration::from_millis(100));
        }
        panic!("distccd does not listen: {}", fs::read_to_string(&node.log).unwrap_or_default())
    }

    /// Returns the number of successful compilations.
    fn compiled(&self) -> usize {
        fs::read_to_string(&self.log).expect("the log is text").matches(" COMPILE_OK ").count()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // Also end the child processes, which do the work. Use the shell's built-in `kill`, because
        // not every machine has a program called `kill`.
        let kill = format!("kill -- -{}", self.server.id());
        if Command::new("sh").args(["-c", &kill]).status().is_ok_and(|status| status.success()) {
            let _ = self.server.wait();
        }
    }
}

#[test(needs(&[Tool::Llvm22, Tool::Gcc, Tool::Distcc]).slow())]
fn two_other_machines_make_the_same_bytes() {
    let scenario = Scenario::new("launcher_nodes");
    scenario
        .pack("add", r#".modules(["a.c", "b.c"]).include("include").archs(["gfx90a", "gfx1100", "compute_80"])"#)
        .write("include/value.h", "#define VALUE 1.5f\n");
    for name in ["a", "b"] {
        let text = format!(
            "#include <gpuintrin.h>\n#include \"value.h\"\n\
             __gpu_kernel void {name}(float *x) {{ x[__gpu_thread_id(0)] += VALUE; }}\n"
        );
        scenario.write(&format!("{name}.c"), text);
    }
    let pack = || read(scenario.output("debug", "add.pack"));
    // Build without debug information, which would contain checksums of the sources. The checksums
    // differ for the preprocessed sources that distcc sends.
    let build = || scenario.build().env("CARGO_PROFILE_DEV_DEBUG", "false").arg("-j4");
    build().passes();
    let plain = pack();
    forget(&scenario);

    let nodes = ["one", "two"].map(|name| Node::start(&scenario, name));
    let hosts: Vec<String> = nodes.iter().map(|node| format!("127.0.0.1:{}", node.port)).collect();
    let own = scenario.folder.join("distcc");
    fs::create_dir_all(&own).expect("the scratch folder can be written");
    build()
        .env("OFFLOAD_COMPILER_LAUNCHER", "distcc")
        .env("DISTCC_HOSTS", hosts.join(" "))
        .env("DISTCC_DIR", own)
        // With `DISTCC_FALLBACK=0`, a source that cannot be sent makes the build fail.
        .env("DISTCC_FALLBACK", "0")
        .passes();
    assert!(pack() == plain, "other bytes than from this machine");
    let compiled = nodes.each_ref().map(Node::compiled);
    assert_eq!(compiled.iter().sum::<usize>(), 6, "{compiled:?}");
    assert!(compiled.iter().all(|count| *count > 0), "{compiled:?}");
}
