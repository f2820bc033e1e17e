//! `offload ls`: what is in files.

use super::{Context, Error, Result};
use std::path::PathBuf;

/// Arguments of `offload ls`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Files of any kind
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Show the kernels of each image too
    #[arg(short, long)]
    kernels: bool,
    /// Show sizes and offsets in bytes
    #[arg(short, long)]
    bytes: bool,
    /// Print JSON
    #[arg(long, conflicts_with_all = ["kernels", "bytes"])]
    json: bool,
}

/// Lists what is in files.
pub fn run(_args: &Args, _context: &Context) -> Result {
    Err(Error::text("ls is not there yet"))
}
