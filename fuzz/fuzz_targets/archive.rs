//! Reads an archive and its symbols.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| offload_tests::visit::archive(data));
