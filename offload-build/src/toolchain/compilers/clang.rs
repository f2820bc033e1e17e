//! Finds clang, which compiles for AMD and NVIDIA GPUs, and its lld.

use super::identity::Identity;
use super::install;
use super::probe_cache::ProbeCache;
use super::search::{Found, SearchLog, named};
use crate::toolchain::cargo::Cargo;
use crate::toolchain::error::Error;
use crate::toolchain::exec::{Step, probe, program};
use offload_format::target::OLDEST_CLANG;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone)]
pub struct Clang {
    pub path: PathBuf,
    /// The first line of `--version`.
    pub version: String,
    /// The `ld.lld` that clang's driver finds, which links AMD code objects.
    pub lld: Option<PathBuf>,
    pub identity: Identity,
    lld_identity: Option<Identity>,
}

/// The major versions to search for under names such as `clang-22`. Older versions are not used
/// (docs/formats.md, "Compilers").
const VERSIONS: std::ops::RangeInclusive<u32> = OLDEST_CLANG..=30;

impl Clang {
    /// Describes where [`Clang::find`] searches.
    pub const PLACES: &'static str = "OFFLOAD_CLANG; otherwise clang in PATH; clang-30 to clang-15 \
                                      in PATH and /usr/lib/llvm-*/bin; $ROCM_PATH/llvm/bin or \
                                      /opt/rocm/llvm/bin. Of these, the first that has lld and is \
                                      new enough for all targets, or else the first that has lld";

    /// Returns the clang named by `explicit`, or else by `OFFLOAD_CLANG`, or else the first clang
    /// with lld whose version is at least `wanted`.
    ///
    /// The search order is: `clang` in `PATH`; `clang-<n>` in `PATH` and `/usr/lib/llvm-<n>/bin`,
    /// newest first; ROCm's clang. If none qualifies, returns the first clang that has lld, or else
    /// the first clang. A named clang that does not start is an error.
    pub fn find(
        cargo: &Cargo,
        probes: &ProbeCache,
        explicit: Option<&Path>,
        wanted: u32,
    ) -> Result<Found<Self>, Error> {
        if let Some(path) = explicit {
            return Self::named(cargo, probes, path, "Build::clang").map(Ok);
        }
        if let Some(path) = cargo.user_var("OFFLOAD_CLANG") {
            return Self::named(cargo, probes, Path::new(&path), "OFFLOAD_CLANG").map(Ok);
        }
        let mut log = SearchLog::default();
        log.not_set("OFFLOAD_CLANG");
        let search_path = cargo.search_path();
        let mut paths: Vec<PathBuf> = Vec::new();
        for folder in &search_path {
            paths.extend(program(folder, "clang"));
        }
        for version in VERSIONS.rev() {
            for folder in &search_path {
                paths.extend(program(folder, &format!("clang-{version}")));
            }
            paths.extend(program(Path::new(&format!("/usr/lib/llvm-{version}/bin")), "clang"));
        }
        let rocm = cargo.user_var("ROCM_PATH").unwrap_or_else(|| "/opt/rocm".into());
        paths.extend(program(&Path::new(&rocm).join("llvm").join("bin"), "clang"));
        let (first, last) = (VERSIONS.start(), VERSIONS.end());
        let (mut older, mut without_lld) = (None, None);
        for path in paths {
            if !log.is_executable(&path) {
                continue;
            }
            match Self::start(&path, probes) {
                Ok(clang) if clang.is_older_than(*first) => {
                    log.note(format!(
                        "{} is older than clang {first} ({})",
                        path.display(),
                        clang.version
                    ));
                }
                Ok(clang) if clang.lld.is_some() => {
                    if !clang.is_older_than(wanted) {
                        return Ok(Ok(clang));
                    }
                    older = older.or(Some(clang));
                }
                Ok(clang) => without_lld = without_lld.or(Some(clang)),
                Err(why) => log.note(format!("{} cannot be used ({why})", path.display())),
            }
        }
        // clang, lld or a newer clang is missing, but may be installed before the next build.
        cargo.watch_search_path();
        if let Some(clang) = older {
            return Ok(Ok(clang));
        }
        if let Some(clang) = without_lld {
            if let Some(folder) = clang.path.canonicalize().ok().as_deref().and_then(Path::parent) {
                cargo.watch(folder);
            }
            return Ok(Ok(clang));
        }
        log.note(format!("no clang or clang-{first} to clang-{last} in PATH"));
        log.note("none in /usr/lib/llvm-*/bin");
        log.note("none in $ROCM_PATH/llvm/bin or /opt/rocm/llvm/bin");
        Ok(Err(log))
    }

