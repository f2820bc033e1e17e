//! Folders for tests, in the target folder. The files of a failed test remain there for inspection.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Returns Cargo's target folder, which contains the running program.
pub fn target_dir() -> PathBuf {
    let exe = std::env::current_exe().expect("a test knows its own path");
    // <target>/<profile>/deps/<test>
    exe.ancestors().nth(3).expect("a test lies in <target>/<profile>/deps").to_owned()
}

/// Returns the workspace's folder.
pub fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package lies in the workspace")
}

/// Returns an empty folder for the test with this name.
pub fn folder(test: &str) -> PathBuf {
    let folder = target_dir().join("offload-tests").join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the target folder can be written");
    folder
}

/// Writes a file, and creates its folders.
pub fn write(path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
    let path = path.as_ref();
    fs::create_dir_all(path.parent().expect("a file lies in a folder"))
        .expect("the target folder can be written");
    fs::write(path, bytes).expect("the target folder can be written");
}

/// Writes an executable shell script.
pub fn write_script(path: impl AsRef<Path>, text: &str) {
    write(&path, format!("#!/bin/sh\n{text}\n"));
    // Windows has no such permission, but no test runs scripts on Windows.
    #[cfg(unix)]
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("the target folder can be written");
}

/// Creates a symbolic link to a file.
///
/// Returns an error if the link cannot be created, for example because the path exists.
pub fn symlink(file: impl AsRef<Path>, link: impl AsRef<Path>) -> std::io::Result<()> {
    #[cfg(unix)]
    use std::os::unix::fs::symlink as make;
    #[cfg(windows)]
    use std::os::windows::fs::symlink_file as make;
    make(file, link)
}

/// Returns the sorted files with this extension in a folder and its subfolders, except build
/// outputs.
pub fn files_with(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let built = ["target", "examples/target"].map(|folder| workspace().join(folder));
    let mut found = Vec::new();
    for path in
        fs::read_dir(folder).expect("the folder can be read").flatten().map(|entry| entry.path())
    {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && !built.contains(&path) && !name.starts_with('.') {
            found.extend(files_with(&path, extension));
        } else if path.extension().is_some_and(|it| it == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Returns all files in a folder and its subfolders.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder can be read").flatten();
    let files = |path: PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
    entries.flat_map(|entry| files(entry.path())).collect()
}

/// Returns all files in a folder and its subfolders, with their modification times.
pub fn times(folder: &Path) -> BTreeMap<PathBuf, SystemTime> {
    let time = |path: PathBuf| {
        let time = fs::metadata(&path).and_then(|metadata| metadata.modified());
        (path, time.expect("the file is there"))
    };
    files(folder).into_iter().map(time).collect()
}

/// Returns all files in a folder and its subfolders by their paths in the folder, with their bytes.
pub fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let inside = |path: &Path| path.strip_prefix(folder).expect("it is in there").to_owned();
    files(folder).iter().map(|path| (inside(path), crate::data::read(path))).collect()
}
