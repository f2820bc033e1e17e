//! Records where compilers searched for files, and the environment of kernel crates, when a
//! prebuilt set was made. If a compiler would now find different files, the set does not match.
//!
//! | line of a manifest | contents |
//! |---|---|
//! | `folder`, `name`, `any` | folders of the package in which files were looked up, and either the names of these files, or `any` for all names |
//! | `there` | a file that was found |
//! | `tree`, `package`, `variable` | inputs of a Rust kernel crate, as in `compile/cache.rs` |
//!
//! A compiler may read a new file instead of the recorded one, or the new file may change the
//! result of `__has_include`. For `any`, the build compares only the names of headers, because
//! Cargo, git and users add other files to a package.

use super::jobs::MadeImage;
use super::portable::Setting;
use crate::compile::inputs::{Input, InputKind, Inputs};
use crate::toolchain::read_files::lookup::Lookup;
use crate::toolchain::{ContentHash, Seen};
use std::fmt::Write;
use std::path::Path;

/// Reads a line of a manifest into inputs, whose paths are relative to the package. Returns `None`
/// if the line is malformed.
pub(super) fn read_line(inputs: &mut Inputs, key: &str, value: &str) -> Option<()> {
    let lookups = &mut inputs.lookups;
    match key {
        "folder" => {
            // A `folder` line after `name` lines begins a new search.
            if lookups.last().is_none_or(|it| it.any || !it.names.is_empty()) {
                lookups.push(Lookup::default());
            }
            lookups.last_mut()?.folders.push(value.into());
        }
        "name" => lookups.last_mut()?.names.push(value.into()),
        "any" => lookups.last_mut()?.any = true,
        "there" => lookups.last_mut()?.there.push(value.to_owned()),
        word => {
            let (hash, path) = value.split_once(' ')?;
            let kind = if word == "input" { InputKind::File } else { InputKind::of_word(word)? };
            inputs.files.push(Input { kind, path: path.into(), hash: ContentHash::parse(hash)? });
        }
    }
    Some(())
}

/// Returns the start of a message about a change of anything but a file's contents, if there is
/// one. The caller completes the message with the manifest's name.
pub(super) fn change(inputs: &Inputs, setting: &Setting<'_>, is_packaged: bool) -> Option<String> {
    let seen = Seen::default();
    for lookup in &inputs.lookups {
        // Cargo adds files to a package and leaves others out, so folder listings may differ.
        if lookup.any && is_packaged {
            continue;
        }
        let now = found(lookup, setting, &seen);
        for name in &now {
            if !lookup.there.contains(name) {
                return Some(format!("{name}, which compilers may read, was added after"));
            }
        }
        for name in &lookup.there {
            if !now.contains(name) {
                return Some(format!("{name} was removed after"));
            }
        }
    }
    for other in inputs.files.iter().filter(|it| it.kind != InputKind::File) {
        let name = other.path.to_string_lossy();
        let now = Input::now(other.kind, setting.here(&name), &seen, setting.cargo)?;
        if now.hash != other.hash {
            return Some(match other.kind {
                InputKind::Variable => {
                    format!("the variable {name} has a different value than when")
                }
                _ => format!("{name} has different files than when"),
            });
        }
    }
    None
}

/// Returns the paths of the files that a lookup with package-relative paths finds.
fn found(lookup: &Lookup, setting: &Setting<'_>, seen: &Seen) -> Vec<String> {
    let mut found = Vec::new();
    for folder in &lookup.folders {
        let here = setting.here(&folder.to_string_lossy());
        for name in lookup.found(&here, seen) {
            // A folder is not a header.
            let is_header = is_header(&name) || lookup.names.contains(&name);
            if is_header && seen.is_there(&here.join(&name)) {
                found.push(folder.join(name).to_string_lossy().replace('\\', "/"));
            }
        }
    }
    found
}

/// Whether a file may be a header, judging by its name. C++ headers may have no extension.
fn is_header(name: &Path) -> bool {
    const EXTENSIONS: [&str; 20] = [
        "h", "hh", "hpp", "hxx", "h++", "cuh", "hip", "inc", "inl", "ipp", "tpp", "tcc", "def",
        "x", "c", "cc", "cpp", "cxx", "cu", "cl",
    ];
    if name.file_name().is_some_and(|it| it.as_encoded_bytes().starts_with(b".")) {
        return false;
    }
    let Some(extension) = name.extension() else { return true };
    for known in &EXTENSIONS {
        if extension.eq_ignore_ascii_case(known) {
            return true;
        }
    }
    false
}

/// Whether a set compares an environment variable. Excludes variables that Cargo sets and that
/// depend on the machine and the build.
pub(super) fn is_compared(variable: &str) -> bool {
    !matches!(variable, "OUT_DIR" | "TARGET" | "HOST" | "OPT_LEVEL" | "DEBUG")
        && !variable.starts_with("CARGO")
        && !variable.starts_with("RUSTC")
}

/// Writes the lines that record where compilers and crates looked for files.
///
/// If one of the names is an absolute path, returns it as an error.
pub(super) fn write(
    text: &mut String,
    made: &[&MadeImage],
    setting: &Setting<'_>,
) -> Result<(), String> {
    let (seen, mut written) = (Seen::default(), Vec::<String>::new());
    for made in made {
        for lookup in &made.inputs.lookups {
            let mut lines = String::new();
            let mut here = Lookup { any: lookup.any, ..Lookup::default() };
            for folder in &lookup.folders {
                let name = setting.portable(&folder.to_string_lossy());
                // Omit system folders, which differ between machines, and this crate's headers,
                // which differ between versions.
                if !Path::new(&name).is_absolute() && !folder.starts_with(setting.output.include())
                {
                    let _ = writeln!(lines, "folder {name}");
                    here.folders.push(name.into());
                }
            }
            if here.folders.is_empty() || (lookup.names.is_empty() && !lookup.any) {
                continue;
            }
            for name in &lookup.names {
                let text = name.to_string_lossy().replace('\\', "/");
                if name.has_root() {
                    return Err(text);
                }
                let _ = writeln!(lines, "name {text}");
                here.names.push(name.clone());
            }
            if lookup.any {
                lines.push_str("any\n");
            }
            for file in found(&here, setting, &seen) {
                let _ = writeln!(lines, "there {file}");
            }
            // Several targets often share a search, which is written only once.
            if !written.contains(&lines) {
                text.push_str(&lines);
                written.push(lines);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_headers() {
        for name in ["opt.h", "sub/OPT.HPP", "optional", "table.inc"] {
            assert!(is_header(Path::new(name)), "{name}");
        }
        for name in [".cargo-ok", ".#opt.h", "Cargo.lock", "notes.txt", "opt.h~", "k.cu.orig"] {
            assert!(!is_header(Path::new(name)), "{name}");
        }
    }
}
