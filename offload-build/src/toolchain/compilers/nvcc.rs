//! Finds nvcc, NVIDIA's compiler, and the CUDA toolkit that contains it.

use super::cxx::Cxx;
use super::identity::Identity;
use super::install::{self, ByPip};
use super::probe_cache::ProbeCache;
use super::program::{is_shared, is_wrapper};
use super::search::{Found, SearchLog, named};
use crate::toolchain::cargo::Cargo;
use crate::toolchain::error::Error;
use crate::toolchain::exec::{NO_INPUT, NvccFlags, numbered, probe, program};
use crate::toolchain::hash::ContentHash;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone)]
pub struct Nvcc {
    pub path: PathBuf,
    /// The toolkit's folder, as nvcc reports it.
    pub root: PathBuf,
    /// The release that `--version` prints, such as `release 13.5, V13.5.37`.
    pub version: String,
    pub identity: Identity,
}

/// The variables that name the user's CUDA installation.
const ROOTS: [&str; 4] = ["CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "CUDA_TOOLKIT_ROOT_DIR"];

/// The value of `NVCC` and similar variables that disables nvcc for this build, as in sppark.
const OFF: &str = "off";

/// The folders created by our install commands that may contain nvcc.
const BY_PIP: &[ByPip] = &[install::NVCC];

impl Nvcc {
    /// Describes where [`Nvcc::find`] searches.
    pub const PLACES: &'static str = "NVCC_<target>, NVCC, CUDACXX; bin of CUDA_HOME, CUDA_PATH, CUDA_ROOT, \
        CUDA_TOOLKIT_ROOT_DIR; PATH; /usr/local/cuda*, /opt/cuda; Python's packages; ~/.local/share/offload";

    /// Returns the first nvcc found.
    ///
    /// The search order is: `explicit`; `NVCC_<target>`, `NVCC` or `CUDACXX`; `bin` in the
    /// installation that a variable names; `PATH`; the usual places. If `NVCC_<target>`, `NVCC` or
    /// `CUDACXX` is `off`, there is no nvcc.
    ///
    /// Returns an error if a named nvcc cannot be used, or if variables name different toolkits.
    pub fn find(
        cargo: &Cargo,
        probes: &ProbeCache,
        explicit: Option<&Path>,
    ) -> Result<Found<Self>, Error> {
        let start = |path: &Path| Self::start(path, probes);
        if let Some(path) = explicit {
            return named("Build::nvcc", path, cargo, start).map(Ok);
        }
        let mut log = SearchLog::default();
        let mut by_variables: Vec<(String, Self)> = Vec::new();
        let underscores = cargo.target.replace('-', "_");
        for variable in
            [&*format!("NVCC_{}", cargo.target), &*format!("NVCC_{underscores}"), "NVCC", "CUDACXX"]
        {
            match cargo.user_var(variable) {
                Some(value) if value == OFF => {
                    let mut log = SearchLog::default();
                    log.note(format!("{variable} is `{OFF}`"));
                    return Ok(Err(log));
                }
                Some(value) => {
                    let found = named(variable, Path::new(&value), cargo, start)?;
                    by_variables.push((format!("{variable}={value}"), found));
                }
                None if variable == "NVCC" => log.not_set("NVCC"),
                None if variable == "CUDACXX" => log.not_set("CUDACXX"),
                None => {}
            }
        }
        for (variable, path) in in_roots("nvcc", cargo, &mut log) {
            match start(&path) {
                Ok(found) => by_variables.push((variable, found)),
                Err(why) => log.note(format!("the nvcc in {variable} cannot be used ({why})")),
            }
        }
        if let Some((first, others)) = by_variables.split_first() {
            // Mixing one toolkit's compiler with headers and libraries from another causes obscure
            // errors.
            return match others.iter().find(|(_, other)| other.root != first.1.root) {
                None => Ok(Ok(first.1.clone())),
                Some(other) => Err(disagree(first, other)),
            };
        }
        for path in in_folders("nvcc", cargo, BY_PIP, &mut log) {
            match start(&path) {
                Ok(found) => return Ok(Ok(found)),
                Err(why) => log.note(format!("{} cannot be used ({why})", path.display())),
            }
        }
        cargo.watch_search_path();
        note_folders(&mut log);
        Ok(Err(log))
    }

    fn start(path: &Path, probes: &ProbeCache) -> Result<Self, String> {
        let text = probes.ask(path, &["--version"])?;
        let line = text.lines().find(|line| line.contains("release "));
        let version = line
            .and_then(|line| Some(format!("release {}", line.split_once("release ")?.1.trim())));
        let version = version
            .ok_or_else(|| format!("--version prints '{}', which is not nvcc's", text.trim()))?;
        let root = root(path, probes);
        let identity = Identity::of_nvcc(path, &root, text);
        Ok(Self { path: path.to_owned(), root, version, identity })
    }

    /// Returns nvcc's major and minor version numbers, if the version has the form `release
    /// <major>.<minor>, …`.
    pub fn release(&self) -> Option<(u32, u32)> {
        let numbers = self.version.strip_prefix("release ")?.split(',').next()?;
        let (major, minor) = numbers.trim().split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    }

    /// Returns nvcc's message if nvcc does not compile for an architecture.
    pub fn refusal(&self, arch: &str, ccbin: &Cxx, probes: &ProbeCache) -> Option<String> {
        let (kind, list) = if arch.starts_with("sm_") {
            ("-cubin", "--list-gpu-code")
        } else {
            ("-ptx", "--list-gpu-arch")
        };
        let arch_option = format!("-arch={arch}");
        let words = ["--dryrun", kind, &arch_option, "-x", "cu", NO_INPUT, "-o", NO_INPUT];
        let mut args = vec![OsStr::new("-ccbin"), ccbin.path.as_os_str()];
        args.extend_from_slice(&words.map(OsStr::new));
        let text = match probe(&self.path, &args, &ccbin.env) {
            Ok(answer) if answer.status.success() => return None,
            Ok(answer) => answer.stderr,
            Err(error) => return Some(error.to_string()),
        };
        // `--dryrun` also prints commands, which start with `#$`. All other lines belong to the
        // message.
        let mut text: Vec<&str> = text.lines().filter(|line| !line.starts_with("#$")).collect();
        let known = probes.ask(&self.path, &[list]).unwrap_or_default();
        let known: Vec<&str> = known.split_whitespace().collect();
        if text.iter().any(|line| line.contains("multiple GPU code instances")) {
            text.push("nvcc's command line names more GPUs than the build lists: a wrapper around nvcc, or the file nvcc.profile, adds them");
        }
        Some(format!(
            "{}\nthis toolkit ({}, {}) compiles for {}",
            text.join("\n"),
            self.root.display(),
            self.version,
            known.join(" ")
        ))
    }

    /// Returns the folders that contain only the toolkit, in each form that nvcc's dependency files
    /// use: they name headers as `<folder of nvcc>/../include/...`.
    pub fn folders(&self) -> Vec<PathBuf> {
        let mut roots = vec![self.root.clone()];
        // A script that starts nvcc may be in any folder, such as a package's.
        if let Some(top) = self.path.parent().map(|folder| folder.join(".."))
            && top.canonicalize().is_ok_and(|top| top == self.root)
        {
            roots.push(top);
        }
        if !is_shared(&self.root) {
            return roots;
        }
        let mut folders = Vec::new();
        for root in roots {
            for name in &["targets", "nvvm"] {
                folders.push(root.join(name));
            }
        }
        folders
    }

    /// Returns the path of a toolkit program, such as `nvlink`.
    pub fn program(&self, name: &str) -> PathBuf {
        program(&self.root.join("bin"), name).unwrap_or_else(|| name.into())
    }

    /// Returns the folders with CUDA's static runtime for the program's target.
    ///
    /// Uses those of this toolkit, or else of one that a variable names, or else the `-L` folders
    /// in nvcc's variables.
    #[inline]
    pub fn library_folders(&self, cargo: &Cargo) -> Vec<PathBuf> {
        let has_runtime = |folder: &Path| {
            let names = ["libcudart_static.a", "cudart_static.lib"];
            names.iter().any(|name| folder.join(name).is_file())
        };
        let mut found = Vec::new();
        for root in self.roots(cargo) {
            for name in library_folders(cargo) {
                let folder = root.join(name);
                if has_runtime(&folder) {
                    found.push(folder);
                }
            }
            if !found.is_empty() {
                return found;
            }
        }
        for flags in NvccFlags::set(cargo) {
            // The folder may be a separate word after `-L`.
            let flags = flags.others.replace("-L ", "-L");
            for word in flags.split(' ') {
                if let Some(folder) = word.strip_prefix("-L").map(Path::new)
                    && has_runtime(folder)
                {
                    found.push(folder.to_owned());
                }
            }
        }
        found
    }

    /// If this toolkit lacks the runtime's headers, returns their folder in a toolkit that a
    /// variable names.
    pub fn runtime_headers(&self, cargo: &Cargo) -> Option<PathBuf> {
        for root in self.roots(cargo) {
            let folder = root.join("include");
            if folder.join("cuda_runtime.h").is_file() {
                return (root != self.root).then_some(folder);
            }
        }
        None
    }

    /// Returns the toolkit's folder, and the folders that variables name. Some distributions
    /// install nvcc and CUDA's runtime in separate folders.
    fn roots(&self, cargo: &Cargo) -> Vec<PathBuf> {
        let mut roots = vec![self.root.clone()];
        for name in ROOTS {
            roots.extend(cargo.user_var(name).map(PathBuf::from));
        }
        roots
    }
}

/// Returns the names of toolkit folders that may contain static libraries for the program's target.
/// Installed toolkits, toolkits for a different host, Python's packages and Windows use different
/// folders. `aarch64-linux` is for Jetson.
#[inline]
pub fn library_folders(cargo: &Cargo) -> &'static [&'static str] {
    let is_cross = !cargo.host.starts_with(&*cargo.target_arch);
    match &*cargo.target_arch {
        "aarch64" if is_cross => &["targets/sbsa-linux/lib", "targets/aarch64-linux/lib"],
        "aarch64" => &["targets/sbsa-linux/lib", "targets/aarch64-linux/lib", "lib64", "lib"],
        _ if is_cross => &["targets/x86_64-linux/lib"],
        _ => &["targets/x86_64-linux/lib", "lib64", "lib", "lib/x64"],
    }
}

