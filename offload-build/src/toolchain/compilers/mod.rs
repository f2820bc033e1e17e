//! Finds this machine's compilers, and checks whether they can compile for a target.

mod clang;
mod cxx;
mod identity;
pub mod install;
mod nvcc;
mod probe_cache;
mod program;
mod ptxas;
mod rocm;
mod rust;
mod search;

pub use clang::Clang;
pub use cxx::{Cxx, archive};
pub use identity::Identity;
pub use nvcc::{Nvcc, library_folders};
pub use probe_cache::ProbeCache;
pub use program::{identity, is_shared};
pub use ptxas::Ptxas;
pub use rocm::Rocm;
pub use rust::{NoRust, Rust};
pub use search::{Found, SearchLog};

use crate::toolchain::cargo::Cargo;
use crate::toolchain::error::Error;
use crate::toolchain::exec::{NO_INPUT, probe};
use std::cell::OnceCell;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A search result, cached by [`Tools`].
pub type Search<'t, T> = Result<Result<&'t T, &'t SearchLog>, Error>;

/// The GPU compilers. Each is searched for only when a target first needs it.
pub struct Tools<'a> {
    pub cargo: &'a Cargo,
    probes: ProbeCache,
    named: NamedTools,
    /// The lowest version of clang that supports all targets, according to the tables.
    first_clang: u32,
    clang: OnceCell<Found<Clang>>,
    ptxas: OnceCell<Found<Ptxas>>,
    old_ptxas: OnceCell<Option<Ptxas>>,
    nvcc: OnceCell<Found<Nvcc>>,
    rocm: OnceCell<Found<Rocm>>,
    hip_clang: OnceCell<Option<Clang>>,
}

/// The tools that build.rs names.
#[derive(Debug, Clone, Default)]
pub struct NamedTools {
    pub clang: Option<PathBuf>,
    pub ptxas: Option<PathBuf>,
    pub nvcc: Option<PathBuf>,
}

impl<'a> Tools<'a> {
    /// Returns the tools that `named` or the environment names. The file `probe_cache` stores the
    /// probe results of earlier runs.
    pub fn new(cargo: &'a Cargo, probe_cache: PathBuf, named: &NamedTools) -> Self {
        Self::with_probes(cargo, ProbeCache::open(probe_cache), named.clone())
    }

    /// Returns the tools that the environment names, without cached results from earlier runs.
    pub fn forgetful(cargo: &'a Cargo) -> Self {
        Self::with_probes(cargo, ProbeCache::forgetful(), NamedTools::default())
    }

    fn with_probes(cargo: &'a Cargo, probes: ProbeCache, named: NamedTools) -> Self {
        let (clang, ptxas, old_ptxas, nvcc, rocm, hip_clang) = Default::default();
        let first_clang = offload_format::target::OLDEST_CLANG;
        Self { cargo, probes, named, first_clang, clang, ptxas, old_ptxas, nvcc, rocm, hip_clang }
    }

    /// Prefers a clang of at least this version. If the search for `native` or `all` has already
    /// found an older clang, the next call to [`Tools::clang`] searches again.
    pub fn prefer_clang(&mut self, version: u32) {
        self.first_clang = version;
        if let Some(Ok(clang)) = self.clang.get()
            && clang.is_older_than(version)
        {
            self.clang = OnceCell::new();
        }
    }

