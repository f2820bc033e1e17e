//! `newcomer`: the first two days of a user, on a minimal Debian 12 that contains only this
//! machine's Rust. Scripts follow README and guide, paste the commands that messages print, and
//! report the time of each step.

use crate::run::{self, Failure, Result};
use std::process::Command;

/// Runs `cargo xtask newcomer`.
pub fn command(args: &[String]) -> Result {
    if let Some(other) = args.first() {
        return Err(Failure::Usage(format!("`newcomer` does not know `{other}`")));
    }
    let mut days = Command::new("unshare");
    days.args(["--mount", "bash", "xtask/src/newcomer/system.sh"]).current_dir(run::workspace());
    run::check(&mut days)
}
