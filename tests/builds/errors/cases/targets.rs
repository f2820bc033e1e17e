//! Names of targets, lists of targets, and the variables that contain such lists. `mistakes.txt`
//! contains more messages.

cases! {
    CASES:
    // Names.
    "unknown-ptx" [.file("kernels/add.cu").archs(["compute_999"])]
        => "no image for compute_999: {clang} rejects this target",
           "error: unsupported CUDA gpu architecture: sm_999";
    "feature" [.file("kernels/add.cu").archs(["gfx1100:xnack+"])]
        => "the target 'gfx1100:xnack+' (from build.rs) names the feature 'xnack', which gfx1100 does not have";
    "no-sign" [.file("kernels/add.cu").archs(["gfx90a:xnack"])]
        => "a target from build.rs: 'gfx90a:xnack': expected a feature name followed \
            by '+' or '-', such as 'xnack-'";
    "short" [.file("kernels/add.cu").archs(["sm_9"])]
        => "a target from build.rs: 'sm_9': expected a compute capability such as 80, 90a or 121";
    "product" [.file("kernels/add.cu").archs(["gfx90a", "h100"])]
        => "a target from build.rs: 'h100': not a target: ",
           "H100 is a product: write its target, \"sm_90\", instead";
    "spirv" [.file("kernels/add.cu").archs(["amdgcnspirv"])]
        => "the target 'amdgcnspirv' (from build.rs) is SPIR-V for AMD, which this version of \
            offload-build cannot generate";
    "malformed-variable" {OFFLOAD_ARCH: "cpu,gpu"}
        => "a target from OFFLOAD_ARCH: 'gpu': not a target";
    "malformed-own-variable" {OFFLOAD_ARCH_errors_build: "host", OFFLOAD_ARCH: "cpu"}
        => "a target from OFFLOAD_ARCH_errors_build: 'host': not a target";
    // Lists.
    "conflict" [.file("kernels/add.cu").archs(["gfx90a", "cpu", "gfx90a:xnack+"])]
        => "the targets 'gfx90a' and 'gfx90a:xnack+' (from build.rs) cannot be built together: \
            some devices match both",
           "such as 'gfx90a:xnack+' and 'gfx90a:xnack-'";
    "generic-version" [.file("kernels/add.cu").code_object_version(5).archs(["gfx11-generic"])]
        => "the target 'gfx11-generic' (from build.rs) needs code object version 6, but build.rs \
             requests 5";
    "no-targets-of-nvidia" [.file("kernels/add.cu").supports(["nvidia"])] {AMDGPU_TARGETS: "gfx90a"}
        => "no targets: build.rs lists none, OFFLOAD_ARCH is not set, and AMDGPU_TARGETS is \
             'gfx90a', which lists GPUs of a different vendor. List targets in build.rs, as in \
             .archs([\"sm_80\", \"compute_80\"]), or set OFFLOAD_ARCH=\"sm_80;compute_80\" or \
             CUDA_COMPUTE_CAP=80 (the pack \"no-targets-of-nvidia\" is for nvidia alone: build.rs \
             calls .supports([\"nvidia\"])). The GPUs of this machine are detected only";
    "no-targets-of-amd" [.file(Source::new("kernels/add.cu").supports(["amd"]))]
        => "neither OFFLOAD_ARCH nor a variable such as AMDGPU_TARGETS or HIPARCHS is set. List \
             targets in build.rs, as in .archs([\"gfx90a\", \"gfx1100\"])",
           "is for amd alone: all of its sources are for amd)";
    "offload-arch-of-another-vendor" [.file("kernels/text.ptx").archs(["compute_80"])] {OFFLOAD_ARCH: "gfx90a;cpu"}
        => "OFFLOAD_ARCH lists gfx90a, cpu, but the pack \"offload-arch-of-another-vendor\" is \
             for nvidia alone: all of its sources are for nvidia.\nAdd a target such as sm_80, or \
             set OFFLOAD_ARCH_errors_build=sm_80, which applies only to this package. Without \
             OFFLOAD_ARCH, the list in build.rs applies.";
    "empty-list" {OFFLOAD_ARCH: " ; "} => "no targets: OFFLOAD_ARCH is an empty list";
    "number" [.file("kernels/add.cu").archs(["80-virtual"])]
        => "a target from build.rs: '80-virtual': not a target", "write compute_80";
    "torchs-words" {OFFLOAD_ARCH: "9.0+PTX"} => "write sm_90 and compute_90";
    // Variables of other programs.
    "bad-cmake" [.file("kernels/add.cu")] {CUDAARCHS: "80;9x-real"}
        => "CUDAARCHS is '80;9x-real', but '9x-real' is invalid: list values of CMake's \
            CUDA_ARCHITECTURES: 80, ";
    "bad-torch" [.file("kernels/add.cu")] {TORCH_CUDA_ARCH_LIST: "8.0 Ampere"}
        => "TORCH_CUDA_ARCH_LIST is '8.0 Ampere', but 'Ampere' is invalid", "write numbers";
    "bad-cap" [.file("kernels/add.cu")] {CUDA_COMPUTE_CAP: "80-real"}
        => "CUDA_COMPUTE_CAP is '80-real', but '80-real' is invalid: list compute capabilities \
            such as 80, 90a or 8.6";
    "bad-amd-list" [.file("kernels/add.cu")] {AMDGPU_TARGETS: "gfx90a;all"}
        => "AMDGPU_TARGETS is 'gfx90a;all', but 'all' is invalid: list AMD target IDs";
    "off" [.file("kernels/add.cu")] {CUDAARCHS: "OFF"}
        => "no targets: build.rs lists none, OFFLOAD_ARCH is not set, and CUDAARCHS is 'OFF'";
    "unknown-in-variable" [.file("kernels/add.cu")] {CUDAARCHS: "999-real", AMDGPU_TARGETS: "gfx9999"}
        => "no image for sm_999: {clang} rejects this target", "no image for gfx9999: {clang} \
            rejects this target";
}
