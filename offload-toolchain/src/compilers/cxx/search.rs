//! The C++ compiler and the archiver on Linux: the same variables, names and options as in the
//! crate `cc`, which `tests.rs` compares.
//!
//! | question | answer |
//! |---|---|
//! | which compiler | the first variable that is set: `CXX_<target>`, `TARGET_CXX` in a cross build, else `HOST_CXX`, `CXX` |
//! | its name without such a variable | for the image `cpu` the clang for GPUs, if it is there; `c++`; in a cross build `<prefix>-g++` |
//! | which prefix | `CROSS_COMPILE`, Cargo's linker (`<prefix>-gcc`), otherwise that of GNU's tools for the target |
//! | its options | those for the target and for Cargo's profile; then `CXXFLAGS` with the same forms, `CXXFLAGS_<target>` last |
//!
//! Flags of rustc change nothing: an image for the CPU is a library of its own.

use super::Cxx;
use crate::cargo::Cargo;
use crate::compilers::identity::Identity;
use crate::compilers::probe_cache::ProbeCache;
use crate::exec::{named, probe, words};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// The places of the search, in words.
pub(super) const PLACES: &str = "CXX_<target>, TARGET_CXX, CXX; the clang for GPUs; c++ in PATH, in a cross build the target's g++";

/// The programs that start the compiler that is named after them.
const WRAPPERS: [&str; 7] =
    ["ccache", "distcc", "sccache", "icecc", "cachepot", "buildcache", "kache"];

/// Returns the C++ compiler that makes host code for this triple, with its options.
///
/// Returns an error with the reason if there is none.
pub(super) fn find(cargo: &Cargo, probes: &ProbeCache, triple: &str) -> Result<Cxx, String> {
    let (path, args) = program("CXX", &compilers(cargo, triple), cargo, triple)?;
    Ok(with_options(cargo, probes, triple, path, args))
}

/// Whether a variable names a C++ compiler for this triple, or has flags for it.
pub(super) fn is_named(cargo: &Cargo, triple: &str) -> bool {
    // Cargo watches all of them.
    let named = ["CXX", "CXXFLAGS"].map(|name| !values(cargo, name, triple).is_empty());
    named != [false; 2]
}

/// Returns a C++ compiler with its own arguments and those for this triple.
pub(super) fn with_options(
    cargo: &Cargo,
    probes: &ProbeCache,
    triple: &str,
    path: PathBuf,
    mut args: Vec<String>,
) -> Cxx {
    let identity = Identity::of_compiler(&path, probes);
    // clang, and compilers that are built from it.
    let is_clang = identity.said.contains("clang") || identity.said.contains("InstalledDir: ");
    if !is_true(cargo.user_var("CRATE_CC_NO_DEFAULTS")) {
        options(cargo, triple, is_clang, &path, &mut args);
    }
    let has_quotes = is_true(cargo.user_var("CC_SHELL_ESCAPED_FLAGS"));
    // The last flag wins, so the variable that is only for this target comes last.
    for flags in values(cargo, "CXXFLAGS", triple).iter().rev() {
        if has_quotes {
            args.extend(words(flags));
        } else {
            args.extend(flags.split_whitespace().map(str::to_owned));
        }
    }
    let args = args.into_iter().map(Into::into).collect();
    // Messages are in English, because the build reads some.
    let env = vec![("LC_ALL".into(), "C".into())];
    Cxx { path, args, env, identity }
}

/// Puts objects into a library.
///
/// Returns an error with the reason if there is no `ar`, or if it fails.
#[inline]
pub fn archive(cargo: &Cargo, library: &Path, objects: &[&Path]) -> Result<(), String> {
    let triple = &cargo.target;
    let mut names = Vec::new();
    if *triple != cargo.host {
        for compiler in compilers(cargo, triple) {
            names.extend(compiler.rsplit_once('-').map(|(prefix, _)| format!("{prefix}-ar")));
        }
        // LLVM's archiver, which the NDK has, reads objects of any system.
        names.push("llvm-ar".to_owned());
    }
    names.push("ar".to_owned());
    let (program, mut args) = program("AR", &names, cargo, triple)?;
    for flags in values(cargo, "ARFLAGS", triple).iter().rev() {
        args.extend(flags.split_whitespace().map(str::to_owned));
    }
    // `ar` would add the objects to a library that exists.
    let _ = fs::remove_file(library);
    // `D`: without times and owners. `s`: with the table of symbols, which linkers need.
    args.push("qcsD".to_owned());
    let mut args: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
    args.push(library.as_os_str());
    args.extend(objects.iter().map(|object| object.as_os_str()));
    let failed = |why: &str| format!("{}: {why}", program.display());
    let answer = probe(&program, &args, &[]).map_err(|error| failed(&error.to_string()))?;
    if answer.status.success() {
        return Ok(());
    }
    Err(failed(&format!("{}\n{}", answer.status, answer.stderr.trim_end())))
}

/// Returns the values of a variable's forms that are set, the most specific first.
fn values(cargo: &Cargo, name: &str, triple: &str) -> Vec<String> {
    let kind = if triple == cargo.host { "HOST" } else { "TARGET" };
    let forms = [
        format!("{name}_{triple}"),
        format!("{name}_{}", triple.replace(['-', '.'], "_")),
        format!("{kind}_{name}"),
        name.to_owned(),
    ];
    let mut set = Vec::new();
    for form in forms {
        set.extend(cargo.user_var(&form));
    }
    set
}

fn is_true(value: Option<String>) -> bool {
    value.is_some_and(|value| !matches!(value.as_str(), "0" | "false" | "no"))
}

