//! Tests that a minimal Debian has all programs that tests start, once set-up has installed its
//! packages.

use super::sources::{CRATES, read, sources};

/// Programs in Debian's `minbase`, the packages that debootstrap and container images install.
/// `minbase` has no program `kill`, so tests use the `kill` that is built into shells.
const MINBASE: &str =
    "bash chmod cp env ldd mkfifo mount script sh sha256sum stty tar true unshare";

/// Packages that `xtask/src/tools/mod.rs` installs, with their programs.
const INSTALLED: [(&str, &str); 8] = [
    ("binutils", "addr2line ar ld.bfd nm objcopy objdump readelf strip"),
    ("distcc", "distcc distccd"),
    ("g++", "c++ g++ gcc"),
    ("mold", "mold"),
    ("perl", "perl"),
    ("python3", "python3"),
    ("spirv-tools", "spirv-as spirv-dis spirv-val"),
    ("strace", "strace"),
];

/// Programs that come with Rust.
const RUST: &str = "cargo rustc";

#[test]
fn tests_start_only_programs_that_set_up_installs() {
    let tools = read("xtask/src/tools/mod.rs");
    let mut known: Vec<&str> = [MINBASE, RUST].iter().flat_map(|it| it.split(' ')).collect();
    for (package, programs) in INSTALLED {
        assert!(tools.contains(&format!("\"{package}\"")), "no set-up for {package}: {programs}");
        known.extend(programs.split(' '));
    }
    let mut found = 0;
    let mut missing = Vec::new();
    let folders = CRATES.into_iter().chain(["tests"]);
    for (path, text) in folders.flat_map(sources) {
        for (line, number) in text.lines().zip(1..) {
            for start in ["Command::new(\"", ".tool(\""] {
                let Some((_, rest)) = line.split_once(start) else { continue };
                let program = rest.split('"').next().unwrap_or_default();
                // A program with a path is one that a test creates.
                if !known.contains(&program) && !program.contains('/') {
                    missing.push(format!("{path}:{number}: {program}"));
                }
                found += 1;
            }
        }
    }
    assert!(found > 30, "{found} programs");
    assert!(missing.is_empty(), "a minimal Debian may lack them:\n{}", missing.join("\n"));
}
