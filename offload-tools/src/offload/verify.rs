//! `offload verify`: all that can be checked.

use super::{Context, Error, Result};
use std::path::PathBuf;

/// Arguments of `offload verify`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Files of any kind
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// Checks all that can be checked.
pub fn run(_args: &Args, _context: &Context) -> Result {
    Err(Error::text("verify is not there yet"))
}
