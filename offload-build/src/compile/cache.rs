//! Records the inputs of each image, so that a build script that runs again compiles only images
//! whose inputs changed.
//!
//! Each image has a [record](mod@record) beside it:
//!
//! | line | contains |
//! |---|---|
//! | `key` | the hash of the command lines, the tools' identities and the variables that compilers read |
//! | `image` | the hash of the image |
//! | `file`, `system` | the hash and the path of a file that was read; `system` is for system headers |
//! | `tree`, `package`, `variable` | the hash and the path of a folder that a kernel crate's build script reads, or of a package; the hash and the name of an environment variable |
//! | `list` | the list of targets, if a file that was read depends on it |
//! | `folder`, `name` | folders that were searched, and the names that were looked up in them |
//! | `any`, `found` | whether sources may refer to any file in these folders; a hash of the files found |

use super::Compilation;
use super::inputs::{Collected, Input, InputKind, Inputs};
use super::rust;
use crate::output::{OutDir, image_file_name, record, remove};
use crate::toolchain::exec::{Depfile, DepfileBy};
use crate::toolchain::read_files::depfile;
use crate::toolchain::read_files::lookup::Lookup;
use crate::toolchain::{Cargo, ContentHash, Error, Parts, Seen, files};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

const KEY: &str = "key";
const IMAGE: &str = "image";
const LIST: &str = "list";
const FOLDER: &str = "folder";
const NAME: &str = "name";
const ANY: &str = "any";
/// The key of the line that ends a list of folders and names. The line stores the hash of the files
/// found.
const FOUND: &str = "found";

/// The record of an existing image.
pub(crate) struct Made {
    /// The hash of the image's bytes.
    pub(crate) image: ContentHash,
    pub(crate) inputs: Inputs,
}

/// Returns the existing image if compiling again would produce the same one.
pub(crate) fn fresh(
    compilation: &Compilation,
    seen: &Seen,
    output: &OutDir,
    cargo: &Cargo,
) -> Option<Made> {
    if cargo.rebuilds() {
        return None;
    }
    let mut lines = record::read(&record_path(compilation, output))?.into_iter();
    (lines.next()? == (KEY.to_owned(), key(compilation, cargo).to_string())).then_some(())?;
    let image = ContentHash::of_file(&compilation.image).ok()?;
    (lines.next()? == (IMAGE.to_owned(), image.to_string())).then_some(())?;
    let mut inputs = Inputs::default();
    let mut lookup = Lookup::default();
    for (word, text) in lines {
        match word.as_str() {
            LIST => (compilation.part.as_ref()?.list == text).then_some(())?,
            FOLDER => lookup.folders.push(cargo.here(&text)),
            NAME => lookup.names.push(text.into()),
            ANY => lookup.any = true,
            FOUND => {
                (lookup.state(seen) == ContentHash::parse(&text)?).then_some(())?;
                inputs.lookups.push(std::mem::take(&mut lookup));
            }
            word => {
                let (hash, path) = text.split_once(' ')?;
                let kind = InputKind::of_word(word)?;
                let input = Input::now(kind, cargo.here(path), seen, cargo)?;
                (input.hash == ContentHash::parse(hash)?).then_some(())?;
                inputs.files.push(input);
            }
        }
    }
    if compilation.cpu_descriptions().is_some_and(|(_, kept)| !kept.is_file()) {
        return None;
    }
    // A device link has no recorded inputs, because it reads only objects, whose hashes are in its
    // key.
    let is_known = !inputs.files.is_empty() || compilation.reads_only_objects();
    is_known.then_some(Made { image, inputs })
}

/// Removes the image and its record before the steps run, so that no outdated image remains after a
/// failure.
pub(crate) fn forget(compilation: &Compilation, output: &OutDir) -> Result<(), Error> {
    if let Some((_, kept)) = compilation.cpu_descriptions() {
        remove(&kept)?;
    }
    remove(&record_path(compilation, output))?;
    remove(&compilation.image)
}

/// Returns the current time as the file system records it in time stamps.
pub(crate) fn file_time(output: &OutDir) -> Result<SystemTime, Error> {
    let path = output.work.join("started");
    fs::write(&path, [])
        .and_then(|()| fs::metadata(&path)?.modified())
        .map_err(|error| Error::io("write", &path, error))
}

/// The state before the steps ran, and the time when they began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Before<'a> {
    pub(crate) seen: &'a Seen,
    pub(crate) start: SystemTime,
}

