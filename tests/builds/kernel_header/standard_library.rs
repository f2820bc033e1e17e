//! Headers of the C++ library in sources for every target, with and without ROCm. If GPUs cannot
//! run a function, its use in a kernel must be an error.

use super::{AMD, CPU, NVIDIA, SPIRV, assert_refuses, built, checked};
use offload_tests::prelude::*;

/// The headers of C++17 that include `<new>`.
const WITH_NEW: &str = "algorithm any bitset codecvt complex condition_variable deque exception execution filesystem \
     forward_list fstream functional future iomanip ios iostream istream iterator list locale map \
     memory memory_resource mutex new optional ostream queue regex scoped_allocator set \
     shared_mutex sstream stack stdexcept streambuf string strstream system_error unordered_map \
     unordered_set variant vector";

/// The other headers of C++17, and those of the C library.
const OTHERS: &str = "array atomic cassert ccomplex cctype cerrno cfenv cfloat charconv chrono cinttypes ciso646 \
     climits clocale cmath csetjmp csignal cstdalign cstdarg cstdbool cstddef cstdint cstdio \
     cstdlib cstring ctgmath ctime cuchar cwchar cwctype initializer_list iosfwd limits numeric \
     random ratio string_view thread tuple type_traits typeindex typeinfo utility valarray \
     assert.h complex.h ctype.h errno.h fenv.h float.h inttypes.h iso646.h limits.h locale.h \
     math.h setjmp.h signal.h stdarg.h stdbool.h stddef.h stdint.h stdio.h stdlib.h string.h \
     tgmath.h time.h uchar.h wchar.h wctype.h";

/// Returns a source that includes these headers before its kernel.
fn source<'a>(headers: impl Iterator<Item = &'a str>, name: &str) -> String {
    let includes: String = headers.map(|header| format!("#include <{header}>\n")).collect();
    format!("{includes}extern \"C\" __global__ void {name}(int *y) {{ y[threadIdx.x] = 1; }}\n")
}

/// A host function that calls functions that are constexpr since C++20, and a special function,
/// which libstdc++ has since C++17.
const HOST: &str = "inline std::string host(std::vector<std::string> all) {\n  \
     std::sort(all.begin(), all.end());\n  all.push_back(\"last\");\n  \
     return all[0] + all[std::size_t(std::beta(1.0, 1.0))];\n}\n";

#[test(CLANG.slow())]
fn every_header_compiles_for_every_target() {
    let scenario = Scenario::new("header_library");
    let targets = ["gfx90a", "gfx1100", "compute_80", "spirv64", "cpu"];
    let calls = format!(r#".files(["kernels/a.cu", "kernels/z.cu"]).archs({targets:?})"#);
    let headers = || WITH_NEW.split_whitespace().chain(OTHERS.split_whitespace());
    scenario
        .pack("k", &calls)
        .write("kernels/a.cu", source(headers(), "a") + HOST)
        .write("kernels/z.cu", source(headers().rev(), "z"));
    // clang detects ROCm by this file.
    let version = "HIP_VERSION_MAJOR=6\nHIP_VERSION_MINOR=4\nHIP_VERSION_PATCH=0\n";
    scenario.write("rocm/share/hip/version", version);
    scenario.build().env("ROCM_PATH", scenario.folder.join("rocm")).passes();
    scenario.pack("k", &(calls + r#".flag("-std=c++20")"#)).build().passes();
    // libc++ checks whether `_Atomic` is a keyword. libstdc++ can declare its special functions
    // outside `std`, too.
    let asks = "#if __is_identifier(_Atomic)\n#error\n#endif\n";
    let everywhere = "-D__STDCPP_WANT_MATH_SPEC_FUNCS__";
    scenario.pack("k", &format!(".file(\"kernels/k.cu\").archs({targets:?}).flag({everywhere:?})"));
    scenario.write("kernels/k.cu", asks.to_owned() + &source([].into_iter(), "k"));
    scenario.build().env("CXX", llvm_bin().join("clang++")).passes();
}

/// nvcc's own headers include these headers, so sources for nvcc and the CPU may not include them.
#[test(CLANG)]
fn traits_and_limits_need_no_include_on_the_cpu() {
    let kernel = "template <class T> __global__ void k(T *x) {\n  \
                  if constexpr (std::is_same_v<T, float>) *x = std::numeric_limits<T>::max();\n}\n\
                  template __global__ void k(float *);\n";
    succeed(&mut checked(&scratch::folder("header-traits"), kernel, CPU));
}

/// Tests placement `new` and virtual destructors in kernels, and host functions that use the heap.
#[test(CLANG.slow())]
fn objects_live_in_memory_that_kernels_have() {
    for (number, includes) in
        ["#include <new>\n", "#include <memory>\n#include <cstdlib>\n"].into_iter().enumerate()
    {
        let name = format!("header_objects_{number}");
        built(
            &name,
            &["gfx90a", "compute_80", "spirv64", "cpu"],
            &format!(
                "{includes}\
                 struct Shape {{\n  __device__ virtual int sides() const {{ return 0; }}\n  \
                   __device__ virtual ~Shape() {{}}\n}};\n\
                 struct Square : Shape {{\n  int count;\n  \
                   __device__ Square(int count) : count(count) {{}}\n  \
                   __device__ int sides() const override {{ return count; }}\n}};\n\
                 inline int *host() {{ return new int[2]; }}\n\
                 inline void host_end(int *p) {{ delete[] p; }}\n\
                 extern \"C\" __global__ void k(int *y, unsigned char *bytes) {{\n  \
                   Shape *shape = new (bytes) Square(*y);\n  *y = shape->sides();\n  \
                   shape->~Shape();\n}}\n"
            ),
        );
    }
}

#[test(CLANG.slow())]
fn the_heap_is_an_error_at_its_use() {
    let folder = scratch::folder("header-heap");
    for (use_of_heap, function) in [
        ("y[0] = new int(3)", "operator new"),
        ("y[0] = new int[3]", "operator new[]"),
        ("y[0] = (int *)malloc(8)", "malloc"),
        ("free(y[0])", "free"),
    ] {
        for includes in ["", "#include <cstdlib>\n#include <new>\n"] {
            let kernel = format!("{includes}__global__ void k(int **y) {{ {use_of_heap}; }}\n");
            for options in [AMD, SPIRV] {
                let expected = format!(
                    "error: '{function}' is unavailable: only NVIDIA's GPUs and the CPU have a \
                     heap here: "
                );
                assert_refuses(checked(&folder, &kernel, options), &expected);
            }
            for options in [NVIDIA, CPU] {
                succeed(&mut checked(&folder, &kernel, options));
            }
        }
    }
}
