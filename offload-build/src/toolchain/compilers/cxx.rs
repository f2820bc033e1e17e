//! Finds the host's C++ compiler and archiver with the crate `cc`.

use super::clang::Clang;
use super::identity::Identity;
use super::probe_cache::ProbeCache;
use super::program::identity;
use crate::toolchain::cargo::Cargo;
use crate::toolchain::exec::{NO_INPUT, named};
use crate::toolchain::files::entries;
use crate::toolchain::hash::{ContentHash, Parts};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A C++ compiler with the flags for the host target and Cargo's profile.
#[derive(Debug, Clone)]
pub struct Cxx {
    pub path: PathBuf,
    pub args: Vec<OsString>,
    pub env: Vec<(OsString, OsString)>,
    pub identity: Identity,
}

/// The word separator in the cached text, which occurs in no command line.
const WORD_END: &str = "\u{1f}";

impl Cxx {
    /// Describes where builds search for the compiler.
    pub const PLACES: &'static str = if cfg!(target_os = "linux") {
        "CXX_<target>, TARGET_CXX, CXX; the clang for GPUs; c++ in PATH, in a cross build the target's g++"
    } else {
        "CXX_<target>, TARGET_CXX, CXX; the compilers that the cc crate tries: c++, clang++ and \
         others in PATH"
    };

    /// Returns the C++ compiler for the CPU image.
    ///
    /// Returns an error with the reason if there is no compiler, or if the compiler does not accept
    /// GNU's options.
    pub fn for_cpu(cargo: &Cargo, probes: &ProbeCache) -> Result<Self, String> {
        let found = Self::find(cargo, probes, &cargo.target, None)?;
        if !found.takes_gnu_options() {
            return Err(format!("{} does not accept GNU's options", found.path.display()));
        }
        Ok(found)
    }

    /// Returns clang as the C++ compiler for the CPU image.
    ///
    /// Returns `None` in cross builds, if a variable names a C++ compiler or sets C++ flags, or if
    /// clang does not find the C++ library.
    pub fn of_clang(clang: &Clang, cargo: &Cargo, probes: &ProbeCache) -> Option<Self> {
        // Since C++17, libstdc++'s <cmath> takes twice as long.
        const LIBRARY: [&str; 8] = [
            "--driver-mode=g++",
            "-std=c++14",
            "-fsyntax-only",
            "-include",
            "cmath",
            "-x",
            "c++",
            NO_INPUT,
        ];
        let triple = &cargo.target;
        let is_named = ["CXX", "CXXFLAGS"].map(|name| is_set(cargo, name, triple)) != [false; 2];
        if is_named || *triple != cargo.host {
            return None;
        }
        // clang uses the newest GCC's library, even if only that GCC's C part is installed. The
        // define makes these names part of the cached question.
        let define = format!("-DLIBRARIES={}", libraries(Path::new("/usr")).join(","));
        let mut args = LIBRARY.to_vec();
        args.push(&define);
        probes.ask(&clang.path, &args).ok()?;
        let mut found = Self::find(cargo, probes, triple, Some(&clang.path)).ok()?;
        found.args.insert(0, LIBRARY[0].into());
        Some(found)
    }

    /// Returns the C++ compiler with which nvcc compiles host code: `NVCC_CCBIN`, otherwise the
    /// compiler for the triple. On Windows, the latter is Visual Studio's `cl.exe`, with the
    /// environment variables that it needs.
    ///
    /// Returns an error with the reason if there is no such compiler.
    pub fn for_nvcc(cargo: &Cargo, probes: &ProbeCache, triple: &str) -> Result<Self, String> {
        let Some(name) = cargo.user_var("NVCC_CCBIN") else {
            return Self::find(cargo, probes, triple, None);
        };
        // nvcc also accepts a folder in this variable.
        let path = Path::new(&name);
        let found = if path.is_dir() { Some(path.to_owned()) } else { named(path, cargo) };
        let path =
            found.ok_or_else(|| format!("NVCC_CCBIN names {name}, but there is no such file"))?;
        let identity = Identity::of_compiler(&path, probes);
        Ok(Self { path, args: Vec::new(), env: Vec::new(), identity })
    }

    /// Returns the C++ compiler for this triple's host code, with its options.
    ///
    /// The compiler is `program`, or else the one that `cc` finds. rustc's flags do not affect the
    /// options, because a CPU image is a separate library.
    ///
    /// Returns an error with the reason if there is no such compiler.
    fn find(
        cargo: &Cargo,
        probes: &ProbeCache,
        triple: &str,
        program: Option<&Path>,
    ) -> Result<Self, String> {
        // These calls make Cargo watch the variables. If `cc` itself printed the lines for Cargo,
        // every error would also contain each variable's value.
        for name in ["CXX", "CXXFLAGS"] {
            is_set(cargo, name, triple);
        }
        for name in [
            "CROSS_COMPILE",
            "CRATE_CC_NO_DEFAULTS",
            "CC_SHELL_ESCAPED_FLAGS",
            "CC_KNOWN_WRAPPER_CUSTOM",
        ] {
            cargo.user_var(name);
        }
        let question = question(cargo, triple, program);
        if let Some(known) = probes.get(question).and_then(|it| Self::parse(&it, cargo, probes)) {
            return Ok(known);
        }
        let mut build = cc::Build::new();
        if let Some(program) = program {
            build.compiler(program);
        }
        let tool = build
            .cpp(true)
            // Without this call, `cc` adds `-Wall -Wextra`, which cause hundreds of warnings in
            // sources written for nvcc.
            .warnings(false)
            .pic(true)
            .target(triple)
            .host(&cargo.host)
            .opt_level_str(&cargo.opt_level)
            .debug_str(&cargo.debug_level)
            .inherit_rustflags(false)
            .inherit_trim_paths(false)
            .cargo_metadata(false)
            .cargo_debug(false)
            .cargo_warnings(false)
            .try_get_compiler()
            .map_err(|error| error.to_string())?;
        // `cc` may return the name of a compiler that does not exist.
        let path = named(tool.path(), cargo).ok_or_else(|| {
            format!("{} does not start: there is no such file", tool.path().display())
        })?;
        // Only the command contains the options from CXX. If a wrapper starts the compiler, the
        // compiler's name is the first argument.
        let command = tool.to_command();
        let is_wrapped = command.get_program() != tool.path();
        let mut args: Vec<OsString> =
            command.get_args().skip(is_wrapped.into()).map(Into::into).collect();
        // The call to `warnings` adds `-w`, which suppresses all warnings. Remove only one `-w`,
        // because CXXFLAGS may also contain one.
        if let Some(at) = args.iter().position(|arg| arg == "-w") {
            args.remove(at);
        }
        let mut env = Vec::new();
        for (name, value) in tool.get_envs() {
            env.push((name.into(), value.into()));
        }
        let identity = Identity::of_compiler(&path, probes);
        let found = Self { path, args, env, identity };
        // For Apple's systems, `cc` runs a program to find the SDK's folder. No file identifies
        // that folder, so do not cache the result.
        if let Some(text) = found.to_text(tool.path()).filter(|_| !triple.contains("-apple-")) {
            probes.put(question, &text);
        }
        Ok(found)
    }

    /// Serializes the compiler for [`Cxx::parse`]. Returns `None` if any part is not UTF-8.
    fn to_text(&self, name: &Path) -> Option<String> {
        let (known_by, count) = (self.known_by(), self.env.len().to_string());
        let mut words = vec![name.to_str()?, &known_by, &count];
        for (name, value) in &self.env {
            words.extend([name.to_str()?, value.to_str()?]);
        }
        for arg in &self.args {
            words.push(arg.to_str()?);
        }
        Some(words.join(WORD_END))
    }

    /// Reads the text from [`Cxx::to_text`]. Returns `None` if the name now resolves to a different
    /// compiler.
    fn parse(text: &str, cargo: &Cargo, probes: &ProbeCache) -> Option<Self> {
        let mut words = text.split(WORD_END);
        let path = named(Path::new(words.next()?), cargo)?;
        let identity = Identity::of_compiler(&path, probes);
        let mut found = Self { path, args: Vec::new(), env: Vec::new(), identity };
        (words.next()? == found.known_by()).then_some(())?;
        for _ in 0..words.next()?.parse().ok()? {
            found.env.push((words.next()?.into(), words.next()?.into()));
        }
        found.args.extend(words.map(Into::into));
        Some(found)
    }

    /// Returns text that changes with the compiler, even if its file is unchanged but starts a
    /// different program.
    fn known_by(&self) -> String {
        identity(&self.path) + &self.identity.version_text
    }

    /// Returns the compiler's environment variables, for the rebuild key.
    pub fn env_identities(&self) -> impl Iterator<Item = String> {
        self.env.iter().map(|(name, value)| format!("{name:?}={value:?}"))
    }

    pub fn is_gcc(&self) -> bool {
        self.identity.version_text.contains("Free Software Foundation")
    }

    /// Whether the compiler accepts GNU's options, according to its name.
    pub fn takes_gnu_options(&self) -> bool {
        self.path.file_stem().is_some_and(|name| name != "cl" && name != "clang-cl")
    }

    /// Whether the compiler is Visual Studio's, according to its name.
    pub fn is_msvc(&self) -> bool {
        self.path.file_stem().is_some_and(|name| name.eq_ignore_ascii_case("cl"))
    }
}

