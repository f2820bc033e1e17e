//! Values of this project's own variables.

use super::{Case, fails, fails_unlisted, fails_with_env};

pub const CASES: &[Case] = &[
    fails_with_env(
        "skip-value",
        &[("OFFLOAD_SKIP", "yes")],
        &["OFFLOAD_SKIP is 'yes'; it can be 1 or 0"],
    ),
    fails_with_env(
        "jobs-value",
        &[("OFFLOAD_JOBS", "0")],
        &["OFFLOAD_JOBS is '0'; it is how many compilers may run at a time"],
    ),
    fails_with_env(
        "prebuilt-value",
        &[("OFFLOAD_PREBUILT", "yes")],
        &["OFFLOAD_PREBUILT is 'yes'; it can be update, signatures, only or never"],
    ),
    fails_with_env(
        "prebuilt-update-of-some",
        &[("OFFLOAD_PREBUILT", "update"), ("OFFLOAD_ARCH", "gfx90a")],
        &[
            "OFFLOAD_PREBUILT is 'update'; a prebuilt set is made for the targets of build.rs: unset OFFLOAD_ARCH",
        ],
    ),
    Case {
        env: &[("OFFLOAD_PREBUILT", "update")],
        ..fails(
            "prebuilt-update-of-native",
            r#".file("kernels/add.cu").default_archs(["native", "gfx90a"])"#,
            PREBUILT_OF_THIS,
        )
    },
    fails_unlisted(
        "prebuilt-update-of-variables",
        &[("OFFLOAD_PREBUILT", "update"), ("AMDGPU_TARGETS", "gfx90a")],
        PREBUILT_OF_THIS,
    ),
    fails_with_env(
        "prebuilt-update-in-dev",
        &[("OFFLOAD_PREBUILT_errors_build", "update")],
        &[
            "OFFLOAD_PREBUILT_errors_build is 'update'; a prebuilt set is made with optimization: build with --release",
        ],
    ),
    fails_with_env(
        "prebuilt-only",
        &[("OFFLOAD_PREBUILT", "only")],
        &[
            "no image for gfx90a, compute_80: OFFLOAD_PREBUILT=only",
            "the package has no prebuilt set in prebuilt/",
        ],
    ),
    ONLY_PREBUILT_CUDA,
];

/// A build that may only use the prebuilt set looks for no nvcc.
const ONLY_PREBUILT_CUDA: Case = Case {
    env: &[("OFFLOAD_PREBUILT", "only"), ("NVCC", "/nowhere/nvcc")],
    ..fails(
        "prebuilt-only-with-cuda",
        r#".file("kernels/add.cu").compiler(Compiler::ClangCuda).archs(["compute_80"])"#,
        &[
            "no image for compute_80: OFFLOAD_PREBUILT=only",
            "the package has no prebuilt set in prebuilt/",
        ],
    )
};

const PREBUILT_OF_THIS: &[&str] = &[
    "OFFLOAD_PREBUILT is 'update'; a prebuilt set is made for the targets that build.rs names, as in \
     .archs([\"gfx90a\", \"sm_80\"]): 'native', and variables such as CUDAARCHS, mean others on other machines",
];
