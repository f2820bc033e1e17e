//! Files that a build left: programs, packs, indexes, images.

use super::{Scenario, target_folders};
use crate::data::read;
use offload_format::pack_index::{Index, PackIndex};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

impl Scenario {
    /// Where Cargo puts the program of this name; `profile` is the folder of a profile: `debug`,
    /// `release`.
    pub fn program(&self, profile: &str, name: &str) -> PathBuf {
        self.target.join(profile).join(name)
    }

    /// The newest `OUT_DIR` of the package.
    ///
    /// # Panics
    /// If its build script has not run.
    pub fn out_dir(&self, profile: &str) -> PathBuf {
        let builds = target_folders::built(&self.target.join(profile), "build", self.name());
        let found = builds.into_iter().map(|build| build.join("out")).filter(|out| out.is_dir());
        found
            .max_by_key(|out| time(out))
            .unwrap_or_else(|| panic!("no build script of {} has run", self.name()))
    }

    /// The package's build script, as a program.
    ///
    /// # Panics
    /// If it has not been compiled.
    pub fn build_script_program(&self, profile: &str) -> PathBuf {
        let builds = target_folders::built(&self.target.join(profile), "build", self.name());
        let found = builds
            .into_iter()
            .map(|build| build.join("build-script-build"))
            .filter(|program| program.is_file());
        found
            .max_by_key(|program| time(program))
            .unwrap_or_else(|| panic!("{} has no build script", self.name()))
    }

    /// The file that the package's newest build script left under `OUT_DIR/offload`.
    ///
    /// # Panics
    /// If there is none.
    pub fn output(&self, profile: &str, file: &str) -> PathBuf {
        self.output_of(self.name(), profile, file)
    }

    /// As [`Scenario::output`], for a member of the workspace.
    ///
    /// # Panics
    /// If there is none.
    pub fn output_of(&self, package: &str, profile: &str, file: &str) -> PathBuf {
        let builds = target_folders::built(&self.target.join(profile), "build", package);
        let found = builds.into_iter().map(|build| build.join("out/offload").join(file));
        let newest = found.filter(|path| path.exists()).max_by_key(|path| time(path));
        newest.unwrap_or_else(|| panic!("no build script of {package} left {file}"))
    }

    /// When a file of [`Scenario::output`] was written last.
    ///
    /// # Panics
    /// If there is none.
    pub fn output_time(&self, profile: &str, file: &str) -> SystemTime {
        time(&self.output(profile, file))
    }

    /// A text file of [`Scenario::output`]: PTX, an index.
    ///
    /// # Panics
    /// If there is none.
    pub fn output_text(&self, profile: &str, file: &str) -> String {
        String::from_utf8(read(self.output(profile, file)))
            .unwrap_or_else(|error| panic!("{file}: {error}"))
    }

    /// The index of a pack.
    ///
    /// # Panics
    /// If there is none, or if the pack was skipped.
    pub fn index(&self, profile: &str, pack: &str) -> PackIndex {
        match Index::parse(&self.output_text(profile, &format!("{pack}.index"))) {
            Ok(Index::Built(index)) => index,
            other => panic!("the index of {pack}: {other:?}"),
        }
    }

    /// The targets of a pack's images, as a dev build left it.
    ///
    /// # Panics
    /// If there is no such pack.
    pub fn targets(&self, pack: &str) -> Vec<String> {
        self.index("debug", pack).images().map(|image| image.target.clone()).collect()
    }
}

/// When a file or folder was changed last.
fn time(path: &Path) -> SystemTime {
    let time = fs::metadata(path).and_then(|metadata| metadata.modified());
    time.unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
