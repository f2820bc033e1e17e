//! `offload select`: which image a device gets, and why not the others.

use super::{Context, Error, Result};
use std::path::PathBuf;

/// Arguments of `offload select`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A file of any kind
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// A device: gfx90a:xnack-, sm_90, cpu
    #[arg(short, long, value_name = "DEVICE")]
    device: String,
    /// Print the chosen image as `ls --json` describes it, or null
    #[arg(long)]
    json: bool,
}

/// Shows which image a device gets.
pub fn run(_args: &Args, _context: &Context) -> Result {
    Err(Error::text("select is not there yet"))
}
