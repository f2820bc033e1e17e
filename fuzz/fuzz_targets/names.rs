//! Reads each line of a text as a triple, a target ID, an entry ID, and a device name.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| offload_tests::visit::names(data));
