//! Extracts the device code for two targets from an archive's members, writes an archive for each
//! target, and reads the new archives.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| offload_tests::visit::device_archive(data));
