//! Runs the commands of a scenario, and checks their output.

use super::Scenario;
use super::target_folders::{self, Kind};
use crate::command_lines::wrapped;
use crate::processes;
use crate::tools::{self, llvm_bin};
use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output};

/// A command that is about to run.
#[derive(Debug)]
#[must_use = "it has not run yet"]
pub struct Run<'a> {
    command: Command,
    scenario: &'a Scenario,
    /// The kind of Cargo build, or `None` for programs other than Cargo.
    kind: Option<Kind>,
}

/// Variables that name users' toolkits. A run does not inherit these variables. Tests set those
/// that they need.
const TOOLKITS: &str = "NVCC CUDACXX CUDA_PATH CUDA_ROOT CUDA_TOOLKIT_ROOT_DIR ROCM_PATH HIP_PATH \
                        HIPCC NVCC_CCBIN CXX VIRTUAL_ENV CONDA_PREFIX";

/// Whether a variable could change a build: variables of Cargo or of the project, and variables in
/// which users name their GPUs or toolkits.
fn is_input(name: &str) -> bool {
    const TARGETS: [&str; 5] = ["ARCHS", "_ARCH", "_ARCH_LIST", "_ARCHITECTURES", "GPU_TARGETS"];
    let is_own = name.starts_with("CARGO_")
        || name.starts_with("OFFLOAD_")
        || ["RUSTFLAGS", "OUT_DIR"].contains(&name);
    let names_targets =
        TARGETS.iter().any(|end| name.ends_with(end)) || name.starts_with("CUDA_COMPUTE_CAP");
    (is_own || names_targets || TOOLKITS.split(' ').any(|it| it == name)) && name != "CARGO_HOME"
}

/// Returns a command that runs Cargo in a folder, without variables from the user or from the Cargo
/// that runs this test. The compiler is LLVM 22's clang, if it is installed. CUDA's programs are
/// those in `CUDA_HOME`.
pub(super) fn cargo(folder: &Path, target: &Path) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_input)) {
        command.env_remove(name);
    }
    let clang = llvm_bin().join("clang");
    if clang.is_file() {
        command.env("OFFLOAD_CLANG", clang);
    }
    command.current_dir(folder).env("CARGO_TARGET_DIR", target).env("CARGO_NET_OFFLINE", "true");
    command.envs(target_folders::PROFILE).args(target_folders::CONFIG);
    command
}

impl<'a> Run<'a> {
    /// Returns a run of [`cargo`].
    pub(super) fn cargo(scenario: &'a Scenario, args: &[&str]) -> Self {
        let mut command = cargo(&scenario.folder, &scenario.target);
        command.args(args);
        let kind = match args.first() {
            // Cargo builds benches in the release profile's folder.
            Some(&"bench") => Kind::Release,
            _ if args.contains(&"--release") => Kind::Release,
            Some(&"check") => Kind::Check,
            _ => Kind::Debug,
        };
        Self { command, scenario, kind: Some(kind) }
    }

    pub(super) fn program(scenario: &'a Scenario, command: Command) -> Self {
        Self { command, scenario, kind: None }
    }

    /// Adds `--release`.
    pub fn release(self) -> Self {
        Self { kind: self.kind.and(Some(Kind::Release)), ..self }.arg("--release")
    }

    /// Adds `--release` if `folder` is the release profile's folder.
    pub fn profile(self, folder: &str) -> Self {
        if folder == "release" { self.release() } else { self }
    }

    /// Adds an argument.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    /// Adds arguments.
    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.command.args(args);
        self
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Sets environment variables.
    pub fn envs<N: AsRef<OsStr>, V: AsRef<OsStr>>(
        mut self,
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        self.command.envs(variables);
        self
    }

    /// Removes environment variables.
    pub fn without(mut self, names: &[&str]) -> Self {
        names.iter().for_each(|name| {
            self.command.env_remove(name);
        });
        self
    }

    /// Puts these folders first in `PATH`.
    pub fn path(self, folders: impl IntoIterator<Item = PathBuf>) -> Self {
        let path = env::var_os("PATH").expect("PATH is set");
        self.only_path(folders.into_iter().chain(env::split_paths(&path)))
    }

    fn only_path(self, folders: impl IntoIterator<Item = PathBuf>) -> Self {
        self.env("PATH", env::join_paths(folders).expect("folders of PATH make a PATH"))
    }

