//! Sizes of types, and layouts of records and of a kernel's arguments.

use super::{Content, Field, Record, Scalar, Signature, Size, Type};
use alloc::string::String;
use alloc::vec::Vec;

/// The size and alignment of a pointer in bytes: device compilers use 64-bit pointers.
const POINTER: u64 = 8;

impl Type {
    /// Returns the type's size, or `None` if it is unknown because the record is not in `records`,
    /// or because only pointers refer to the record.
    pub fn size(&self, records: &[Record]) -> Option<Size> {
        match self {
            Type::Scalar(scalar) => Some(Size { bytes: scalar.bytes(), align: scalar.bytes() }),
            Type::Pointer { .. } => Some(Size { bytes: POINTER, align: POINTER }),
            Type::Array { of, count } => {
                let one = of.size(records)?;
                Some(Size { bytes: one.bytes.checked_mul(*count)?, align: one.align })
            }
            Type::Record(name) => records.iter().find(|record| record.name == *name)?.size,
            Type::Void => None,
        }
    }

    /// If this type, or the item type of this array, is a record, returns the record's name.
    pub fn record_name(&self) -> Option<&str> {
        match self {
            Type::Array { of, .. } => of.record_name(),
            Type::Record(name) => Some(name),
            Type::Scalar(_) | Type::Pointer { .. } | Type::Void => None,
        }
    }

    /// If this type, or the item type of this array, is a record, returns the record.
    pub fn record<'a>(&self, records: &'a [Record]) -> Option<&'a Record> {
        let name = self.record_name()?;
        records.iter().find(|record| record.name == name)
    }

    /// Whether a value consists only of numbers: no padding, no pointers.
    fn is_plain(&self, records: &[Record]) -> bool {
        match self {
            Type::Scalar(_) => true,
            Type::Array { of, .. } => of.is_plain(records),
            Type::Pointer { .. } | Type::Void => false,
            Type::Record(_) => self.record(records).is_some_and(|it| it.is_plain(records)),
        }
    }

    /// Whether all parts of a value have known contents.
    fn is_known(&self, records: &[Record]) -> bool {
        self.record(records).is_none_or(|it| it.is_known(records))
    }
}

impl Record {
    /// Creates a record with these fields if a Rust struct can have the same layout; otherwise the
    /// record is opaque. `records` contains the records that the fields' types refer to.
    pub fn new(
        name: String,
        source_name: String,
        size: Size,
        fields: Vec<Field>,
        records: &[Record],
    ) -> Self {
        let content = if fits(&fields, size, records, |align| align) {
            Content::Fields(fields)
        } else if size.align == 1
            && fits(&fields, size, records, |_| 1)
            && !fields.iter().any(|field| names_alignment(&field.ty, records))
        {
            Content::Packed(fields)
        } else {
            Content::Opaque
        };
        Self { name, source_name, size: Some(size), content }
    }

    /// Returns whether the Rust struct needs `repr(align)`, because no field has the record's
    /// alignment.
    pub(crate) fn names_alignment(&self, records: &[Record]) -> bool {
        let Some(size) = self.size else { return false };
        let natural = match &self.content {
            Content::Opaque | Content::Empty | Content::Differs => Some(1),
            Content::Fields(fields) => {
                let mut most = None;
                for field in fields {
                    most = most.max(field.ty.size(records).map(|size| size.align));
                }
                most
            }
            Content::Packed(_) => None,
        };
        natural.is_some_and(|natural| natural < size.align)
    }

    /// Whether the record is a struct without data: its bytes have no value.
    pub fn is_empty(&self) -> bool {
        self.content == Content::Empty
    }

    /// Whether the record consists only of numbers: no padding, no pointers.
    pub(crate) fn is_plain(&self, records: &[Record]) -> bool {
        let Some(fields) = self.content.fields() else { return self.is_empty() };
        let mut bytes = 0;
        for field in fields {
            match field.ty.size(records) {
                Some(size) if field.ty.is_plain(records) => {
                    bytes = size.bytes.saturating_add(bytes)
                }
                _ => return false,
            }
        }
        self.size.is_some_and(|size| size.bytes == bytes)
    }

    /// Whether host code can compare two values, because all their parts have known contents.
    pub(crate) fn is_known(&self, records: &[Record]) -> bool {
        match self.content.fields() {
            Some(fields) => fields.iter().all(|field| field.ty.is_known(records)),
            None => self.is_empty(),
        }
    }

    /// Creates a record that only pointers refer to.
    pub fn pointed_to(name: String, source_name: String) -> Self {
        Self { name, source_name, size: None, content: Content::Opaque }
    }
}

/// Whether the Rust code for a type uses `repr(align)`, in the type itself or in a field. Rust does
/// not allow such a type in a packed struct.
fn names_alignment(ty: &Type, records: &[Record]) -> bool {
    ty.record(records).is_some_and(|record| {
        let mut fields = record.content.fields().unwrap_or_default().iter();
        record.names_alignment(records) || fields.any(|field| names_alignment(&field.ty, records))
    })
}

