//! The compressed bundle (`CCOB`): a bundle in a zlib or zstd stream.