/// Records a newly built image: reads the dependency files, then writes and returns the record.
///
/// If an input changed after the steps began, writes no record, because the compiler may have read
/// the old file.
pub(crate) fn record(
    compilation: &Compilation,
    before: Before<'_>,
    after: &Seen,
    output: &OutDir,
    cargo: &Cargo,
) -> Result<Made, Error> {
    let path = &compilation.image;
    let image = files::hash(path)?;
    let mut collected = Collected::new(compilation, cargo);
    for paths in [&compilation.sources, &compilation.named_files] {
        for path in paths {
            collected.add(path, after)?;
        }
    }
    let part = compilation.part.as_ref();
    let mut depends_on_list = part.is_some_and(|part| part.names_list);
    for step in &compilation.steps {
        let Some(Depfile { path: file, by }) = &step.depfile else { continue };
        let text = fs::read_to_string(file)
            .map_err(|error| Error::io("read the dependency file", file, error))?;
        let files = depfile::parse(&text);
        if *by == DepfileBy::Cargo {
            rust::add_inputs(&mut collected, file, files, after, output, cargo)?;
            continue;
        }
        for path in files {
            // The build generated this file from a source and the source's description, and records
            // the inputs of both.
            if path.starts_with(&output.work) {
                continue;
            }
            depends_on_list =
                depends_on_list || part.is_some_and(|part| part.depends_on_list(&path, after));
            collected.add(&path, after)?;
        }
    }
    let inputs = collected.finish();
    let mut lines = vec![
        (KEY.to_owned(), key(compilation, cargo).to_string()),
        (IMAGE.to_owned(), image.to_string()),
    ];
    if let Some(part) = part.filter(|_| depends_on_list) {
        lines.push((LIST.to_owned(), part.list.clone()));
    }
    for input in &inputs.files {
        let path = cargo.portable(&input.path.to_string_lossy());
        lines.push((input.kind.word().to_owned(), format!("{} {path}", input.hash)));
    }
    for lookup in &inputs.lookups {
        for folder in &lookup.folders {
            lines.push((FOLDER.to_owned(), cargo.portable(&folder.to_string_lossy())));
        }
        for name in &lookup.names {
            lines.push((NAME.to_owned(), name.to_string_lossy().into_owned()));
        }
        if lookup.any {
            lines.push((ANY.to_owned(), String::new()));
        }
        lines.push((FOUND.to_owned(), lookup.state(after).to_string()));
    }
    // Do not check this crate's headers for changes: only this build writes them, possibly in the
    // same clock tick in which the steps begin.
    let mut is_changed = false;
    for input in &inputs.files {
        let is_ours = input.path.starts_with(output.include());
        is_changed |= !is_ours && has_changed(input, compilation, before, cargo);
    }
    if !is_changed {
        record::write(&record_path(compilation, output), lines)?;
    }
    Ok(Made { image, inputs })
}

/// Whether a file detectably changed after the steps began. If the file was also read before them,
/// compares its hashes. Also checks the time stamps of the file and its folders, because an older
/// file may have been moved to this path.
fn has_changed(
    input: &Input,
    compilation: &Compilation,
    before: Before<'_>,
    cargo: &Cargo,
) -> bool {
    if before.seen.known_hash(&input.path).is_some_and(|hash| hash != input.hash) {
        return true;
    }
    let is_newer = |path: &Path| changed(path).is_some_and(|time| time >= before.start);
    // Skip OUT_DIR and its parents, because builds write there, and the parents of the folders that
    // build.rs names, because any program may write there.
    let is_ours =
        |folder: &Path| cargo.out_dir.starts_with(folder) || folder.starts_with(&cargo.out_dir);
    let is_in = |folder: &Path| {
        for root in &compilation.include_folders {
            if folder.starts_with(cargo.manifest_dir.join(root)) {
                return true;
            }
        }
        false
    };
    // A path through `..`, such as that of `../shared`, also begins with the package's folder.
    let is_of_package =
        |folder: &Path| folder.starts_with(&cargo.manifest_dir) && !folder.ends_with("..");
    let path = cargo.manifest_dir.join(&input.path);
    for folder in path.ancestors() {
        let is_watched = !is_ours(folder) && (is_of_package(folder) || is_in(folder));
        if (folder == path || is_watched) && is_newer(folder) {
            return true;
        }
    }
    false
}

/// Returns the time when a file, its name or its attributes last changed.
#[cfg(unix)]
fn changed(path: &Path) -> Option<SystemTime> {
    use std::os::unix::fs::MetadataExt;
    use std::time::{Duration, UNIX_EPOCH};
    let metadata = fs::metadata(path).ok()?;
    let seconds = Duration::from_secs(metadata.ctime().try_into().ok()?);
    Some(UNIX_EPOCH + seconds + Duration::from_nanos(metadata.ctime_nsec().try_into().ok()?))
}

/// Returns the time when a file last changed, if the system stores that time.
#[cfg(not(unix))]
fn changed(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}

fn record_path(compilation: &Compilation, output: &OutDir) -> PathBuf {
    output.work.join(image_file_name(&compilation.stem, "record"))
}

/// Returns the hash of everything that the image depends on, except files: this crate's version,
/// the identities of tools, and the command lines.
fn key(compilation: &Compilation, cargo: &Cargo) -> ContentHash {
    let mut key = Parts::default();
    // A different version of this crate may process an image differently after the last step.
    key.add(env!("CARGO_PKG_VERSION"));
    for identity in &compilation.identities {
        key.add(identity);
    }
    for step in &compilation.steps {
        key.add(&cargo.portable(&step.program.as_os_str().to_string_lossy()));
        for arg in &step.all_args() {
            key.add(&cargo.portable(&arg.to_string_lossy()));
        }
        // Mark the end of the step.
        key.add("");
    }
    key.finish()
}
