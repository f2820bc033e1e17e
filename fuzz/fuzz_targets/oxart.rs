//! Reads bundles of cuda-oxide.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| offload_tests::visit::oxart(data));