/// Returns the names of the C++ libraries in a folder such as `/usr`, and of the GCCs that clang
/// detects there.
fn libraries(folder: &Path) -> Vec<String> {
    let mut names = entries(&folder.join("include/c++"));
    let gcc = folder.join("lib/gcc");
    for triple in entries(&gcc) {
        for version in entries(&gcc.join(&triple)) {
            if gcc.join(&triple).join(&version).join("crtbegin.o").is_file() {
                names.push(format!("{triple}/{version}"));
            }
        }
    }
    names
}

/// Archives objects into a static library.
///
/// Returns an error with the reason if there is no archiver, or if the archiver fails.
#[inline]
pub fn archive(cargo: &Cargo, library: &Path, objects: &[&Path]) -> Result<(), String> {
    for name in ["AR", "ARFLAGS"] {
        is_set(cargo, name, &cargo.target);
    }
    let name = library.file_name().unwrap_or_default().to_string_lossy();
    cc::Build::new()
        .cargo_metadata(false)
        .out_dir(library.parent().unwrap_or(library))
        .try_create_archive(&name, objects)
        .map(drop)
        .map_err(|error| error.to_string())
}

/// Whether a variable is set in any of the forms that `cc` reads for this triple. Tells Cargo to
/// watch all of these forms.
fn is_set(cargo: &Cargo, name: &str, triple: &str) -> bool {
    let kind = if triple == cargo.host { "HOST" } else { "TARGET" };
    let underscores = triple.replace(['-', '.'], "_");
    let mut is_set = false;
    for end in [triple, &underscores] {
        is_set |= cargo.user_var(&format!("{name}_{end}")).is_some();
    }
    is_set |= cargo.user_var(&format!("{kind}_{name}")).is_some();
    is_set | cargo.user_var(name).is_some()
}

fn question(cargo: &Cargo, triple: &str, program: Option<&Path>) -> ContentHash {
    let mut question = Parts::default();
    question.add("the C++ compiler without options for warnings");
    question.add(triple);
    question.add(&program.unwrap_or(Path::new("")).to_string_lossy());
    for variable in cargo.compiler_variables() {
        question.add(&variable);
    }
    question.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_and_the_gccs_that_clang_detects() {
        let folder = tempfile::tempdir().unwrap();
        for version in
            ["include/c++/11", "lib/gcc/riscv64-linux-gnu/11", "lib/gcc/riscv64-linux-gnu/12"]
        {
            std::fs::create_dir_all(folder.path().join(version)).unwrap();
        }
        assert_eq!(libraries(folder.path()), ["11"]);
        // A package such as gcc-12 adds this file, but not the C++ library.
        let file = folder.path().join("lib/gcc/riscv64-linux-gnu/12/crtbegin.o");
        std::fs::write(file, "").unwrap();
        assert_eq!(libraries(folder.path()), ["11", "riscv64-linux-gnu/12"]);
    }
}
