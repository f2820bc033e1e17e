//! Finds `ptxas`, NVIDIA's assembler, which compiles PTX to machine code.

use super::identity::Identity;
use super::install::{self, ByPip};
use super::nvcc::{in_folders, in_roots, note_folders};
use super::probe_cache::ProbeCache;
use super::search::{Found, SearchLog, named};
use crate::toolchain::cargo::Cargo;
use crate::toolchain::error::Error;
use crate::toolchain::exec::{self, NO_INPUT, probe, program};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The folders created by our install commands that may contain ptxas.
const BY_PIP: &[ByPip] = &[install::PTXAS, install::NVCC, install::OLD_PTXAS];

#[derive(Debug, Clone)]
pub struct Ptxas {
    pub path: PathBuf,
    pub identity: Identity,
}

impl Ptxas {
    /// Describes where [`Ptxas::find`] searches.
    pub const PLACES: &'static str = "OFFLOAD_PTXAS; bin of CUDA_HOME, CUDA_PATH, CUDA_ROOT, CUDA_TOOLKIT_ROOT_DIR; PATH; \
        /usr/local/cuda*, /opt/cuda; Python's packages; ~/.local/share/offload";

    /// Returns the first ptxas found.
    ///
    /// The search order is: `explicit`; `OFFLOAD_PTXAS`; `bin` in the installation that a variable
    /// names; `PATH`; the usual places, which are also searched for nvcc.
    pub fn find(
        cargo: &Cargo,
        probes: &ProbeCache,
        explicit: Option<&Path>,
    ) -> Result<Found<Self>, Error> {
        let start = |path: &Path| Ok(Self::new(path.to_owned(), probes));
        if let Some(path) = explicit {
            return named("Build::ptxas", path, cargo, start).map(Ok);
        }
        if let Some(path) = cargo.user_var("OFFLOAD_PTXAS") {
            return named("OFFLOAD_PTXAS", Path::new(&path), cargo, start).map(Ok);
        }
        let mut log = SearchLog::default();
        log.not_set("OFFLOAD_PTXAS");
        let root = in_roots("ptxas", cargo, &mut log).into_iter().next();
        let in_folders = || in_folders("ptxas", cargo, BY_PIP, &mut log).into_iter().next();
        if let Some(path) = root.map(|(_, path)| path).or_else(in_folders) {
            return Ok(Ok(Self::new(path, probes)));
        }
        cargo.watch_search_path();
        note_folders(&mut log);
        Ok(Err(log))
    }

    /// Returns the ptxas of CUDA 12, if our install commands have installed it.
    pub fn find_old(cargo: &Cargo, probes: &ProbeCache) -> Option<Self> {
        let path = program(&install::OLD_PTXAS.programs(cargo)?, "ptxas")?;
        exec::is_executable(&path).then(|| Self::new(path, probes))
    }

    /// Whether CUDA 13's ptxas has dropped the architecture with this number (80 for `sm_80`).
    pub fn has_dropped(number: u32) -> bool {
        number < 75
    }

    fn new(path: PathBuf, probes: &ProbeCache) -> Self {
        let identity = Identity::of_file(&path, probes);
        Self { path, identity }
    }

    /// Returns ptxas' message if ptxas does not support an architecture. ptxas checks the name
    /// before it reads its input.
    pub fn refusal(&self, arch: &str) -> Option<String> {
        let arch = format!("-arch={arch}");
        match probe(&self.path, &[&arch, NO_INPUT, "-o", NO_INPUT].map(OsStr::new), &[]) {
            Ok(answer) => answer.stderr.contains("gpu-name").then_some(answer.stderr),
            Err(error) => Some(error.to_string()),
        }
    }

    pub fn version(&self) -> String {
        let answer = probe(&self.path, &["--version".as_ref()], &[]);
        let text = answer.map(|answer| answer.stdout).unwrap_or_default();
        text.lines().find(|line| line.contains("release")).unwrap_or("").trim().to_owned()
    }
}
