//! Replaces a compression method that is not built in. The functions return errors, so no other
//! code needs to test for the features.

use super::{Context, Method, Step};
use crate::{Error, ErrorKind, Result};
#[cfg(feature = "packs")]
use alloc::vec::Vec;

/// The uninhabited stream type of a method that is not built in.
pub(super) enum Stream {}

impl Stream {
    pub(super) fn new(_limit: u64, context: Context) -> Result<Self> {
        Err(refusal(context))
    }

    pub(super) fn step(
        &mut self,
        _input: &[u8],
        _out: &mut [u8],
        _context: Context,
    ) -> Result<Step> {
        match *self {}
    }
}

#[cfg(feature = "packs")]
pub(super) fn decompress(
    _input: &[u8],
    _out: &mut Vec<u8>,
    _limit: u64,
    context: Context,
) -> Result<()> {
    Err(refusal(context))
}

#[cfg(feature = "packs")]
pub(super) fn compress(_level: Option<i32>, _input: &[u8], context: Context) -> Result<Vec<u8>> {
    Err(refusal(context))
}

#[cfg(all(feature = "object", not(feature = "zstd")))]
pub(super) fn frame(_input: &[u8], context: Context) -> Result<(u64, Option<u64>)> {
    Err(refusal(context))
}

fn refusal(context: Context) -> Error {
    let feature = match context.method {
        Method::Zlib => "zlib",
        Method::Zstd => "zstd",
    };
    Error::new(ErrorKind::NotBuiltIn { feature }, context.what, context.at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn the_feature_is_named() {
        for (method, feature) in [(Method::Zlib, "zlib"), (Method::Zstd, "zstd")] {
            let context = Context { method, what: "compressed bundle", at: 24 };
            let error = refusal(context);
            assert_eq!((error.kind(), error.offset()), (ErrorKind::NotBuiltIn { feature }, 24));
            let text = alloc::format!(
                "compressed bundle (at offset 24) is compressed with {feature}, which is not built in: enable the feature \
                 `{feature}` of offload-gpu, or of offload-format if you use only that crate"
            );
            assert_eq!(error.to_string(), text);
        }
    }
}
