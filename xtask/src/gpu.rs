//! `gpu`: builds the checks in `gpu/` for a machine with a GPU, and runs them here or packs them
//! into a folder that travels.

use crate::run::{self, Failure, Result};
use crate::setup;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The script that starts the checks on the other machine.
const SCRIPT: &str = include_str!("gpu.sh");

/// The most bytes that the folder may have, so that it travels.
const LARGEST: u64 = 45 << 20;

/// Runs `cargo xtask gpu`.
pub fn command(args: &[String]) -> Result {
    let (folder, is_run_here) = match args {
        [] => (run::workspace().join("target/gpu/pack"), true),
        [flag, folder] if flag == "--pack" => (PathBuf::from(folder), false),
        [other, ..] => return Err(Failure::Usage(format!("`gpu` does not know `{other}`"))),
    };
    let program = build()?;
    let size = pack(&program, &folder)?;
    println!("{}: {:.1} MB", folder.display(), size as f64 / 1e6);
    if !is_run_here {
        return Ok(());
    }
    let status = run::status(Command::new("sh").arg(folder.join("run.sh")))?;
    match status.code() {
        // No GPU ran: the CPU has passed.
        Some(0 | 3) => Ok(()),
        _ => Err(Failure::Failed(format!("run.sh ended with {status}"))),
    }
}

/// Builds the program; returns its path.
fn build() -> Result<PathBuf> {
    let workspace = run::workspace();
    let target = workspace.join("target/gpu/target");
    let mut cargo = setup::prepare()?.cargo();
    cargo.args(["build", "--release", "--locked", "--quiet", "--manifest-path"]);
    cargo.arg(workspace.join("gpu/Cargo.toml")).arg("--target-dir").arg(&target);
    run::check(&mut cargo)?;
    Ok(target.join("release/gpu-checks"))
}

/// Writes the folder; returns its size in bytes.
fn pack(program: &Path, folder: &Path) -> Result<u64> {
    let copy = folder.join("bin/gpu-checks");
    let script = folder.join("run.sh");
    let written = fs::create_dir_all(folder.join("bin"))
        .and_then(|()| fs::copy(program, &copy))
        .and_then(|size| fs::write(&script, SCRIPT).map(|()| size + SCRIPT.len() as u64));
    let size = written.map_err(|error| {
        Failure::Failed(format!("cannot write the folder {}: {error}", folder.display()))
    })?;
    if size > LARGEST {
        let text = format!("the folder has {size} bytes, and may have {LARGEST}");
        return Err(Failure::Failed(text));
    }
    Ok(size)
}
