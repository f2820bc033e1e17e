//! Reads a bundle and its entry table.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| offload_tests::visit::bundle(data));
