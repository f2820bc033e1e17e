//! Makes archives of the device code for two targets from the members of an archive, and reads
//! them.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| offload_tests::visit::device_archive(data));
