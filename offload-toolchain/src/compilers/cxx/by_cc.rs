//! The C++ compiler as the crate `cc` finds it, on systems other than Linux.

use super::Cxx;
use crate::cargo::Cargo;
use crate::compilers::identity::Identity;
use crate::compilers::probe_cache::ProbeCache;
use crate::compilers::program::identity;
use crate::exec::named;
use crate::hash::{ContentHash, Parts};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The places where `cc` looks, in words.
#[cfg(not(target_os = "linux"))]
pub(super) const PLACES: &str =
    "CXX_<target>, TARGET_CXX, CXX; c++, clang++ and others in PATH, as the cc crate does";

/// Returns the C++ compiler that makes host code for this triple, with its options.
///
/// Returns an error with the reason if `cc` finds none, or if its file does not exist.
pub(super) fn find(cargo: &Cargo, probes: &ProbeCache, triple: &str) -> Result<Cxx, String> {
    // These calls make Cargo watch the variables. If `cc` printed the lines for Cargo itself, each
    // variable's value would also be in every error.
    let underscores = triple.replace('-', "_");
    for name in ["CXX", "CXXFLAGS"] {
        for form in [triple, &underscores] {
            cargo.user_var(&format!("{name}_{form}"));
        }
        for prefix in ["HOST_", "TARGET_", ""] {
            cargo.user_var(&format!("{prefix}{name}"));
        }
    }
    let question = question(cargo, triple);
    if let Some(known) = probes.get(question).and_then(|text| parse(&text, cargo, probes)) {
        return Ok(known);
    }
    let tool = cc::Build::new()
        .cpp(true)
        // Without this call, `cc` adds `-Wall -Wextra`. Sources that were written for nvcc have
        // hundreds of warnings with these options.
        .warnings(false)
        .pic(true)
        .target(triple)
        .host(&cargo.host)
        .opt_level_str(&cargo.opt_level)
        .cargo_metadata(false)
        .cargo_debug(false)
        .cargo_warnings(false)
        .try_get_compiler()
        .map_err(|error| error.to_string())?;
    // `cc` accepts the name of a compiler that does not exist, so check that the file exists.
    let path = named(tool.path(), cargo).ok_or_else(|| {
        format!("{} does not start: there is no such file", tool.path().display())
    })?;
    let env = tool.get_envs().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let identity = Identity::of_compiler(&path, probes);
    let mut args = tool.args().to_vec();
    // The call of `warnings` adds `-w`, which suppresses all warnings. If CXXFLAGS has it, too, one
    // is left.
    if let Some(at) = args.iter().position(|arg| arg == "-w") {
        args.remove(at);
    }
    let found = Cxx { path, args, env, identity };
    // For Apple's systems, `cc` runs a program to find the SDK's folder. No file here identifies
    // that folder, so the result is not cached.
    if let Some(text) = to_text(&found, tool.path()).filter(|_| !triple.contains("-apple-")) {
        probes.put(question, &text);
    }
    Ok(found)
}

/// Puts objects into a library.
///
/// Returns an error with the reason if the program that does this fails.
#[cfg(not(target_os = "linux"))]
pub fn archive(_: &Cargo, library: &Path, objects: &[&Path]) -> Result<(), String> {
    let mut build = cc::Build::new();
    build.cargo_metadata(false).cargo_warnings(false).cpp(true);
    build.out_dir(library.parent().unwrap_or(library)).objects(objects);
    // `cc` adds `lib` and `.a`, where the system's libraries have them.
    let stem = library.file_stem().unwrap_or_default().to_string_lossy();
    let has_prefix = library.extension().is_some_and(|extension| extension == "a");
    let name = stem.strip_prefix("lib").filter(|_| has_prefix).unwrap_or(&stem);
    build.try_compile(name).map_err(|error| error.to_string())
}

fn question(cargo: &Cargo, triple: &str) -> ContentHash {
    let mut question = Parts::default();
    question.add("the C++ compiler without options for warnings");
    question.add(triple);
    for variable in cargo.compiler_variables() {
        question.add(&variable);
    }
    question.finish()
}

/// Returns the text that [`parse`] reads: name and identity, arguments, variables. Returns `None`
/// if something is not UTF-8.
fn to_text(found: &Cxx, name: &Path) -> Option<String> {
    let start = [name.to_str()?.to_owned(), identity(&found.path)].join(WORD_END);
    let (mut args, mut env) = (Vec::new(), Vec::new());
    for arg in &found.args {
        args.push(arg.to_str()?);
    }
    for (name, value) in &found.env {
        env.push(name.to_str()?);
        env.push(value.to_str()?);
    }
    Some([start, args.join(WORD_END), env.join(WORD_END)].join(LIST_END))
}

/// Reads the text that [`to_text`] wrote. Returns `None` if the name now belongs to another
/// compiler.
fn parse(text: &str, cargo: &Cargo, probes: &ProbeCache) -> Option<Cxx> {
    let words = |list: &str| -> Vec<OsString> {
        if list.is_empty() {
            Vec::new()
        } else {
            list.split(WORD_END).map(OsString::from).collect()
        }
    };
    let (start, rest) = text.split_once(LIST_END)?;
    let (args, env) = rest.split_once(LIST_END)?;
    let (name, known) = start.split_once(WORD_END)?;
    let path: PathBuf = named(Path::new(name), cargo)?;
    (identity(&path) == known).then_some(())?;
    let env = words(env).chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect();
    let identity = Identity::of_compiler(&path, probes);
    Some(Cxx { path, args: words(args), env, identity })
}

/// The characters that separate words and lists in the cached text. No command line contains them.
const WORD_END: &str = "\u{1f}";
const LIST_END: &str = "\u{1e}";
