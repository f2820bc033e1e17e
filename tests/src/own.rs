//! Builds and runs this project's programs, as users get them.

use crate::{processes, scratch};
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// The programs of offload-tools.
const PROGRAMS: [&str; 4] =
    ["cargo-offload", "clang-offload-bundler", "clang-offload-packager", "llvm-offload-binary"];

/// Returns the program that Cargo runs as `cargo offload`.
pub fn cargo_offload() -> PathBuf {
    tool("cargo-offload")
}

/// Returns the path of the program with this name. The name must be in `PROGRAMS`.
pub fn tool(name: &str) -> PathBuf {
    folder().join(name).with_extension(std::env::consts::EXE_EXTENSION)
}

/// Returns the folder with all programs of offload-tools. The first call builds the programs.
pub fn folder() -> PathBuf {
    static BUILT: OnceLock<()> = OnceLock::new();
    BUILT.get_or_init(|| {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut build = Command::new(cargo);
        // `cargo xtask test` has built the crates with the same options, so Cargo only links here.
        build.args(["build", "--offline", "--quiet", "--workspace"]);
        build.args(["--features", "offload-tools/drop-in"]);
        build.args(PROGRAMS.iter().flat_map(|program| ["--bin", program]));
        let status = build.current_dir(scratch::workspace()).status().expect("cargo runs");
        assert!(status.success(), "offload-tools is built: {status}");
    });
    scratch::target_dir().join("debug")
}

/// The exit status and output of a run of `cargo offload`.
#[derive(Debug)]
pub struct Ran {
    /// The exit status.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// Returns a command that runs `cargo offload` in the corpus's folder, without variables that set
/// colours.
pub fn offload(arguments: &[&str]) -> Command {
    let mut command = in_corpus(Command::new(cargo_offload()));
    command.args(arguments);
    command
}

fn in_corpus(mut command: Command) -> Command {
    command.current_dir(scratch::workspace().join("tests/corpus"));
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
        command.env_remove(name);
    }
    command
}

/// Runs a command that prints text.
pub fn run(command: &mut Command) -> Ran {
    let output = processes::output(command).expect("it starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("what is printed is text");
    Ran {
        code: output.status.code().expect("no signal"),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

/// Runs `cargo offload` in the corpus's folder, on a terminal with this many columns, and returns
/// the output. `environment` sets variables, as before a command in a shell. Needs
/// [`Tool::Terminal`](crate::tools::Tool::Terminal).
pub fn in_terminal(columns: usize, environment: &str, arguments: &str) -> String {
    let offload = cargo_offload();
    let command =
        format!("stty rows 24 cols {columns}; {environment} {} {arguments}", offload.display());
    let mut script = in_corpus(Command::new("script"));
    script.args(["-qec", &command, "/dev/null"]).env("TERM", "xterm");
    let output = processes::output(&mut script).expect("script starts");
    assert!(!output.stdout.is_empty(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).replace("\r\n", "\n")
}
