//! Warps of 64 lanes: those of AMD's gfx9, and of the image for the CPU on request. Code for warps
//! of 32 lanes loses lanes 32 to 63 there if it keeps masks in 32 bits.
//!
//! `offload/warp.h` has the warning for a mask that a call passes. A result that is converted to 32
//! bits needs a warning of the compiler, which is not only about lanes: [`hides`] drops the others.

use offload_format::checks::variables;
use offload_toolchain::cargo::Cargo;
use offload_toolchain::compilers::Cxx;
use offload_toolchain::error::Error;
use offload_toolchain::exec::Step;
use std::ffi::OsString;

/// The option for 64 lanes in the image for the CPU.
const CPU_LANES: &str = "-DOFFLOAD_CPU_LANES=64";

/// Options of clang, and of g++, for warnings of conversions that lose bits. `-Werror` does not
/// make them errors, because most of them are not for users.
const CLANG: &[&str] = &["-Wshorten-64-to-32", "-Wno-error=shorten-64-to-32"];
const GCC: &[&str] = &["-Wconversion", "-Wno-error=conversion"];

/// The start of calls in which 64 bits that become 32 are lanes, whatever the type is called.
const CALLS: &[&str] = &["__ballot_sync(", "__activemask(", "__popc(", "__ffs(", "__clz("];

/// Gives the image for the CPU the lanes that `OFFLOAD_CPU_LANES` requests.
pub(crate) fn set_for_cpu(cxx: &mut Cxx, cargo: &Cargo) -> Result<(), Error> {
    match cargo.user_var(variables::LANES).as_deref() {
        None | Some("32") => {}
        Some("64") => cxx.args.push(CPU_LANES.into()),
        Some(other) => {
            return Err(Error::config(format!(
                "{} is '{other}'; it is the number of lanes in a warp of the image for the CPU: 32 or 64",
                variables::LANES
            )));
        }
    }
    Ok(())
}

/// Returns the options for warnings in the image for the CPU, for these options of build.rs.
pub(super) fn warnings_of_cpu(cxx: &Cxx, of_build_script: &[OsString]) -> &'static [&'static str] {
    let is_wide = cxx.args.iter().any(|arg| arg == CPU_LANES);
    let own = if cxx.is_gcc() { GCC } else { CLANG };
    if is_wide && !requests(&cxx.args) && !requests(of_build_script) { own } else { &[] }
}

/// Returns the options for warnings in an image for a GPU, for these options of build.rs.
/// `is_wide`: whether a warp has 64 lanes unless these options change that.
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

/// Whether a user requests the warnings of all conversions.
fn requests(args: &[OsString]) -> bool {
    for arg in args {
        if arg == "-Wshorten-64-to-32" || arg == "-Wconversion" || arg == "-Weverything" {
            return true;
        }
    }
    false
}

/// Lets a step with these options for warnings print those of lanes alone.
pub(super) fn show(step: Step, warnings: &[&str]) -> Step {
    Step { hides: (!warnings.is_empty()).then_some(hides), ..step }
}

/// Whether the lines of a message are a warning by [`CLANG`] or [`GCC`] that is not about lanes.
fn hides(message: &[&str]) -> bool {
    let (mut first, mut is_by_gcc, mut has_call, mut has_shift) = ("", false, false, false);
    for line in message {
        if line.contains("[-Wshorten-64-to-32]") || line.contains("-Wconversion") {
            first = line;
            is_by_gcc = line.contains("-Wconversion");
        }
        for call in CALLS {
            has_call |= line.contains(call);
        }
        has_shift |= line.contains(">>");
    }
    let is_of_lanes = first.contains("offload_lanes")
        // g++ does not see that the upper half fits into 32 bits.
        && !(is_by_gcc && has_shift)
        || first.contains("'unsigned long long'") && has_call;
    !first.is_empty() && !is_of_lanes
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
            hides(&[&first, source])
        };
        let lanes = "'offload_lanes' (aka 'unsigned long long')";
        assert!(!clang(lanes, "unsigned int", "    1 |   unsigned active = lanes;"));
        let votes = "    1 |   int below = __popc(votes & ((1ull << lane) - 1));";
        assert!(!clang("'unsigned long long'", "unsigned int", votes));
        assert!(clang("'unsigned long long'", "unsigned int", "    1 |   unsigned i = n;"));
        let size = "    1 |   int i = size + __popcll(__ballot_sync(~0ull, x));";
        assert!(clang("'size_t' (aka 'unsigned long')", "int", size));
        let gcc = "\u{1b}[01;35mwarning: \u{1b}[mconversion from '\u{1b}[01moffload_lanes\u{1b}[m' {aka 'long long unsigned int'} \
                   to 'unsigned int' may change value [\u{1b}[01;35m-Wconversion\u{1b}[m]";
        assert!(!hides(&[gcc, "    1 |   unsigned low = lanes;"]));
        assert!(hides(&[gcc, "    1 |   unsigned high = lanes >> 32;"]));
        assert!(!hides(&["k.cu:1:2: warning: \"look here\" [-W#warnings]"]));
        // An error is of the user's own options.
        assert!(!hides(&["k.cu:1:2: error: conversion [-Werror,-Wshorten-64-to-32]"]));
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
