//! Reads the bundle in a host object, removes it, and reads the remaining object.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| offload_tests::visit::object_bundle(data));
