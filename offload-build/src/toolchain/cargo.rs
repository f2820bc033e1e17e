//! Reads the environment and communicates with Cargo. No other module does.

use crate::toolchain::error::{Error, ErrorKind};
use crate::toolchain::files;
use crate::toolchain::hash::ContentHash;
use std::cell::RefCell;
use std::collections::HashSet;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The replacement for `OUT_DIR` in [`Cargo::portable`].
const OUT_DIR: &str = "<OUT_DIR>";

/// The replacement for the package's folder itself in [`Cargo::portable`]. Paths inside the folder
/// become relative to it.
const PACKAGE: &str = "<PACKAGE>";

/// The maximum number of files and folders in a watched folder.
const MOST_WATCHED: usize = 2000;

/// The interface between a build script and Cargo: the variables that Cargo sets, and the
/// instructions that Cargo reads.
#[derive(Debug, Default)]
pub struct Cargo {
    pub out_dir: PathBuf,
    /// The package's folder, which is also the working folder.
    pub manifest_dir: PathBuf,
    pub package: String,
    version: String,
    /// The host program's target triple.
    pub target: String,
    pub target_arch: String,
    pub target_os: String,
    pub target_pointer_width: String,
    pub target_endian: String,
    /// The build machine's target triple.
    pub host: String,
    pub opt_level: String,
    pub debug: bool,
    /// The debug information level, such as `line-tables-only`.
    pub debug_level: String,
    /// Whether the package has a `links` key. If so, Cargo passes this build script's metadata to
    /// dependents.
    pub has_links: bool,
    /// Whether to print nothing, because the program is not a build script.
    is_silent: bool,
    told: RefCell<Told>,
    /// The folders that [`Cargo::watch_folder`] has already checked.
    considered: RefCell<Vec<PathBuf>>,
}

/// The deduplicated instructions for Cargo, both printed and waiting.
#[derive(Debug, Default)]
struct Told {
    lines: HashSet<String>,
    /// The lines that have not been printed yet, in order.
    waiting: Vec<String>,
}

impl Cargo {
    fn from_env() -> Result<Self, Error> {
        let var = |name: &str| {
            env::var(name).map_err(|error| {
                let message = match error {
                    env::VarError::NotPresent => {
                        format!(
                            "{name} is not set: offload_build works only in a build script that \
                             Cargo runs"
                        )
                    }
                    env::VarError::NotUnicode(value) => {
                        format!("{name} is {value:?}, but Cargo accepts only paths in UTF-8")
                    }
                };
                Error::new(ErrorKind::Environment, message)
            })
        };
        let debug_level = env::var("DEBUG").unwrap_or_default();
        Ok(Self {
            out_dir: var("OUT_DIR")?.into(),
            manifest_dir: var("CARGO_MANIFEST_DIR")?.into(),
            package: var("CARGO_PKG_NAME")?,
            version: var("CARGO_PKG_VERSION")?,
            target: var("TARGET")?,
            target_arch: var("CARGO_CFG_TARGET_ARCH")?,
            target_os: var("CARGO_CFG_TARGET_OS")?,
            target_pointer_width: var("CARGO_CFG_TARGET_POINTER_WIDTH")?,
            target_endian: var("CARGO_CFG_TARGET_ENDIAN")?,
            host: var("HOST")?,
            opt_level: var("OPT_LEVEL")?,
            debug: !matches!(debug_level.as_str(), "" | "false" | "0" | "none"),
            debug_level,
            has_links: var("CARGO_MANIFEST_LINKS").is_ok(),
            is_silent: false,
            told: RefCell::default(),
            considered: RefCell::default(),
        })
    }

    /// Runs a task whose failure need not end the build script. If the task fails, Cargo reruns the
    /// script at the next build, even if the script itself succeeds.
    pub fn attempt<T>(task: impl FnOnce(&Self) -> Result<T, Error>) -> Result<T, Error> {
        let cargo = Self::from_env()?;
        let made = task(&cargo);
        if made.is_err() {
            cargo.run_again();
        }
        cargo.flush();
        made
    }

