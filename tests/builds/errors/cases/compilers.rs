//! Compilers that refuse a target or a source, and missing compilers.

cases! {
    CASES:
    // Compilers that refuse a source.
    "bad-amd" [.file("kernels/bad.cu").archs(["gfx90a"])] tool
        => "kernels/bad.cu:4:19: error: use of undeclared identifier 'undeclared'",
           "generated when compiling for gfx90a.";
    "bad-ptx" [.files(["kernels/add.cu", "kernels/bad.cu"]).archs(["compute_80"])] tool
        => "kernels/bad.cu:4:19: error: use of undeclared identifier 'undeclared'",
           "generated when compiling for sm_80.";
    "bad-cpu" [.file("kernels/bad.cu").archs(["cpu"])] tool
        => "kernels/bad.cu:4:19: error: use of undeclared identifier 'undeclared'";
    "bad-option" [.file("kernels/add.cu").flag("-DBROKEN").archs(["gfx90a", "compute_80", "cpu"])] tool
        => "kernels/add.cu:7:2: error: ";
    "name-of-c-cpu" [.file("kernels/log.cu").archs(["cpu"])]
        => "error: conflicting types for 'log'",
           "Rename the kernel, or remove `extern \"C\"`: programs still call the kernel by the same name";
    // A function that no file defines.
    "undefined-amd" [.file("kernels/open.cu").archs(["gfx90a"])]
        => "ld.lld: error: undefined hidden symbol: twice";
    "undefined-ptx" [.file("kernels/open.cu").archs(["compute_80"])] => "twice";
    "undefined-spirv" [.file("kernels/open.cu").archs(["spirv64"])]
        => "the kernels call a function that no source defines: _Z5twicef";
    "undefined-cpu" [.file("kernels/open.cu").opt_level(0).archs(["cpu"])] {CXX: "g++"}
        => "undefined reference to `twice(float)'";
    // A static variable that all images of a program would share.
    "unique-cpu" [.file("kernels/unique.cu").flag("-fgnu-unique").archs(["cpu"])] {CXX: "g++"}
        => "all images of a program would share the symbol _ZZ4lastIiEvPT_E4kept",
           "add -fno-gnu-unique";
    // Variables that name a missing compiler.
    "no-such-clang" {OFFLOAD_CLANG: "/nowhere/clang"}
        => "OFFLOAD_CLANG names /nowhere/clang, which cannot be used: there is no such file";
    "no-such-ptxas" {OFFLOAD_PTXAS: "/nowhere/ptxas", OFFLOAD_ARCH: "sm_80"}
        => "OFFLOAD_PTXAS names /nowhere/ptxas, which cannot be used: there is no such file";
    "no-such-cxx" {CXX: "/nowhere/c++", OFFLOAD_ARCH: "cpu"}
        => "no image for cpu: this target needs a C++ compiler for ",
           "install a C++ compiler",
           "or name one in CXX";
}

cases! {
    /// Cases that need ptxas.
    PTXAS_CASES:
    "unknown-cubin" [.file("kernels/add.cu").archs(["compute_80", "sm_999"])]
        => "no image for sm_999: {clang} rejects this target",
           "clang: error: unsupported CUDA gpu architecture: sm_999";
    // clang 22 still supports sm_70, but ptxas 13 does not.
    "forgotten-cubin" [.file("kernels/add.cu").archs(["compute_80", "sm_70"])]
        => "no image for sm_70: {ptxas} rejects this target",
           "ptxas fatal   : Value 'sm_70' is not defined for option 'gpu-name'";
    "undefined-cubin" [.file("kernels/open.cu").archs(["sm_80"])] tool
        => "ptxas fatal   : Unresolved extern function '_Z5twicef'";
    "flag-of-ptx" [.file("kernels/text.ptx").flag("--such-a-flag").archs(["sm_80"])] tool
        => "ptxas fatal   : Unknown option '-such-a-flag'";
}
