//! Finds the libraries that programs load to use a GPU, where the system's loader would search.
//! Does not load them, because that would start a driver.

use serde::Serialize;
use std::borrow::Cow;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A library that programs load at run time. The type is also the library's JSON record.
#[derive(Debug, Serialize)]
pub struct Runtime {
    /// The library's common name.
    pub name: &'static str,
    /// A description of the library.
    #[serde(rename = "is")]
    pub what: Cow<'static, str>,
    /// The library's path, if it was found.
    pub path: Option<String>,
    /// The library's file names and the places that were searched.
    pub looked: String,
    /// How to install the library, if it is missing and this program knows how.
    pub install: Option<String>,
}

/// Returns the single-library runtimes. The file name of the newest version is tried first.
pub(super) fn of_libraries(loader: &Loader) -> [Runtime; 3] {
    let (cuda, hip, hsa): (&[&str], &[&str], &[&str]) = if cfg!(windows) {
        (
            &["nvcuda.dll"],
            &["amdhip64_7.dll", "amdhip64_6.dll", "amdhip64.dll"],
            &["hsa-runtime64.dll"],
        )
    } else {
        (
            &["libcuda.so.1"],
            &["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"],
            &["libhsa-runtime64.so.1"],
        )
    };
    [
        loader.find("CUDA driver", "NVIDIA's driver, which loads images (cuModuleLoadData)", cuda),
        loader.find("HIP runtime", "AMD's runtime, which loads images (hipModuleLoadData)", hip),
        loader.find("HSA runtime", "needed by the HIP runtime", hsa),
    ]
}

/// The places where the system's loader searches for libraries.
pub(super) struct Loader {
    /// The folders in the environment variable [`VARIABLE`].
    named: Vec<PathBuf>,
    /// The output of `ldconfig -p`: one line per library, `NAME (KIND) => PATH`.
    listed: Option<String>,
}

/// The environment variable with the library search path.
const VARIABLE: &str = if cfg!(windows) { "PATH" } else { "LD_LIBRARY_PATH" };

/// Returns the folders to search if the loader's list is not available.
fn folders() -> Vec<PathBuf> {
    if cfg!(windows) {
        let root = env::var_os("SystemRoot").unwrap_or_else(|| "C:\\Windows".into());
        return vec![Path::new(&root).join("System32")];
    }
    let folders = [
        "/lib64",
        "/usr/lib64",
        "/usr/lib",
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
    ];
    folders.map(PathBuf::from).to_vec()
}

/// Folders where libraries are often installed but the loader does not search.
const UNKNOWN_TO_LOADER: [&str; 3] =
    ["/opt/rocm/lib", "/usr/lib/wsl/lib", "/usr/local/cuda/compat"];

impl Loader {
    pub(super) fn new() -> Self {
        let named = env::var_os(VARIABLE)
            .map(|value| env::split_paths(&value).collect())
            .unwrap_or_default();
        let list = |program: &str| {
            Command::new(program).arg("-p").output().ok().filter(|output| output.status.success())
        };
        // Windows has no `ldconfig` and no list of libraries.
        let programs: &[&str] = if cfg!(windows) { &[] } else { &["ldconfig", "/sbin/ldconfig"] };
        let listed = programs.iter().copied().find_map(list);
        Self {
            named,
            listed: listed.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()),
        }
    }

    /// Searches for a library by its file names.
    pub(super) fn find(
        &self,
        name: &'static str,
        what: impl Into<Cow<'static, str>>,
        files: &[&str],
    ) -> Runtime {
        let in_folder =
            |folder: &Path| files.iter().map(|file| folder.join(file)).find(|path| path.is_file());
        let named = self.named.iter().find_map(|folder| in_folder(folder));
        let path = named.or_else(|| match &self.listed {
            Some(list) => files.iter().find_map(|file| listed(list, file)),
            None => folders().iter().find_map(|folder| in_folder(folder)),
        });
        let places = if self.listed.is_some() {
            "ldconfig's list".to_owned()
        } else {
            let folders = folders();
            folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(" ")
        };
        let mut looked = format!("{} in {VARIABLE}, {places}", files.join(", "));
        if let (None, Some(hidden)) =
            (&path, UNKNOWN_TO_LOADER.iter().find_map(|folder| in_folder(Path::new(folder))))
        {
            looked += &format!(
                "\n{} exists, but the loader does not search its folder: add that folder to {VARIABLE}",
                hidden.display()
            );
        }
        let path = path.map(|path| path.display().to_string());
        Runtime { name, what: what.into(), path, looked, install: None }
    }
}

/// Returns the first path of a library in the loader's list.
fn listed(list: &str, file: &str) -> Option<PathBuf> {
    let line = list.lines().find(|line| line.split_whitespace().next() == Some(file))?;
    Some(PathBuf::from(line.split_once("=> ")?.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_looked_for_where_the_system_has_them() {
        for Runtime { looked, .. } in of_libraries(&Loader::new()) {
            assert_eq!(looked.contains("System32"), cfg!(windows), "{looked}");
            assert!(!cfg!(windows) || !looked.contains("ldconfig"), "{looked}");
            assert!(!cfg!(windows) || !looked.contains("/usr"), "{looked}");
        }
    }

    #[test]
    fn the_loaders_list() {
        let list = "2 libs found in cache `/etc/ld.so.cache'\n\
                    \tlibcuda.so.1.1 (libc6,x86-64) => /a/libcuda.so.1.1\n\tlibcuda.so.1 (libc6,x86-64) => /b/libcuda.so.1\n";
        assert_eq!(listed(list, "libcuda.so.1"), Some("/b/libcuda.so.1".into()));
        assert_eq!(listed(list, "libcuda.so"), None);
    }
}
