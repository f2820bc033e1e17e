//! The host's C++ compiler, as the `cc` crate finds it.

use super::identity::Identity;
use super::probe_cache::ProbeCache;
use super::program::identity;
use crate::cargo::Cargo;
use crate::exec::named;
use crate::hash::Parts;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A C++ compiler with the flags that the host target and Cargo's profile ask for.
#[derive(Debug, Clone)]
pub(crate) struct Cxx {
    pub(crate) path: PathBuf,
    pub(crate) args: Vec<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) identity: Identity,
}

/// The compilers that a search accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Compilers with GNU's options.
    Gnu,
    Any,
}

impl Cxx {
    /// The places where `cc` looks, in words.
    pub(crate) const PLACES: &'static str =
        "CXX_<target>, TARGET_CXX, CXX; c++, clang++ and others in PATH, as the cc crate does";

    /// Returns the C++ compiler for the image `cpu`.
    ///
    /// Returns an error with the reason if `cc` finds no compiler, or one that does not accept
    /// GNU's options.
    pub(crate) fn for_cpu(cargo: &Cargo, probes: &ProbeCache) -> Result<Self, String> {
        Self::find(cargo, probes, &cargo.target, Kind::Gnu)
    }

    /// Returns the C++ compiler that nvcc uses for the host's part of sources: `NVCC_CCBIN`,
    /// otherwise the one that `cc` finds. On Windows, `cc` finds Visual Studio's `cl.exe`, and the
    /// environment variables that it needs.
    ///
    /// Returns an error with the reason if there is no such compiler.
    pub(crate) fn for_nvcc(
        cargo: &Cargo,
        probes: &ProbeCache,
        triple: &str,
    ) -> Result<Self, String> {
        let Some(name) = cargo.user_var("NVCC_CCBIN") else {
            return Self::find(cargo, probes, triple, Kind::Any);
        };
        // The variable may also name a folder, because nvcc accepts one.
        let path = Path::new(&name);
        let found = if path.is_dir() { Some(path.to_owned()) } else { named(path, cargo) };
        let path =
            found.ok_or_else(|| format!("NVCC_CCBIN names {name}, and there is no such file"))?;
        let identity = Identity::of_compiler(&path, probes);
        Ok(Self { path, args: Vec::new(), env: Vec::new(), identity })
    }

    fn find(cargo: &Cargo, probes: &ProbeCache, triple: &str, kind: Kind) -> Result<Self, String> {
        // These calls make Cargo watch the variables. If `cc` printed the lines for Cargo itself,
        // each variable's value would also be in every error.
        let underscores = triple.replace('-', "_");
        for name in ["CXX", "CXXFLAGS"] {
            for form in [triple, &underscores] {
                cargo.user_var(&format!("{name}_{form}"));
            }
            for prefix in ["HOST_", "TARGET_", ""] {
                cargo.user_var(&format!("{prefix}{name}"));
            }
        }
        let mut question = Parts::default();
        for word in ["the C++ compiler without options for warnings", triple, &format!("{kind:?}")]
        {
            question.add(word);
        }
        for variable in cargo.compiler_variables() {
            question.add(&variable);
        }
        let question = question.finish();
        if let Some(known) = probes.get(question).and_then(|text| Self::parse(&text, cargo, probes))
        {
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
        if kind == Kind::Gnu && !(tool.is_like_gnu() || tool.is_like_clang()) {
            return Err(format!("{} does not take GNU's options", tool.path().display()));
        }
        let env =
            tool.get_envs().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let identity = Identity::of_compiler(&path, probes);
        let mut args = tool.args().to_vec();
        // That call adds `-w`, which suppresses all warnings. If CXXFLAGS has it, too, one is left.
        if let Some(at) = args.iter().position(|arg| arg == "-w") {
            args.remove(at);
        }
        let found = Self { path, args, env, identity };
        // For Apple's systems, `cc` runs a program to find the SDK's folder. No file here
        // identifies that folder, so the result is not cached.
        if let Some(text) = found.to_text(tool.path()).filter(|_| !triple.contains("-apple-")) {
            probes.put(question, &text);
        }
        Ok(found)
    }

    /// Returns the compiler's variables, for the rebuild key.
    pub(crate) fn env_identities(&self) -> impl Iterator<Item = String> {
        self.env.iter().map(|(name, value)| format!("{name:?}={value:?}"))
    }

    /// Whether the compiler is GCC's.
    pub(crate) fn is_gcc(&self) -> bool {
        self.identity.said.contains("Free Software Foundation")
    }

    /// Whether the compiler accepts GNU's options, according to its name.
    pub(crate) fn takes_gnu_options(&self) -> bool {
        self.path.file_stem().is_some_and(|name| name != "cl" && name != "clang-cl")
    }

    /// Whether the compiler is Visual Studio's, according to its name.
    pub(crate) fn is_msvc(&self) -> bool {
        self.path.file_stem().is_some_and(|name| name.eq_ignore_ascii_case("cl"))
    }

    /// Returns a compiler of which only the path is known.
    #[cfg(test)]
    pub(crate) fn named(path: &str) -> Self {
        let (args, env) = (Vec::new(), Vec::new());
        let identity = Identity { files: Vec::new(), said: String::new() };
        Self { path: path.into(), args, env, identity }
    }

    /// Returns the text that [`Cxx::parse`] reads: name and identity, arguments, variables. Returns
    /// `None` if something is not UTF-8.
    fn to_text(&self, name: &Path) -> Option<String> {
        let start = [name.to_str()?.to_owned(), identity(&self.path)].join(WORD_END);
        let (mut args, mut env) = (Vec::new(), Vec::new());
        for arg in &self.args {
            args.push(arg.to_str()?);
        }
        for (name, value) in &self.env {
            env.push(name.to_str()?);
            env.push(value.to_str()?);
        }
        Some([start, args.join(WORD_END), env.join(WORD_END)].join(LIST_END))
    }

    /// Reads the text that [`Cxx::to_text`] wrote. Returns `None` if the name now belongs to
    /// another compiler.
    fn parse(text: &str, cargo: &Cargo, probes: &ProbeCache) -> Option<Self> {
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
        let path = named(Path::new(name), cargo)?;
        (identity(&path) == known).then_some(())?;
        let env =
            words(env).chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect();
        let identity = Identity::of_compiler(&path, probes);
        Some(Self { path, args: words(args), env, identity })
    }
}

/// The characters that separate words and lists in the cached text. No command line contains them.
const WORD_END: &str = "\u{1f}";
const LIST_END: &str = "\u{1e}";
