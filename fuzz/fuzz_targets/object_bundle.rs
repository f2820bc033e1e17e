//! Reads an object bundle, and the host object without it.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| offload_tests::visit::object_bundle(data));
