//! Runs LLVM 22's `clang-offload-bundler`, to bundle, list and unbundle.

use crate::command_lines::in_folder;
use crate::data::read;
use crate::scratch;
use crate::tools::{llvm, stdout, succeed};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns a command that runs the bundler in a folder. `options` are separated by spaces.
pub fn bundler(folder: &Path, options: &str) -> Command {
    in_folder(llvm("clang-offload-bundler"), folder, options)
}

/// Returns the `-targets=` option for these IDs.
pub fn targets(ids: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let ids: Vec<_> = ids.into_iter().map(|id| id.as_ref().to_owned()).collect();
    format!("-targets={}", ids.join(","))
}

/// Bundles payloads with these IDs into a file in the folder, and returns the file's bytes.
#[track_caller]
pub fn bundle(
    folder: &Path,
    options: &str,
    entries: &[(impl AsRef<str>, impl AsRef<[u8]>)],
    name: &str,
) -> Vec<u8> {
    let mut tool = bundler(folder, options);
    tool.arg(targets(entries.iter().map(|(id, _)| id))).arg(format!("-output={name}"));
    for (number, (_, payload)) in entries.iter().enumerate() {
        scratch::write(folder.join(format!("in{number}")), payload);
        tool.arg(format!("-input=in{number}"));
    }
    succeed(&mut tool);
    read(folder.join(name))
}

/// Returns the IDs that the bundler lists, in order.
#[track_caller]
pub fn listed(options: &str, bundle: &Path) -> Vec<String> {
    let mut tool = llvm("clang-offload-bundler");
    tool.arg("-list").args(options.split_whitespace()).arg(format!("-input={}", bundle.display()));
    stdout(&succeed(&mut tool)).lines().map(str::to_owned).collect()
}

/// Returns the payloads that the bundler extracts for these IDs. The bundler writes the payloads
/// beside the bundle.
#[track_caller]
pub fn unbundled(options: &str, bundle: &Path, ids: &[impl AsRef<str>]) -> Vec<Vec<u8>> {
    let folder = bundle.parent().expect("a file lies in a folder");
    let mut tool = bundler(folder, options);
    tool.arg("-unbundle").arg(format!("-input={}", bundle.display())).arg(targets(ids));
    let outputs: Vec<PathBuf> =
        (0..ids.len()).map(|number| folder.join(format!("out{number}"))).collect();
    succeed(tool.args(outputs.iter().map(|output| format!("-output={}", output.display()))));
    outputs.into_iter().map(read).collect()
}