    pub fn clang(&self) -> Search<'_, Clang> {
        once(&self.clang, || {
            Clang::find(self.cargo, &self.probes, self.named.clang.as_deref(), self.first_clang)
        })
    }

    pub fn ptxas(&self) -> Search<'_, Ptxas> {
        once(&self.ptxas, || Ptxas::find(self.cargo, &self.probes, self.named.ptxas.as_deref()))
    }

    /// Returns the ptxas for an architecture, given by name and number (`sm_80` and 80).
    ///
    /// If the ptxas found has dropped this architecture, falls back to the ptxas of CUDA 12 from
    /// our install commands, if it is installed.
    ///
    /// Returns the search log if there is no current ptxas.
    pub fn ptxas_for(&self, arch: &str, number: u32) -> Search<'_, Ptxas> {
        let ptxas = match self.ptxas()? {
            Ok(ptxas) => ptxas,
            missing => return Ok(missing),
        };
        let is_named = self.named.ptxas.is_some() || self.cargo.user_var("OFFLOAD_PTXAS").is_some();
        if is_named || !Ptxas::has_dropped(number) || ptxas.refusal(arch).is_none() {
            return Ok(Ok(ptxas));
        }
        let old = self.old_ptxas.get_or_init(|| Ptxas::find_old(self.cargo, &self.probes));
        Ok(Ok(old.as_ref().unwrap_or(ptxas)))
    }

    pub fn probes(&self) -> &ProbeCache {
        &self.probes
    }

    /// Returns the lowest version of clang that supports all targets, according to the tables.
    pub fn first_clang(&self) -> u32 {
        self.first_clang
    }

    pub fn nvcc(&self) -> Search<'_, Nvcc> {
        once(&self.nvcc, || Nvcc::find(self.cargo, &self.probes, self.named.nvcc.as_deref()))
    }

    /// Returns the ROCm installation with HIP's headers and libraries. The first call searches for
    /// it.
    pub fn rocm(&self) -> Result<&Rocm, &SearchLog> {
        self.rocm.get_or_init(|| Rocm::find(self.cargo)).as_ref()
    }

    /// Returns the clang that hipcc starts, for which ROCm's headers were written. Returns `None`
    /// if it lacks lld, or if build.rs or a variable names a clang.
    pub fn rocm_clang(&self, rocm: &Rocm) -> Option<&Clang> {
        let is_named = self.named.clang.is_some() || self.cargo.user_var("OFFLOAD_CLANG").is_some();
        let own = rocm.clang.as_ref().filter(|_| !is_named)?;
        let start = || Clang::start(own, &self.probes).ok().filter(|clang| clang.lld.is_some());
        self.hip_clang.get_or_init(start).as_ref()
    }

    /// Returns the Rust toolchain with this name, for kernel crates.
    pub fn rust(&self, channel: &str) -> Result<Result<Rust, NoRust>, Error> {
        Rust::find(self.cargo, &self.probes, channel)
    }

    pub fn clang_defines(&self, clang: &Clang, processor: &str, name: &str) -> bool {
        let mcpu = format!("-mcpu={processor}");
        let args =
            ["-E", "-dM", "--target=amdgcn-amd-amdhsa", &mcpu, "-nogpulib", "-x", "c", NO_INPUT];
        let text = self.probes.ask(&clang.path, &args).unwrap_or_default();
        text.lines().any(|line| line.split(' ').nth(1) == Some(name))
    }

    /// Whether clang finds `clang-linker-wrapper`, which links device code in host objects.
    #[inline]
    pub fn has_linker_wrapper(&self, clang: &Clang) -> bool {
        const WHERE_IS_IT: &[&str] = &["-print-prog-name=clang-linker-wrapper"];
        // If clang does not find the program, it prints the name without a folder.
        let is_path = |answer: Result<String, _>| {
            answer.is_ok_and(|answer| Path::new(answer.trim()).is_absolute())
        };
        // The program may have been installed since clang was last probed.
        is_path(self.probes.ask(&clang.path, WHERE_IS_IT))
            || is_path(self.probes.ask_anew(&clang.path, WHERE_IS_IT))
    }

    /// Returns the C++ compiler for the CPU image.
    ///
    /// On Linux, clang is preferred unless a variable names a different compiler. Checked images
    /// (`is_checked`) do not prefer clang, because its sanitizers are in a separate package.
    ///
    /// Returns an error with the reason if there is no compiler.
    pub fn cxx(&self, is_checked: bool) -> Result<Cxx, String> {
        if cfg!(target_os = "linux")
            && !is_checked
            && let Ok(Ok(clang)) = self.clang()
            && let Some(found) = Cxx::of_clang(clang, self.cargo, &self.probes)
        {
            return Ok(found);
        }
        Cxx::for_cpu(self.cargo, &self.probes)
    }

    /// Returns the compiler with which nvcc compiles host code for this triple. Returns an error
    /// with the reason if there is no compiler.
    pub fn ccbin(&self, triple: &str) -> Result<Cxx, String> {
        Cxx::for_nvcc(self.cargo, &self.probes, triple)
    }

    pub fn clang_knows(&self, clang: &Clang, arch: &str) -> bool {
        let arch = format!("--offload-arch={arch}");
        // Have clang check an empty source, because up to clang 18, the exit status of `-###` does
        // not reflect errors.
        let args = [
            "-fsyntax-only",
            "-x",
            "cuda",
            "--cuda-device-only",
            "-nogpuinc",
            "-nogpulib",
            NO_INPUT,
            &arch,
        ];
        self.probes.ask(&clang.path, &args).is_ok()
    }

    /// Returns the NVIDIA architectures in `names`, such as `sm_90`, that clang's driver supports.
    /// The list that clang prints contains more.
    #[inline]
    pub fn those_that_clang_knows(&self, clang: &Clang, mut names: Vec<String>) -> Vec<String> {
        const QUESTION: [&str; 8] =
            ["-###", "-x", "cuda", "--cuda-device-only", "-nogpuinc", "-nogpulib", "-c", NO_INPUT];
        loop {
            let mut archs = Vec::new();
            for name in &names {
                archs.push(format!("--offload-arch={name}"));
            }
            let mut args = QUESTION.map(OsStr::new).to_vec();
            for arch in &archs {
                args.push(arch.as_ref());
            }
            // The error names only the first unknown architecture, so retry without that
            // architecture.
            let text =
                probe(&clang.path, &args, &[]).map(|answer| answer.stderr).unwrap_or_default();
            let before = names.len();
            for line in text.lines() {
                if line.starts_with("clang") && line.contains("error:") {
                    let words: Vec<&str> = line.split_whitespace().collect();
                    names.retain(|name| !words.contains(&name.as_str()));
                }
            }
            if names.len() == before {
                return names;
            }
        }
    }

    /// Returns the architectures that `ptxas --help` lists, including those whose names end in `a`
    /// or `f`.
    pub fn ptxas_architectures(&self, ptxas: &Ptxas) -> Vec<String> {
        let text = self.probes.ask(&ptxas.path, &["--help"]).unwrap_or_default();
        // The names are in quotes.
        let mut names = Vec::new();
        for word in text.split('\'') {
            if word.starts_with("sm_") {
                names.push(word.to_owned());
            }
        }
        names
    }

    /// Returns the architectures that nvcc lists, for machine code and PTX.
    pub fn nvcc_architectures(&self, nvcc: &Nvcc) -> Vec<String> {
        let mut names = Vec::new();
        for list in ["--list-gpu-code", "--list-gpu-arch"] {
            let text = self.probes.ask(&nvcc.path, &[list]).unwrap_or_default();
            for name in text.split_whitespace() {
                names.push(name.to_owned());
            }
        }
        names
    }

    /// Returns the clang that this build used, if any. It may be ROCm's clang.
    pub fn used_clang(&self) -> Option<&Clang> {
        let own = || self.hip_clang.get().and_then(Option::as_ref);
        self.clang.get().and_then(|it| it.as_ref().ok()).or_else(own)
    }

    pub fn used_nvcc(&self) -> Option<&Nvcc> {
        self.nvcc.get()?.as_ref().ok()
    }

    pub fn used_ptxas(&self) -> impl Iterator<Item = &Ptxas> {
        let current = self.ptxas.get().and_then(|it| it.as_ref().ok());
        current.into_iter().chain(self.old_ptxas.get().and_then(Option::as_ref))
    }
}

/// Returns the cell's value. If the cell is empty, first fills it with `find`.
fn once<T>(
    cell: &OnceCell<Found<T>>,
    find: impl FnOnce() -> Result<Found<T>, Error>,
) -> Search<'_, T> {
    match cell.get() {
        Some(found) => Ok(found.as_ref()),
        None => find().map(|found| cell.get_or_init(|| found).as_ref()),
    }
}
