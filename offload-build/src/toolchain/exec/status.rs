//! Describes the exit status of a tool.

use super::remarks;
use super::step::Step;
use crate::toolchain::error::{Error, ErrorKind};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Output};

/// Returns the output of a tool that succeeded.
///
/// Returns an error if the tool did not start, failed, was killed, or did not write its output. The
/// error contains the tool's complete output and the command line.
pub fn check_exit_status(step: &Step, output: io::Result<Output>) -> Result<String, Error> {
    let program = step.program.display();
    let output = output.map_err(|error| {
        let message = format!("could not start {program}: {error}; the command was\n  {step}");
        Error::new(ErrorKind::ToolFailed, message)
    })?;
    let mut text = String::from_utf8_lossy(&output.stderr).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stdout));
    if let Some(hides) = step.hides {
        text = remarks::without(text, hides);
    }
    if let Some(folder) = &step.folder {
        // rustc prints paths relative to this folder, but `src/` could be mistaken for that
        // of the program's package.
        text = text.replace("--> src/", &format!("--> {}/src/", folder.display()));
    }
    let ending = if output.status.success() {
        match unwritten(step) {
            None => return Ok(text),
            Some(what) => format!("reported success, but {what}"),
        }
    } else {
        ending(output.status, text.trim().is_empty())
    };
    if let Some(crash) = crash(step, &text, &ending) {
        return Err(Error::new(ErrorKind::ToolFailed, crash));
    }
    let text = text.trim_end();
    let flags = if text.contains(NVCC_REFUSES) { flags_of_variables(step) } else { String::new() };
    let mut message = String::new();
    // The command is long, so put the help before it.
    for part in [text, help(text).unwrap_or_default(), &step.help] {
        if !part.is_empty() {
            message += part;
            message.push('\n');
        }
    }
    message += &format!("{program} {ending}{flags}; the command was\n  {step}");
    Err(Error::new(ErrorKind::ToolFailed, message))
}

fn help(text: &str) -> Option<&'static str> {
    let has_any = |words: &[&str]| words.iter().any(|words| text.contains(words));
    let row = HELP.iter().find(|(refusals, lines, _)| has_any(refusals) && has_any(lines))?;
    Some(row.2)
}

/// The help for compilers' messages. Each row lists words of the message, words of the source lines
/// quoted with it, and the help.
const HELP: [(&[&str], &[&str], &str); 8] = [
    (
        &["amd_detail/"],
        &["identifier '__llvm_amdgcn_"],
        "these ROCm headers need an older clang: install the clang that ROCm's hipcc starts \
         (clang-15 with lld-15 on Debian 12), or name its folder in HIP_CLANG_PATH",
    ),
    (
        &["with a different type", "conflicting declaration", "is incompatible with previous"],
        &["extern __shared__ ", "extern __attribute__((shared)) "],
        "all declarations of dynamic shared memory with the same name need the same type, even in \
         the instances of a template. Declare bytes and cast their address, as in\n  \
         extern __shared__ __align__(16) unsigned char bytes[]; T *tile = reinterpret_cast<T *>(bytes);",
    ),
    (
        &["conflicting declaration of C function", "conflicting types for", "has \"C\" linkage"],
        &["__global__ ", "__attribute__((global)) "],
        "with `extern \"C\"`, a kernel cannot have the name of another function, such as one of \
         the C library. Rename the kernel, or remove `extern \"C\"`: programs still call the \
         kernel by the same name",
    ),
    (
        &["'cuda", "‘cuda", "'hip", "‘hip"],
        &["Malloc", "Memcpy", "Stream", "Event", "Error", "Success", "Device"],
        HOST,
    ),
    (
        &["cudaConfigureCall", "PushCallConfiguration", "expected primary-", "expected expression"],
        &["<<<"],
        HOST,
    ),
    (
        &["`#[panic_handler]` function required"],
        &[""],
        "offload-kernel defines the #[panic_handler]: add offload-kernel to the dependencies of \
         the kernel crate, and use it in lib.rs, as in\n  use offload_kernel::kernel;",
    ),
    (
        &["`panic_impl`"],
        &["offload_kernel"],
        "start the kernel crate with #![no_std], because offload-kernel defines the \
         #[panic_handler]",
    ),
    (
        &["file not found", "No such file or directory"],
        &["#include"],
        "add the folder of the header in build.rs, relative to the package, as in \
         .include(\"kernels/include\"). Headers that only CUDA or ROCm provides need \
         .compiler(Compiler::Nvcc) or .compiler(Compiler::ClangRocm)",
    ),
];

const HOST: &str = "a pack contains only kernels, but this source also has host code, which calls \
                    the vendor's library or launches kernels. Put that code between `#if \
                    !defined(OFFLOAD_KERNEL_H)` and `#endif`, or compile the source into a static \
                    library:\n  \
                    Build::new().compiler(Compiler::Nvcc).file(\"kernels/k.cu\").compile_static(\"k\")";

