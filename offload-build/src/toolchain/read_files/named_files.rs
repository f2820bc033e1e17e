//! Finds the files and folders that compiler flags name.

use crate::toolchain::exec::words;
use std::fs;
use std::path::PathBuf;

/// The files and header folders that compiler flags name.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct NamedFiles {
    /// Existing files. They are inputs, whatever their flags mean.
    pub files: Vec<PathBuf>,
    /// Folders to search for headers, including missing folders.
    pub include_folders: Vec<PathBuf>,
}

/// Options that name a header folder, in the same argument (`-Ifolder`) or in the next one.
const INCLUDE_OPTIONS: [&str; 9] = [
    "-I",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-cxx-isystem",
    "-c-isystem",
    "-internal-isystem",
    "--include-directory",
    "-F",
];

/// Flags that forward the next argument to one stage of the compiler.
const PASS_ON: [&str; 7] = [
    "-Xclang",
    "-Xcompiler",
    "-Xpreprocessor",
    "-Xassembler",
    "-Xarch_device",
    "-Xarch_host",
    "-Xlinker",
];

/// The maximum depth of nested response files. A response file (`@file`) may name another one, but
/// only files that name each other in a cycle are nested more deeply.
const DEPTH: u32 = 8;

impl NamedFiles {
    /// Returns the files and folders that these flags name, in order. As in compilers, relative
    /// paths are relative to the working folder.
    pub fn of(flags: &[&str]) -> Self {
        let mut named = Self::default();
        named.add(flags, DEPTH);
        named
    }

    fn add(&mut self, flags: &[&str], depth: u32) {
        let mut before = "";
        for &word in flags {
            if PASS_ON.contains(&word) {
                continue;
            }
            let option = std::mem::replace(&mut before, word);
            if INCLUDE_OPTIONS.contains(&option) {
                self.include_folders.push(word.into());
                continue;
            }
            let has_options = [option, word]
                .iter()
                .any(|it| it.starts_with("--options-file") || it.starts_with("-optf"));
            if let Some(option) = INCLUDE_OPTIONS.iter().find(|option| word.starts_with(**option)) {
                let folder = word[option.len()..].trim_start_matches('=');
                self.include_folders.extend((!folder.is_empty()).then(|| folder.into()));
            }
            // A path may be the whole word, or a part after `=`, `,` or `@`.
            let mut parts: Vec<&str> = Vec::new();
            parts.extend(word.split(['=', ',']));
            parts.push(word);
            parts.extend(word.split_once('=').map(|(_, rest)| rest));
            for part in parts {
                let (part, is_response_file) = match part.strip_prefix('@') {
                    Some(rest) => (rest, true),
                    None => (part, false),
                };
                let path = PathBuf::from(part);
                if part.is_empty() || self.files.contains(&path) || !path.is_file() {
                    continue;
                }
                self.files.push(path.clone());
                if (is_response_file || has_options)
                    && let Some(deeper) = depth.checked_sub(1)
                    && let Ok(text) = fs::read_to_string(&path)
                {
                    let words = words(&text);
                    self.add(&words.iter().map(String::as_str).collect::<Vec<_>>(), deeper);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_in_every_form_of_a_flag() {
        let scratch = tempfile::tempdir().unwrap();
        // A backslash is an escape character in response files, so this test's paths use slashes.
        let path = |name: &str| scratch.path().join(name).display().to_string().replace('\\', "/");
        for name in ["lib.bc", "map", "o.txt", "inner.txt"] {
            fs::write(path(name), "").unwrap();
        }
        fs::write(path("o.txt"), format!("-Iinner \"@{}\"", path("inner.txt"))).unwrap();
        fs::write(path("inner.txt"), format!("-include {}", path("map"))).unwrap();
        let files = |flags: &[&str]| {
            let flags: Vec<String> =
                flags.iter().map(|flag| flag.replace("DIR", &path(""))).collect();
            let found = NamedFiles::of(&flags.iter().map(String::as_str).collect::<Vec<_>>()).files;
            found
                .iter()
                .map(|file| file.file_name().unwrap().to_string_lossy().into_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            files(&["-Xclang", "-mlink-builtin-bitcode", "-Xclang", "DIR/lib.bc"]),
            ["lib.bc"]
        );
        assert_eq!(files(&["-fmodule-map-file=DIR/map"]), ["map"]);
        assert_eq!(files(&["-Wl,-T,DIR/map"]), ["map"]);
        assert_eq!(files(&["@DIR/o.txt"]), ["o.txt", "inner.txt", "map"]);
        assert_eq!(files(&["-O3", "-DX=1", "@DIR/none"]), [""; 0]);
        let folders =
            NamedFiles::of(&["-Ia", "-isystem", "b", "-Xclang", "-iquote", "-Xclang", "c"]);
        assert_eq!(folders.include_folders, ["a", "b", "c"].map(PathBuf::from));
    }
}
