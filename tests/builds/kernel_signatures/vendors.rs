//! Halves and vectors in CUDA's and HIP's headers. With these headers, programs must pass the same
//! types as with the kit's headers.

use super::declared::BY_NVCC;
use offload_tests::prelude::*;

const VENDORS: Needs = needs(&[Tool::Rocm, Tool::Hip5, Tool::Gcc, Tool::Llvm22, Tool::Cuda]);

/// The kernel, for each vendor's headers. `brain` is the vendor's bfloat16.
const KERNELS: &str = "
extern \"C\" __global__ void k(__half h, brain b, float4 v, float3 w, uchar2 c, __half2 pair, const __half *x, brain *y,
                             const float4 *points, ulonglong2 *words) {
  words->x = points != 0 && x != 0 && y != 0 && float(h) && sizeof pair && c.x == v.x && w.y == v.y;
}
";

/// Functions that HIP 5's headers expect from the clang of their time.
const MISSING: &str = "
typedef _Float16 two_halves __attribute__((ext_vector_type(2)));
extern \"C\" __attribute__((device)) _Float16 __llvm_amdgcn_rcp_f16(_Float16);
extern \"C\" __attribute__((device)) two_halves __llvm_amdgcn_rcp_2f16(two_halves);
";

const MAIN: &str = r#"
use offload_gpu::run::{Buffer, Device};
use offload_gpu::types::{Bf16, F16, float3, float4, half2, uchar2, ulonglong2};

mod own {
    offload_gpu::include_kernels!("own");
}
mod nvidia {
    offload_gpu::include_kernels!("pack");
}
mod amd {
    offload_gpu::include_kernels!("amd");
}

fn main() {
    let (h, b, v) = (half::f16::ONE, Bf16::from_bits(0x3f80), float4::from([1.0; 4]));
    let (w, c, pair) = (float3::default(), uchar2::from([1, 2]), half2::from([half::f16::ONE; 2]));
    let device = Device::cpu();
    let x: Buffer<F16> = device.zeros(1).unwrap();
    let mut y: Buffer<half::bf16> = device.zeros(1).unwrap();
    let points: Buffer<float4> = device.zeros(1).unwrap();
    let mut words: Buffer<ulonglong2> = device.zeros(1).unwrap();
    let own = own::k(h, b, v, w, c, pair, &x, &mut y, &points, &mut words).buffer().1;
    let nvidia = nvidia::k(h, b, v, w, c, pair, &x, &mut y, &points, &mut words).buffer().1;
    let amd = amd::k(h, b, v, w, c, pair, &x, &mut y, &points, &mut words).buffer().1;
    println!("{own} {nvidia} {amd}");
}
"#;

#[test(VENDORS.slow())]
fn headers_of_all_vendors_have_the_same_types() {
    let mut scenario = Scenario::without_sources("signatures_vendors");
    let half = "half = { version = \"2\", default-features = false }\n";
    scenario.feature("offload-gpu", "half").manifest("dependencies", half);
    let of_cuda = format!(
        "#include <cuda_bf16.h>\n#include <cuda_fp16.h>\ntypedef __nv_bfloat16 brain;\n{KERNELS}"
    );
    // Old versions of HIP have no `__hip_bfloat16`.
    let of_hip = format!(
        "{MISSING}#include <hip/hip_runtime.h>\n#include <hip/hip_fp16.h>\n#include <hip/hip_bfloat16.h>\n\
         typedef hip_bfloat16 brain;\n{KERNELS}"
    );
    scenario
        .write("kernels/types.cu", of_cuda)
        .write("kernels/types.hip", of_hip)
        .write("src/main.rs", MAIN)
        .build_script(&format!(
            "Build::new().file(\"kernels/types.cu\").archs([\"gfx90a\", \"compute_80\"]).compile(\"own\");
    {BY_NVCC}.clang_signatures(true).compile(\"pack\");
    Build::new().file(\"kernels/types.hip\").arch(\"gfx90a\").compile(\"amd\");"
        ));
    let printed = scenario.run().env("ROCM_PATH", rocm()).passes();
    assert_eq!(printed.stdout, "88 88 88\n", "{printed}");
}
