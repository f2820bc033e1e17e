//! The command line.

use super::{Failure, file_type};
use crate::llvm_args::{Grammar, Parsed, Spec, Value};
use std::ffi::{OsStr, OsString};

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    List,
    Bundle,
    Unbundle,
}

/// What the command line says.
#[derive(Debug)]
pub(super) struct Options {
    /// The name that the tool was called by.
    pub(super) program: String,
    /// The type's name, which nobody has looked up yet.
    pub(super) file_type: String,
    /// The targets as they are spelled.
    pub(super) targets: Vec<String>,
    pub(super) inputs: Vec<OsString>,
    pub(super) outputs: Vec<OsString>,
    pub(super) allow_missing_bundles: bool,
    /// In bytes.
    pub(super) bundle_align: u64,
    pub(super) check_input_archive: bool,
    pub(super) compress: Option<bool>,
    pub(super) compression_level: Option<i32>,
    pub(super) hip_openmp_compatible: bool,
    /// Whether commands are printed, and not run.
    pub(super) print_commands: bool,
    /// Whether to say of each entry and target whether they go together.
    pub(super) explain: bool,
    pub(super) verbose: bool,
}

const DEBUG_ONLY: &str = "debug-only";

pub(super) const GRAMMAR: Grammar = Grammar {
    overview: "Puts files of one type, made from the same source for several targets, into one file,\n\
               and takes them out again.",
    version: "offload-tools clang-offload-bundler version 22.1.8\n",
    positional: None,
    options: &[
        flag("list", "List the entries of a bundle."),
        flag("###", "Print the llvm-objcopy command that LLVM's tool runs for objects."),
        flag("allow-missing-bundles", "Write empty files for targets that the bundle has nothing for."),
        option("bundle-align", Value::Unsigned, "uint", "Put code objects at multiples of so many bytes."),
        flag("check-input-archive", "Check that the target IDs in an archive may stand together."),
        flag("compress", "Compress what is written."),
        option("compression-level", Value::Integer, "n", "How hard to try."),
        option(DEBUG_ONLY, Value::CommaList, "what", "CodeObjectCompatibility: say why entries fit targets or not."),
        flag("hip-openmp-compatible", "Let code objects for HIP serve OpenMP, and the reverse."),
        option("inputs", Value::CommaList, "file,...", "Several inputs; -input is today's way."),
        option("input", Value::List, "file", "An input, '-' for standard input; one for each target."),
        option("outputs", Value::CommaList, "file,...", "Several outputs; -output is today's way."),
        option("output", Value::List, "file", "An output, '-' for standard output."),
        option("targets", Value::CommaList, "target,...", "<offload kind>-<target triple>[-<target ID>], each."),
        Spec {
            name: "type",
            value: Value::Text,
            placeholder: "type",
            help: "The type of all files:\n  i ii cui hipi  preprocessed C, C++, CUDA, HIP\n  \
                   d              dependencies\n  ll bc          LLVM's IR, as text and as bitcode\n  \
                   s o a          assembly, objects, archives of objects\n  \
                   gch ast        precompiled headers, Clang's syntax trees",
            required: true,
        },
        flag("unbundle", "Take a bundle apart."),
        flag("verbose", "Say what is compressed and decompressed."),
    ],
};

const fn flag(name: &'static str, help: &'static str) -> Spec {
    option(name, Value::Flag, "", help)
}

const fn option(name: &'static str, value: Value, placeholder: &'static str, help: &'static str) -> Spec {
    Spec { name, value, placeholder, help, required: false }
}

impl Options {
    /// Checks what can be checked of a command line before any file is opened, in LLVM's order.
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
            bundle_align: parsed.number("bundle-align").and_then(|align| u64::try_from(align).ok()).unwrap_or(1),
            check_input_archive: on("check-input-archive"),
            compress: parsed.flag("compress"),
            compression_level: parsed.number("compression-level").and_then(|level| i32::try_from(level).ok()),
            hip_openmp_compatible: on("hip-openmp-compatible"),
            print_commands: on("###"),
            explain: parsed.all(DEBUG_ONLY).iter().any(|what| what == "CodeObjectCompatibility"),
            verbose: on("verbose"),
        };
        let work = match (on("list"), on("unbundle")) {
            (true, unbundle) => options.check_list(unbundle).map(|()| Work::List)?,
            (false, true) => options.check(true).map(|()| Work::Unbundle)?,
            (false, false) => options.check(false).map(|()| Work::Bundle)?,
        };
        Ok((options, work))
    }

    fn check_list(&self, unbundle: bool) -> Result<(), Failure> {
        if unbundle {
            return Err(Failure::new("-unbundle and -list cannot be used together"));
        }
        if self.inputs.len() != 1 {
            return Err(Failure::new("only one input file supported for -list"));
        }
        if !self.outputs.is_empty() {
            return Err(Failure::new("-outputs option is invalid for -list"));
        }
        match self.targets.is_empty() {
            true => Ok(()),
            false => Err(Failure::new("-targets option is invalid for -list")),
        }
    }

    fn check(&self, unbundle: bool) -> Result<(), Failure> {
        let is_archive = self.file_type == file_type::ARCHIVE;
        let (inputs, outputs, targets) = (self.inputs.len(), self.outputs.len(), self.targets.len());
        let message = if self.check_input_archive && !unbundle {
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

/// The values of an option that has an older name, too.
fn either(parsed: &Parsed, program: &str, today: &str, old: &str) -> Result<Vec<OsString>, Failure> {
    let (values, old_values) = (parsed.all(today), parsed.all(old));
    if old_values.is_empty() {
        return Ok(values.to_owned());
    }
    if !values.is_empty() {
        return Err(Failure::new(format!("-{old} and -{today} cannot be used together, use only -{today} instead")));
    }
    eprintln!("{program}: warning: -{old} is deprecated, use -{today} instead");
    Ok(old_values.to_owned())
}
