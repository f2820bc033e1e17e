//! What each image was made from, so that a build script that runs again compiles only what has changed.
//!
//! Beside an image is a [record](crate::output::record): the hash of the command lines and the tools' identities, the hash of the image, and
//! the hash and path of every file that the compiler read.

use super::Compilation;
use crate::cargo::Cargo;
use crate::compile::depfile;
use crate::error::Error;
use crate::hash::{ContentHash, Parts};
use crate::output::{OutDir, image_file_name, record, remove};
use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

/// The first two words of a record; each other one is the hash of an input.
const KEY: &str = "key";
const IMAGE: &str = "image";

/// A file that went into an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Input {
    pub(crate) path: PathBuf,
    pub(crate) hash: ContentHash,
}

impl Input {
    pub(crate) fn read(path: PathBuf) -> Result<Self, Error> {
        let hash = ContentHash::of_file(&path).map_err(|error| Error::io("read", &path, error))?;
        Ok(Self { path, hash })
    }
}

/// What is known of an image that is there.
#[derive(Debug)]
pub(crate) struct Made {
    /// The hash of its bytes.
    pub(crate) image: ContentHash,
    pub(crate) inputs: Vec<Input>,
}

/// The image that is there, if it is what the compilation would make.
pub(crate) fn fresh(compilation: &Compilation, output: &OutDir, cargo: &Cargo) -> Option<Made> {
    let mut lines = record::read(&record_path(compilation, output))?.into_iter();
    (lines.next()? == (KEY.to_owned(), key(compilation, cargo).to_string())).then_some(())?;
    let image = ContentHash::of_file(&compilation.image).ok()?;
    (lines.next()? == (IMAGE.to_owned(), image.to_string())).then_some(())?;
    let inputs: Option<Vec<Input>> = lines
        .map(|(hash, path)| {
            let input = Input { path: cargo.here(&path), hash: ContentHash::parse(&hash)? };
            (ContentHash::of_file(&input.path).ok()? == input.hash).then_some(input)
        })
        .collect();
    inputs.filter(|inputs| !inputs.is_empty()).map(|inputs| Made { image, inputs })
}

/// Before the steps run: the image counts as not there until they have ended.
pub(crate) fn forget(compilation: &Compilation, output: &OutDir) -> Result<(), Error> {
    remove(&record_path(compilation, output))?;
    remove(&compilation.image)
}

/// The time now, by the clock that stamps files.
pub(crate) fn file_time(output: &OutDir) -> Result<SystemTime, Error> {
    let path = output.work.join("started");
    fs::write(&path, [])
        .and_then(|()| fs::metadata(&path)?.modified())
        .map_err(|error| Error::io("write", &path, error))
}

/// After the steps have made the image with this hash: reads the dependency files, writes the record, returns the
/// inputs. There is no record if an input was saved after `start`: what the compiler read may be older.
pub(crate) fn record(
    compilation: &Compilation,
    image: ContentHash,
    start: SystemTime,
    output: &OutDir,
    cargo: &Cargo,
) -> Result<Vec<Input>, Error> {
    let mut paths = compilation.sources.clone();
    for file in compilation.steps.iter().filter_map(|step| Some(&step.depfile.as_ref()?.path)) {
        let text = fs::read_to_string(file).map_err(|error| Error::io("read the dependency file", file, error))?;
        paths.extend(depfile::parse(&text));
    }
    paths.retain(|path| !compilation.tool_folders.iter().any(|folder| path.starts_with(folder)));
    let mut inputs: Vec<Input> = Vec::new();
    for path in paths {
        if inputs.iter().all(|input| input.path != path) {
            inputs.push(Input::read(path)?);
        }
    }
    let mut lines = vec![(KEY.to_owned(), key(compilation, cargo).to_string()), (IMAGE.to_owned(), image.to_string())];
    let line = |input: &Input| (input.hash.to_string(), cargo.portable(&input.path.to_string_lossy()));
    lines.extend(inputs.iter().map(line));
    let saved = |input: &Input| fs::metadata(&input.path).and_then(|it| it.modified()).is_ok_and(|time| time >= start);
    if !inputs.iter().any(saved) {
        record::write(&record_path(compilation, output), lines)?;
    }
    Ok(inputs)
}

fn record_path(compilation: &Compilation, output: &OutDir) -> PathBuf {
    output.work.join(image_file_name(&compilation.stem, "record"))
}

/// Of all that makes the image but the files.
fn key(compilation: &Compilation, cargo: &Cargo) -> ContentHash {
    let mut key = Parts::default();
    // Another version of this crate may treat an image differently after its last step.
    key.add(env!("CARGO_PKG_VERSION"));
    for identity in &compilation.identities {
        key.add(identity);
    }
    for step in &compilation.steps {
        key.add(&cargo.portable(&step.program.as_os_str().to_string_lossy()));
        for arg in &step.all_args() {
            key.add(&cargo.portable(&arg.to_string_lossy()));
        }
        // Where the step ends.
        key.add("");
    }
    key.finish()
}