    fn named(cargo: &Cargo, probes: &ProbeCache, name: &Path, by: &str) -> Result<Self, Error> {
        named(by, name, cargo, |path| {
            let clang = Self::start(path, probes)?;
            if clang.is_older_than(OLDEST_CLANG) {
                let help = install::Installable::Clang(OLDEST_CLANG).help();
                return Err(format!(
                    "it is {}, older than clang {OLDEST_CLANG}; {help}",
                    clang.version
                ));
            }
            Ok(clang)
        })
    }

    pub(super) fn start(path: &Path, probes: &ProbeCache) -> Result<Self, String> {
        let version = probes.ask(path, &["--version"])?.lines().next().unwrap_or("").to_owned();
        if !version.contains("clang") {
            return Err(format!("--version prints '{version}', which is not clang's"));
        }
        // If the driver finds the program, it prints the program's path, otherwise only its name.
        const WHERE_IS_LLD: &[&str] = &["-print-prog-name=ld.lld"];
        let lld = |answer: String| {
            Some(PathBuf::from(answer.trim())).filter(|it| it.is_absolute() && it.is_file())
        };
        // lld may have been installed or removed since the answer was cached.
        let lld = match lld(probes.ask(path, WHERE_IS_LLD)?) {
            None => lld(probes.ask_anew(path, WHERE_IS_LLD)?),
            found => found,
        };
        let lld_identity = lld.as_deref().map(|lld| Identity::of_file(lld, probes));
        Ok(Self {
            path: path.to_owned(),
            version,
            lld,
            identity: Identity::of_compiler(path, probes),
            lld_identity,
        })
    }

    pub fn with_lld(&self) -> Vec<&Identity> {
        [&self.identity].into_iter().chain(&self.lld_identity).collect()
    }

    /// Returns the major version, if the first line of `--version` contains it.
    pub fn major(&self) -> Option<u32> {
        let (_, rest) = self.version.split_once("version ")?;
        rest.split('.').next()?.parse().ok()
    }

    /// Whether the major version is known to be lower than `version`.
    pub fn is_older_than(&self, version: u32) -> bool {
        self.major().is_some_and(|major| major < version)
    }

    /// Returns the version in Debian's package names, such as 22 for a clang in `/usr/lib/llvm-22`.
    /// Returns `None` if clang is not in such a folder.
    pub fn packaged_version(&self) -> Option<u32> {
        let path = self.path.canonicalize().ok()?;
        path.iter().find_map(|part| part.to_str()?.strip_prefix("llvm-")?.parse().ok())
    }

    /// Returns the processors that clang lists for a triple, filtered by the prefix `start`.
    #[inline]
    pub fn processors(&self, triple: &str, start: &str) -> Vec<String> {
        // Without `-nogpulib`, older versions of clang search for ROCm's libraries before printing
        // the list.
        let target = format!("--target={triple}");
        let args = [&target, "-nogpulib", "--print-supported-cpus"].map(OsStr::new);
        let answer = probe(&self.path, &args, &[]);
        // clang prints the list on standard error.
        let text = answer.map(|answer| answer.stderr).unwrap_or_default();
        let mut names = Vec::new();
        for word in text.split_whitespace() {
            if word.starts_with(start) {
                names.push(word.to_owned());
            }
        }
        names
    }

    /// Checks that one of clang's own headers exists. If not, the error names the searched folder.
    pub fn find_header(&self, name: &str) -> Result<(), String> {
        let answer = probe(&self.path, &["-print-resource-dir".as_ref()], &[])
            .map_err(|error| error.to_string())?;
        let folder = Path::new(answer.stdout.trim()).join("include");
        if folder.join(name).is_file() {
            Ok(())
        } else {
            Err(format!("no {name} in {}", folder.display()))
        }
    }

    /// Makes the driver check a command line without running a compiler. Returns the driver's
    /// errors if it rejects the command line.
    pub fn refusal(&self, step: &Step) -> Option<String> {
        let all_args = step.all_args();
        let mut args = vec![OsStr::new("-###")];
        for arg in &all_args {
            args.push(arg);
        }
        match probe(&step.program, &args, &step.env) {
            Ok(answer) => {
                let text = answer.stderr;
                // Besides errors, -### prints the version and the commands, which start with a
                // space. Up to clang 18, its exit status does not reflect errors. A warning can
                // quote an option that contains the text `error:`.
                let is_error = |line: &&str| {
                    let message = line.split("warning:").next().unwrap_or_default();
                    !line.starts_with(' ') && message.contains("error:")
                };
                let errors: Vec<&str> = text.lines().filter(is_error).collect();
                match (errors.is_empty(), answer.status.success()) {
                    (false, _) => Some(errors.join("\n")),
                    (true, true) => None,
                    (true, false) if text.trim().is_empty() => {
                        Some(format!("clang -### printed nothing and ended with {}", answer.status))
                    }
                    (true, false) => Some(text),
                }
            }
            Err(error) => Some(error.to_string()),
        }
    }
}
