//! Reads NVIDIA's fatbins.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| offload_tests::visit::nv_fatbin(data));
