//! Reads a text bundle with each comment leader.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| offload_tests::visit::text_bundle(data));
