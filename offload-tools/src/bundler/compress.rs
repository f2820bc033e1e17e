//! Compressed bundles that are written.

use super::settings::Settings;
use super::{Failure, verbose, write};
use crate::files::{Input, Source};
use offload_format::compressed::{CompressOptions, CompressedBundle, compress};
use offload_format::layout::Layout;
use std::ffi::OsStr;
use std::time::Instant;

/// Writes a bundle compressed.
pub(super) fn write_compressed(
    layout: &Layout,
    sources: &[Source<'_>],
    options: &CompressOptions,
    settings: &Settings,
    output: &OsStr,
) -> Result<(), Failure> {
    let payloads: Vec<&[u8]> = sources.iter().map(|source| bytes(source)).collect();
    let bundle = layout.to_vec(&payloads);
    let begun = Instant::now();
    let compressed = compress(&bundle, options).map_err(|error| Failure::new(error.to_string()))?;
    if settings.verbose {
        let written = CompressedBundle::parse(&compressed).expect("it was just written");
        let payload = written.payload().len() as u64;
        verbose::compressed(options, layout.size(), compressed.len() as u64, payload, written.hash(), begun.elapsed());
    }
    write(output, |file| file.copy(&Source::Bytes(&compressed)).map_err(|error| Failure::of_file(output, &error)))
}

fn bytes<'a>(source: &Source<'a>) -> &'a [u8] {
    match source {
        Source::Bytes(bytes) => bytes,
        Source::File(input) => Input::bytes(input),
        Source::Part(input, range) => &input.bytes()[range.start as usize..range.end as usize],
    }
}
