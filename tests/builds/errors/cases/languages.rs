//! Languages, and sources that already are or contain images.

cases! {
    CASES:
    "language-of-others" [.modules(["kernels/open.cl"]).archs(["gfx90a", "cpu"])]
        => "kernels/open.cl is OpenCL C, which cannot be built for cpu. If the source is only for \
            other targets, declare them: Source::new(\"kernels/open.cl\").supports([\"amd\", \
            \"nvidia\"])";
    "opencl-library" [.file("kernels/open.cl").archs(["gfx90a"])]
        => "ld.lld: error: undefined hidden symbol: sin(float)";
    "ready-made-linked" [.files(["kernels/add.cu", "kernels/text.ptx"]).archs(["compute_80"])]
        => "for compute_80, kernels/text.ptx of the module \"ready-made-linked\" is PTX, which \
            cannot be linked with kernels/add.cu: make kernels/text.ptx a separate module";
    "assembly-linked" [.files(["kernels/add.cu", "kernels/add.s"]).archs(["gfx90a"])]
        => "for gfx90a, kernels/add.s of the module \"assembly-linked\" is AMD assembly with \
            kernels, which cannot be linked with kernels/add.cu: ";
    "ready-made-for-others" [.modules(["kernels/text.ptx"]).archs(["compute_90", "sm_75", "gfx90a"])]
        => "no target is left for the module \"text\": kernels/text.ptx is PTX for compute_80, \
            which compiles only for sm_80 and later. The targets are compute_90, sm_75, \
            gfx90a.";
    "no-image" [.file("kernels/noise.hsaco").archs(["gfx90a"])]
        => "kernels/noise.hsaco contains no image that can be used unchanged, only data that \
            cannot be parsed as an image (";
    "shader" [.file("kernels/shader.spv").archs(["spirv64"])]
        => "kernels/shader.spv contains no image that can be used unchanged, only a file that is \
            SPIR-V without the capability Kernel, for example a Vulkan shader";
    "big-endian" [.file("kernels/big_endian.spv").archs(["spirv64"])]
        => "only a file that is big-endian SPIR-V, but drivers accept only little-endian SPIR-V";
    "opencl-spirv" [.file("kernels/opencl.spv").archs(["spirv64"])]
        => "only a file that is SPIR-V whose kernel k does not require sub-groups of 32 \
             lanes: compile it with offload-build's header";
    "cut-bundle" [.file("kernels/cut.hipfb").archs(["gfx90a"])]
        => "the source kernels/cut.hipfb cannot be split into images: bundle entry count: 8 bytes needed";
    "compressed-bundle-without-feature" [.file("kernels/compressed.hipfb").archs(["gfx90a"])]
        => "the source kernels/compressed.hipfb cannot be split into images: to read what it \
             contains (compressed bundle), enable the feature `containers` of offload-build:\n",
           "  offload-build = { version = \"0.1\", features = [\"containers\"] }";
    "no-ptx" [.file("kernels/noise.ptx").archs(["compute_80"])]
        => "the source kernels/noise.ptx is not PTX: ";
    "ir-of-a-cpu" [.file("kernels/host.ll").archs(["gfx90a"])]
        => "the source kernels/host.ll has the target triple x86_64-unknown-linux-gnu, but the \
            triples of GPUs are ";
}

cases! {
    /// Cases with the `containers` feature.
    CONTAINER_CASES:
    "compressed-without-feature" [.file("kernels/compressed.hipfb").archs(["gfx90a"])]
        => "the source kernels/compressed.hipfb cannot be split into images: ",
           "to read it, enable the feature `compression` of offload-build";
}
