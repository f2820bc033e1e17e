//! Reads device code anywhere in a file, and wrappers.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| offload_tests::visit::fat_file(data));
