//! Prepares arguments for nvcc, which starts its compilers through a shell. nvcc quotes only some
//! of the shell's special characters, and only in some arguments.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Escapes an option that `-Xcompiler` passes to the host compiler. nvcc and then the shell each
/// remove one level of backslashes.
pub fn through_nvcc(option: &str) -> OsString {
    let mut escaped = String::new();
    for c in option.chars() {
        if c.is_ascii() && !c.is_ascii_alphanumeric() && !"_./=:@%+-".contains(c) {
            escaped += r"\\\";
        }
        escaped.push(c);
    }
    escaped.into()
}

/// Prepares a path for nvcc, `fatbinary`, or clang's `-include`, which do not quote it. Returns the
/// path relative to the working folder if their common parent folder's path contains special
/// characters. Otherwise returns the argument unchanged.
pub fn plain_path(arg: OsString) -> OsString {
    let folder = env::current_dir().ok();
    folder.and_then(|folder| relative(&arg, &folder)).unwrap_or(arg)
}

/// Returns a path, or an option `-I` with a path, relative to the folder. Returns `None` unless the
/// path of their common parent folder contains special characters.
fn relative(arg: &OsStr, folder: &Path) -> Option<OsString> {
    let arg = arg.to_str()?;
    let (option, path) = arg.strip_prefix("-I").map_or(("", arg), |path| ("-I", path));
    let mut upwards = ".".to_owned();
    for ancestor in folder.ancestors() {
        if !ancestor.to_str()?.contains(|c| "'\"$`\\,".contains(c)) {
            return None;
        }
        if let Ok(rest) = Path::new(path).strip_prefix(ancestor) {
            return Some(Path::new(&format!("{option}{upwards}")).join(rest).into());
        }
        upwards += "/..";
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_for_the_compiler_of_the_host() {
        assert_eq!(through_nvcc("-fmap=/a_b/c.d=x"), "-fmap=/a_b/c.d=x");
        assert_eq!(through_nvcc("-fmap=/it's $x,\\=ä"), r"-fmap=/it\\\'s\\\ \\\$x\\\,\\\\=ä");
    }

    #[cfg(unix)]
    #[test]
    fn special_paths_are_relative() {
        let relative = |arg: &str| relative(arg.as_ref(), Path::new("/home/it's/package"));
        assert_eq!(relative("/home/it's/package/out/a.o").unwrap(), "./out/a.o");
        assert_eq!(relative("-I/home/it's/target").unwrap(), "-I./../target");
        let others =
            ["/home/$b", "/usr/include", "kernels/it's.cu", "-DX=/home/it's/package", "-Xptxas"];
        for other in others {
            assert_eq!(relative(other), None, "{other}");
        }
    }
}
