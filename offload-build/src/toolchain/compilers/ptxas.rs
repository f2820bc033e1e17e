//! `ptxas`, NVIDIA's assembler: PTX to machine code.

use super::identity::Identity;
use super::install;
use super::install::ByPip;
use super::nvcc::{ROOTS, folders, note_folders};
use super::probe_cache::ProbeCache;
use super::search::{Found, Trail};
use crate::toolchain::cargo::Cargo;
use crate::toolchain::error::{Error, ErrorKind};
use crate::toolchain::exec::{self, NO_INPUT, probe, program};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The folders of tools that our install commands make.
const BY_PIP: &[ByPip] = &[install::PTXAS, install::NVCC, install::OLD_PTXAS];

/// A ptxas that was found.
#[derive(Debug, Clone)]
pub struct Ptxas {
    pub path: PathBuf,
    pub identity: Identity,
}

impl Ptxas {
    /// The places where [`Ptxas::find`] looks, in words.
    pub const PLACES: &'static str = "OFFLOAD_PTXAS; bin of CUDA_HOME, CUDA_PATH, CUDA_ROOT, CUDA_TOOLKIT_ROOT_DIR; PATH; \
        /usr/local/cuda*, /opt/cuda; Python's packages; ~/.local/share/offload";

    /// Returns the first ptxas of these: `explicit`; `OFFLOAD_PTXAS`; `bin` of the installation
    /// that a variable names; `PATH`; the places of the search for nvcc.
    pub fn find(
        cargo: &Cargo,
        probes: &ProbeCache,
        explicit: Option<&Path>,
    ) -> Result<Found<Self>, Error> {
        let named = explicit.map(|path| (path.to_owned(), "Build::ptxas"));
        let named = named
            .or_else(|| cargo.user_var("OFFLOAD_PTXAS").map(|path| (path.into(), "OFFLOAD_PTXAS")));
        if let Some((name, by)) = named {
            let path = exec::named(&name, cargo).ok_or_else(|| {
                let message = format!("{by} names {}, which is not a file", name.display());
                Error::new(ErrorKind::ToolNotFound, message)
            })?;
            if !exec::is_executable(&path) {
                let help = install::make_executable(&path);
                let message =
                    format!("{by} names {}, which is not executable; {help}", path.display());
                return Err(Error::new(ErrorKind::ToolNotFound, message));
            }
            return Ok(Found::Tool(Self::new(path, probes)));
        }
        let mut trail = Trail::default();
        trail.not_set("OFFLOAD_PTXAS");
        for root in ROOTS {
            let Some(value) = cargo.user_var(root) else {
                trail.not_set(root);
                continue;
            };
            match program(&Path::new(&value).join("bin"), "ptxas") {
                Some(path) if exec::is_executable(&path) => {
                    return Ok(Found::Tool(Self::new(path, probes)));
                }
                Some(path) => trail.note_not_executable(&path),
                None => trail.note(format!("no bin/ptxas in {root}={value}")),
            }
        }
        for folder in folders(cargo, BY_PIP) {
            match program(&folder, "ptxas") {
                Some(path) if exec::is_executable(&path) => {
                    return Ok(Found::Tool(Self::new(path, probes)));
                }
                Some(path) => trail.note_not_executable(&path),
                None => {}
            }
        }
        cargo.watch_search_path();
        note_folders(&mut trail);
        Ok(Found::Missing(trail))
    }

    /// Returns the ptxas of CUDA 12 in the folder of our install commands, if it is installed.
    pub fn find_old(cargo: &Cargo, probes: &ProbeCache) -> Option<Self> {
        let path = program(&install::OLD_PTXAS.programs(cargo)?, "ptxas")?;
        exec::is_executable(&path).then(|| Self::new(path, probes))
    }

    /// Whether ptxas of CUDA 13 has dropped the architecture with this number, which is 80 for
    /// `sm_80`.
    pub fn has_dropped(number: u32) -> bool {
        number < 75
    }

    fn new(path: PathBuf, probes: &ProbeCache) -> Self {
        let identity = Identity::of_file(&path, probes);
        Self { path, identity }
    }

    /// Checks whether ptxas knows an architecture; returns ptxas's message if it does not. ptxas
    /// checks the name before it reads its input.
    pub fn refusal(&self, arch: &str) -> Option<String> {
        let arch = format!("-arch={arch}");
        match probe(&self.path, &[&arch, NO_INPUT, "-o", NO_INPUT].map(OsStr::new), &[]) {
            Ok(answer) => answer.stderr.contains("gpu-name").then_some(answer.stderr),
            Err(error) => Some(error.to_string()),
        }
    }

    /// Returns the line of `--version` that has the version.
    pub fn version(&self) -> String {
        let answer = probe(&self.path, &["--version".as_ref()], &[]);
        let text = answer.map(|answer| answer.stdout).unwrap_or_default();
        text.lines().find(|line| line.contains("release")).unwrap_or("").trim().to_owned()
    }
}
