//! Compression methods, and decompression that stops where the caller has what it wants.
