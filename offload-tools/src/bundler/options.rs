//! Reads the command line, and decides what to do.

use super::{Failure, file_type};
use crate::llvm_args::{Grammar, Parsed, Spec, Value, flag, option};
use std::ffi::{OsStr, OsString};

/// The work that the command line requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    List,
    Bundle,
    Unbundle,
}

/// The options of the command line.
#[derive(Debug)]
pub(super) struct Options {
    /// The name by which the tool was called.
    pub(super) program: String,
    /// The name of the file type, not yet checked.
    pub(super) file_type: String,
    /// The targets as written on the command line.
    pub(super) targets: Vec<String>,
    pub(super) inputs: Vec<OsString>,
    pub(super) outputs: Vec<OsString>,
    pub(super) allow_missing_bundles: bool,
    /// The alignment of code objects in a bundle, in bytes.
    pub(super) bundle_align: u64,
    pub(super) check_input_archive: bool,
    pub(super) compress: Option<bool>,
    pub(super) compression_level: Option<i32>,
    pub(super) hip_openmp_compatible: bool,
    /// Whether to print the commands that LLVM's tool would run (`-###`).
    pub(super) print_commands: bool,
    /// Whether to print which entries and targets are compatible.
    pub(super) explain: bool,
    pub(super) verbose: bool,
}

const DEBUG_ONLY: &str = "debug-only";

pub(super) const GRAMMAR: Grammar = Grammar {
    name: "clang-offload-bundler",
    // The messages are LLVM's, because LLVM's tests and other scripts search for them. LLVM has the
    // option `-debug-only` only in debug builds.
    overview: "A tool to bundle several input files of the specified type <type> \n\
               referring to the same source file but different targets into a single \n\
               one. The resulting file can also be unbundled into different files by \n\
               this tool if -unbundle is provided.",
    version: "offload-tools clang-offload-bundler version 22.1.8\n",
    positional: None,
    options: &[
        flag("list", "List bundle IDs in the bundled file."),
        flag(
            "###",
            "Print any external commands that are to be executed instead of actually executing them - for testing purposes.",
        ),
        flag("allow-missing-bundles", "Create empty files if bundles are missing when unbundling."),
        option("bundle-align", Value::Unsigned, "uint", "Alignment of bundle for binary files"),
        flag(
            "check-input-archive",
            "Check if input heterogeneous archive is valid in terms of TargetID rules.",
        ),
        flag("compress", "Compress output file when bundling."),
        option("compression-level", Value::Integer, "n", "Specify the compression level (integer)"),
        option(
            DEBUG_ONLY,
            Value::CommaList,
            "what",
            "CodeObjectCompatibility: print why entries match targets or not.",
        ),
        flag(
            "hip-openmp-compatible",
            "Treat hip and hipv4 offload kinds as compatible with openmp kind, and vice versa.",
        ),
        option("inputs", Value::CommaList, "string", "[<input file>,...] (deprecated)"),
        option(
            "input",
            Value::List,
            "string",
            "Input file. Can be specified multiple times for multiple input files.",
        ),
        option("outputs", Value::CommaList, "string", "[<output file>,...] (deprecated)"),
        option(
            "output",
            Value::List,
            "string",
            "Output file. Can be specified multiple times for multiple output files.",
        ),
        option("targets", Value::CommaList, "string", "[<offload kind>-<target triple>,...]"),
        Spec {
            name: "type",
            value: Value::Text,
            placeholder: "string",
            help: "Type of the files to be bundled/unbundled.\nCurrent supported types are:\n  \
                   i    - cpp-output\n  ii   - c++-cpp-output\n  cui  - cuda-cpp-output\n  hipi - hip-cpp-output\n  \
                   d    - dependency\n  ll   - llvm\n  bc   - llvm-bc\n  s    - assembler\n  o    - object\n  \
                   a    - archive of objects\n  gch  - precompiled-header\n  ast  - clang AST file",
            required: true,
        },
        flag("unbundle", "Unbundle bundled file into several output files."),
        flag("verbose", "Print debug information."),
    ],
};

impl Options {
    /// Checks a command line in LLVM's order, before any file is opened.
    pub(super) fn of(parsed: &Parsed, program: &str) -> Result<(Self, Work), Failure> {
        let on = |name| parsed.flag(name).unwrap_or(false);
        let text = |value: &OsStr| value.to_string_lossy().into_owned();
        let options = Self {
            program: program.to_owned(),
            file_type: parsed.last("type").map(text).unwrap_or_default(),
            targets: parsed.all("targets").iter().map(|target| text(target)).collect(),
            inputs: either(parsed, program, "input", "inputs")?,
            outputs: either(parsed, program, "output", "outputs")?,
            allow_missing_bundles: on("allow-missing-bundles"),
            bundle_align: parsed
                .number("bundle-align")
                .and_then(|align| u64::try_from(align).ok())
                .unwrap_or(1),
            check_input_archive: on("check-input-archive"),
            compress: parsed.flag("compress"),
            compression_level: parsed
                .number("compression-level")
                .and_then(|level| i32::try_from(level).ok()),
            hip_openmp_compatible: on("hip-openmp-compatible"),
            print_commands: on("###"),
            explain: parsed.all(DEBUG_ONLY).iter().any(|what| what == "CodeObjectCompatibility"),
            verbose: on("verbose"),
        };
        let work = match (on("list"), on("unbundle")) {
            (true, _) => Work::List,
            (false, true) => Work::Unbundle,
            (false, false) => Work::Bundle,
        };
        options.check(work == Work::List, on("unbundle")).map(|()| (options, work))
    }

    fn check(&self, list: bool, unbundle: bool) -> Result<(), Failure> {
        let is_archive = self.file_type == file_type::ARCHIVE;
        let (inputs, outputs, targets) =
            (self.inputs.len(), self.outputs.len(), self.targets.len());
        let message = if list && unbundle {
            "-unbundle and -list cannot be used together"
        } else if list && inputs != 1 {
            "only one input file supported for -list"
        } else if list && outputs != 0 {
            "-outputs option is invalid for -list"
        } else if list && targets != 0 {
            "-targets option is invalid for -list"
        } else if list {
            return Ok(());
        } else if self.check_input_archive && !unbundle {
            "-check-input-archive cannot be used while bundling"
        } else if self.check_input_archive && !is_archive {
            "-check-input-archive can only be used for unbundling archives (-type=a)"
        } else if outputs == 0 {
            "no output file specified!"
        } else if targets == 0 {
            "for the --targets option: must be specified at least once!"
        } else if unbundle && inputs != 1 {
            "only one input file supported in unbundling mode"
        } else if unbundle && outputs != targets {
            "number of output files and targets should match in unbundling mode"
        } else if !unbundle && is_archive {
            "Archive files are only supported for unbundling"
        } else if !unbundle && outputs != 1 {
            "only one output file supported in bundling mode"
        } else if !unbundle && inputs != targets {
            "number of input files and targets should match in bundling mode"
        } else {
            return Ok(());
        };
        Err(Failure::new(message))
    }
}

/// Returns the values of an option that also has an older name.
fn either(
    parsed: &Parsed,
    program: &str,
    today: &str,
    old: &str,
) -> Result<Vec<OsString>, Failure> {
    let (values, old_values) = (parsed.all(today), parsed.all(old));
    if old_values.is_empty() {
        return Ok(values.to_owned());
    }
    if !values.is_empty() {
        return Err(Failure::new(format!(
            "-{old} and -{today} cannot be used together, use only -{today} instead"
        )));
    }
    eprintln!("{program}: warning: -{old} is deprecated, use -{today} instead");
    Ok(old_values.to_owned())
}
