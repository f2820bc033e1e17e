//! Reads the header of an image, its kernels, and the forms of SPIR-V that drivers compile.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    offload_tests::visit::image(data);
    offload_tests::visit::spirv(data);
});
