//! Decompresses whole files.

use flate2::bufread::GzDecoder;
use std::io::{self, Read};

/// The compression of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Codec {
    Gzip,
    Xz,
    Zstd,
}

/// The maximum memory for xz's window, in KiB. `xz -9` needs 64 MiB; without a limit, a malformed
/// file could request 4 GiB.
const XZ_MEMORY: u32 = 512 * 1024;

/// The first bytes of each gzip member: the magic number, and the number of the only compression
/// method.
const GZIP_MAGIC: &[u8] = b"\x1f\x8b\x08";

impl Codec {
    /// Detects the compression from the first bytes.
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        let starts: [(&[u8], Self); 3] = [
            (GZIP_MAGIC, Codec::Gzip),
            (b"\xfd7zXZ\0", Codec::Xz),
            (b"\x28\xb5\x2f\xfd", Codec::Zstd),
        ];
        starts.into_iter().find(|(start, _)| bytes.starts_with(start)).map(|(_, codec)| codec)
    }

    /// Returns the name of the compression, and the extension of compressed files.
    pub(super) fn names(self) -> (&'static str, &'static str) {
        match self {
            Codec::Gzip => ("gzip", "gz"),
            Codec::Xz => ("xz", "xz"),
            Codec::Zstd => ("zstd", "zst"),
        }
    }

    /// Returns a reader that decompresses the bytes.
    pub(super) fn reader<'a>(self, bytes: &'a [u8]) -> Box<dyn Read + 'a> {
        match self {
            Codec::Gzip => Box::new(Gzip(GzDecoder::new(bytes))),
            Codec::Xz => Box::new(lzma_rust2::XzReader::new_mem_limit(bytes, true, XZ_MEMORY)),
            Codec::Zstd => {
                let decoder = zstd::stream::read::Decoder::with_buffer(bytes);
                Box::new(decoder.expect("there is memory for a decoder"))
            }
        }
    }

    /// Returns the first `size` decompressed bytes, or fewer if the data ends or is damaged.
    pub(super) fn start(self, bytes: &[u8], size: usize) -> Vec<u8> {
        let mut start = Vec::new();
        // Keep the bytes before an error.
        let _ = self.reader(bytes).take(size as u64).read_to_end(&mut start);
        start
    }
}

/// A reader for gzip files that concatenates the contents of members. As in gzip 1.12, zeros after
/// a member are padding, and other bytes are an error.
struct Gzip<'a>(GzDecoder<&'a [u8]>);

impl Read for Gzip<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.0.read(out)?;
            // Compressed data may also contain many zeros, so count zeros only after a member.
            if count > 0 || out.is_empty() {
                return Ok(count);
            }
            let rest = *self.0.get_ref();
            let zeros = rest.iter().take_while(|byte| **byte == 0).count();
            if zeros == rest.len() {
                return Ok(0);
            }
            let rest = &rest[zeros..];
            if !rest.starts_with(GZIP_MAGIC) {
                let text = format!("the last {} bytes are not in gzip format", rest.len());
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
            self.0 = GzDecoder::new(rest);
        }
    }
}