/// Returns the toolkit that nvcc reports, because nvcc may be a script that starts a different
/// nvcc. If nvcc reports none, returns the parent of nvcc's folder.
fn root(path: &Path, probes: &ProbeCache) -> PathBuf {
    let question = ContentHash::of_parts(&[&super::program::identity(path), "the toolkit"]);
    let known = probes.get(question).filter(|_| !is_wrapper(path));
    known.map(PathBuf::from).unwrap_or_else(|| {
        let answer = probe(path, &["--dryrun", "-E", "-x", "cu", NO_INPUT].map(OsStr::new), &[]);
        let text = answer.map(|answer| answer.stderr).unwrap_or_default();
        let reported =
            text.lines().find_map(|line| line.strip_prefix("#$ TOP=")).map(PathBuf::from);
        let reported = reported.and_then(|top| top.canonicalize().ok()).filter(|top| top.is_dir());
        let program = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let top = reported.unwrap_or_else(|| {
            program.parent().and_then(Path::parent).unwrap_or(Path::new("/")).to_owned()
        });
        probes.put(question, &top.to_string_lossy());
        top
    })
}

fn disagree((first, one): &(String, Nvcc), (second, other): &(String, Nvcc)) -> Error {
    Error::config(format!(
        "two variables name different CUDA toolkits:\n  {first} belongs to {} ({})\n  {second} \
         belongs to {} ({})\nUnset one of them, or let both name the same toolkit",
        one.root.display(),
        one.version,
        other.root.display(),
        other.version
    ))
}