    /// Runs a task. If it fails, prints the reason and ends the build script. A failed build prints
    /// no instructions, because Cargo reruns the script anyway, and would show them before the
    /// reason.
    pub fn demand<T>(what: &str, task: impl FnOnce(&Self) -> Result<T, Error>) -> T {
        let made = Self::from_env().and_then(|cargo| {
            let made = task(&cargo)?;
            cargo.flush();
            Ok(made)
        });
        made.unwrap_or_else(|error| error.report(what))
    }

    /// Returns the interface for a program that is not a build script.
    ///
    /// The program builds for this triple, with the settings of Cargo's release or dev profile, and
    /// prints no lines for Cargo. `OUT_DIR` is a temporary folder, which this function does not
    /// create.
    #[inline]
    pub fn outside(triple: &str, is_release: bool) -> Self {
        let profile = if is_release { "release" } else { "dev" };
        Self {
            out_dir: env::temp_dir().join(format!("offload-{}-{profile}", std::process::id())),
            manifest_dir: env::current_dir().unwrap_or_default(),
            target: triple.to_owned(),
            host: triple.to_owned(),
            opt_level: if is_release { "3" } else { "0" }.to_owned(),
            debug: !is_release,
            debug_level: if is_release { "0" } else { "2" }.to_owned(),
            is_silent: true,
            ..Self::default()
        }
    }

    /// Returns the value of an environment variable that users set, and tells Cargo to rerun the
    /// build script when it changes. An empty variable counts as unset.
    pub fn user_var(&self, name: &str) -> Option<String> {
        self.tell(format!("rerun-if-env-changed={name}"));
        self.untracked_var(name)
    }

    /// Returns the hash of an environment variable that kernels may depend on, and tells Cargo to
    /// rerun the build script when the variable changes.
    pub fn variable(&self, name: &str) -> ContentHash {
        self.tell(format!("rerun-if-env-changed={name}"));
        let value = env::var_os(name).map(|it| it.to_string_lossy().into_owned());
        ContentHash::of_parts(value.as_deref().as_slice())
    }

    /// Whether `OFFLOAD_REBUILD` is set, which requests a full rebuild.
    pub fn rebuilds(&self) -> bool {
        let rebuilds = self.user_var("OFFLOAD_REBUILD").is_some();
        if rebuilds {
            // Rerun the script at the next build, even if the variable keeps its value.
            self.run_again();
        }
        rebuilds
    }

    /// Returns the value of an environment variable that does not affect the output, so a change
    /// need not rerun the build script.
    pub fn untracked_var(&self, name: &str) -> Option<String> {
        env::var(name).ok().filter(|value| !value.is_empty())
    }

    /// Returns the jobserver that Cargo passes on: the text after the last `--jobserver-auth=`, or
    /// after the option's older name `--jobserver-fds=`.
    pub fn jobserver(&self) -> Option<String> {
        let flags = ["CARGO_MAKEFLAGS", "MAKEFLAGS", "MFLAGS"]
            .iter()
            .find_map(|name| env::var(name).ok())?;
        let behind = |name: &str| flags.rsplit_once(name).map(|(_, rest)| rest);
        let auth = behind("--jobserver-auth=").or_else(|| behind("--jobserver-fds="))?;
        auth.split(' ').next().map(str::to_owned)
    }

    /// Returns the environment variables that may affect the host compiler and its options, as
    /// sorted lines of text. Which of them are read is up to the crate `cc`, so the list includes
    /// every variable that `cc` may read.
    pub fn compiler_variables(&self) -> Vec<String> {
        let all = env::vars_os()
            .filter(|(name, _)| is_of_compilers(&name.to_string_lossy(), cfg!(windows)));
        let mut all: Vec<String> = all.map(|(name, value)| format!("{name:?}={value:?}")).collect();
        all.sort_unstable();
        all
    }

    /// Returns the user's rustc flags for the host program, from RUSTFLAGS and Cargo's
    /// configuration.
    pub fn rustc_flags(&self) -> Vec<String> {
        let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
        flags.split('\x1f').filter(|flag| !flag.is_empty()).map(str::to_owned).collect()
    }

    pub fn linker(&self) -> Option<String> {
        env::var("RUSTC_LINKER").ok()
    }

    pub fn rustc(&self) -> OsString {
        env::var_os("RUSTC").unwrap_or_else(|| "rustc".into())
    }

    pub fn program(&self) -> OsString {
        env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
    }

