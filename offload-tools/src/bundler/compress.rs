//! Compressed bundles that are written.

use super::settings::Settings;
use super::{Failure, verbose, write};
use crate::files::{Source, os_message, read_layout};
use offload_format::compressed::{CompressOptions, hash, header};
use offload_format::compression::compress;
use offload_format::layout::Layout;
use std::ffi::OsStr;
use std::io::Write;
use std::thread;
use std::time::Instant;

/// Writes a bundle compressed.
pub(super) fn write_compressed(
    layout: &Layout,
    sources: &[Source<'_>],
    options: &CompressOptions,
    settings: &Settings,
    output: &OsStr,
) -> Result<(), Failure> {
    let bundle = read_layout(layout, sources).map_err(|error| Failure::new(os_message(&error)))?;
    let begun = Instant::now();
    // Both go through the whole bundle, one beside the other.
    let (payload, hash) = thread::scope(|scope| {
        let hash = scope.spawn(|| hash(&bundle));
        (compress(options.method, options.level, &bundle), hash.join())
    });
    let hash = hash.expect("hashing does not panic");
    let size = bundle.len() as u64;
    let failed = |error: offload_format::Error| Failure::new(error.to_string());
    let payload = payload.map_err(failed)?;
    drop(bundle);
    let header = header(options, size, payload.len() as u64, hash).map_err(failed)?;
    if settings.verbose {
        let total = (header.len() + payload.len()) as u64;
        verbose::compressed(options, size, total, payload.len() as u64, hash, begun.elapsed());
    }
    write(output, |file| {
        let written = file.write_all(&header).and_then(|()| file.write_all(&payload));
        written.map_err(|error| Failure::of_file(output, &error))
    })
}
