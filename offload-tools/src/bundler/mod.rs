//! `clang-offload-bundler`: a drop-in for the tool of that name in LLVM 22.
//!
//! Options, messages, exit statuses and output bytes match LLVM's, except for the differences that
//! docs/llvm-differences.md in the repository lists and explains. A run of the tool uses these
//! source files in this order:
//!
//! | file | does |
//! |---|---|
//! | `options` | reads the command line and decides what to do |
//! | `settings` | reads the environment |
//! | `targets` | checks the targets |
//! | `bundle`, `list`, `unbundle`, `archive` | do the work |
//! | `contents` | finds and copies the entries of a bundle in any form |
//! | `verbose` | prints the output of `-verbose` about compressed bundles |
//! | `objcopy` | prints the command lines for `-###` |

mod archive;
mod bundle;
mod contents;
mod failure;
mod file_type;
mod list;
mod objcopy;
mod options;
mod settings;
mod targets;
mod unbundle;
mod verbose;

use crate::files::{Input, Output};
use crate::llvm_args::Outcome;
use failure::Failure;
use file_type::FileType;
use options::{Options, Work};
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::process::ExitCode;

/// Runs the tool; the first of the `arguments` is the program's name.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut arguments = arguments.into_iter();
    let program = arguments
        .next()
        .map_or("clang-offload-bundler".into(), |name| name.to_string_lossy().into_owned());
    let parsed = match options::GRAMMAR.parse(&program, arguments) {
        Outcome::Run(parsed) => parsed,
        Outcome::Exit { stdout, stderr, status } => {
            eprint!("{stderr}");
            return print(&stdout, status.into());
        }
    };
    if parsed.flag("h") == Some(true) {
        return print(&options::GRAMMAR.help_list(&program), ExitCode::SUCCESS);
    }
    match Options::of(&parsed, &program).and_then(|(options, work)| work_on(&options, work)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.print(&program);
            ExitCode::FAILURE
        }
    }
}

fn print(text: &str, status: ExitCode) -> ExitCode {
    if std::io::stdout().write_all(text.as_bytes()).is_ok() { status } else { ExitCode::FAILURE }
}

fn work_on(options: &Options, work: Work) -> Result<(), Failure> {
    match work {
        Work::List => list::list(options),
        Work::Bundle => bundle::bundle(options),
        Work::Unbundle if options.file_type == file_type::ARCHIVE => archive::unbundle(options),
        Work::Unbundle => unbundle::unbundle(options),
    }
}

/// Opens an input; `-` is standard input.
fn open(path: &OsStr) -> Result<Input, Failure> {
    Input::named(path).map_err(|error| Failure::of_file(path, &error))
}

/// Writes an output. An existing file is replaced only when the output is complete; `-` is standard
/// output.
fn write(
    path: &OsStr,
    fill: impl FnOnce(&mut Output) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut output = Output::named(path).map_err(|error| Failure::of_file(path, &error))?;
    fill(&mut output)?;
    output.commit().map_err(|error| Failure::of_file(path, &error))
}
