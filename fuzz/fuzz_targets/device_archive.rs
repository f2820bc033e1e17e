//! Reads an archive for one target.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| offload_tests::visit::device_archive(data));
