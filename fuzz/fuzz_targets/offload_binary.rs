//! Reads offload binaries of all versions.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| offload_tests::visit::offload_binary(data));
