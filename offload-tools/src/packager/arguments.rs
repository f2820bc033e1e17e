//! The argument of `--image`: `<key>=<value>,<key>=<value>...`.

use crate::llvm_args::{split, split_once};
use offload_format::offload_binary::OffloadKind;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The keys and values of one `--image`, in command-line order.
#[derive(Debug)]
pub(super) struct Arguments(Vec<(OsString, OsString)>);

impl Arguments {
    /// Parses the argument of one `--image`. A piece without `=` is a key with an empty value.
    /// Values of a repeated key are joined with commas.
    pub(super) fn parse(text: &OsStr) -> Self {
        let mut all: Vec<(OsString, OsString)> = Vec::new();
        for piece in split(text) {
            let (key, value) = split_once(&piece, b'=').unwrap_or((&piece, OsStr::new("")));
            match all.iter_mut().find(|(found, _)| *found == key) {
                Some((_, joined)) => {
                    joined.push(",");
                    joined.push(value);
                }
                None => all.push((key.to_owned(), value.to_owned())),
            }
        }
        Self(all)
    }

    pub(super) fn get(&self, key: &str) -> Option<&OsStr> {
        self.iter().find(|(found, _)| *found == key).map(|(_, value)| value)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0.iter().map(|(key, value)| (key.as_os_str(), value.as_os_str()))
    }
}

/// Splits a file's name, without its folder, at the last dot. Unlike in [`Path::extension`], a name
/// such as `.o` consists only of an extension. Without a dot, the extension is empty.
pub(super) fn stem_and_extension(path: &Path) -> (String, String) {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    match name.rsplit_once('.') {
        Some((stem, extension)) => (stem.to_owned(), extension.to_owned()),
        None => (name, String::new()),
    }
}

/// Returns the offload kind with this name, or the kind "none" if the name is unknown.
pub(super) fn offload_kind(name: &OsStr) -> OffloadKind {
    OffloadKind::named(name.to_str().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Vec<(String, String)> {
        let arguments = Arguments::parse(OsStr::new(text));
        arguments
            .iter()
            .map(|(key, value)| (key.to_str().unwrap().into(), value.to_str().unwrap().into()))
            .collect()
    }

    #[test]
    fn keys_and_values() {
        let cases: [(&str, &[(&str, &str)]); 6] = [
            ("file=a.o,triple=x-y", &[("file", "a.o"), ("triple", "x-y")]),
            ("arch=a,file=b,arch=c", &[("arch", "a,c"), ("file", "b")]),
            ("flag=a=b,=,", &[("flag", "a=b"), ("", ",")]),
            ("", &[("", "")]),
            ("arch,arch=x", &[("arch", ",x")]),
            ("a=1,,b", &[("a", "1"), ("", ""), ("b", "")]),
        ];
        for (text, expected) in cases {
            let expected: Vec<_> = expected
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect();
            assert_eq!(parsed(text), expected, "{text}");
        }
    }

    #[test]
    fn a_key_is_found_by_its_whole_name() {
        let arguments = Arguments::parse(OsStr::new("file=a,files=b"));
        assert_eq!(arguments.get("file"), Some(OsStr::new("a")));
        assert_eq!(arguments.get("fil"), None);
    }

    #[test]
    fn names_of_files() {
        for (path, stem, extension) in [
            ("a.b.o", "a.b", "o"),
            ("d.x/a", "a", ""),
            (".o", "", "o"),
            ("a.", "a", ""),
            ("-", "-", ""),
            ("d/..", "", ""),
        ] {
            assert_eq!(
                stem_and_extension(Path::new(path)),
                (stem.to_owned(), extension.to_owned()),
                "{path}"
            );
        }
    }

    #[test]
    fn kinds() {
        for (name, kind) in
            [("openmp", 1), ("cuda", 2), ("hip", 4), ("sycl", 8), ("HIP", 0), ("", 0), ("none", 0)]
        {
            assert_eq!(offload_kind(OsStr::new(name)).0, kind, "{name}");
        }
    }
}
