//! The `llvm-objcopy` commands that LLVM's tool runs for objects. This tool does that work itself,
//! and prints the commands only for `-###`.

use super::Options;
use offload_format::bundle::EntryId;
use offload_format::object_bundle::SECTION_PREFIX;
use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Prints the command that adds a section for each entry to the host object, which is the input
/// with index `host`.
pub(super) fn print_bundle(options: &Options, ids: &[EntryId<'_>], host: usize, output: &OsStr) {
    let mut words = vec![program(options)];
    for (id, input) in ids.iter().zip(&options.inputs) {
        let section = format!("{SECTION_PREFIX}{}", id.to_canonical());
        let contents =
            if id.is_host() { temporary() } else { input.to_string_lossy().into_owned() };
        words.push(format!("--add-section={section}={contents}"));
        words.push(format!("--set-section-flags={section}=readonly,exclude"));
    }
    words.extend(
        ["--", &options.inputs[host].to_string_lossy(), &output.to_string_lossy()]
            .map(str::to_owned),
    );
    print(&words);
}

/// Prints the command that removes the bundle's sections from an object.
pub(super) fn print_strip(options: &Options, input: &OsStr) {
    let remove = format!("--remove-section={SECTION_PREFIX}.*");
    print(&[
        program(options),
        "--regex".into(),
        remove,
        "--".into(),
        input.to_string_lossy().into(),
        temporary(),
    ]);
}

fn print(words: &[String]) {
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    eprintln!("{}", quoted.join(" "));
}

/// Returns the path where LLVM's tool would find `llvm-objcopy`: in its own folder, then in `PATH`.
fn program(options: &Options) -> String {
    const NAME: &str = "llvm-objcopy";
    let own = Path::new(&options.program).parent().map(PathBuf::from);
    let path = env::var_os("PATH").unwrap_or_default();
    let mut folders =
        own.filter(|own| !own.as_os_str().is_empty()).into_iter().chain(env::split_paths(&path));
    let found = folders.find_map(|folder| Some(folder.join(NAME)).filter(|path| path.is_file()));
    found.map_or(NAME.to_owned(), |path| path.to_string_lossy().into_owned())
}

/// Returns a name in the style of LLVM's temporary files. No file with this name is ever read or
/// created.
fn temporary() -> String {
    env::temp_dir().join("clang-offload-bundler-000000.tmp").to_string_lossy().into_owned()
}
