//! Compares the search on Linux with the crate `cc`.
//!
//! Both read the environment, so each case is a process of its own: this test program, which runs
//! only [`one_case`].

use super::*;
use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// A compiler that answers the questions of `cc` and ours, and accepts every option.
fn compiler(is_clang: bool) -> String {
    let (macros, version) = if is_clang {
        ("clang", "clang version 22.0.0")
    } else {
        ("gcc", "Free Software Foundation")
    };
    format!(
        "#!/bin/sh\ncase \"$*\" in\n*-?) exit 1 ;;\n*--version*) echo '{version}' ;;\n\
         -E*) echo '#pragma message \"{macros}\"' ;;\nesac\n"
    )
}

const HOST: &str = "x86_64-unknown-linux-gnu";

/// Targets with the names of the programs that are compilers for them.
const TARGETS: [(&str, &str); 12] = [
    (HOST, "c++"),
    ("x86_64-unknown-linux-musl", "musl-g++"),
    ("aarch64-unknown-linux-gnu", "aarch64-linux-gnu-g++"),
    ("aarch64-unknown-linux-musl", "aarch64-linux-musl-g++"),
    ("riscv64gc-unknown-linux-gnu", "riscv64-linux-gnu-g++"),
    ("powerpc64le-unknown-linux-gnu", "powerpc64le-linux-gnu-g++"),
    ("loongarch64-unknown-linux-gnu", "loongarch64-linux-gnu-g++"),
    ("s390x-unknown-linux-gnu", "s390x-linux-gnu-g++"),
    ("x86_64-pc-windows-gnu", "x86_64-w64-mingw32-g++"),
    ("aarch64-pc-windows-gnullvm", "aarch64-w64-mingw32-clang++"),
    ("aarch64-linux-android", "aarch64-linux-android-g++"),
    ("x86_64-linux-android", "x86_64-linux-android-clang++"),
];

#[test]
fn the_same_compilers_and_options_as_cc() {
    let scratch = tempfile::tempdir().unwrap();
    let bin = scratch.path();
    let named = ["g++", "clang++", "my g++", "other-aarch64-g++", "linker-aarch64-g++"];
    for name in TARGETS.iter().map(|(_, name)| *name).chain(named) {
        let path = bin.join(name);
        fs::write(&path, compiler(name.contains("clang"))).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let check = |target: &str, variables: &[(&str, &str)]| {
        let mut case = Command::new(env::current_exe().unwrap());
        case.args(["--exact", "compilers::cxx::tests::one_case", "--nocapture"]).env_clear();
        case.envs(["OUT_DIR", "CARGO_MANIFEST_DIR"].map(|name| (name, bin)));
        case.env("PATH", bin).env("TARGET", target).env("HOST", HOST).env("OPT_LEVEL", "3");
        let (arch, _) = target.split_once('-').unwrap();
        case.env("CARGO_CFG_TARGET_ARCH", arch.trim_end_matches("gc").trim_end_matches("le"));
        let systems = ["windows", "android", "linux"];
        let system = systems.iter().find(|system| target.contains(**system)).unwrap();
        case.env("CARGO_CFG_TARGET_OS", system);
        case.env("CARGO_CFG_TARGET_POINTER_WIDTH", "64").env("CARGO_CFG_TARGET_ENDIAN", "little");
        case.env("CARGO_PKG_NAME", "package").env("CARGO_PKG_VERSION", "1.0.0");
        case.env(CASE, "1").envs(variables.iter().copied());
        let output = case.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{target} {variables:?}\n{text}{errors}");
        assert!(text.contains("compared"), "{text}");
    };
    for (target, _) in TARGETS {
        check(target, &[]);
        check(target, &[("CXX", "clang++"), ("DEBUG", "true"), ("OPT_LEVEL", "z")]);
    }
    let aarch64 = "aarch64-unknown-linux-gnu";
    let my = bin.join("my g++");
    for debug in ["2", "1", "line-tables-only", "line-directives-only", "full", "false", "none"] {
        check(HOST, &[("DEBUG", debug), ("OPT_LEVEL", "z")]);
        check(aarch64, &[("DEBUG", debug), ("OPT_LEVEL", "s")]);
    }
    for (target, variables) in [
        (HOST, &[("CXX", my.to_str().unwrap())] as &[_]),
        (HOST, &[("CXX", "ccache g++")]),
        (HOST, &[("CXX", "  g++ "), ("CXX_x86_64_unknown_linux_gnu", "clang++")]),
        (HOST, &[("CXX", "g++"), ("HOST_CXX", "clang++"), ("TARGET_CXX", "none")]),
        (aarch64, &[("CXX", "g++"), ("TARGET_CXX", "clang++"), ("HOST_CXX", "none")]),
        (aarch64, &[("CXX_aarch64-unknown-linux-gnu", "clang++"), ("CXX", "g++")]),
        (aarch64, &[("CROSS_COMPILE", "other-aarch64-"), ("RUSTC_LINKER", "linker-aarch64-gcc")]),
        (aarch64, &[("RUSTC_LINKER", "linker-aarch64-gcc")]),
        (HOST, &[("RUSTC_LINKER", "linker-aarch64-gcc")]),
        (
            HOST,
            &[
                ("CXXFLAGS", "-DA -w"),
                ("CXXFLAGS_x86_64_unknown_linux_gnu", "-DB"),
                ("HOST_CXXFLAGS", "-DC"),
            ],
        ),
        (
            aarch64,
            &[("CXXFLAGS", "-DA  -UA"), ("TARGET_CXXFLAGS", "-DC"), ("HOST_CXXFLAGS", "-DD")],
        ),
        (HOST, &[("CXXFLAGS", "-DA='b c' \"-I d\""), ("CC_SHELL_ESCAPED_FLAGS", "1")]),
        (HOST, &[("CXXFLAGS", "-DA"), ("CRATE_CC_NO_DEFAULTS", "1")]),
        (HOST, &[("CXXFLAGS", "-DA"), ("CRATE_CC_NO_DEFAULTS", "0")]),
        (HOST, &[("CARGO_CFG_TARGET_FEATURE", "fxsr,crt-static,sse")]),
        (HOST, &[("CXX", "ccache g++ -mfirst"), (CASE, "-mfirst")]),
    ] {
        check(target, variables);
    }
}

/// The variable that is set in the processes of the test above: `1`, or an option that only our
/// search puts before all others.
const CASE: &str = "OFFLOAD_TEST_CXX";

#[test]
fn one_case() {
    let Ok(case) = env::var(CASE) else { return };
    let probes = ProbeCache::forgetful();
    Cargo::attempt(|cargo| {
        let ours = search::find(cargo, &probes, &cargo.target);
        let of_cc = by_cc::find(cargo, &probes, &cargo.target);
        let [mut ours, of_cc] =
            [ours, of_cc].map(|found| found.map(|it| (it.path, it.args, it.env)));
        if let (Ok((_, args, _)), true) = (&mut ours, case != "1") {
            // Of `CXX="g++ -m64"`, `cc` returns the option in another list.
            assert_eq!(args.remove(0), *case);
        }
        assert_eq!(ours, of_cc);
        println!("compared {:?}", ours.expect("there is a compiler"));
        Ok(())
    })
    .unwrap();
}
