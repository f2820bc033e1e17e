//! Reads an image's header, its kernels, and the variants of SPIR-V that drivers compile.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    offload_tests::visit::image(data);
    offload_tests::visit::spirv(data);
});
