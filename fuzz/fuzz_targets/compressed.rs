//! Reads compressed bundles, alone and in a row.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| offload_tests::visit::compressed(data));
