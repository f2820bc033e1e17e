//! Compares the command lines' results with those on x86-64 Linux for the same files.

use super::builds::Builds;
use super::report::Row;
use crate::files;
use crate::run::{self, Failure};
use std::path::Path;
use std::process::Command;

/// The command lines: the program and its arguments, separated by spaces. `FILES` stands for all
/// corpus files, `NULL` for the null device.
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

/// Runs each command line on the host and on this machine, in separate folders. Compares the
/// output, the exit status, and all files in the folders afterwards.
pub fn run(builds: &Builds<'_>, row: &mut Row) {
    let folder = run::workspace().join("target/elsewhere/compare");
    let (here, there) = (folder.join("x86-64"), folder.join(builds.host.name));
    for folder in [&here, &there] {
        if let Err(failure) = prepare(folder) {
            return row.check("the command lines", Err(failure.text()));
        }
    }
    let own = run::workspace().join("target/debug");
    for (name, line) in LINES {
        let result = (|| {
            let expected = outcome(Command::new(own.join(name)), &here, line, "/dev/null")?;
            let program = format!("{name}{}", builds.host.exe());
            let program = builds.program(&builds.programs("debug").join(program));
            let null = if builds.host.is_windows() { "NUL" } else { "/dev/null" };
            let found = outcome(program, &there, line, null)?;
            agree(&expected, &found)?;
            let mut diff = Command::new("diff");
            run::output(diff.arg("-rq").arg(&here).arg(&there)).map_err(Failure::text)?;
            Ok(())
        })();
        row.check(&format!("{name} {line}"), result);
    }
}

/// A command line's exit status, output and errors. Windows separates folders with backslashes,
/// which JSON doubles; the output contains slashes instead.
type Outcome = (Option<i32>, String, String);

fn agree(expected: &Outcome, found: &Outcome) -> Result<(), String> {
    if expected.0 != found.0 {
        return Err(format!("status {:?} in place of {:?}: {}", found.0, expected.0, found.2));
    }
    if expected.1 != found.1 {
        let first = expected.1.lines().zip(found.1.lines()).find(|(one, other)| one != other);
        return Err(format!("prints something else, first: {first:?}"));
    }
    Ok(())
}

/// Runs a command line in a folder, and returns its outcome.
fn outcome(mut command: Command, folder: &Path, line: &str, null: &str) -> Result<Outcome, String> {
    let mut find = Command::new("find");
    let corpus = run::output(find.current_dir(folder).args(["corpus", "-type", "f"]));
    let corpus = corpus.map_err(Failure::text)?;
    let mut corpus: Vec<&str> = corpus.lines().collect();
    corpus.sort_unstable();
    for word in line.split(' ') {
        match word {
            "FILES" => command.args(&corpus),
            _ => command.arg(word.replace("NULL", null)),
        };
    }
    let output = command.current_dir(folder).output().map_err(|error| error.to_string())?;
    let printed = String::from_utf8_lossy(&output.stdout).replace("\\\\", "/").replace('\\', "/");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok((output.status.code(), printed, errors))
}

/// Makes a folder that contains only the corpus.
fn prepare(folder: &Path) -> crate::run::Result {
    files::remove(folder)?;
    files::create(folder)?;
    let mut copy = Command::new("cp");
    run::check(copy.arg("-r").arg(run::workspace().join("tests/corpus")).arg(folder))
}
