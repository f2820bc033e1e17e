//! Reads a compressed bundle, and several consecutive ones.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| offload_tests::visit::compressed(data));
