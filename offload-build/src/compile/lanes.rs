//! Finds code that loses lanes in warps of 64 lanes, as on AMD's gfx9 and, on request, in the CPU
//! image. On these targets, code that stores masks in 32 bits loses lanes 32 to 63.
//!
//! `offload/warp.h` warns about masks passed to calls. Only a compiler warning can find results
//! that are converted to 32 bits. The warning also covers other conversions, so [`hides`] drops the
//! messages about them.

use crate::toolchain::compilers::Cxx;
use crate::toolchain::exec::Step;
use crate::toolchain::{Cargo, Error};
use offload_pack::checks::variables;
use std::ffi::OsString;

/// The option that sets 64 lanes for the CPU image.
const CPU_LANES: &str = "-DOFFLOAD_CPU_LANES=64";

/// Options that make clang and g++ warn about conversions that lose bits. `-Werror` must not turn
/// these warnings into errors, because most of them are hidden from users.
const CLANG: &[&str] = &["-Wshorten-64-to-32", "-Wno-error=shorten-64-to-32"];
const GCC: &[&str] = &["-Wconversion", "-Wno-error=conversion"];

/// Calls that return a mask of lanes.
const VOTES: &[&str] = &["__ballot_sync(", "__activemask(", "__ballot("];

/// Calls whose argument, if it has 64 bits, is a mask of lanes.
const COUNTS: &[&str] = &["__popc(", "__ffs(", "__clz(", "__brev("];

/// Sets the number of lanes in the CPU image to the value of `OFFLOAD_CPU_LANES`.
pub(crate) fn set_for_cpu(cxx: &mut Cxx, cargo: &Cargo) -> Result<(), Error> {
    match cargo.user_var(variables::LANES).as_deref() {
        None | Some("32") => {}
        Some("64") => cxx.args.push(CPU_LANES.into()),
        Some(other) => {
            return Err(Error::config(format!(
                "{} is '{other}', but must be 32 or 64, the number of lanes per warp in the image \
                 for the CPU",
                variables::LANES
            )));
        }
    }
    Ok(())
}

/// Returns the warning options for the CPU image, given these options from build.rs.
pub(super) fn warnings_of_cpu(cxx: &Cxx, of_build_script: &[OsString]) -> &'static [&'static str] {
    let is_wide = cxx.args.iter().any(|arg| arg == CPU_LANES);
    let own = if cxx.is_gcc() { GCC } else { CLANG };
    if is_wide && !requests(&cxx.args) && !requests(of_build_script) { own } else { &[] }
}

/// Returns the warning options for a GPU image, given these options from build.rs. `is_wide` tells
/// whether a warp has 64 lanes unless these options change the number.
pub(super) fn warnings_of_gpu(
    mut is_wide: bool,
    of_build_script: &[OsString],
) -> &'static [&'static str] {
    for arg in of_build_script {
        if arg == "-mwavefrontsize64" || arg == "-mno-wavefrontsize64" {
            is_wide = arg == "-mwavefrontsize64";
        }
    }
    if is_wide && !requests(of_build_script) { CLANG } else { &[] }
}

/// Whether a user's options request warnings about all conversions that lose bits.
fn requests(args: &[OsString]) -> bool {
    for arg in args {
        if arg == "-Wshorten-64-to-32" || arg == "-Wconversion" || arg == "-Weverything" {
            return true;
        }
    }
    false
}

/// Hides all warnings that these options cause in a step, except those about lanes.
pub(super) fn show(step: Step, warnings: &[&str]) -> Step {
    Step { hides: (!warnings.is_empty()).then_some(hides), ..step }
}

/// Whether a message is a warning requested by [`CLANG`] or [`GCC`] that is not about lanes.
fn hides(message: &str) -> bool {
    let (mut first, mut is_shifted, mut is_marked) = ("", false, false);
    let mut before = "";
    for line in message.lines() {
        if line.contains("[-Wshorten-64-to-32]") || line.contains("-Wconversion") {
            first = line;
        }
        is_shifted |= line.contains(">>");
        is_marked |= marks_lanes(before, line);
        before = line;
    }
    let is_by_gcc = first.contains("-Wconversion");
    let is_of_lanes = first.contains("offload_lanes") || is_marked && first.contains("long");
    // g++ does not recognize that a shifted-down upper half fits into 32 bits.
    !first.is_empty() && (!is_of_lanes || is_by_gcc && is_shifted)
}