/// Returns the program that a variable names with its arguments, as in `CXX="ccache g++ -m64"`,
/// without the wrapper. If no form of the variable is set, returns the first of these programs that
/// exists.
fn program(
    variable: &str,
    names: &[String],
    cargo: &Cargo,
    triple: &str,
) -> Result<(PathBuf, Vec<String>), String> {
    let missing = |name: &str| format!("{name} does not start: there is no such file");
    let Some(text) = values(cargo, variable, triple).into_iter().next() else {
        let found = names.iter().find_map(|name| named(Path::new(name), cargo));
        return found.map(|path| (path, Vec::new())).ok_or_else(|| missing(&names[0]));
    };
    // A path may have spaces.
    if let Some(path) = named(Path::new(text.trim()), cargo) {
        return Ok((path, Vec::new()));
    }
    let mut words: Vec<&str> = text.split_whitespace().collect();
    let own_wrapper = cargo.user_var("CC_KNOWN_WRAPPER_CUSTOM");
    let is_wrapper = |name: &str| {
        Path::new(name).file_stem().is_some_and(|stem| {
            WRAPPERS.iter().any(|it| stem == *it)
                || own_wrapper.as_ref().is_some_and(|it| stem == &**it)
        })
    };
    if words.len() > 1 && is_wrapper(words[0]) {
        words.remove(0);
    }
    let Some((name, args)) = words.split_first() else { return Err(missing(&text)) };
    let path = named(Path::new(name), cargo).ok_or_else(|| missing(name))?;
    Ok((path, args.iter().map(|&arg| arg.to_owned()).collect()))
}

/// Returns the names of the compilers for this triple, the preferred one first.
fn compilers(cargo: &Cargo, triple: &str) -> Vec<String> {
    if triple == cargo.host {
        return vec!["c++".to_owned()];
    }
    // Rust's name of an architecture may have extensions, which GNU's has not.
    let (arch, system) = triple.split_once('-').unwrap_or((triple, ""));
    let arch = if arch.starts_with("riscv64") { "riscv64" } else { arch };
    let compiler = if system.ends_with("gnullvm") { "clang++" } else { "g++" };
    let variable = cargo.user_var("CROSS_COMPILE");
    let prefix = variable.map(|prefix| prefix.trim_end_matches('-').to_owned());
    if let Some(prefix) = prefix.or_else(|| cargo.linker()?.strip_suffix("-gcc").map(str::to_owned))
    {
        return vec![format!("{prefix}-{compiler}")];
    }
    if system == "linux-android" {
        // The NDK has the lowest version of Android in the name, older ones had none.
        return ["21-clang++", "-g++", "-clang++"].map(|end| format!("{triple}{end}")).to_vec();
    }
    if system.starts_with("pc-windows-gnu") {
        return vec![format!("{arch}-w64-mingw32-{compiler}")];
    }
    match system.strip_prefix("unknown-linux-") {
        Some("musl") if arch == "x86_64" => {
            vec!["x86_64-linux-musl-g++".to_owned(), "musl-g++".to_owned()]
        }
        Some(libc) => vec![format!("{arch}-linux-{libc}-g++")],
        None => vec!["c++".to_owned()],
    }
}

/// Adds the options for Cargo's profile, and those for the triple.
fn options(cargo: &Cargo, triple: &str, is_clang: bool, path: &Path, args: &mut Vec<String>) {
    let mut add = |options: &str| args.extend(options.split_whitespace().map(str::to_owned));
    let (arch, system) = triple.split_once('-').unwrap_or((triple, ""));
    match cargo.opt_level.as_str() {
        // gcc before 12 does not know `-Oz`.
        "z" if !is_clang => add("-Os"),
        level => add(&format!("-O{level}")),
    }
    if is_clang && system.ends_with("android") {
        add("-DANDROID");
    }
    add("-ffunction-sections -fdata-sections -fPIC");
    if cargo.debug {
        add(match cargo.debug_level.as_str() {
            "line-directives-only" if is_clang => "-gline-directives-only",
            "1" | "limited" | "line-tables-only" | "line-directives-only" => "-g1",
            _ => "-g",
        });
        // These are the versions that rustc writes.
        if system.contains("windows-gnu") || system.ends_with("android") {
            add("-gdwarf-2");
        } else if system.contains("linux") {
            add("-gdwarf-4");
        }
        add("-fno-omit-frame-pointer");
        // gcc has this option for few processors.
        if is_clang || matches!(arch, "x86_64" | "aarch64") {
            add("-mno-omit-leaf-frame-pointer");
        }
    }
    if arch == "x86_64" || arch.starts_with("powerpc64") {
        add("-m64");
    }
    if is_clang {
        // A clang such as `aarch64-linux-android21-clang++` adds its target itself.
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !name.contains("-clang") {
            add(&format!("--target={}", of_llvm(triple)));
        }
        return;
    }
    if triple == cargo.target && cargo.is_static() {
        add("-static");
    }
    if arch == "x86_64" && system.contains("linux") {
        // Some distributions build a gcc that uses newer processors by default.
        add("-march=x86-64");
    }
    if arch.starts_with("riscv64") {
        add("-march=rv64gc -mabi=lp64d");
    }
}

/// Returns LLVM's form of a triple.
fn of_llvm(triple: &str) -> String {
    match triple.split_once('-') {
        Some((arch, system)) if arch.starts_with("riscv64") => format!("riscv64-{system}"),
        Some((arch, "apple-darwin")) => {
            format!("{}-apple-macosx", if arch == "aarch64" { "arm64" } else { arch })
        }
        _ => triple.replace("windows-gnullvm", "windows-gnu"),
    }
}
