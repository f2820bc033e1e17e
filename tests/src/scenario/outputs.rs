//! Finds the files that a build leaves: programs, packs, indexes and images.

use super::{Scenario, target_folders};
use crate::data::read;
use offload_pack::pack_index::{Index, PackIndex};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

impl Scenario {
    /// Returns the path of the program with this name. `profile` is a profile's folder: `debug` or
    /// `release`.
    pub fn program(&self, profile: &str, name: &str) -> PathBuf {
        self.target.join(profile).join(name)
    }

    /// Returns the newest file or folder with this name that belongs to a package's build script.
    fn newest(&self, package: &str, profile: &str, name: &str) -> PathBuf {
        let builds = target_folders::built(&self.target.join(profile), "build", package);
        let found = builds.into_iter().map(|build| build.join(name)).filter(|path| path.exists());
        let newest = found.max_by_key(|path| time(path));
        newest.unwrap_or_else(|| panic!("no build script of {package} left {name}"))
    }

    /// Returns the newest `OUT_DIR` of the package.
    pub fn out_dir(&self, profile: &str) -> PathBuf {
        self.out_dir_of(self.name(), profile)
    }

    /// Returns the newest `OUT_DIR` of the package with this name, for example if the scenario's
    /// folder has a different name.
    pub fn out_dir_of(&self, package: &str, profile: &str) -> PathBuf {
        self.newest(package, profile, "out")
    }

    /// Returns the path of the package's compiled build script.
    pub fn build_script_program(&self, profile: &str) -> PathBuf {
        self.newest(self.name(), profile, "build-script-build")
    }

    /// Returns the path of a file that the package's newest build script wrote under
    /// `OUT_DIR/offload`.
    pub fn output(&self, profile: &str, file: &str) -> PathBuf {
        self.output_of(self.name(), profile, file)
    }

    /// Like [`Scenario::output`], but returns the path for the package with this name, such as a
    /// workspace member.
    pub fn output_of(&self, package: &str, profile: &str, file: &str) -> PathBuf {
        self.newest(package, profile, &format!("out/offload/{file}"))
    }

    /// Returns the time at which a file of [`Scenario::output`] was last written.
    pub fn output_time(&self, profile: &str, file: &str) -> SystemTime {
        time(&self.output(profile, file))
    }

    /// Returns the bytes of a file of [`Scenario::output`].
    pub fn output_bytes(&self, profile: &str, file: &str) -> Vec<u8> {
        read(self.output(profile, file))
    }

    /// Returns the text of a file of [`Scenario::output`], such as PTX or an index.
    pub fn output_text(&self, profile: &str, file: &str) -> String {
        String::from_utf8(self.output_bytes(profile, file))
            .unwrap_or_else(|error| panic!("{file}: {error}"))
    }

    /// Returns the index of a pack.
    pub fn index(&self, profile: &str, pack: &str) -> PackIndex {
        match Index::parse(&self.output_text(profile, &format!("{pack}.index"))) {
            Ok(Index::Built(index)) => index,
            other => panic!("the index of {pack}: {other:?}"),
        }
    }

    /// Returns the targets of a pack's images after a dev build.
    pub fn targets(&self, pack: &str) -> Vec<String> {
        self.index("debug", pack).images().map(|image| image.target.clone()).collect()
    }
}

/// Returns the time at which a file or folder was last changed.
fn time(path: &Path) -> SystemTime {
    let time = fs::metadata(path).and_then(|metadata| metadata.modified());
    time.unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
