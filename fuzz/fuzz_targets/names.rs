//! Reads triples, target IDs, entry IDs, device names.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| offload_tests::visit::names(data));
