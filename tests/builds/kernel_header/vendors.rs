//! The functions that vendors' headers declare for kernels. The kit's header must define each
//! function on every target, or the guide must list the function as missing.

use super::{AMD, CPU, NVIDIA, SPIRV, checked};
use offload_tests::prelude::*;
use offload_tests::tools::rocm;

/// The headers for NVIDIA's page "CUDA Math API" and for the language extensions in the CUDA
/// Programming Guide, CUDA 13.5.
const CUDA: &str = "crt/device_functions.h crt/math_functions.h crt/device_double_functions.h device_atomic_functions.h
    sm_20_atomic_functions.h sm_20_intrinsics.h sm_30_intrinsics.h sm_32_atomic_functions.h sm_32_intrinsics.h
    sm_35_intrinsics.h sm_60_atomic_functions.h sm_61_intrinsics.h crt/sm_70_rt.h crt/sm_80_rt.h crt/sm_90_rt.h
    vector_functions.h cuda_fp16.h cuda_bf16.h cuda_fp8.h";

/// The headers for AMD's page "HIP C++ language extensions" and for AMD's list of device functions,
/// HIP 5.2.
const HIP: &str =
    "amd_device_functions.h amd_warp_functions.h amd_hip_atomic.h amd_hip_unsafe_atomics.h
    amd_hip_fp16.h amd_math_functions.h amd_hip_complex.h";

/// Prefixes of names that no page lists: the headers' internal names, and names in C libraries.
const INTERNAL: &str = "__cmath __DOUBLE __FLOAT __pow_helper __NV_ __nv_associate __nv_aligned __nv_memcpy __tanhf __libcpp
    __CUDA __DEPRECATED __cuda __isfinite __finite __isinf __isnan __signbit __make_mantissa __hip_hc __builtin __amdgcn
    __get_dynamic __named_sync __work_group __local_to_generic __clamp_01 __device__ __attribute__ __align__ T U amd_mixed
    __NV_SILENCE __STATIC";

/// Returns the names of the kernel functions that these headers declare.
fn declared(folder: &Path, headers: &str) -> BTreeSet<String> {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut names = BTreeSet::new();
    for header in headers.split_whitespace() {
        let text = fs::read_to_string(folder.join(header)).expect(header);
        let mut code = String::new();
        for (at, part) in text.split("/*").enumerate() {
            code += if at == 0 { part } else { part.split_once("*/").map_or("", |it| it.1) };
        }
        let lines = code.replace("\\\n", " ");
        let lines = lines.lines().filter(|line| !line.trim_start().starts_with('#'));
        let code: Vec<&str> =
            lines.map(|line| line.split("//").next().unwrap_or_default()).collect();
        for statement in code.join(" ").split([';', '{', '}']) {
            let Some((head, _)) = statement.split_once('(') else { continue };
            let mut words = head.split(|letter| !is_word(letter)).filter(|word| !word.is_empty());
            let is_for_kernels = words.clone().any(|word| {
                word == "__device__" || word.contains("_DECL__") || word.contains("DEVICE__")
            });
            let Some(name) = words.next_back().filter(|_| is_for_kernels) else { continue };
            let is_internal = name.starts_with('_') && !name.starts_with("__")
                || head.contains("operator")
                || INTERNAL.split_whitespace().any(|it| match it.len() {
                    1 => name == it,
                    _ => name.starts_with(it),
                })
                || words.next_back().is_none();
            if !is_internal {
                names.insert(name.to_owned());
            }
        }
    }
    names
}

/// Returns the names that clang, with these options, does not find in the kit's header.
fn undeclared(names: &BTreeSet<String>, start: &str, options: &str) -> BTreeSet<String> {
    let folder = scratch::folder("header-vendors");
    let uses: String = names.iter().map(|name| format!("using ::{name};\n")).collect();
    let source = format!("{start}namespace names {{\n{uses}}}\n");
    let output = checked(&folder, &source, &format!("{options} -ferror-limit=0")).output();
    let output = output.expect("clang starts");
    let text = stderr(&output);
    let names =
        text.lines().filter_map(|line| line.split_once("no member named '")?.1.split('\'').next());
    names.map(str::to_owned).collect()
}

#[test(needs(&[Tool::Llvm22, Tool::Nvcc, Tool::Rocm]))]
fn each_function_is_there_or_in_the_guide() {
    let page = workspace().join("docs/guide/src/reference/missing-names.md");
    let page = fs::read_to_string(page).expect("the page");
    let cells = page.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let listed: BTreeSet<&str> =
        cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    let small = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <cuda_fp8.h>\n";
    let hip = "#include <hip/hip_runtime.h>\n#include <hip/hip_fp16.h>\n";
    let cuda = env::var_os("CUDA_HOME").map(PathBuf::from).expect("Tool::Nvcc was checked");
    let (cuda, rocm) = (cuda.join("include"), rocm().join("include/hip/amd_detail"));
    for (names, start, least) in
        [(declared(&cuda, CUDA), small, 800), (declared(&rocm, HIP), hip, 400)]
    {
        assert!(names.len() > least, "{} names", names.len());
        let missing: BTreeSet<String> = [AMD, NVIDIA, SPIRV, CPU]
            .into_iter()
            .flat_map(|options| undeclared(&names, start, options))
            .collect();
        let unlisted: Vec<_> = missing.iter().filter(|name| !listed.contains(&***name)).collect();
        assert!(unlisted.is_empty(), "the guide lacks {unlisted:?}");
        let there: Vec<_> =
            names.difference(&missing).filter(|name| listed.contains(&***name)).collect();
        assert!(there.is_empty(), "the header has {there:?}");
    }
}
