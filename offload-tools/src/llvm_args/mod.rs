//! The grammar of LLVM's command lines (`cl::opt`), as its tools have it in release 22.
//!
//! - One dash or two: `-type`, `--type`.
//! - A value behind `=` or as the next argument, whatever that looks like; a flag takes one behind
//!   `=` only.
//! - `--` ends the options. `-` alone is no option.
//! - Options of one letter may stand together behind one dash: the first ones are flags, the last
//!   one may have a value.
//! - `@file` is replaced by the arguments in that file, where there is such a file.
//! - Of an option that takes one value the last counts; a list collects them, some split at commas.
//! - What is wrong is said for all arguments, then the tool ends with 1. `--help` and `--version`
//!   act where they stand, `-h` when all was right.

mod grammar;
mod help;
pub(crate) mod nearest;
mod number;
mod parse;
mod response_file;

pub use grammar::{Grammar, Spec, Value};
pub use parse::{Outcome, Parsed};

use std::ffi::{OsStr, OsString};

/// Splits an argument at the first `separator`, an ASCII character. An argument that is not UTF-8
/// is split on Unix only.
pub(crate) fn split_once(text: &OsStr, separator: u8) -> Option<(OsString, OsString)> {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        let bytes = text.as_bytes();
        let at = bytes.iter().position(|&byte| byte == separator)?;
        Some((
            OsStr::from_bytes(&bytes[..at]).to_owned(),
            OsStr::from_bytes(&bytes[at + 1..]).to_owned(),
        ))
    }
    #[cfg(not(unix))]
    {
        let (before, after) = text.to_str()?.split_once(char::from(separator))?;
        Some((before.into(), after.into()))
    }
}
