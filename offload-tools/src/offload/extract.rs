//! `offload extract`: images to files.

use super::{Context, Error, Result};
use std::path::PathBuf;

/// Arguments of `offload extract`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A file of any kind
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Writes images to files.
pub fn run(_args: &Args, _context: &Context) -> Result {
    Err(Error::text("extract is not there yet"))
}
