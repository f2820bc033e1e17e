//! Finds and reads the device code and the wrappers in a file of any kind.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| offload_tests::visit::fat_file(data));
