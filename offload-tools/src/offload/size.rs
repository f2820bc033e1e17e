//! `offload size`: what takes how much space.

use super::{Context, Error, Result};
use std::path::PathBuf;

/// Arguments of `offload size`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A file of any kind
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Write a page with a treemap
    #[arg(long, value_name = "OUT")]
    html: Option<PathBuf>,
}

/// Shows what takes how much space.
pub fn run(_args: &Args, _context: &Context) -> Result {
    Err(Error::text("size is not there yet"))
}
