//! Kernels in Rust from another compiler, such as cuda-oxide, as PTX and as cubins for several
//! architectures.

use offload_tests::prelude::*;

const MAIN: &str = "use offload_gpu::run::{Buffer, Device};\n\nmod kernels {\n    \
                    offload_gpu::include_kernels!(\"pack\", extern {\n        \
                    fn saxpy(n: usize, a: f32, x: *const f32, y: *mut f32);\n    });\n}\n\n\
                    #[expect(dead_code)]\n\
                    fn launch(gpu: &Device, x: &Buffer<f32>, y: &mut Buffer<f32>) {\n    \
                    unsafe { kernels::saxpy(1_usize, 2.0, x, y).launch(gpu, 1, 1).unwrap() };\n}\n\n\
                    fn main() {\n    for image in kernels::PACK.images() {\n        \
                    println!(\"{} {}\", image.target(), image.origin());\n    }\n}\n";

#[test(needs(&[Tool::Cuda, Tool::Gcc]).slow())]
fn ptx_and_cubins_of_another_compiler() {
    let scenario = Scenario::without_sources("rust_other_compilers");
    // rustc generated this PTX.
    let ptx = workspace().join("examples/rust-kernels/prebuilt/kernels.compute_80.ptx");
    scenario.write("kernels/kernels.ptx", read(ptx)).write("src/main.rs", MAIN).pack(
        "pack",
        ".file(Source::new(\"kernels/kernels.ptx\").supports([\"compute_80\"]))\
             .files([\"kernels/sm_80.cubin\", \"kernels/sm_90.cubin\"])\
             .archs([\"compute_80\", \"sm_80\", \"sm_90\"])",
    );
    for target in ["sm_80", "sm_90"] {
        let options = format!("-arch={target} kernels.ptx -o {target}.cubin");
        run(cuda("ptxas"), &scenario.folder.join("kernels"), &options);
    }
    // Nothing may be compiled.
    let build =
        || scenario.build().env("OFFLOAD_CLANG", "/no/clang").env("OFFLOAD_RUSTC", "/no/rustc");
    build().passes();
    let ran = scenario.start("debug").passes();
    ran.has("compute_80 supplied\nsm_80 supplied\nsm_90 supplied\n");

    // PTX contains the parameters' types, but cubins contain only their sizes. The build must
    // compare both with the declaration.
    for (from, to, message) in [
        (
            "a: f32",
            "a: f64",
            "is declared as `f64` (8 bytes), but in the image for compute_80 it is",
        ),
        ("n: usize, ", "", "saxpy"),
        ("fn saxpy(", "fn saxpi(", "saxpi"),
    ] {
        scenario.write("src/main.rs", MAIN.replacen(from, to, 1));
        build().fails().has(message);
    }

    // PTX also serves later GPUs.
    scenario
        .write("src/main.rs", MAIN)
        .pack("pack", ".file(\"kernels/kernels.ptx\").archs([\"compute_80\", \"sm_90\"])");
    build().passes();
    scenario.start("debug").passes().has("sm_90 compiled\n");
}
