//! `cargo offload test`: runs the tests of a package on the CPU and checks its kernels.
//!
//! | module | contains |
//! |---|---|
//! | [`arguments`] | the command line |
//! | `passes` | the runs of `cargo test`: one per kind of check, and one for orders |
//! | `runner` | the command that starts a test program, and preloads the sanitizer into it |
//! | `log` | files that the programs of a pass write: kernels, findings, reports of sanitizers |
//! | `results` | the results of tests, from the output of test programs |
//! | `findings` | readers for the reports of sanitizers |
//! | `symbols` | the source lines of stack frames in images |
//! | `parameters` | the names of kernels' parameters, from the indexes of packs |
//! | `summary` | the text printed at the end |
//! | `interrupt` | the handler for Ctrl-C |

pub mod arguments;
mod findings;
mod interrupt;
mod log;
mod parameters;
mod passes;
mod results;
mod runner;
mod summary;
mod symbols;

use arguments::{Asked, Command};
use results::Results;
use std::ffi::OsString;
use std::process::ExitCode;

/// The exit status if findings may be missing: a sanitizer failed, or reports are lost.
const INCOMPLETE: u8 = 3;

/// The exit status if no kernel was launched on the CPU, so nothing was checked.
const NOTHING_CHECKED: u8 = 2;

/// Whether [`run`] handles a command with this name.
pub fn has(command: &str) -> bool {
    ["test", "t", "run"].contains(&command)
}

/// Runs `cargo offload test`, or the command that Cargo uses to start a test program. `words`
/// contains the command's name, followed by its arguments.
pub fn run(words: Vec<OsString>) -> ExitCode {
    let done = match Command::parse(words) {
        Ok(Command::Help) => {
            anstream::print!("{}", arguments::HELP);
            Ok(ExitCode::SUCCESS)
        }
        Ok(Command::Test(asked)) => test(&asked),
        Ok(Command::Run(program)) => runner::run(&program),
        Err(error) => {
            anstream::eprintln!(
                "error: {error}\n\nFor more information, try 'cargo offload test --help'."
            );
            return ExitCode::from(2);
        }
    };
    done.unwrap_or_else(|error| {
        anstream::eprintln!("error: {error}");
        ExitCode::FAILURE
    })
}

fn test(asked: &Asked) -> Result<ExitCode, String> {
    let folders = passes::PassFolders::find(asked)?;
    let mut outcome = summary::Summary::default();
    interrupt::ignore();
    for pass in passes::of(asked) {
        anstream::eprintln!("offload: running tests ({})", pass.title());
        let folder = folders.folder(&pass);
        let _lock = passes::lock(&folder);
        if interrupt::came() {
            return Ok(ExitCode::from(interrupt::STATUS));
        }
        let log = log::Log::new(&folder)?;
        let (status, output) = passes::run(&pass, asked, &folders, &log)?;
        if interrupt::came() {
            return Ok(ExitCode::from(interrupt::STATUS));
        }
        let entries = log.read()?;
        if entries.programs.is_empty() && !status.success() {
            // No test program ran, and Cargo has already printed the reason.
            return Ok(runner::status_of(status).into());
        }
        let results = Results::read(&output);
        if status.success() && results.is_known {
            anstream::println!("{}, {}", results.text(), pass.title());
        }
        let names = parameters::ParameterNames::find(folders.target_folder(&pass));
        outcome.add(pass, asked, status, entries, &results, &names);
    }
    outcome.print();
    Ok(outcome.exit_code())
}
