//! What the tests of this package share: tools that may be missing, packages in scratch folders, files to compare with.
//!
//! A test says which tools it needs. Where one is missing, the test is shown as ignored, with the reason; with
//! `OFFLOAD_REQUIRE=all` (as `cargo xtask test` sets it once it has installed everything) it fails. A GPU or a terminal is what no
//! set-up installs: a test that needs one is never more than ignored.

pub mod counting;
pub mod data;
pub mod hidden;
pub mod jit_link;
pub mod judges;
pub mod own;
pub mod package;
pub mod published;
pub mod scratch;
pub mod side_by_side;
pub mod tools;
pub mod visit;

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use std::process::ExitCode;
use tools::Tool;

/// A test that needs some tools. It fails by panicking.
pub fn test(name: &str, needs: &'static [Tool], run: impl FnOnce() + Send + 'static) -> Trial {
    Trial::ignorable_test(name, move || {
        for tool in needs {
            if let Err(why) = tool.check() {
                return match tools::required() && tool.is_installable() {
                    true => {
                        Err(Failed::from(format!("needs {tool:?}: {why} (OFFLOAD_REQUIRE says that it must be there)")))
                    }
                    false => Ok(Completion::ignored_with(format!("needs {tool:?}: {why}"))),
                };
            }
        }
        run();
        Ok(Completion::Completed)
    })
}

/// The `main` of a test file.
pub fn run(tests: Vec<Trial>) -> ExitCode {
    libtest_mimic::run(&Arguments::from_args(), tests).exit_code()
}