/// Lines that LLVM's programs print with a crash report: the first for an assertion or a signal,
/// the second for an error inside clang's compiler. (clang also requests a bug report if ptxas
/// rejects a source, but that is not a crash.)
const CRASH_REPORTS: [&str; 2] =
    ["PLEASE submit a bug report", "clang frontend command failed with exit code 70"];

/// LLVM's error for a call in SPIR-V to a function that is only declared. The call follows:
/// `%4:fid = OpFunctionCall %5:type, @_Z5twicef, %3:fid`.
const UNKNOWN_FUNCTION: &str = "Unknown function in:";

/// Returns a two-line error message about a crash of clang, or a one-line message if the source
/// lacks a function.
///
/// Writes the crash report to a file next to the expected output. The report is long, and meant for
/// clang's developers, not for users. Returns `None` if clang did not crash, if the step has no
/// output, or if the report cannot be written.
fn crash(step: &Step, text: &str, ending: &str) -> Option<String> {
    if !CRASH_REPORTS.iter().any(|report| text.contains(report)) {
        return None;
    }
    let reason =
        text.lines().find_map(|line| line.split_once("fatal error: ")).map(|(_, reason)| reason);
    if let Some((_, call)) = reason.and_then(|reason| reason.split_once(UNKNOWN_FUNCTION)) {
        let name = call.split(['@', ',']).nth(2).unwrap_or(call);
        return Some(format!("the kernels call a function that no source defines: {name}"));
    }
    let log = crash_report(step.output.as_deref()?);
    let program = step.program.display();
    fs::write(&log, format!("{text}\n{program} {ending}; the command was\n  {step}\n")).ok()?;
    // Omit addresses, which differ each time, as in "fatal error: error in backend: Cannot select:
    // 0x5581…".
    let reason = reason.map_or(String::new(), |reason| {
        format!(" ({})", reason.split(": 0x").next().unwrap_or(reason))
    });
    Some(format!(
        "{program} crashed{reason}: this is a bug in clang, not in the source.\nA different \
         optimization level (--release, .opt_level(1)) or a different clang (OFFLOAD_CLANG) may \
         work. clang's report is in {}",
        log.display()
    ))
}

/// Returns the path for a crash report, next to the expected output.
pub(super) fn crash_report(output: &Path) -> PathBuf {
    let mut path = output.as_os_str().to_owned();
    path.push(".crash.txt");
    path.into()
}

/// The prefix of nvcc's messages about its own command line.
const NVCC_REFUSES: &str = "nvcc fatal";

/// Describes the flags that nvcc gets from the environment, because nvcc's message may be about
/// these flags.
fn flags_of_variables(step: &Step) -> String {
    let mut text = String::new();
    for (name, value) in step.nvcc_flags() {
        if !value.is_empty() {
            let value = value.to_string_lossy();
            text += &format!(
                " (nvcc also gets the flags in {name}, '{value}': unset the variable if they do \
                 not fit this build)"
            );
        }
    }
    text
}

/// Returns a message if the step's output file is missing or empty.
fn unwritten(step: &Step) -> Option<String> {
    let path = step.output.as_deref()?;
    match fs::metadata(path) {
        Err(_) => Some(format!("did not write {}", path.display())),
        Ok(metadata) if metadata.len() == 0 => {
            Some(format!("wrote nothing into {}", path.display()))
        }
        Ok(_) => None,
    }
}

fn ending(status: ExitStatus, silent: bool) -> String {
    if let Some(signal) = signal(status) {
        return format!("{}: {}", by_signal(signal), what_to_do(signal));
    }
    let mut text = format!("ended with {status}");
    // Shells and compiler drivers report a child's signal as the exit status 128 plus the signal's
    // number.
    if let Some(signal) =
        status.code().filter(|code| (129..160).contains(code)).map(|code| code - 128)
    {
        let what = format!(
            " (128 + {signal} means that a child process {}: {})",
            by_signal(signal),
            what_to_do(signal)
        );
        text.push_str(&what);
    }
    if silent {
        text.push_str(
            " and printed nothing (it was not waiting for input: its standard input is empty)",
        );
    }
    text
}

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal(_: ExitStatus) -> Option<i32> {
    None
}

/// Returns text such as `crashed with signal 11 (SIGSEGV)`, or `was killed by` and the signal.
fn by_signal(signal: i32) -> String {
    let verb = if is_kill(signal) { "was killed by" } else { "crashed with" };
    #[cfg(unix)]
    let signal = {
        let status: ExitStatus = std::os::unix::process::ExitStatusExt::from_raw(signal);
        status.to_string().replacen("signal: ", "", 1)
    };
    format!("{verb} signal {signal}")
}

fn is_kill(signal: i32) -> bool {
    matches!(signal, 1 | 2 | 9 | 15 | 24)
}

fn what_to_do(signal: i32) -> &'static str {
    match signal {
        9 => {
            "the system does that when memory runs out. To run one compiler at a time, set \
             OFFLOAD_JOBS=1, or call .max_parallel(1) in build.rs"
        }
        _ if is_kill(signal) => "a user or the system stopped it",
        _ => {
            "this is a bug in the compiler, not in the source; try a different version of the \
              compiler"
        }
    }
}