/// Whether a compiler's line of marks, such as `~~~^~~~`, marks lanes in the source line above it.
/// The marks must cover the whole argument of one of the [`COUNTS`], or one of the [`VOTES`], alone
/// or combined with a mask.
fn marks_lanes(source: &str, marks: &str) -> bool {
    let Some(caret) = marks.find('^') else { return false };
    let marked = |mark: char| mark == '~' || mark == '^';
    let start = marks[..caret].trim_end_matches('~').len();
    let end = marks.len() - marks[caret..].trim_start_matches(marked).len();
    let (Some(before), Some(operator)) = (source.get(..start), source.get(caret..)) else {
        return false;
    };
    let before = before.trim_end_matches([' ', '(']);
    for count in COUNTS {
        if before.ends_with(count.trim_end_matches('(')) {
            return true;
        }
    }
    let marked = source.get(start..end).unwrap_or(&source[start..]);
    for vote in VOTES {
        if operator.starts_with(vote)
            || marked.contains(vote) && operator.starts_with(['&', '|', '^', '~'])
        {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_of_lanes_are_shown() {
        let clang = |from: &str, to: &str, source: &str| {
            let first = format!(
                "k.cu:1:2: warning: implicit conversion loses integer precision: {from} to '{to}' [-Wshorten-64-to-32]"
            );
            hides(&format!("{first}\n{source}"))
        };
        let lanes = "'offload_lanes' (aka 'unsigned long long')";
        assert!(!clang(lanes, "unsigned int", "    1 |   unsigned active = lanes;"));
        let wide = "'unsigned long long'";
        assert!(clang(wide, "unsigned int", "    1 |   unsigned i = n;"));
        let is_shown = |from: &str, source: &str, marks: &str| {
            let [by_clang, by_gcc] = ["-Wshorten-64-to-32", "-Wconversion"].map(|option| {
                let first =
                    format!("k.cu:1:2: warning: conversion from {from} to 'int' [{option}]");
                !hides(&format!("{first}\n{source}\n{marks}"))
            });
            assert_eq!(by_clang, by_gcc, "{source}");
            by_clang
        };
        let fixed = "'uint64_t' (aka 'unsigned long')";
        assert!(is_shown(
            wide,
            "  int below = __popc(votes & ((1ull << lane) - 1));",
            "              ~~~~~~ ~~~~~~^~~~~~~~~~~~~~~~~~~~~~"
        ));
        assert!(is_shown(fixed, "  x = __popc(votes);", "      ~~~~~~ ^~~~~"));
        assert!(is_shown(
            "'uint64_t' {aka 'long unsigned int'}",
            "  x = __ffs( (votes & mask));",
            "              ~~~~~~^~~~~~"
        ));
        assert!(is_shown("'long long'", "  x = __clz(votes);", "      ~~~~~ ^~~~~"));
        assert!(is_shown(
            wide,
            "  x = mask & ~__ballot_sync(-1, p);",
            "    ~ ~~~~~^~~~~~~~~~~~~~~~~~~~~~~"
        ));
        assert!(is_shown(wide, "  x = __activemask();", "    ~ ^~~~~~~~~~~~~~"));
        assert!(!is_shown(wide, "  x = base + __popc(low);", "    ~ ~~~~~^~~~~~~~~~~~~"));
        assert!(!is_shown(fixed, "  x = __popc(low) + base;", "    ~ ~~~~~~~~~~~~^~~~~~"));
        assert!(!is_shown(
            wide,
            "  x = base * (__activemask() != 0);",
            "    ~ ~~~~~^~~~~~~~~~~~~~~~~~~~~~~"
        ));
        assert!(!is_shown(
            "'size_t' (aka 'unsigned long')",
            "  x = size + __popcll(__ballot_sync(~0ull, x));",
            "    ~ ~~~~~^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~"
        ));
        assert!(!is_shown(wide, "  x = y[__popc(low)] | n[p]; ", "    ~                  ^~~~"));
        let gcc = "warning: conversion from 'offload_lanes' {aka 'long long unsigned int'} to 'int' [-Wconversion]";
        assert!(!hides(&format!("{gcc}\n    1 |   unsigned low = lanes;")));
        assert!(hides(&format!("{gcc}\n    1 |   unsigned high = lanes >> 32;")));
        assert!(!hides("k.cu:1:2: warning: \"look here\" [-W#warnings]"));
        // Errors come from the user's own options.
        assert!(!hides("k.cu:1:2: error: conversion [-Werror,-Wshorten-64-to-32]"));
    }

    #[test]
    fn the_last_option_decides() {
        let options = |words: &str| words.split(' ').map(OsString::from).collect::<Vec<_>>();
        for (is_wide, words, expected) in [
            (true, "-O2", true),
            (false, "-O2", false),
            (false, "-mwavefrontsize64", true),
            (false, "-mwavefrontsize64 -mno-wavefrontsize64", false),
            (true, "-Wconversion", false),
        ] {
            let found = warnings_of_gpu(is_wide, &options(words));
            assert_eq!(!found.is_empty(), expected, "{is_wide} {words}");
        }
    }
}