/// Returns the executable programs with this name in the `bin` folders of toolkits that variables
/// name. Each program is paired with the variable and its value.
pub(super) fn in_roots(name: &str, cargo: &Cargo, log: &mut SearchLog) -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    for variable in ROOTS {
        let Some(value) = cargo.user_var(variable) else {
            log.not_set(variable);
            continue;
        };
        let named = format!("{variable}={value}");
        match program(&Path::new(&value).join("bin"), name) {
            Some(path) if log.is_executable(&path) => found.push((named, path)),
            Some(_) => {}
            None => log.note(format!("no bin/{name} in {named}")),
        }
    }
    found
}

/// Returns the executable programs with this name in the usual folders: first those in `PATH`, then
/// those of installers, pip and conda.
pub(super) fn in_folders(
    name: &str,
    cargo: &Cargo,
    by_pip: &[ByPip],
    log: &mut SearchLog,
) -> Vec<PathBuf> {
    let mut folders = cargo.search_path();
    for root in installed().iter().chain(&python_trees(cargo)) {
        folders.push(root.join("bin"));
    }
    folders.extend(by_pip.iter().filter_map(|tools| tools.programs(cargo)));
    let mut programs = Vec::new();
    for folder in folders {
        programs.extend(program(&folder, name));
    }
    programs.retain(|path| log.is_executable(path));
    programs
}

