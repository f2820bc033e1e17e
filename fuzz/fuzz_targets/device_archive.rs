//! Makes archives of the device code for two targets from an archive's members, and reads them.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| offload_tests::visit::device_archive(data));