    /// Returns the names of the variables that configure Cargo and rustc for the host program. They
    /// must not reach a Cargo that compiles kernels.
    pub fn variables_of_cargo(&self) -> Vec<OsString> {
        const STARTS: [&str; 9] = [
            "CARGO_BUILD_",
            "CARGO_CFG_",
            "CARGO_ENCODED_",
            "CARGO_FEATURE_",
            "CARGO_INCREMENTAL",
            "CARGO_PROFILE_",
            "CARGO_TARGET_",
            "CARGO_UNSTABLE_",
            "RUSTC",
        ];
        let mut names = vec!["RUSTFLAGS".into(), "RUSTUP_TOOLCHAIN".into()];
        for (name, _) in env::vars_os() {
            let text = name.to_string_lossy();
            if STARTS.iter().any(|start| text.starts_with(start)) {
                names.push(name);
            }
        }
        names
    }

    /// Returns `<name>_<package>`, the variable that applies only to this package.
    pub fn variable_of_package(&self, name: &str) -> String {
        format!("{name}_{}", self.package.replace('-', "_"))
    }

    /// Returns the name and value of the variable `<name>_<package>`, falling back to `<name>`.
    pub fn package_var(&self, name: &str) -> Option<(String, String)> {
        let own = self.variable_of_package(name);
        let (own_value, value) = (self.user_var(&own), self.user_var(name));
        own_value.map(|value| (own, value)).or_else(|| Some((name.to_owned(), value?)))
    }

