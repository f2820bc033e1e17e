//! Records that have a shared type in the crate `offload-gpu`, which all modules of a program use.
//!
//! These records are 16-bit and 8-bit floating-point numbers, and the vectors of CUDA and HIP. A
//! record's name in the source selects the shared type, and the record must have the layout of that
//! type.

use super::{Content, Field, Record, Scalar, Type};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// A type in offload-gpu's module `types` with the layout of a record that CUDA or HIP defines.
#[derive(Debug, PartialEq, Eq)]
pub struct Shared {
    /// The type's name.
    pub name: String,
    /// The offset of each field.
    pub fields: Vec<(&'static str, u64)>,
}

/// Numbers of 8 and 16 bits, with their names in sources, their types, and their sizes in bytes.
const NUMBERS: [(&str, &str, u64); 10] = [
    ("__half", "F16", 2),
    ("__nv_bfloat16", "Bf16", 2),
    ("__hip_bfloat16", "Bf16", 2),
    ("hip_bfloat16", "Bf16", 2),
    ("__nv_fp8_e4m3", "F8E4M3", 1),
    ("__nv_fp8_e5m2", "F8E5M2", 1),
    ("__hip_fp8_e4m3", "F8E4M3", 1),
    ("__hip_fp8_e5m2", "F8E5M2", 1),
    ("__hip_fp8_e4m3_fnuz", "F8E4M3Fnuz", 1),
    ("__hip_fp8_e5m2_fnuz", "F8E5M2Fnuz", 1),
];

/// The numbers in vectors: the prefix of the vectors' names, HIP's name for the number, and the
/// number's type.
const VECTORS: [(&str, &str, Scalar); 12] = [
    ("char", "char", Scalar::I8),
    ("uchar", "unsigned char", Scalar::U8),
    ("short", "short", Scalar::I16),
    ("ushort", "unsigned short", Scalar::U16),
    ("int", "int", Scalar::I32),
    ("uint", "unsigned int", Scalar::U32),
    ("long", "long", Scalar::I64),
    ("ulong", "unsigned long", Scalar::U64),
    ("longlong", "long long", Scalar::I64),
    ("ulonglong", "unsigned long long", Scalar::U64),
    ("float", "float", Scalar::F32),
    ("double", "double", Scalar::F64),
];

/// Vectors of halves, with their names in sources.
const PAIRS: [(&str, &str, &str); 5] = [
    ("half2", "half2", "F16"),
    ("__half2", "half2", "F16"),
    ("__nv_bfloat162", "bfloat162", "Bf16"),
    ("__hip_bfloat162", "bfloat162", "Bf16"),
    ("bfloat162", "bfloat162", "Bf16"),
];

/// A vector with this name in CUDA.
#[derive(Debug)]
struct Vector {
    name: String,
    /// The name of a scalar, or of a type in [`NUMBERS`].
    number: &'static str,
    /// The size of a number in bytes.
    bytes: u64,
    count: u64,
}

/// Returns the shared type with the layout of the record. If only pointers refer to the record, the
/// name alone decides.
pub fn shared(record: &Record, records: &[Record]) -> Option<Shared> {
    if record.content == Content::Differs {
        return None;
    }
    let size = record.size.map(|size| (size.bytes, size.align));
    let number = NUMBERS.iter().find(|(name, ..)| *name == record.source_name);
    if let Some((_, name, bytes)) = number {
        let is_same = size.is_none_or(|size| size == (*bytes, *bytes));
        return is_same.then(|| Shared { name: name.to_string(), fields: Vec::new() });
    }
    let Vector { name, number, bytes, count } = vector(&record.source_name)?;
    let mut fields = Vec::new();
    for (name, at) in ["x", "y", "z", "w"].into_iter().zip(0..count) {
        fields.push((name, at * bytes));
    }
    if let Some(size) = size {
        let align = if count == 3 { bytes } else { (count * bytes).min(MOST_ALIGN) };
        let mut numbers = Vec::new();
        let is_known = add_numbers(&Type::Record(record.name.clone()), records, 0, &mut numbers);
        let mut expected = Vec::new();
        for (_, offset) in &fields {
            expected.push((*offset, number));
        }
        // HIP's vectors contain unions, whose numbers are unknown.
        let source_name = &record.source_name;
        let is_of_vendor = source_name.starts_with(OF_HIP) || source_name.starts_with("__");
        let is_same = is_known.map_or(is_of_vendor, |()| numbers == expected)
            && has_names(&record.content, &fields);
        if size != (count * bytes, align) || !is_same {
            return None;
        }
    }
    Some(Shared { name, fields })
}

/// Whether the fields have the names of the vector's numbers. Numbers in an array or a struct may
/// have any name. A user's struct may have different names, or the same names in a different order.
fn has_names(content: &Content, expected: &[(&str, u64)]) -> bool {
    let Some(fields) = content.fields() else { return true };
    let is_number = |field: &Field| !matches!(field.ty, Type::Array { .. });
    fields.len() != expected.len()
        || fields.iter().zip(expected).all(|(it, (name, _))| !is_number(it) || it.name == *name)
}

/// The maximum alignment of CUDA's vectors.
const MOST_ALIGN: u64 = 16;

/// The prefix of the names of HIP's vectors, such as `HIP_vector_type<float, 4U>`.
const OF_HIP: &str = "HIP_vector_type<";

fn vector(source_name: &str) -> Option<Vector> {
    if let Some((_, name, number)) = PAIRS.iter().find(|(name, ..)| *name == source_name) {
        return Some(Vector { name: name.to_string(), number, bytes: 2, count: 2 });
    }
    let (is_named, number, count) = match source_name.strip_prefix(OF_HIP) {
        Some(of_hip) => {
            let (number, count) = of_hip.strip_suffix('>')?.split_once(", ")?;
            (false, number, count.trim_end_matches(['u', 'U']))
        }
        None => {
            let at =
                source_name.len().checked_sub(1).filter(|at| source_name.is_char_boundary(*at))?;
            let (number, count) = source_name.split_at(at);
            (true, number, count)
        }
    };
    let count = ["1", "2", "3", "4"].iter().zip(1..).find(|(digit, _)| **digit == count)?.1;
    let (start, _, scalar) = VECTORS
        .iter()
        .find(|(start, of_hip, _)| *(if is_named { start } else { of_hip }) == number)?;
    let (number, bytes) = (scalar.name(), scalar.bytes());
    Some(Vector { name: start.to_string() + &count.to_string(), number, bytes, count })
}

/// The maximum number of numbers to compare; no vector has as many.
const MOST_NUMBERS: usize = 8;

/// Adds the numbers of a type with their offsets. Returns `None` if they are unknown or too many.
fn add_numbers(
    ty: &Type,
    records: &[Record],
    start: u64,
    all: &mut Vec<(u64, &'static str)>,
) -> Option<()> {
    match ty {
        Type::Scalar(scalar) => all.push((start, number(*scalar))),
        Type::Array { of, count } => {
            let bytes = of.size(records)?.bytes;
            for at in 0..*count {
                add_numbers(of, records, start.checked_add(at.checked_mul(bytes)?)?, all)?;
            }
        }
        Type::Record(name) => {
            let record = records.iter().find(|record| record.name == *name)?;
            let of_name = NUMBERS.iter().find(|(known, ..)| *known == record.source_name);
            if let Some((_, number, _)) = of_name {
                all.push((start, number));
                return Some(());
            }
            for field in record.content.fields()? {
                add_numbers(&field.ty, records, start.checked_add(field.offset)?, all)?;
            }
        }
        Type::Pointer { .. } | Type::Void => return None,
    }
    (all.len() <= MOST_NUMBERS).then_some(())
}

/// Returns the name of a scalar, or of the type in [`NUMBERS`] with the same bits.
fn number(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::F16 => "F16",
        Scalar::Bf16 => "Bf16",
        other => other.name(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signature::Signatures;
    use alloc::vec;

    /// Returns the name of the shared type for the last record of a text, or `-`.
    fn name(text: &str) -> String {
        let Signatures { records, .. } = text.parse().unwrap();
        let found = shared(records.last().unwrap(), &records);
        found.map_or("-".to_string(), |it| it.name)
    }

    #[test]
    fn a_record_of_the_same_layout_has_a_type() {
        let xy = "field x 0 f32\nfield y 4 f32\n";
        let half = "record __half 2 2 fields __half\nfield bits 0 u16\n";
        for (text, expected) in [
            ("record __half 2 2 opaque __half", "F16"),
            ("record __half - - opaque __half", "F16"),
            (half, "F16"),
            // A user's struct with a reserved name.
            ("record __half 4 4 fields __half\nfield x 0 i32", "-"),
            ("record ns_half 2 2 fields ns::__half\nfield x 0 u16", "-"),
            ("record float4 - - opaque float4", "float4"),
            (&alloc::format!("record float2 8 8 fields float2\n{xy}"), "float2"),
            (&alloc::format!("record float2 8 4 fields float2\n{xy}"), "-"),
            (&alloc::format!("record float2 16 8 fields float2\n{xy}"), "-"),
            ("record float2 8 8 fields float2\nfield x 0 f32\nfield y 4 i32", "-"),
            ("record float2 8 8 fields float2\nfield x 0 f64", "-"),
            ("record float2 8 8 fields float2\nfield y 0 f32\nfield x 4 f32", "-"),
            ("record uchar3 3 1 fields uchar3\nfield r 0 u8\nfield g 1 u8\nfield b 2 u8", "-"),
            ("record float2 8 8 opaque float2", "-"),
            // OpenCL's vectors.
            ("record float4 16 16 fields float4\nfield lanes 0 [f32; 4]", "float4"),
            ("record float3 16 16 fields float3\nfield lanes 0 [f32; 3]", "-"),
            ("record float3 12 4 fields float3\nfield lanes 0 [f32; 3]", "float3"),
            ("record double4 32 32 fields double4\nfield lanes 0 [f64; 4]", "-"),
            ("record half2 4 4 fields half2\nfield lanes 0 [f16; 2]", "half2"),
            (
                &alloc::format!(
                    "{half}record __half2 4 4 fields __half2\nfield x 0 __half\nfield y 2 __half"
                ),
                "half2",
            ),
            ("record __half2 4 4 fields __half2\nfield x 0 u16\nfield y 2 u16", "-"),
            ("record HIP_vector_type_float_4U 16 16 opaque HIP_vector_type<float, 4U>", "float4"),
            ("record __half2 4 4 opaque __half2", "half2"),
            ("record HIP_4 4 4 opaque HIP_vector_type<unsigned char, 4>", "uchar4"),
            ("record HIP_4 32 32 opaque HIP_vector_type<double, 4U>", "-"),
            ("record float5 20 4 fields float5\nfield lanes 0 [f32; 5]", "-"),
            ("record float4 80 16 fields float4\nfield lanes 0 [f32; 20]", "-"),
        ] {
            assert_eq!(name(text), expected, "{text}");
        }
        let records: Signatures =
            "record float2 8 8 fields float2\nfield x 0 f32\nfield y 4 f32".parse().unwrap();
        let fields = shared(&records.records[0], &records.records).unwrap().fields;
        assert_eq!(fields, vec![("x", 0), ("y", 4)]);
    }
}
