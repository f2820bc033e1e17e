//! What stands in for a method that is not built in.

use super::{Context, Step};
use crate::{Error, ErrorKind, Result};
use alloc::vec::Vec;

/// There is none.
pub(super) enum Stream {}

impl Stream {
    pub(super) fn new(_limit: u64, context: Context) -> Result<Self> {
        Err(refusal(context))
    }

    pub(super) fn step(&mut self, _input: &[u8], _out: &mut [u8], _context: Context) -> Result<Step> {
        match *self {}
    }
}

pub(super) fn decompress(_input: &[u8], _out: &mut Vec<u8>, _limit: u64, context: Context) -> Result<()> {
    Err(refusal(context))
}

pub(super) fn compress(_level: Option<i32>, _input: &[u8], context: Context) -> Result<Vec<u8>> {
    Err(refusal(context))
}

fn refusal(context: Context) -> Error {
    let method = context.method.number().into();
    Error::new(ErrorKind::UnsupportedCompression { method }, context.what, context.at)
}
