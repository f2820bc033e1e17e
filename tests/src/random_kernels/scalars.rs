//! C++ numbers and vectors, and their Rust types.

use super::numbers::Numbers;

/// A number type: its name in C++, its name in Rust, and its size in bytes. A C++ `bool` in memory
/// is a `Bool` in Rust.
pub(super) type Scalar = (&'static str, &'static str, u64);

/// Number types that are classes in C++, both in the kit's headers and in CUDA's.
pub(super) const CLASSES: [Scalar; 4] = [
    ("__half", "offload_gpu::types::F16", 2),
    ("__nv_bfloat16", "offload_gpu::types::Bf16", 2),
    ("__nv_fp8_e4m3", "offload_gpu::types::F8E4M3", 1),
    ("__nv_fp8_e5m2", "offload_gpu::types::F8E5M2", 1),
];

/// Rust types, and the types that a program may use instead. A program may use these types in
/// memory and, except for a `bool`, as parameters. `half` is the crate.
pub(super) const ALIKE: [(&str, &[&str]); 5] = [
    ("offload_gpu::types::F16", &["u16", "half::f16"]),
    ("offload_gpu::types::Bf16", &["u16", "half::bf16"]),
    ("offload_gpu::types::F8E4M3", &["u8"]),
    ("offload_gpu::types::F8E5M2", &["u8"]),
    ("offload_gpu::types::Bool", &["u8", "bool"]),
];

pub(super) const SCALARS: [Scalar; 23] = [
    ("bool", "bool", 1),
    ("char", "i8", 1),
    ("signed char", "i8", 1),
    ("unsigned char", "u8", 1),
    ("short", "i16", 2),
    ("unsigned short", "u16", 2),
    ("char16_t", "u16", 2),
    ("int", "i32", 4),
    ("unsigned int", "u32", 4),
    ("wchar_t", "i32", 4),
    ("char32_t", "u32", 4),
    ("long", "i64", 8),
    ("unsigned long", "u64", 8),
    ("long long", "i64", 8),
    ("unsigned long long", "u64", 8),
    ("__int128", "i128", 16),
    ("size_t", "usize", 8),
    ("std::size_t", "usize", 8),
    ("ptrdiff_t", "isize", 8),
    ("_Float16", "offload_gpu::types::F16", 2),
    ("bf16_t", "offload_gpu::types::Bf16", 2),
    ("float", "f32", 4),
    ("double", "f64", 8),
];

/// Types of bit-fields, with their maximum number of bits.
pub(super) const BIT_FIELDS: [(&str, u64); 9] = [
    ("bool", 1),
    ("char", 8),
    ("unsigned char", 8),
    ("short", 16),
    ("unsigned short", 16),
    ("int", 32),
    ("unsigned", 32),
    ("long", 64),
    ("unsigned long long", 64),
];

/// clang's vectors: name, element type and number of elements. For g++, the vectors are structs.
const VECTORS: [(&str, &str, u64); 16] = [
    ("v2_char", "signed char", 2),
    ("v3_char", "signed char", 3),
    ("v4_uchar", "unsigned char", 4),
    ("v16_char", "signed char", 16),
    ("v2_short", "short", 2),
    ("v3_short", "short", 3),
    ("v2_half", "_Float16", 2),
    ("v8_half", "_Float16", 8),
    ("v2_int", "int", 2),
    ("v3_int", "int", 3),
    ("v2_float", "float", 2),
    ("v3_float", "float", 3),
    ("v4_float", "float", 4),
    ("v8_float", "float", 8),
    ("v3_double", "double", 3),
    ("v16_double", "double", 16),
];

/// CUDA's vectors, which the kit's headers define: name, size and alignment.
const STRUCTS: [(&str, u64, u64); 14] = [
    ("char3", 3, 1),
    ("uchar1", 1, 1),
    ("uchar4", 4, 4),
    ("short3", 6, 2),
    ("ushort2", 4, 4),
    ("int2", 8, 8),
    ("uint4", 16, 16),
    ("long1", 8, 8),
    ("ulonglong3", 24, 8),
    ("longlong4", 32, 16),
    ("float3", 12, 4),
    ("float4", 16, 16),
    ("double2", 16, 16),
    ("double4", 32, 16),
];

/// Vectors of halves, which are classes in C++.
pub(super) const PAIRS: [&str; 2] = ["__half2", "__nv_bfloat162"];

/// Returns the size in bytes of a number type, by its C++ name.
fn size(cpp: &str) -> u64 {
    SCALARS.iter().find(|(name, ..)| *name == cpp).map_or(0, |(.., size)| *size)
}

/// Returns a vector type: its name (the same in Rust), size and alignment.
pub(super) fn vector(numbers: &mut Numbers) -> (&'static str, u64, u64) {
    if numbers.percent(35) {
        return *numbers.pick(&STRUCTS);
    }
    let (name, element, count) = *numbers.pick(&VECTORS);
    let bytes = (size(element) * count).next_power_of_two();
    (name, bytes, bytes)
}

/// Returns the source of clang's vectors, and of the `VECTORS(DO)` macro, which calls a macro for
/// each vector.
pub(super) fn vectors() -> String {
    let each =
        VECTORS.iter().map(|(name, element, count)| format!(" DO({name}, {element}, {count})"));
    format!("#define VECTORS(DO){}\n{TYPES}VECTORS(VECTOR)\n", each.collect::<String>())
}

/// The `bf16_t` type and clang's vectors. g++ 12 supports neither, so for g++, `bf16_t` is an
/// integer and the vectors are structs.
const TYPES: &str = "\
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
typedef __PTRDIFF_TYPE__ ptrdiff_t;
#if !defined(OFFLOAD_CPU)
namespace std { using ::size_t; }
#endif
#if defined(__clang__)
typedef __bf16 bf16_t;
#define VECTOR(name, type, count) typedef type name __attribute__((ext_vector_type(count)));
#else
typedef unsigned short bf16_t;
constexpr unsigned long power_of_two(unsigned long least) { return least <= 1 ? 1 : 2 * power_of_two((least + 1) / 2); }
#define VECTOR(name, type, count) struct alignas(power_of_two(sizeof(type) * count)) name { type lanes[count]; };
#endif
";
