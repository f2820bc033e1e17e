//! Traces a build script with strace, and compares its processes and files with
//! docs/what-a-build-does.md.

use offload_tests::prelude::*;

/// A system call: the process ID, and the call's text.
type Call = (u32, String);

/// Returns the system calls of a build script and of all processes that it started, in order.
fn calls_of_build_script(trace: &str) -> Vec<Call> {
    let mut calls = whole_calls(trace);
    // A child process may start a program before its parent's fork has returned, so read all forks
    // first.
    let forks: Vec<(u32, u32)> =
        calls.iter().filter_map(|(process, call)| Some((*process, forked(call)?))).collect();
    let is_script =
        |call: &str| call.starts_with("execve(") && call.contains("/build-script-build\"");
    let mut of_script: BTreeSet<u32> = BTreeSet::new();
    let scripts = calls.iter().filter(|(_, call)| is_script(call));
    let mut roots: Vec<u32> = scripts.map(|(process, _)| *process).collect();
    while let Some(process) = roots.pop() {
        if of_script.insert(process) {
            let forked = forks.iter().filter(|(parent, _)| *parent == process);
            roots.extend(forked.map(|(_, child)| child));
        }
    }
    calls.retain(|(process, call)| of_script.contains(process) && !is_script(call));
    calls
}

/// Returns a trace's complete calls, in the order in which they ended.
fn whole_calls(trace: &str) -> Vec<Call> {
    let mut unfinished: BTreeMap<u32, String> = BTreeMap::new();
    let mut calls = Vec::new();
    for line in trace.lines() {
        let Some((process, call)) = line.split_once(' ') else { continue };
        let process: u32 = process.parse().expect("strace -f begins lines with the process");
        let call = call.trim_start();
        // strace prints an interrupted call on two lines.
        let call = match (call.strip_suffix(" <unfinished ...>"), call.split_once(" resumed>")) {
            (Some(start), _) => {
                unfinished.insert(process, start.to_owned());
                continue;
            }
            (None, Some((_, end))) => unfinished.remove(&process).unwrap_or_default() + end,
            (None, None) => call.to_owned(),
        };
        calls.push((process, call));
    }
    calls
}

/// Returns the ID of the process that a call created.
fn forked(call: &str) -> Option<u32> {
    let is_fork =
        ["clone(", "clone3(", "fork(", "vfork("].iter().any(|name| call.starts_with(name));
    if is_fork { call.rsplit("= ").next()?.parse().ok() } else { None }
}

/// Returns the program names in the first column of the table of processes in
/// docs/what-a-build-does.md.
fn programs_of_the_page() -> BTreeSet<String> {
    let page = fs::read_to_string(scratch::workspace().join("docs/what-a-build-does.md"))
        .expect("the page is there");
    let table = page.split("## Processes").nth(1).and_then(|rest| rest.split("## Files").next());
    let rows = table.expect("the page has its sections").lines();
    let cells = rows.filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

#[test(needs(&[Tool::Llvm22, Tool::Cuda, Tool::Gcc, Tool::Strace]).slow())]
fn a_build_does_what_the_page_lists_and_no_more() {
    let scenario =
        Scenario::add("footprint", r#".archs(["gfx90a", "sm_80", "compute_90", "cpu"])"#);
    let trace = scenario.folder.join("trace");
    let cargo = scenario.build().traced(&trace);
    cargo.passes();
    let calls = calls_of_build_script(&fs::read_to_string(&trace).expect("strace has written it"));

    let listed = programs_of_the_page();
    let started: BTreeSet<String> = calls
        .iter()
        .filter(|(_, call)| call.starts_with("execve(") && call.ends_with("= 0"))
        .filter_map(|(_, call)| call.split('"').nth(1).map(Path::new))
        .map(|path| path.file_name().unwrap_or_default().to_string_lossy().into_owned())
        .collect();
    let plain: BTreeSet<String> = started.iter().map(|name| plain_name(name)).collect();
    let unlisted: Vec<&String> = plain.iter().filter(|name| !listed.contains(*name)).collect();
    assert!(unlisted.is_empty(), "{unlisted:?} of {started:?} are not on the page");
    for name in ["clang", "ld.lld", "ptxas"] {
        assert!(plain.contains(name), "{name} was started: {started:?}");
    }

    let out = scenario.target.join("debug/build");
    let temporary = std::env::temp_dir();
    let mut seen = 0;
    for (_, call) in &calls {
        let writes =
            ["O_WRONLY", "O_RDWR", "O_CREAT", "creat("].iter().any(|word| call.contains(word))
                || ["mkdir", "rename", "unlink", "link"].iter().any(|name| call.starts_with(name));
        let path = call.split('"').nth(1).filter(|path| path.starts_with('/') && writes);
        let Some(path) = path.filter(|_| !call.contains("= -1 ")).map(Path::new) else { continue };
        let is_device = path.starts_with("/dev") || path.starts_with("/proc");
        let is_allowed = path.starts_with(&out) || path.starts_with(&temporary) || is_device;
        assert!(is_allowed, "{call}");
        seen += usize::from(path.starts_with(&out));
    }
    assert!(seen > 10, "files in OUT_DIR were written: {seen}");
    let network =
        calls.iter().find(|(_, call)| call.starts_with("connect(") && call.contains("AF_INET"));
    assert_eq!(network, None);
}

/// Returns `clang` for `clang-22`, and `g++` for `x86_64-linux-gnu-g++-12`.
fn plain_name(name: &str) -> String {
    let name = match name.rsplit_once('-') {
        Some((name, version)) if version.starts_with(|c: char| c.is_ascii_digit()) => name,
        _ => name,
    };
    name.rsplit_once("linux-gnu-").map_or(name, |(_, name)| name).to_owned()
}
