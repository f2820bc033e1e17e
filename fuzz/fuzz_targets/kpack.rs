//! Reads a kernel pack, a reference to kernel packs, and a manifest of kernel packs.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| offload_tests::visit::kpack(data));
