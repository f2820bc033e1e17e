//! Languages, and sources that already are images or contain them.

use super::{Case, fails};

pub const CASES: &[Case] = &[
    fails(
        "language-of-others",
        r#".modules(["kernels/open.cl"]).archs(["gfx90a", "cpu"])"#,
        &[
            "kernels/open.cl is OpenCL C, which is not built for cpu. If it is for other targets only, say so: \
             Source::new(\"kernels/open.cl\").supports([\"amd\", \"nvidia\"])",
        ],
    ),
    fails(
        "opencl-library",
        r#".file("kernels/open.cl").archs(["gfx90a"])"#,
        &["ld.lld: error: undefined hidden symbol: get_global_id(unsigned int)"],
    ),
    fails(
        "ready-made-linked",
        r#".files(["kernels/add.cu", "kernels/text.ptx"]).archs(["compute_80"])"#,
        &[
            "for compute_80, the module \"ready-made-linked\" has kernels/text.ptx, which is PTX and cannot be linked with \
             kernels/add.cu; make it a module of its own",
        ],
    ),
    fails(
        "assembly-linked",
        r#".files(["kernels/add.cu", "kernels/add.s"]).archs(["gfx90a"])"#,
        &[
            "kernels/add.s, which is AMD assembly with kernels and cannot be linked with kernels/add.cu",
        ],
    ),
    fails(
        "ready-made-for-others",
        r#".modules(["kernels/text.ptx"]).archs(["compute_90", "sm_75", "gfx90a"])"#,
        &[
            "no target is left for the module \"text\": kernels/text.ptx is PTX for compute_80, which can become machine \
             code from sm_80 on; the list is compute_90, sm_75, gfx90a.",
        ],
    ),
    fails(
        "no-image",
        r#".file("kernels/noise.hsaco").archs(["gfx90a"])"#,
        &[
            "kernels/noise.hsaco has no image that could be taken as it is; what there is: something that cannot be read (",
        ],
    ),
    fails(
        "cut-bundle",
        r#".file("kernels/cut.hipfb").archs(["gfx90a"])"#,
        &["the source kernels/cut.hipfb cannot be taken apart: bundle entry count: 8 bytes needed"],
    ),
    fails(
        "compressed-bundle-without-feature",
        r#".file("kernels/compressed.hipfb").archs(["gfx90a"])"#,
        &[
            "the source kernels/compressed.hipfb cannot be taken apart: \
             offload-build reads what it has (compressed bundle) with its feature `containers`:\n",
            "  offload-build = { version = \"0.1\", features = [\"containers\"] }",
        ],
    ),
    fails(
        "no-ptx",
        r#".file("kernels/noise.ptx").archs(["compute_80"])"#,
        &["the source kernels/noise.ptx is no PTX: "],
    ),
    fails(
        "ir-of-a-cpu",
        r#".file("kernels/host.ll").archs(["gfx90a"])"#,
        &[
            "the source kernels/host.ll is for x86_64-unknown-linux-gnu, as its target triple says, and no GPU's",
        ],
    ),
];

/// With the feature `containers`.
pub const CONTAINER_CASES: &[Case] = &[fails(
    "compressed-without-feature",
    r#".file("kernels/compressed.hipfb").archs(["gfx90a"])"#,
    &[
        "the source kernels/compressed.hipfb cannot be taken apart: ",
        "offload-build reads compressed files with its feature `compression`",
    ],
)];