    /// Sets `HOME`, but lets Cargo and rustup use the same folders as before.
    pub fn home(self, folder: &Path) -> Self {
        let homes = [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")];
        let kept = homes.into_iter().filter_map(|(variable, folder)| {
            let in_home = || Some(Path::new(&env::var_os("HOME")?).join(folder).into_os_string());
            Some((variable, env::var_os(variable).or_else(in_home)?))
        });
        self.envs(kept).env("HOME", folder)
    }

    /// Removes the folders that contain this program from `PATH`.
    pub fn path_without(self, program: &str) -> Self {
        let path = env::var_os("PATH").expect("PATH is set");
        self.only_path(env::split_paths(&path).filter(|folder| !folder.join(program).is_file()))
    }

    /// Runs the command under strace. To the file `trace`, strace writes each call that starts a
    /// process, opens or changes a file, or connects to a socket.
    pub fn traced(mut self, trace: &Path) -> Self {
        const CALLS: &str = "trace=process,openat,open,creat,mkdir,mkdirat,rename,renameat,renameat2,unlink,unlinkat,link,linkat,\
                             symlink,symlinkat,connect";
        let mut strace = Command::new("strace");
        strace.args(["-f", "-qq", "-s", "4096", "-e", CALLS, "-o"]).arg(trace);
        self.command = wrapped(strace, &self.command);
        self
    }

    /// Sets the folder in which the command runs.
    pub fn current_dir(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Returns the command, for callers that change it further or run it themselves. First compiles
    /// the project's crates if necessary.
    pub fn command(self) -> Command {
        if let Some(kind) = self.kind {
            let target = &self.scenario.target;
            target_folders::prepare(self.scenario, target, kind);
            // `cargo offload test` builds in a separate folder.
            if self.command.get_args().any(|argument| argument == "offload") {
                target_folders::prepare(self.scenario, &target.join("offload-check"), kind);
            }
        }
        self.command
    }

    /// Runs the command.
    pub fn ends(self) -> Printed {
        let mut command = self.command();
        let output = processes::output(&mut command)
            .unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
        Printed::new(output, format!("{command:?}"))
    }

    /// Runs the command, which must succeed.
    #[track_caller]
    pub fn passes(self) -> Printed {
        let printed = self.ends();
        assert!(printed.status.success(), "{printed}");
        printed
    }

    /// Runs the command, which must fail.
    #[track_caller]
    pub fn fails(self) -> Printed {
        let printed = self.ends();
        assert!(!printed.status.success(), "it should have failed: {printed}");
        printed
    }

    /// Runs the command, which must exit with this status.
    #[track_caller]
    pub fn exits(self, status: i32) -> Printed {
        let printed = self.ends();
        assert_eq!(printed.status.code(), Some(status), "{printed}");
        printed
    }
}

/// A command's output and exit status. If an assertion fails, the message contains all of it.
#[derive(Debug, Clone)]
pub struct Printed {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// The exit status.
    pub status: ExitStatus,
    command: String,
}

impl std::fmt::Display for Printed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}\n{}{}", self.command, self.status, self.stdout, self.stderr)
    }
}

impl Printed {
    fn new(output: Output, command: String) -> Self {
        let (stdout, stderr) = (tools::stdout(&output), tools::stderr(&output));
        Self { stdout, stderr, status: output.status, command }
    }

    /// Returns standard output followed by standard error.
    pub fn text(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }

    /// Returns how often a text occurs in both outputs.
    pub fn count(&self, text: &str) -> usize {
        self.text().matches(text).count()
    }

    /// Asserts that the outputs contain the text.
    #[track_caller]
    pub fn has(&self, text: &str) -> &Self {
        assert!(self.count(text) > 0, "no {text:?} in\n{self}");
        self
    }

    /// Asserts that the outputs do not contain the text.
    #[track_caller]
    pub fn lacks(&self, text: &str) -> &Self {
        assert!(self.count(text) == 0, "{text:?} in\n{self}");
        self
    }

    /// Asserts that the outputs, standard output first, start with the text.
    #[track_caller]
    pub fn starts_with(&self, text: &str) -> &Self {
        assert!(self.text().starts_with(text), "not {text:?} first in\n{self}");
        self
    }

    /// Asserts that the outputs, standard output first, end with the text.
    #[track_caller]
    pub fn ends_with(&self, text: &str) -> &Self {
        assert!(self.text().ends_with(text), "not {text:?} last in\n{self}");
        self
    }

    /// Asserts that the text occurs this many times.
    #[track_caller]
    pub fn times(&self, count: usize, text: &str) -> &Self {
        assert_eq!(self.count(text), count, "of {text:?} in\n{self}");
        self
    }

    /// Asserts that the text occurs once.
    #[track_caller]
    pub fn once(&self, text: &str) -> &Self {
        self.times(1, text)
    }

    /// Asserts that each of the texts occurs once.
    #[track_caller]
    pub fn each_once<S: AsRef<str>>(&self, texts: impl IntoIterator<Item = S>) -> &Self {
        texts.into_iter().for_each(|text| {
            self.once(text.as_ref());
        });
        self
    }

    /// Asserts that Cargo ran the build script, according to `-v`.
    #[track_caller]
    pub fn ran_the_build_script(&self) -> &Self {
        self.has("/build-script-build`")
    }

    /// Asserts that Cargo found the package fresh, according to `-v`, and did not run its build
    /// script.
    #[track_caller]
    pub fn found_fresh(&self, package: &str) -> &Self {
        self.has(&format!("Fresh {package} ")).lacks("/build-script-build`")
    }
}

/// Returns everything that a command printed.
pub fn printed(output: &Output) -> String {
    tools::stdout(output) + &tools::stderr(output)
}
