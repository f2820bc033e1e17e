//! Compares the command lines with their results on x86-64 Linux for the same files.

use super::builds::Builds;
use super::report::Row;
use crate::run;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The command lines: the program, and its arguments with blanks between. `FILES` stands for all
/// files of the corpus, `NULL` for the null device.
const LINES: [(&str, &str); 19] = [
    ("cargo-offload", "ls --json FILES"),
    ("cargo-offload", "ls --kernels FILES"),
    ("cargo-offload", "size --json FILES"),
    ("cargo-offload", "verify FILES"),
    ("cargo-offload", "select --device gfx906 corpus/bundle/hip_dev.hipfb"),
    ("cargo-offload", "extract --output extracted corpus/bundle/hip_dev.hipfb"),
    (
        "clang-offload-bundler",
        "-type=o -targets=host-x86_64-unknown-linux-gnu,hipv4-amdgcn-amd-amdhsa--gfx90a -input=NULL \
         -input=corpus/README.md -output=bundle.hipfb",
    ),
    ("clang-offload-bundler", "-type=o -input=bundle.hipfb -list"),
    (
        "clang-offload-bundler",
        "-type=o -unbundle -input=bundle.hipfb -targets=hipv4-amdgcn-amd-amdhsa--gfx90a \
         -output=gfx90a.o",
    ),
    (
        "clang-offload-bundler",
        "-type=o -unbundle -input=bundle.hipfb -targets=host-x86_64-unknown-linux-gnu \
         -output=NULL",
    ),
    (
        "clang-offload-bundler",
        "-type=bc -compress -verbose -targets=host-x86_64-unknown-linux-gnu,hip-amdgcn-amd-amdhsa--gfx906 \
         -input=NULL -input=corpus/README.md -output=compressed.bc",
    ),
    ("clang-offload-bundler", "-type=bc -input=compressed.bc -list"),
    (
        "clang-offload-bundler",
        "-type=bc -unbundle -input=compressed.bc -targets=hip-amdgcn-amd-amdhsa--gfx906 \
         -output=gfx906.bc",
    ),
    (
        "clang-offload-packager",
        "-o packed.bin --image=file=corpus/README.md,triple=amdgcn-amd-amdhsa,arch=gfx90a,kind=hip",
    ),
    (
        "llvm-offload-binary",
        "packed.bin --image=file=unpacked.o,triple=amdgcn-amd-amdhsa,arch=gfx90a,kind=hip",
    ),
    // In these command lines, the output is also an input.
    (
        "clang-offload-bundler",
        "-type=o -targets=host-x86_64-unknown-linux-gnu,hipv4-amdgcn-amd-amdhsa--gfx90a -input=NULL \
         -input=gfx90a.o -output=gfx90a.o",
    ),
    (
        "clang-offload-bundler",
        "-type=o -unbundle -input=gfx90a.o -targets=hipv4-amdgcn-amd-amdhsa--gfx90a \
         -output=gfx90a.o",
    ),
    (
        "clang-offload-packager",
        "-o packed.bin --image=file=packed.bin,triple=amdgcn-amd-amdhsa,arch=gfx90a,kind=hip",
    ),
    ("cargo-offload", "ls --json packed.bin bundle.hipfb compressed.bc"),
];

/// Runs each line on the host and here, in separate folders. Compares the output, the exit status,
/// and all files that exist afterwards.
pub fn run(builds: &Builds<'_>, row: &mut Row) {
    let folder = run::workspace().join("target/elsewhere/compare");
    let (here, there) = (folder.join("x86-64"), folder.join(builds.host.name));
    for folder in [&here, &there] {
        if let Err(why) = prepare(folder) {
            return row.check("the command lines", Err(why));
        }
    }
    let own = run::workspace().join("target/debug");
    for (name, line) in LINES {
        let null = if builds.host.is_windows() { "NUL" } else { "/dev/null" };
        let result = (|| {
            let mut expected = outcome(Command::new(own.join(name)), &here, line, "/dev/null")?;
            let exe = format!("{name}{}", builds.host.exe());
            let mut found =
                outcome(builds.program(&builds.programs("debug").join(exe)), &there, line, null)?;
            if builds.host.is_windows() {
                expected.printed = with_slashes(&expected.printed);
                found.printed = with_slashes(&found.printed);
            }
            expected.agrees(&found)
        })();
        row.check(&format!("{name} {line}"), result);
    }
}

/// Returns text with slashes in place of backslashes: Windows separates folders by backslashes,
/// which JSON doubles.
fn with_slashes(text: &str) -> String {
    text.replace("\\\\", "/").replace('\\', "/")
}

/// The outcome of a command line: its exit status, its output, and the files that exist afterwards.
#[derive(Debug)]
struct Outcome {
    status: Option<i32>,
    printed: String,
    said: String,
    files: BTreeMap<PathBuf, Vec<u8>>,
}

impl Outcome {
    fn agrees(&self, other: &Self) -> Result<(), String> {
        if self.status != other.status {
            let (said, status) = (&other.said, other.status);
            return Err(format!("status {status:?} in place of {:?}: {said}", self.status));
        }
        if self.printed != other.printed {
            let lines = self.printed.lines().zip(other.printed.lines());
            let first = lines.into_iter().find(|(one, other)| one != other);
            return Err(format!("prints something else, first: {first:?}"));
        }
        let names = |outcome: &Self| outcome.files.keys().cloned().collect::<Vec<_>>();
        if names(self) != names(other) {
            return Err(format!("leaves {:?} in place of {:?}", names(other), names(self)));
        }
        match self.files.iter().find(|(name, bytes)| other.files[*name] != **bytes) {
            Some((name, _)) => Err(format!("{} differs", name.display())),
            None => Ok(()),
        }
    }
}

/// Runs a command line in a folder, and returns its outcome.
fn outcome(mut command: Command, folder: &Path, line: &str, null: &str) -> Result<Outcome, String> {
    for word in line.split(' ') {
        if word == "FILES" {
            let mut corpus = Vec::new();
            files(&folder.join("corpus"), &mut corpus)?;
            corpus.sort();
            for file in corpus {
                let name = file.strip_prefix(folder).map_err(|error| error.to_string())?;
                command.arg(name);
            }
        } else {
            command.arg(word.replace("NULL", null));
        }
    }
    let output = command.current_dir(folder).output().map_err(|error| error.to_string())?;
    let mut left = Vec::new();
    files(folder, &mut left)?;
    let mut read = BTreeMap::new();
    for file in left.into_iter().filter(|file| !file.starts_with(folder.join("corpus"))) {
        let name = file.strip_prefix(folder).map_err(|error| error.to_string())?.to_owned();
        read.insert(name, fs::read(&file).map_err(|error| error.to_string())?);
    }
    Ok(Outcome {
        status: output.status.code(),
        printed: String::from_utf8_lossy(&output.stdout).into_owned(),
        said: String::from_utf8_lossy(&output.stderr).into_owned(),
        files: read,
    })
}

/// Makes a folder that contains only the corpus.
fn prepare(folder: &Path) -> Result<(), String> {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    let mut copy = Command::new("cp");
    copy.arg("-r").arg(run::workspace().join("tests/corpus")).arg(folder);
    run::check(&mut copy).map_err(run::Failure::text)
}

/// Adds all files below a folder.
fn files(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), String> {
    for entry in fs::read_dir(folder).map_err(|error| error.to_string())? {
        let path = entry.map_err(|error| error.to_string())?.path();
        if path.is_dir() {
            files(&path, found)?;
        } else {
            found.push(path);
        }
    }
    Ok(())
}