/// Whether a `#[repr(C)]` struct with these fields has the same layout: each field is at its
/// offset, and the struct's size is `size`. `align` maps the alignment of a field to the alignment
/// to use: 1 if the struct is packed.
fn fits(fields: &[Field], size: Size, records: &[Record], align: impl Fn(u64) -> u64) -> bool {
    let mut end: u64 = 0;
    for field in fields {
        let Some(of_field) = field.ty.size(records) else { return false };
        let align = align(of_field.align);
        if end.checked_next_multiple_of(align) != Some(field.offset) || align > size.align {
            return false;
        }
        let Some(next) = field.offset.checked_add(of_field.bytes) else { return false };
        end = next;
    }
    // A struct without fields has one byte in C++, but no bytes in Rust.
    !fields.is_empty() && end.checked_next_multiple_of(size.align) == Some(size.bytes)
}

impl Scalar {
    /// Returns the scalar's size, which is also its alignment.
    pub fn bytes(self) -> u64 {
        match self {
            Scalar::Bool | Scalar::I8 | Scalar::U8 => 1,
            Scalar::I16 | Scalar::U16 | Scalar::F16 | Scalar::Bf16 => 2,
            Scalar::I32 | Scalar::U32 | Scalar::F32 => 4,
            Scalar::I64 | Scalar::U64 | Scalar::Isize | Scalar::Usize | Scalar::F64 => 8,
            Scalar::I128 | Scalar::U128 => 16,
        }
    }
}

impl Signature {
    /// Returns the offset in bytes of each parameter from the start of the arguments, and the
    /// parameter's size and alignment. Each offset is the next multiple of the parameter's
    /// alignment.
    ///
    /// Returns `None` if the size of a type is unknown, or if the total size of the arguments
    /// overflows.
    pub fn layout(&self, records: &[Record]) -> Option<Vec<(u64, Size)>> {
        let (mut places, mut end) = (Vec::new(), 0_u64);
        for parameter in &self.parameters {
            let size = parameter.ty.size(records)?;
            let offset = end.checked_next_multiple_of(size.align)?;
            end = offset.checked_add(size.bytes)?;
            places.push((offset, size));
        }
        Some(places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::slice;

    /// Returns a record whose fields have these offsets and types.
    fn record(
        name: &str,
        (bytes, align): (u64, u64),
        fields: &[(u64, &str)],
        records: &[Record],
    ) -> Record {
        let field = |(offset, ty): &(u64, &str)| {
            let ty = Type::parse(ty).unwrap();
            Field { name: "f".into(), offset: *offset, ty }
        };
        let fields = fields.iter().map(field).collect();
        Record::new(name.into(), name.into(), Size { bytes, align }, fields, records)
    }

    #[test]
    fn what_rust_lays_out_the_same_way_has_fields() {
        let content = |size, fields: &[_]| record("P", size, fields, &[]).content;
        let has_fields = |content: Content| matches!(content, Content::Fields(_));
        assert!(has_fields(content((16, 8), &[(0, "f32"), (8, "f64")])));
        assert!(has_fields(content((16, 16), &[(0, "f32")])));
        let packed = content((12, 1), &[(0, "f32"), (4, "f64")]);
        assert!(matches!(packed, Content::Packed(_)));
        for opaque in [
            // No Rust struct can have these layouts. In order, the records have a field at a wrong
            // offset, a gap between fields, extra bytes at the end, overlapping fields, fields
            // packed to an alignment of 2, and no fields.
            content((16, 8), &[(0, "f32"), (4, "f64")]),
            content((16, 8), &[(0, "i8"), (4, "i8")]),
            content((24, 8), &[(0, "f64")]),
            content((8, 8), &[(0, "f64"), (0, "i64")]),
            content((10, 2), &[(0, "i16"), (2, "f64")]),
            content((1, 1), &[]),
        ] {
            assert_eq!(opaque, Content::Opaque);
        }
    }

    #[test]
    fn what_names_its_alignment_is_in_no_packed_struct() {
        let plain = record("Plain", (4, 4), &[(0, "f32")], &[]);
        let aligned = record("Aligned", (8, 8), &[(0, "f32")], &[]);
        let outer = record("Outer", (8, 8), &[(0, "Aligned")], slice::from_ref(&aligned));
        let records = [plain, aligned, outer];
        assert_eq!(
            [0, 1, 2].map(|at: usize| records[at].names_alignment(&records)),
            [false, true, false]
        );
        let packed = |size, ty| record("P", (size, 1), &[(0, ty)], &records).content;
        assert!(matches!(packed(4, "Plain"), Content::Packed(_)));
        for ty in ["Aligned", "Outer", "[Outer; 1]"] {
            assert_eq!(packed(8, ty), Content::Opaque, "{ty}");
        }
    }

    #[test]
    fn a_record_of_records_knows_their_sizes() {
        let inner = Record::pointed_to("Opaque".into(), "Opaque".into());
        let outer = |ty| record("P", (8, 8), &[(0, ty)], slice::from_ref(&inner)).content;
        assert!(matches!(outer("*mut Opaque"), Content::Fields(_)));
        assert_eq!(outer("Opaque"), Content::Opaque);
    }
}
