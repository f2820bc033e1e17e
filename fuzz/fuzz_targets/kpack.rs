//! Reads a kernel pack, a reference to some, and a manifest of some.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| offload_tests::visit::kpack(data));
