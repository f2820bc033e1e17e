//! Output of `-verbose` about compressed bundles, to standard error.

use crate::compress::Compressed;
use crate::text::grouped;
use offload_format::compressed::{CompressOptions, CompressedBundle, hash};
use offload_format::compression::Method;
use std::time::Duration;

/// Prints the sizes, time and method of a compression.
pub(super) fn compressed(options: &CompressOptions, compressed: &Compressed) {
    let version = options.version.number();
    let level = options.level.unwrap_or(match options.method {
        Method::Zlib => 6,
        Method::Zstd => 3,
    });
    eprintln!("Compressed bundle format version: {version}");
    let (size, payload) = (compressed.size, compressed.payload.len() as u64);
    eprintln!("Total file size (including headers): {} bytes", grouped(compressed.total_size()));
    eprintln!("Compression method used: {}", options.method);
    eprintln!("Compression level: {level}");
    eprintln!("Binary size before compression: {} bytes", grouped(size));
    eprintln!("Binary size after compression: {} bytes", grouped(payload));
    rates(size, payload);
    eprintln!("Compression speed: {} MB/s", speed(size, compressed.took));
    eprintln!("Truncated MD5 hash: {:#016x}", compressed.hash);
}

/// Prints the sizes, time, method and hashes of a decompression; `bundle` is the decompressed
/// bundle.
pub(super) fn decompressed(compressed: &CompressedBundle<'_>, bundle: &[u8], took: Duration) {
    let (size, payload) = (bundle.len() as u64, compressed.payload.len() as u64);
    let recalculated = hash(bundle);
    eprintln!("Compressed bundle format version: {}", compressed.version);
    if let Some(total) = compressed.total_size {
        eprintln!("Total file size (from header): {} bytes", grouped(total));
    }
    eprintln!(
        "Decompression method: {}",
        compressed.method().map_or("unknown".to_owned(), |it| it.to_string())
    );
    eprintln!("Size before decompression: {} bytes", grouped(payload));
    eprintln!("Size after decompression: {} bytes", grouped(size));
    rates(size, payload);
    eprintln!("Decompression speed: {} MB/s", speed(size, took));
    eprintln!("Stored hash: {:#016x}", compressed.hash);
    eprintln!("Recalculated hash: {recalculated:#016x}");
    eprintln!("Hashes match: {}", if recalculated == compressed.hash { "Yes" } else { "No" });
}

/// Prints that nothing had to be decompressed.
pub(super) fn uncompressed() {
    eprintln!("Uncompressed bundle.");
}

fn rates(size: u64, payload: u64) {
    let (size, payload) = (size as f64, payload as f64);
    eprintln!("Compression rate: {:.2}", size / payload);
    eprintln!("Compression ratio: {:.2}%", payload / size * 100.0);
}

fn speed(size: u64, took: Duration) -> String {
    format!("{:.2}", size as f64 / f64::from(1 << 20) / took.as_secs_f64())
}
