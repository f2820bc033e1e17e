//! Images with a thousand kernels, compared with `llvm-readelf` and `cuobjdump`.

use super::BOTH;
use super::code_objects::compare_code_object;
use super::cubins::{compare_cubin, compare_ptx, ptxas};
use offload_tests::scratch;
use offload_tests::tools::{llvm, succeed};

offload_tests::tests! {
    BOTH.slow() => [a_thousand_kernels],
}

/// Tests that the work does not grow with the square of the number of kernels. The search for a
/// kernel's sections continues where the previous search ended.
fn a_thousand_kernels() {
    let folder = scratch::folder("kernels-many");
    let source: String = (0..1000)
        .map(|n| {
            format!("extern \"C\" __attribute__((device_kernel)) void kernel_{n}(int *x, char c) {{ *x = c + {n}; }}\n")
        })
        .collect();
    scratch::write(folder.join("many.c"), source);
    let image = folder.join("many.hsaco");
    let mut clang = llvm("clang");
    clang.args([
        "--target=amdgcn-amd-amdhsa",
        "-mcpu=gfx90a",
        "-O1",
        "-ffreestanding",
        "-nogpulib",
        "-nostdlib",
        "-x",
        "c++",
    ]);
    succeed(clang.arg(folder.join("many.c")).arg("-o").arg(&image));
    assert_eq!(compare_code_object(&image).len(), 1000);

    let text: String = (0..1000)
        .map(|n| {
            let shared = if n % 3 == 0 { ".shared .b32 s[4]; st.shared.b32 [s], 1;" } else { "" };
            format!(".visible .entry kernel_{n}(.param .u64 x, .param .u8 c) .maxntid {} {{ {shared} ret; }}\n", 32 + n)
        })
        .collect();
    for arch in ["sm_80", "sm_100"] {
        let (ptx, cubin) = (folder.join("many.ptx"), folder.join("many.cubin"));
        scratch::write(&ptx, format!(".version 8.6\n.target {arch}\n.address_size 64\n{text}"));
        ptxas(arch, &ptx, &cubin, &["-O0"]);
        assert_eq!(compare_cubin(&cubin).len(), 1000);
        compare_ptx(&ptx, &cubin);
    }
}
