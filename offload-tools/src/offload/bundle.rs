//! `offload bundle`: a bundle from files.

use super::{Context, Error, Result};
use std::path::PathBuf;

/// Arguments of `offload bundle`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// An image and what it is for: gfx90a:xnack-=a.hsaco
    #[arg(required = true, value_name = "TARGET=FILE")]
    images: Vec<String>,
    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Compress it
    #[arg(long)]
    compress: bool,
}

/// Makes a bundle.
pub fn run(_args: &Args, _context: &Context) -> Result {
    Err(Error::text("bundle is not there yet"))
}
