//! Compression of bundles in memory.

use crate::files::{PayloadSource, os_message, read_layout};
use offload_format::compressed::{CompressOptions, hash, header};
use offload_format::compression;
use offload_format::layout::Layout;
use std::io::{self, Write};
use std::thread;
use std::time::{Duration, Instant};

/// A compressed bundle in memory; the uncompressed bundle is not kept.
#[derive(Debug)]
pub struct Compressed {
    header: Vec<u8>,
    /// The compressed bytes, without the header.
    pub payload: Vec<u8>,
    /// Size in bytes before compression.
    pub size: u64,
    /// The part of the bundle's MD5 digest that the header stores.
    pub hash: u64,
    /// How long the compression took.
    pub took: Duration,
}

impl Compressed {
    /// Compresses the bundle that a layout describes; `payloads[index]` is the source of the
    /// payload with this index.
    ///
    /// Returns a message if the payloads cannot be read, or if version 2 of the header is requested
    /// but cannot store a size.
    ///
    /// # Panics
    /// Panics if a payload is missing or its size differs from that in the layout.
    pub fn new(
        layout: &Layout,
        payloads: &[PayloadSource<'_>],
        options: &CompressOptions,
    ) -> Result<Self, String> {
        let bundle = read_layout(layout, payloads).map_err(|error| os_message(&error))?;
        let begun = Instant::now();
        let (size, failed) =
            (bundle.len() as u64, |error: offload_format::Error| error.to_string());
        // If the bundle is too large, return an error before the slow work.
        header(options, size, 0, 0).map_err(failed)?;
        // Compression and hashing each read the whole bundle, so run them in parallel.
        let (payload, hash) = thread::scope(|scope| {
            let hash = scope.spawn(|| hash(&bundle));
            (compression::compress(options.method, options.level, &bundle), hash.join())
        });
        let hash = hash.expect("hashing does not panic");
        let payload = payload.map_err(failed)?;
        let header = header(options, size, payload.len() as u64, hash).map_err(failed)?;
        Ok(Self { header, payload, size, hash, took: begun.elapsed() })
    }

    /// Returns the size in bytes of the compressed bundle, including the header.
    pub fn total_size(&self) -> u64 {
        (self.header.len() + self.payload.len()) as u64
    }

    pub fn write_to(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.header)?;
        out.write_all(&self.payload)
    }
}
