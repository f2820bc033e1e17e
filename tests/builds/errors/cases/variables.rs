//! Values of this project's own variables.

cases! {
    CASES:
    "skip-value" {OFFLOAD_SKIP: "yes"} => "OFFLOAD_SKIP is 'yes', but must be '1' or '0'";
    "jobs-value" {OFFLOAD_JOBS: "0"}
        => "OFFLOAD_JOBS is '0', but must be the number of compilers that may run at once";
    "prebuilt-value" {OFFLOAD_PREBUILT: "yes"}
        => "OFFLOAD_PREBUILT is 'yes', but must be 'update', 'signatures', 'only' or 'never'";
    "prebuilt-update-of-some" {OFFLOAD_PREBUILT: "update", OFFLOAD_ARCH: "gfx90a"}
        => "OFFLOAD_PREBUILT is 'update', but a prebuilt set is made for the targets in build.rs: \
            unset OFFLOAD_ARCH";
    "prebuilt-update-of-native" [.file("kernels/add.cu").default_archs(["native", "gfx90a"])] {OFFLOAD_PREBUILT: "update"}
        => PREBUILT_OF_THIS;
    "prebuilt-update-of-variables" [.file("kernels/add.cu")] {OFFLOAD_PREBUILT: "update", AMDGPU_TARGETS: "gfx90a"}
        => PREBUILT_OF_THIS;
    "prebuilt-update-in-dev" {OFFLOAD_PREBUILT_errors_build: "update"}
        => "OFFLOAD_PREBUILT_errors_build is 'update', but this build is not optimized, \
            as a prebuilt set must be: build with --release";
    "prebuilt-only" {OFFLOAD_PREBUILT: "only"}
        => "no image for gfx90a, compute_80: OFFLOAD_PREBUILT=only",
           "the package has no prebuilt set in prebuilt/";
    // A build that may use only the prebuilt set does not look for nvcc.
    "prebuilt-only-with-cuda" [.file("kernels/add.cu").compiler(Compiler::ClangCuda).archs(["compute_80"])]
        {OFFLOAD_PREBUILT: "only", NVCC: "/nowhere/nvcc"}
        => "no image for compute_80: OFFLOAD_PREBUILT=only",
           "the package has no prebuilt set in prebuilt/";
}

const PREBUILT_OF_THIS: &str = "OFFLOAD_PREBUILT is 'update', but a prebuilt set needs targets \
                                that build.rs lists, as in .archs([\"gfx90a\", \"sm_80\"]): \
                                'native' and variables such as CUDAARCHS mean different targets on \
                                different machines";