/// Logs the folders that [`in_folders`] searched, for the message that the program is missing.
pub(super) fn note_folders(log: &mut SearchLog) {
    log.note("none in PATH");
    let mut places = Vec::new();
    for root in installed() {
        places.push(root.join("bin").display().to_string());
    }
    log.note(format!(
        "none in {}",
        if places.is_empty() { USUAL.to_owned() } else { places.join(" ") }
    ));
    log.note("none among Python's packages (nvidia/cu13/bin)");
    log.note(format!("none in {}", install::place()));
}

/// The usual toolkit folders, for messages.
const USUAL: &str = "/usr/local/cuda*, /opt/cuda";

/// Returns the toolkits from installers: first the current one, which `/usr/local/cuda` links to,
/// then the others from newest to oldest.
fn installed() -> Vec<PathBuf> {
    let mut roots: Vec<PathBuf> = ["/usr/local/cuda", "/opt/cuda"].map(PathBuf::from).to_vec();
    for (folder, prefix) in
        [("/usr/local", "cuda-"), ("C:/Program Files/NVIDIA GPU Computing Toolkit/CUDA", "v")]
    {
        roots.extend(numbered(Path::new(folder), prefix).into_iter().rev());
    }
    roots.retain(|root| root.is_dir());
    roots
}

/// Returns the toolkits that pip or conda installed, such as `nvidia/cu13` among Python's packages,
/// or conda's environment itself.
fn python_trees(cargo: &Cargo) -> Vec<PathBuf> {
    let mut roots = Vec::new();
    let conda = cargo.user_var("CONDA_PREFIX").map(PathBuf::from);
    roots.extend(conda.clone());
    let mut prefixes: Vec<PathBuf> = Vec::new();
    prefixes.extend(cargo.user_var("VIRTUAL_ENV").map(PathBuf::from));
    prefixes.extend(conda);
    prefixes.extend(cargo.user_var("HOME").map(|home| Path::new(&home).join(".local")));
    prefixes.extend(["/usr/local", "/usr"].map(PathBuf::from));
    for prefix in prefixes {
        let mut packages = Vec::new();
        for python in numbered(&prefix.join("lib"), "python") {
            // Debian's own Python uses `dist-packages`.
            packages.push(python.join("site-packages"));
            packages.push(python.join("dist-packages"));
        }
        // On Windows, virtual environments keep packages in this folder.
        packages.push(prefix.join("Lib").join("site-packages"));
        for folder in packages {
            roots.extend(numbered(&folder.join("nvidia"), "cu").into_iter().rev());
        }
    }
    roots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_toolkits_folders_are_its_own() {
        let scratch = tempfile::tempdir().unwrap();
        let scratch = scratch.path().canonicalize().unwrap();
        let (root, package) = (scratch.join("cuda"), scratch.join("package"));
        for folder in [root.join("bin"), package.clone()] {
            std::fs::create_dir_all(folder).unwrap();
        }
        let folders = |path: PathBuf| {
            let identity = Identity { files: Vec::new(), version_text: String::new() };
            Nvcc { path, root: root.clone(), version: String::new(), identity }.folders()
        };
        let top = root.join("bin").join("..");
        assert_eq!(folders(root.join("bin/nvcc")), [root.clone(), top.clone()]);
        assert_eq!(folders(package.join("nvcc.sh")), [root.as_path()]);
        std::fs::create_dir(root.join("conda-meta")).unwrap();
        assert_eq!(
            folders(root.join("bin/nvcc")),
            [root.join("targets"), root.join("nvvm"), top.join("targets"), top.join("nvvm")]
        );
    }
}
