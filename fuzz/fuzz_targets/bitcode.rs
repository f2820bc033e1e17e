//! Reads the symbols of LLVM bitcode.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| offload_tests::visit::bitcode(data));
