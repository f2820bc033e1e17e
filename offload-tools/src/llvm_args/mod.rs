//! The grammar of LLVM's command lines (`cl::opt`), as in the tools of release 22.
//!
//! - Options start with one dash or two: `-type`, `--type`.
//! - A value follows `=` or is the next argument, even if that looks like an option; a flag can
//!   have a value only after `=`.
//! - `--` ends the options. `-` alone is not an option.
//! - Options of one letter may be joined after one dash: all but the last must be flags, and the
//!   last may have a value.
//! - `@file` is replaced by the arguments in that file, if the file exists.
//! - If an option with one value is repeated, the last value is used. A list collects all values;
//!   some lists also split the values at commas.
//! - Errors are reported for all arguments before the tool exits with status 1. `--help` and
//!   `--version` take effect at their position, and `-h` after all arguments are accepted.

mod grammar;
mod help;
mod number;
mod parse;
mod response_file;

pub use grammar::{Grammar, Spec, Value, flag, option};
pub use parse::{Outcome, Parsed};

use std::ffi::{OsStr, OsString};

/// Splits a value at its commas. Returns one piece if there is no comma.
pub(crate) fn split(text: &OsStr) -> Vec<OsString> {
    let (mut pieces, mut rest) = (Vec::new(), text);
    while let Some((piece, after)) = split_once(rest, b',') {
        pieces.push(piece.to_owned());
        rest = after;
    }
    pieces.push(rest.to_owned());
    pieces
}

/// Splits an argument at the first `separator`, an ASCII character. An argument that is not UTF-8
/// is split on Unix only.
pub(crate) fn split_once(text: &OsStr, separator: u8) -> Option<(&OsStr, &OsStr)> {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        let bytes = text.as_bytes();
        let at = bytes.iter().position(|&byte| byte == separator)?;
        Some((OsStr::from_bytes(&bytes[..at]), OsStr::from_bytes(&bytes[at + 1..])))
    }
    #[cfg(not(unix))]
    {
        let (before, after) = text.to_str()?.split_once(char::from(separator))?;
        Some((before.as_ref(), after.as_ref()))
    }
}
