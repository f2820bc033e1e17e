//! Programs that tests start must be where set-up has installed its packages on a minimal Debian.

use super::sources::sources;
use offload_tests::scratch::workspace;
use std::fs;

/// Programs of Debian's `minbase`, which debootstrap and container images contain. It has no
/// `kill`: tests use the one that shells have built in.
const MINBASE: [&str; 14] = [
    "bash",
    "chmod",
    "cp",
    "env",
    "ldd",
    "mkfifo",
    "mount",
    "script",
    "sh",
    "sha256sum",
    "stty",
    "tar",
    "true",
    "unshare",
];

/// Programs of other packages, with the package in `xtask/src/tools.rs` that installs each.
const INSTALLED: [(&str, &str); 17] = [
    ("addr2line", "binutils"),
    ("ar", "binutils"),
    ("c++", "g++"),
    ("distcc", "distcc"),
    ("distccd", "distcc"),
    ("g++", "g++"),
    ("gcc", "g++"),
    ("ld.bfd", "binutils"),
    ("mold", "mold"),
    ("nm", "binutils"),
    ("objcopy", "binutils"),
    ("objdump", "binutils"),
    ("perl", "perl"),
    ("python3", "python3"),
    ("readelf", "binutils"),
    ("strace", "strace"),
    ("strip", "binutils"),
];

/// Programs that come with Rust.
const RUST: [&str; 2] = ["cargo", "rustc"];

#[test]
fn tests_start_only_programs_that_set_up_installs() {
    let tools = fs::read_to_string(workspace().join("xtask/src/tools.rs")).expect("it is there");
    for (program, package) in INSTALLED {
        assert!(tools.contains(&format!("\"{package}\"")), "no set-up for {program}: {package}");
    }
    let mut found = 0;
    let mut missing = Vec::new();
    for folder in ["tests", "offload-build", "offload-tools", "offload-gpu", "offload-format"] {
        for (path, text) in sources(folder) {
            for (line, number) in text.lines().zip(1..) {
                for start in ["Command::new(\"", ".tool(\""] {
                    let Some((_, rest)) = line.split_once(start) else { continue };
                    let program = rest.split('"').next().unwrap_or_default();
                    let is_known = MINBASE.contains(&program)
                        || RUST.contains(&program)
                        || INSTALLED.iter().any(|(known, _)| *known == program);
                    // A path names a program that a test makes.
                    if !is_known && !program.contains('/') {
                        missing.push(format!("{path}:{number}: {program}"));
                    }
                    found += 1;
                }
            }
        }
    }
    assert!(found > 30, "{found} programs");
    assert!(missing.is_empty(), "a minimal Debian may lack them:\n{}", missing.join("\n"));
}
