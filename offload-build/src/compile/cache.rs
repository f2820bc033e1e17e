//! What each image was made from, so that a build script that runs again compiles only what has changed.
//!
//! Beside an image stands a record: the hash of the command lines and the tools' identities, the hash of the image, and
//! the hash and path of every file that the compiler read.

use super::Compilation;
use crate::cargo::Cargo;
use crate::compile::depfile;
use crate::error::Error;
use crate::hash::{ContentHash, Parts};
use crate::output::{OutDir, image_file_name, remove, write_if_changed};
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

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
    let record = fs::read_to_string(record_path(compilation, output)).ok()?;
    let mut lines = record.lines();
    (lines.next()? == key(compilation, cargo).to_string()).then_some(())?;
    let image = ContentHash::of_file(&compilation.image).ok()?;
    let places = Places::new(cargo);
    (lines.next()? == image.to_string()).then_some(())?;
    let inputs: Option<Vec<Input>> = lines
        .map(|line| {
            let (hash, path) = line.split_once(' ')?;
            let input = Input { path: places.here(path), hash: ContentHash::parse(hash)? };
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
    let places = Places::new(cargo);
    let mut text = format!("{}\n{image}\n", key(compilation, cargo));
    for Input { path, hash } in &inputs {
        let path = places.anywhere(&path.to_string_lossy());
        // Writing to a string does not fail.
        let _ = writeln!(text, "{hash} {path}");
    }
    let saved = |input: &Input| fs::metadata(&input.path).and_then(|it| it.modified()).is_ok_and(|time| time >= start);
    if !inputs.iter().any(saved) {
        write_if_changed(&record_path(compilation, output), text.as_bytes())?;
    }
    Ok(inputs)
}

fn record_path(compilation: &Compilation, output: &OutDir) -> PathBuf {
    output.work.join(image_file_name(&compilation.stem, "record"))
}

/// Where the work folder lies does not count: moved, what is in it stays fresh. In keys and records these names stand
/// for the folders that move.
struct Places([(&'static str, String); 2]);

impl Places {
    fn new(cargo: &Cargo) -> Self {
        // The first may lie in the second.
        Self(
            [("$OUT", &cargo.out_dir), ("$PACKAGE", &cargo.manifest_dir)]
                .map(|(name, path)| (name, path.display().to_string())),
        )
    }

    fn anywhere(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (name, folder)| text.replace(folder, name))
    }

    fn here(&self, path: &str) -> PathBuf {
        let found = self.0.iter().find_map(|(name, folder)| Some(format!("{folder}{}", path.strip_prefix(name)?)));
        found.unwrap_or_else(|| path.to_owned()).into()
    }
}

/// Of all that makes the image but the files.
fn key(compilation: &Compilation, cargo: &Cargo) -> ContentHash {
    let places = Places::new(cargo);
    let mut key = Parts::default();
    // Another version of this crate may treat an image differently after its last step.
    key.add(env!("CARGO_PKG_VERSION"));
    for identity in &compilation.identities {
        key.add(identity);
    }
    for step in &compilation.steps {
        key.add(&places.anywhere(&step.program.as_os_str().to_string_lossy()));
        for arg in &step.all_args() {
            key.add(&places.anywhere(&arg.to_string_lossy()));
        }
        // Where the step ends.
        key.add("");
    }
    key.finish()
}
