//! Reads the header of an image, and its kernels.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| offload_tests::visit::image(data));
