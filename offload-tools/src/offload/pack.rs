//! `offload pack`: an offload binary from files.

use super::{Context, Error, Result};
use std::path::PathBuf;

/// Arguments of `offload pack`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// An image and what it is for: gfx90a=a.hsaco, sm_80=a.cubin
    #[arg(required = true, value_name = "TARGET=FILE")]
    images: Vec<String>,
    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Compress it
    #[arg(long)]
    compress: bool,
}

/// Makes an offload binary.
pub fn run(_args: &Args, _context: &Context) -> Result {
    Err(Error::text("pack is not there yet"))
}
