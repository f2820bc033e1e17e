//! Reads compressed bundles, one alone and several in sequence.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| offload_tests::visit::compressed(data));
