//! Compilers that refuse a target or a source, and compilers that are not there.

use super::{Case, fails, fails_with_env, tool_fails};

pub const CASES: &[Case] = &[
    // Compilers that refuse a source.
    tool_fails(
        "bad-amd",
        r#".file("kernels/bad.cu").archs(["gfx90a"])"#,
        &[
            "kernels/bad.cu:4:19: error: use of undeclared identifier 'undeclared'",
            "generated when compiling for gfx90a.",
        ],
    ),
    tool_fails(
        "bad-ptx",
        r#".files(["kernels/add.cu", "kernels/bad.cu"]).archs(["compute_80"])"#,
        &[
            "kernels/bad.cu:4:19: error: use of undeclared identifier 'undeclared'",
            "generated when compiling for sm_80.",
        ],
    ),
    tool_fails(
        "bad-cpu",
        r#".file("kernels/bad.cu").archs(["cpu"])"#,
        &["kernels/bad.cu:4:19: error: 'undeclared' was not declared in this scope"],
    ),
    tool_fails(
        "bad-option",
        r#".file("kernels/add.cu").flag("-DBROKEN").archs(["gfx90a", "compute_80", "cpu"])"#,
        &["kernels/add.cu:7:2: error: "],
    ),
    // A function that no file defines.
    fails(
        "undefined-amd",
        r#".file("kernels/open.cu").archs(["gfx90a"])"#,
        &["ld.lld: error: undefined hidden symbol: twice"],
    ),
    fails("undefined-ptx", r#".file("kernels/open.cu").archs(["compute_80"])"#, &["twice"]),
    fails(
        "undefined-cpu",
        r#".file("kernels/open.cu").archs(["cpu"])"#,
        &["undefined reference to `twice(float)'"],
    ),
    // A variable that all images of a program would share.
    fails(
        "unique-cpu",
        r#".file("kernels/unique.cu").flag("-fgnu-unique").archs(["cpu"])"#,
        &["all images of a program would share _ZZ4lastIiEvPT_E4kept", "add -fno-gnu-unique"],
    ),
    // Variables that name a compiler which is not there.
    fails_with_env(
        "no-such-clang",
        &[("OFFLOAD_CLANG", "/nowhere/clang")],
        &["OFFLOAD_CLANG names /nowhere/clang, which cannot be used: there is no such file"],
    ),
    fails_with_env(
        "no-such-ptxas",
        &[("OFFLOAD_PTXAS", "/nowhere/ptxas"), ("OFFLOAD_ARCH", "sm_80")],
        &["OFFLOAD_PTXAS names /nowhere/ptxas, which is no file"],
    ),
    fails_with_env(
        "no-such-cxx",
        &[("CXX", "/nowhere/c++"), ("OFFLOAD_ARCH", "cpu")],
        &[
            "no image for cpu: it needs a C++ compiler for ",
            "install a C++ compiler",
            "or name one in CXX",
        ],
    ),
];

/// With ptxas.
pub const PTXAS_CASES: &[Case] = &[
    fails(
        "unknown-cubin",
        r#".file("kernels/add.cu").archs(["compute_80", "sm_999"])"#,
        &[
            "no image for sm_999: {clang} refuses it",
            "clang: error: unsupported CUDA gpu architecture: sm_999",
        ],
    ),
    // clang 22 still knows sm_70; ptxas 13 no longer does.
    fails(
        "forgotten-cubin",
        r#".file("kernels/add.cu").archs(["compute_80", "sm_70"])"#,
        &[
            "no image for sm_70: {ptxas} refuses it",
            "ptxas fatal   : Value 'sm_70' is not defined for option 'gpu-name'",
        ],
    ),
    tool_fails(
        "undefined-cubin",
        r#".file("kernels/open.cu").archs(["sm_80"])"#,
        &["ptxas fatal   : Unresolved extern function '_Z5twicef'"],
    ),
];