    /// Returns the folders of `PATH`. Tells Cargo to rerun the build script when `PATH` changes,
    /// because the script may then find different tools.
    pub fn search_path(&self) -> Vec<PathBuf> {
        self.tell("rerun-if-env-changed=PATH".to_owned());
        env::var_os("PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default()
    }

    /// Tells Cargo to rerun the build script when a program is added to a folder in `PATH`. Called
    /// when a tool is missing, so that installing it triggers a rebuild.
    pub fn watch_search_path(&self) {
        for folder in self.search_path() {
            // Cargo checks all files in a folder, so a folder that contains the build itself would
            // change with each run.
            let is_of_builds = folder.starts_with(self.target_folder());
            if folder.is_absolute()
                && folder.is_dir()
                && !is_of_builds
                && !self.out_dir.starts_with(&folder)
            {
                self.watch(&folder);
            }
        }
    }

    /// Returns Cargo's target folder, which Cargo marks with the file `CACHEDIR.TAG`. If the file
    /// is missing, derives the folder from `OUT_DIR`, which is
    /// `<folder>/<profile>/build/<package>/out`.
    fn target_folder(&self) -> &Path {
        let folders = || self.out_dir.ancestors().skip(1);
        folders()
            .find(|it| it.join("CACHEDIR.TAG").is_file())
            .or_else(|| folders().nth(3))
            .unwrap_or(&self.out_dir)
    }

    /// Tells Cargo to rerun the build script when a file in a header folder is added or changes.
    ///
    /// Cargo checks all files in the folder, so this method skips folders with many files, and
    /// folders that builds write to. It also skips a missing folder, because Cargo would treat it
    /// as changed at each build.
    pub fn watch_folder(&self, folder: &Path) {
        let mut considered = self.considered.borrow_mut();
        if considered.iter().any(|known| known == folder) {
            return;
        }
        considered.push(folder.to_owned());
        if self.can_watch(folder) {
            self.watch(folder);
        }
    }

    pub fn can_watch(&self, folder: &Path) -> bool {
        let Ok(absolute) = self.manifest_dir.join(folder).canonicalize() else { return false };
        let canonical = |folder: &Path| folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let (target, out_dir) = (canonical(self.target_folder()), canonical(&self.out_dir));
        let has_builds = target.starts_with(&absolute) || out_dir.starts_with(&absolute);
        absolute.is_dir()
            && !has_builds
            && !absolute.starts_with(&out_dir)
            && files::tree(&absolute, MOST_WATCHED, |_, _| false).is_some()
    }

    /// Tells Cargo to rerun the build script when this file changes. Cargo treats a missing file as
    /// changed at each build.
    pub fn watch(&self, file: &Path) {
        self.tell(format!("rerun-if-changed={}", file.display()));
    }

    /// Watches a source or header like [`Cargo::watch`], except in OUT_DIR. Build scripts write to
    /// OUT_DIR, so watching its files would rerun this script after each build.
    pub fn watch_input(&self, file: &Path) {
        if !file.starts_with(&self.out_dir) {
            self.watch(file);
        }
    }

    /// Replaces the paths in a text with machine-independent ones, relative to the package or to
    /// `<OUT_DIR>`, so that moving the package does not recompile any images.
    pub fn portable(&self, text: &str) -> String {
        if !text.contains(['/', '\\']) {
            return text.to_owned();
        }
        let package = self.manifest_dir.to_string_lossy();
        // Replace OUT_DIR first, because it may be in the package.
        let text = with_folder_named(text, &self.out_dir.to_string_lossy(), OUT_DIR);
        let text = with_folder_named(&text, &package, PACKAGE);
        text.replace(&format!("{PACKAGE}/"), "").replace('\\', "/")
    }

    /// Converts a path from [`Cargo::portable`] back to this machine's path.
    pub fn here(&self, path: &str) -> PathBuf {
        let path = path.replace(OUT_DIR, &self.out_dir.to_string_lossy());
        path.replace(PACKAGE, &self.manifest_dir.to_string_lossy()).into()
    }

    /// Tells Cargo to rerun the build script at the next build, by watching a file that never
    /// exists.
    fn run_again(&self) {
        self.watch(&self.out_dir.join("offload").join("a file that is never there"));
    }

    pub fn link_search(&self, folder: &Path) {
        self.tell(format!("rustc-link-search=native={}", folder.display()));
    }

    /// Whether `cargo package` wrote the package's folder, on this machine or before publication.
    pub fn is_packaged(&self) -> bool {
        self.manifest_dir.join("Cargo.toml.orig").is_file()
    }

    /// Whether `cargo package` or `cargo publish` runs this build to verify the package. The
    /// package is then in `<target>/package/<name>-<version>`, whereas packages from registries are
    /// in folders with other names.
    pub fn is_packaging(&self) -> bool {
        let name = format!("{}-{}", self.package, self.version);
        let folder = self.manifest_dir.parent();
        self.is_packaged()
            && self.manifest_dir.ends_with(name)
            && folder.is_some_and(|it| it.ends_with("package"))
    }

    pub fn metadata(&self, key: &str, value: &str) {
        self.tell(format!("metadata={key}={value}"));
    }

    /// Returns the metadata that a dependency's build script set under this key.
    #[inline]
    pub fn of_dependency(&self, links: &str, key: &str) -> Option<String> {
        env::var(dependency_variable(links, key)).ok()
    }

    /// Returns all metadata that a dependency's build script set under keys with this prefix.
    #[inline]
    pub fn all_of_dependency(&self, links: &str, key: &str) -> Vec<String> {
        let start = dependency_variable(links, key);
        let mut all = Vec::new();
        for (name, value) in env::vars_os() {
            if name.to_str().is_some_and(|name| name.starts_with(&start)) {
                all.extend(value.into_string());
            }
        }
        all
    }

    /// Tells Cargo to link a library, given in the form that `-l` accepts.
    pub fn link_library(&self, library: &str) {
        self.tell(format!("rustc-link-lib={library}"));
    }

    pub fn warn(&self, line: &str) {
        self.note(&format!("cargo::warning={line}"));
    }

    /// Prints a warning for the user, once per run of the build script.
    pub fn warn_once(&self, line: &str) {
        static WARNED: Mutex<Vec<String>> = Mutex::new(Vec::new());
        let mut warned = WARNED.lock().unwrap_or_else(PoisonError::into_inner);
        if !warned.iter().any(|earlier| earlier == line) {
            warned.push(line.to_owned());
            self.warn(&format!("offload-build: {line}"));
        }
    }

    /// Prints a line, which appears in `cargo build -vv` and in the build script's output file.
    pub fn note(&self, line: &str) {
        if !self.is_silent {
            println!("{line}");
        }
    }

    fn tell(&self, line: String) {
        let told = &mut *self.told.borrow_mut();
        if !told.lines.contains(&line) {
            told.lines.insert(line.clone());
            told.waiting.push(line);
        }
    }

    fn flush(&self) {
        self.told.borrow_mut().waiting.drain(..).for_each(|line| println!("cargo::{line}"));
    }
}

/// Returns the folders in a list such as `CPATH`. An empty entry means the working folder.
pub fn folders(list: &str) -> Vec<PathBuf> {
    env::split_paths(list).collect()
}

/// Returns the variable in which Cargo passes a dependency's metadata.
#[inline]
fn dependency_variable(links: &str, key: &str) -> String {
    let capitals = |text: &str| text.to_uppercase().replace('-', "_");
    format!("DEP_{}_{}", capitals(links), capitals(key))
}

/// Whether a variable may affect the host compiler. On Windows, names are case-insensitive: Windows
/// itself uses `Path`.
fn is_of_compilers(name: &str, is_windows: bool) -> bool {
    const PARTS: [&str; 12] = [
        "CC",
        "CXX",
        "FLAGS",
        "CROSS",
        "RUST",
        "TARGET",
        "HOST",
        "SDK",
        "NDK",
        "PATH",
        "OPT_LEVEL",
        "DEBUG",
    ];
    let name = if is_windows { name.to_uppercase() } else { name.to_owned() };
    // `MAKEFLAGS` and its variants differ from run to run.
    !name.contains("MAKEFLAGS") && PARTS.iter().any(|part| name.contains(part))
}

/// Replaces the folder by the name in all paths that start with the folder, which is absolute: of
/// `/src`, in `-I/src/a` and `/src:/b`, but not in `/usr/src`, `lib/src` or `/src2`.
pub fn with_folder_named(text: &str, folder: &str, name: &str) -> String {
    // Options and signs that a path may follow directly.
    const OPTIONS: &str = " @ -I -L -B -F -o -MF -isystem -iquote -idirafter -include";
    let is_between =
        |c: char| c.is_whitespace() || c.is_control() || "=,:;\"'()[]{}?|&".contains(c);
    let mut pieces = text.split(folder);
    let mut named = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let before = named.rsplit(is_between).next().unwrap_or_default();
        let is_other = !OPTIONS.split(' ').any(|option| option == before);
        let is_end = |c: char| is_between(c) || "/\\".contains(c);
        let goes_on =
            !folder.ends_with(['/', '\\']) && piece.chars().next().is_some_and(|c| !is_end(c));
        named += if is_other || goes_on { folder } else { name };
        named += piece;
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_named_where_paths_start() {
        for (text, folder, named) in [
            ("/src/a.h", "/src", "<it>/a.h"),
            ("-I/src -L=/src:/src/b", "/src", "-I<it> -L=<it>:<it>/b"),
            ("/usr/src/a.h /src2 /src-old", "/src", "/usr/src/a.h /src2 /src-old"),
            ("/opt/sdk/a.h /opt/sdk2/a.h", "/opt/sdk", "<it>/a.h /opt/sdk2/a.h"),
            ("-isystem/opt/sdk@17/include", "/opt/sdk", "-isystem/opt/sdk@17/include"),
            ("/src/src/a.h", "/src", "<it>/src/a.h"),
            ("lib/src/a.h -Ilib/src", "/src", "lib/src/a.h -Ilib/src"),
            ("<OUT_DIR>/src/a.h", "/src", "<OUT_DIR>/src/a.h"),
            ("-L/src/a\x1f-L/src amd?-I/src", "/src", "-L<it>/a\x1f-L<it> amd?-I<it>"),
            ("/opt/sdk/a.h", "/opt/sdk/", "<it>a.h"),
            (r"C:\\a\\b.h", r"C:\\a", r"<it>\\b.h"),
        ] {
            assert_eq!(with_folder_named(text, folder, "<it>"), named, "{text}");
        }
    }

    #[test]
    fn variables_of_compilers_by_the_rules_of_the_system() {
        for (name, on_windows, elsewhere) in [
            ("PATH", true, true),
            ("Path", true, false),
            ("CXX_x86_64_pc_windows_gnu", true, true),
            ("CARGO_MAKEFLAGS", false, false),
            ("CARGO_MakeFlags", false, false),
            ("HOME", false, false),
        ] {
            assert_eq!(is_of_compilers(name, true), on_windows, "{name} on Windows");
            assert_eq!(is_of_compilers(name, false), elsewhere, "{name} elsewhere");
        }
    }
}
