//! The host's C++ compiler.
//!
//! On Linux, `search.rs` finds it. On other systems the crate `cc` does, which knows the folders of
//! Visual Studio and of Apple's SDKs; it is a tenth of what a package with kernels compiles.

#[cfg(target_os = "linux")]
mod search;
#[cfg(not(target_os = "linux"))]
#[path = "by_cc.rs"]
mod search;

#[cfg(all(test, target_os = "linux"))]
mod by_cc;
#[cfg(all(test, target_os = "linux"))]
mod tests;

pub use search::archive;

#[cfg(target_os = "linux")]
use super::clang::Clang;
use super::identity::Identity;
use super::probe_cache::ProbeCache;
use crate::cargo::Cargo;
#[cfg(target_os = "linux")]
use crate::exec::NO_INPUT;
use crate::exec::named;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A C++ compiler with the flags that the host target and Cargo's profile ask for.
#[derive(Debug, Clone)]
pub struct Cxx {
    pub path: PathBuf,
    pub args: Vec<OsString>,
    pub env: Vec<(OsString, OsString)>,
    pub identity: Identity,
}

/// The compilers that a search accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WantedCxx {
    /// Compilers with GNU's options.
    Gnu,
    Any,
}

impl Cxx {
    /// The places of the search, in words.
    pub const PLACES: &'static str = search::PLACES;

    /// Returns the C++ compiler for the image `cpu`.
    ///
    /// Returns an error with the reason if there is no compiler, or one that does not accept GNU's
    /// options.
    pub fn for_cpu(cargo: &Cargo, probes: &ProbeCache) -> Result<Self, String> {
        Self::find(cargo, probes, &cargo.target, WantedCxx::Gnu)
    }

    /// Returns clang as the C++ compiler for the image `cpu` of programs for this machine.
    ///
    /// Returns `None` if a variable names a C++ compiler or has flags for it, and if clang does not
    /// find the C++ library.
    #[cfg(target_os = "linux")]
    pub fn of_clang(clang: &Clang, cargo: &Cargo, probes: &ProbeCache) -> Option<Self> {
        const LIBRARY: [&str; 7] =
            ["--driver-mode=g++", "-fsyntax-only", "-include", "cmath", "-x", "c++", NO_INPUT];
        let triple = &cargo.target;
        if search::is_named(cargo, triple) || *triple != cargo.host {
            return None;
        }
        probes.ask(&clang.path, &LIBRARY).ok()?;
        let args = vec![LIBRARY[0].to_owned()];
        Some(search::with_options(cargo, probes, triple, clang.path.clone(), args))
    }

    /// Returns the C++ compiler that nvcc uses for the host's part of sources: `NVCC_CCBIN`,
    /// otherwise the one for the triple. On Windows, this is Visual Studio's `cl.exe`, with the
    /// environment variables that it needs.
    ///
    /// Returns an error with the reason if there is no such compiler.
    pub fn for_nvcc(cargo: &Cargo, probes: &ProbeCache, triple: &str) -> Result<Self, String> {
        let Some(name) = cargo.user_var("NVCC_CCBIN") else {
            return Self::find(cargo, probes, triple, WantedCxx::Any);
        };
        // The variable may also name a folder, because nvcc accepts one.
        let path = Path::new(&name);
        let found = if path.is_dir() { Some(path.to_owned()) } else { named(path, cargo) };
        let path =
            found.ok_or_else(|| format!("NVCC_CCBIN names {name}, and there is no such file"))?;
        let identity = Identity::of_compiler(&path, probes);
        Ok(Self { path, args: Vec::new(), env: Vec::new(), identity })
    }

    fn find(
        cargo: &Cargo,
        probes: &ProbeCache,
        triple: &str,
        kind: WantedCxx,
    ) -> Result<Self, String> {
        let found = search::find(cargo, probes, triple)?;
        if kind == WantedCxx::Gnu && !found.takes_gnu_options() {
            return Err(format!("{} does not take GNU's options", found.path.display()));
        }
        Ok(found)
    }

    /// Returns the compiler's variables, for the rebuild key.
    pub fn env_identities(&self) -> impl Iterator<Item = String> {
        self.env.iter().map(|(name, value)| format!("{name:?}={value:?}"))
    }

    /// Whether the compiler is GCC's.
    pub fn is_gcc(&self) -> bool {
        self.identity.said.contains("Free Software Foundation")
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
