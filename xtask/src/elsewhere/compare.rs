//! Compares the command lines' results with those on x86-64 Linux for the same files.

use super::host::Builds;
use super::report::Row;
use crate::files;
use crate::run::{self, Result, fail};
use std::path::Path;
use std::process::Command;

/// The command lines. `FILES` stands for all corpus files, `NULL` for the null device, and other
/// words in capitals for [`ENTRIES`]. Some command lines write a file that they also read.
const LINES: &str = "\
cargo-offload ls --json FILES
cargo-offload ls --kernels FILES
cargo-offload size --json FILES
cargo-offload verify FILES
cargo-offload select --device gfx906 corpus/bundle/hip_dev.hipfb
cargo-offload extract --output extracted corpus/bundle/hip_dev.hipfb
clang-offload-bundler -type=o -targets=HOST,GFX90A -input=NULL -input=corpus/README.md -output=bundle.hipfb
clang-offload-bundler -type=o -input=bundle.hipfb -list
clang-offload-bundler -type=o -unbundle -input=bundle.hipfb -targets=GFX90A -output=gfx90a.o
clang-offload-bundler -type=o -unbundle -input=bundle.hipfb -targets=HOST -output=NULL
clang-offload-bundler -type=bc -compress -verbose -targets=HOST,GFX906 -input=NULL -input=corpus/README.md -output=compressed.bc
clang-offload-bundler -type=bc -input=compressed.bc -list
clang-offload-bundler -type=bc -unbundle -input=compressed.bc -targets=GFX906 -output=gfx906.bc
clang-offload-packager -o packed.bin --image=file=corpus/README.md,IMAGE
llvm-offload-binary packed.bin --image=file=unpacked.o,IMAGE
clang-offload-bundler -type=o -targets=HOST,GFX90A -input=NULL -input=gfx90a.o -output=gfx90a.o
clang-offload-bundler -type=o -unbundle -input=gfx90a.o -targets=GFX90A -output=gfx90a.o
clang-offload-packager -o packed.bin --image=file=packed.bin,IMAGE
cargo-offload ls --json packed.bin bundle.hipfb compressed.bc";

/// The entries of bundles and offload binaries in [`LINES`].
const ENTRIES: [(&str, &str); 4] = [
    ("HOST", "host-x86_64-unknown-linux-gnu"),
    ("GFX90A", "hipv4-amdgcn-amd-amdhsa--gfx90a"),
    ("GFX906", "hip-amdgcn-amd-amdhsa--gfx906"),
    ("IMAGE", "triple=amdgcn-amd-amdhsa,arch=gfx90a,kind=hip"),
];

/// Runs each command line on the host and on this machine, in separate folders. Compares the
/// output, the exit status, and all files in the folders afterwards.
pub fn run(builds: &Builds<'_>, row: &mut Row) {
    let folder = run::workspace().join("target/elsewhere/compare");
    let (here, there) = (folder.join("x86-64"), folder.join(builds.host.name));
    let files = match prepare(&here).and_then(|_| prepare(&there)) {
        Ok(files) => files,
        Err(failure) => return row.check("the command lines", Err(failure)),
    };
    for line in LINES.lines() {
        let line = ENTRIES.iter().fold(line.to_owned(), |line, (name, id)| line.replace(name, id));
        row.check(&line, compare(builds, &line, &files, &here, &there));
    }
}

fn compare(builds: &Builds<'_>, line: &str, files: &str, here: &Path, there: &Path) -> Result {
    let (name, words) = line.split_once(' ').unwrap_or((line, ""));
    let words = words.replace("FILES", files);
    let outcome = |mut command: Command, folder: &Path, null: &str| {
        let words = words.replace("NULL", null);
        run::outcome(command.args(words.split(' ')).current_dir(folder))
    };
    let own = Command::new(run::workspace().join("target/debug").join(name));
    let (expected, text, _) = outcome(own, here, "/dev/null")?;
    let runner = builds.host.runner;
    let program = builds.program(&builds.programs().join(format!("{name}{}", runner.exe())));
    let null = if runner.is_windows() { "NUL" } else { "/dev/null" };
    let (found, found_text, errors) = outcome(program, there, null)?;
    let (expected, found) = (expected.code(), found.code());
    if expected != found {
        return fail(format!("status {found:?} in place of {expected:?}: {errors}"));
    }
    // Windows separates folders with backslashes, which JSON doubles, so convert them to slashes.
    let [text, found_text] =
        [text, found_text].map(|it| it.replace("\\\\", "/").replace('\\', "/"));
    if text != found_text {
        let first = text.lines().zip(found_text.lines()).find(|(one, other)| one != other);
        return fail(format!("prints something else, first: {first:?}"));
    }
    run::output(Command::new("diff").arg("-rq").arg(here).arg(there)).map(|_| ())
}

/// Makes a folder that contains only the corpus. Returns its files, separated by spaces.
fn prepare(folder: &Path) -> Result<String> {
    files::remove(folder)?;
    files::create(folder)?;
    let corpus = run::workspace().join("tests/corpus");
    run::check(Command::new("cp").arg("-r").arg(corpus).arg(folder))?;
    let files = run::output(run::command("find", "corpus -type f").current_dir(folder))?;
    let mut files: Vec<&str> = files.lines().collect();
    files.sort_unstable();
    Ok(files.join(" "))
}
