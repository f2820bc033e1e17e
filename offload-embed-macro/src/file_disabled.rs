//! Replaces the module `file` if the `files` feature is off. Its function returns an error that
//! names the feature.

use crate::expand::Embedded;
use crate::feature;
use crate::input::Options;
use syn::{Error, LitStr, Result};

pub(crate) fn embedded(path: &LitStr, _: &Options) -> Result<Embedded> {
    let message =
        "embedding files by their paths needs the feature `files` of offload-gpu. In Cargo.toml: ";
    Err(Error::new(path.span(), message.to_owned() + &feature::line("files")))
}
