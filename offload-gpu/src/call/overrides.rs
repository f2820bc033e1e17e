//! Compares a program's types with the structs of kernels at compile time, for `use` in
//! `include_kernels!`.

use super::parameter::{Parameter, ParameterKind, ParameterLayout};
use crate::pack::is_same;
use crate::pack::message::Message;
use core::marker::PhantomData;

/// A type of the program that replaces a record.
#[derive(Debug, Clone, Copy)]
pub struct Override {
    /// The path of the type, as the program writes it.
    pub path: &'static str,
    /// The record's name in the source.
    pub record: &'static str,
}

/// The size in bytes and the alignment of a type, or the size and the offset of a field.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// The number of bytes.
    pub size: usize,
    /// The alignment of a type, or the offset of a field in its type.
    pub at: usize,
}

/// A field of a program's type.
#[derive(Debug, Clone, Copy)]
pub struct OverrideField {
    extent: Extent,
    /// The layout of the field's type; `None` if the type is not a [`Parameter`].
    layout: Option<ParameterLayout>,
}

impl OverrideField {
    /// Describes the field at this address and offset. Only macro expansions use it. `_layout` is
    /// never called: its return type, [`Known`] or [`Unknown`], shows whether the field's type is a
    /// [`Parameter`].
    pub const fn new<F, R: FieldLayout>(
        _: *const F,
        offset: isize,
        _layout: fn(Probe<F>) -> R,
    ) -> Self {
        let extent = Extent { size: size_of::<F>(), at: offset.unsigned_abs() };
        Self { extent, layout: R::LAYOUT }
    }
}

/// A value whose method `layout` comes from [`UnknownField`], unless `F` is a [`Parameter`].
#[derive(Debug)]
pub struct Probe<F>(PhantomData<F>);

impl<F: Parameter> Probe<F> {
    /// Returns a type with the layout.
    #[allow(clippy::unused_self, reason = "expansions call the method on both kinds of types")]
    pub fn layout(self) -> Known<F> {
        Known(PhantomData)
    }
}

/// The method of `Probe` for types that are not a [`Parameter`].
pub trait UnknownField: Sized {
    /// Returns a type without a layout.
    fn layout(self) -> Unknown {
        Unknown
    }
}

impl<F> UnknownField for Probe<F> {}

/// Represents the known layout of a type.
#[derive(Debug)]
pub struct Known<F>(PhantomData<F>);

/// Represents an unknown layout.
#[derive(Debug)]
pub struct Unknown;

/// A layout as a type.
pub trait FieldLayout {
    /// The layout, if it is known.
    const LAYOUT: Option<ParameterLayout>;
}

impl<F: Parameter> FieldLayout for Known<F> {
    const LAYOUT: Option<ParameterLayout> = Some(F::LAYOUT);
}

impl FieldLayout for Unknown {
    const LAYOUT: Option<ParameterLayout> = None;
}

/// Checks the size and the alignment of a program's type. A greater alignment is accepted: since
/// the size is the same, values in memory are at the same offsets.
///
/// # Panics
/// Panics if the size differs from the record's, or if the alignment is smaller.
#[track_caller]
#[inline]
pub const fn check_override(ty: &Override, has: Extent, record: Extent) {
    if has.size != record.size || has.at < record.at {
        let message = Message::new().add("`").add(ty.path).add("` is ").add_bytes(has.size);
        let message = message.add(", aligned to ").add_number(has.at).add(", but the kernels' `");
        let message = message.add(ty.record).add("` is ").add_bytes(record.size);
        panic!("{}", message.add(", aligned to ").add_number(record.at).as_str());
    }
}

/// Checks the size and the offset of a field in a program's type, and the numbers in the field.
///
/// # Panics
/// Panics if the record's field, which has the layout `layout`, has a different size or offset, or
/// different numbers.
#[track_caller]
#[inline]
pub const fn check_override_field(
    ty: &Override,
    field: &str,
    has: OverrideField,
    record: Extent,
    layout: &ParameterLayout,
) {
    let message = Message::new().add("the field `").add(field).add("` of `").add(ty.path);
    let OverrideField { extent, layout: of_field } = has;
    if extent.size != record.size || extent.at != record.at {
        let message = message.add("` is ").add_bytes(extent.size).add(" at offset ");
        let message = message.add_number(extent.at).add(", but in the kernels' `").add(ty.record);
        let message = message.add("` it is ").add_bytes(record.size).add(" at offset ");
        panic!("{}", message.add_number(record.at).as_str());
    }
    if let Some(of_field) = &of_field
        && let Some(Difference { has, record, at }) = difference(of_field, 0, layout)
    {
        let message = message.add("` has `").add(has).add("` at byte ").add_number(at);
        let message = message.add(", but in the kernels' `").add(ty.record).add("` it has `");
        panic!("{}", message.add(record).add("`").as_str());
    }
}

/// Two different numbers at the same offset.
struct Difference {
    has: &'static str,
    record: &'static str,
    /// The offset in bytes.
    at: usize,
}

/// The maximum number of structs of an array to compare: later ones usually repeat the first ones.
const MOST_ITEMS: usize = 64;

/// Returns the first number in a program's type that differs from the record. `at` is the offset at
/// which the type starts in the record.
#[inline]
const fn difference(
    has: &ParameterLayout,
    at: usize,
    record: &ParameterLayout,
) -> Option<Difference> {
    let mut i = 0;
    match has.kind {
        ParameterKind::Record(fields) => {
            while i < fields.len() {
                let different = difference(&fields[i].1, at + fields[i].0, record);
                if different.is_some() {
                    return different;
                }
                i += 1;
            }
            None
        }
        ParameterKind::Array(item) if matches!(innermost(item).kind, ParameterKind::Record(_)) => {
            while i < MOST_ITEMS && i * item.size < has.size {
                let different = difference(item, at + i * item.size, record);
                if different.is_some() {
                    return different;
                }
                i += 1;
            }
            None
        }
        ParameterKind::Array(item) => {
            let number = innermost(item);
            if is_same(number.name, "u8") {
                return None;
            }
            other_number(number, record, at, at + has.size)
        }
        _ => other_number(has, record, at, at + has.size),
    }
}

/// Returns the item type of an array with any number of dimensions.
#[inline]
const fn innermost(mut item: &'static ParameterLayout) -> &'static ParameterLayout {
    while let ParameterKind::Array(inner) = item.kind {
        item = inner;
    }
    item
}

/// Returns the first number of the record, between two offsets, that `has` cannot replace.
#[inline]
const fn other_number(
    has: &ParameterLayout,
    record: &ParameterLayout,
    start: usize,
    end: usize,
) -> Option<Difference> {
    match record.kind {
        ParameterKind::Record(fields) => {
            let mut i = 0;
            while i < fields.len() {
                let (offset, field) = &fields[i];
                if start < *offset + field.size && *offset < end {
                    let last = if end - *offset < field.size { end - *offset } else { field.size };
                    let first = start.saturating_sub(*offset);
                    if let Some(found) = other_number(has, field, first, last) {
                        return Some(Difference { at: found.at + *offset, ..found });
                    }
                }
                i += 1;
            }
            None
        }
        ParameterKind::Array(item) => {
            // Bytes may contain anything, such as bit-fields.
            if item.size == 0 || start >= end || is_same(innermost(item).name, "u8") {
                return None;
            }
            // A third item would repeat the second one, of which all numbers are then compared.
            let (mut at, mut items) = (start / item.size * item.size, 0);
            while at < end && items < 2 {
                let last = if end - at < item.size { end - at } else { item.size };
                if let Some(found) = other_number(has, item, start.saturating_sub(at), last) {
                    return Some(Difference { at: found.at + at, ..found });
                }
                (at, items) = (at + item.size, items + 1);
            }
            None
        }
        _ if stands_for(has, record) => None,
        _ => Some(Difference { has: has.name, record: record.name, at: 0 }),
    }
}

/// Whether a program may use the number or address type `has` for `record`.
#[inline]
const fn stands_for(has: &ParameterLayout, record: &ParameterLayout) -> bool {
    if has.size != record.size {
        return false;
    }
    match (has.kind, record.kind) {
        (ParameterKind::Pointer, ParameterKind::Pointer) => true,
        (_, ParameterKind::Pointer) => is_same(has.name, "u64") || is_same(has.name, "usize"),
        (ParameterKind::Enum, ParameterKind::Integer) => true,
        _ => {
            let mut i = 0;
            while i < ALIKE.len() {
                if is_same(record.name, ALIKE[i].0) && is_same(has.name, ALIKE[i].1) {
                    return true;
                }
                i += 1;
            }
            is_same(has.name, record.name)
        }
    }
}

/// Number types of kernels, each with a type that programs may use instead.
const ALIKE: [(&str, &str); 15] = [
    ("Bool", "bool"),
    ("Bool", "u8"),
    ("F16", "u16"),
    ("F16", "f16"),
    ("Bf16", "u16"),
    ("Bf16", "bf16"),
    ("F8E4M3", "u8"),
    ("F8E5M2", "u8"),
    ("F8E4M3Fnuz", "u8"),
    ("F8E5M2Fnuz", "u8"),
    // A `char` is usually part of a string.
    ("i8", "u8"),
    ("isize", "i64"),
    ("i64", "isize"),
    ("usize", "u64"),
    ("u64", "usize"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{Bool, F16, Pointer, float4, half2};

    const fn record<const BYTES: usize>(
        fields: &'static [(usize, ParameterLayout)],
    ) -> ParameterLayout {
        ParameterLayout::of_record::<[u8; BYTES]>("P", fields)
    }

    /// `struct { float4 a; struct { int b; float c[2]; } d[2]; char text[8]; }`
    const INNER: ParameterLayout =
        record::<12>(&[(0, i32::LAYOUT), (4, ParameterLayout::of_array(&f32::LAYOUT, 2))]);
    const RECORD: ParameterLayout = record::<48>(&[
        (0, float4::LAYOUT),
        (16, ParameterLayout::of_array(&INNER, 2)),
        (40, ParameterLayout::of_array(&i8::LAYOUT, 8)),
    ]);

    /// `struct { struct { int id; float w; int next; } e[2]; }`
    const CELL: ParameterLayout = record::<24>(&[(
        0,
        ParameterLayout::of_array(
            &record::<12>(&[(0, i32::LAYOUT), (4, f32::LAYOUT), (8, i32::LAYOUT)]),
            2,
        ),
    )]);

    /// Arrays for vectors, different groupings of the same numbers, and bytes.
    const GROUPED: ParameterLayout = record::<48>(&[
        (0, <[f32; 4]>::LAYOUT),
        (16, record::<24>(&[(0, i32::LAYOUT), (4, <[[f32; 1]; 2]>::LAYOUT), (12, i32::LAYOUT)])),
        (40, <[u8; 8]>::LAYOUT),
    ]);

    fn differs(has: ParameterLayout, record: &ParameterLayout) -> Option<(&str, &str, usize)> {
        difference(&has, 0, record).map(|it| (it.has, it.record, it.at))
    }

    #[test]
    fn a_type_of_the_same_numbers_is_right() {
        for has in [
            RECORD,
            GROUPED,
            record::<48>(&[(0, <[f32; 3]>::LAYOUT), (12, f32::LAYOUT), (16, <[u8; 24]>::LAYOUT)]),
            <[u8; 48]>::LAYOUT,
        ] {
            assert_eq!(differs(has, &RECORD), None, "{has:?}");
        }
        for (has, of) in [
            (u8::LAYOUT, Bool::LAYOUT),
            (bool::LAYOUT, Bool::LAYOUT),
            (u16::LAYOUT, F16::LAYOUT),
            (<[u16; 2]>::LAYOUT, half2::LAYOUT),
            (usize::LAYOUT, <*mut f32>::LAYOUT),
            (Pointer::<f32>::LAYOUT, <*mut i32>::LAYOUT),
            #[cfg(target_pointer_width = "64")]
            (isize::LAYOUT, i64::LAYOUT),
            (ParameterLayout::of_enum::<u32>("Mode"), u32::LAYOUT),
            (ParameterLayout::of_enum::<u32>("Mode"), i32::LAYOUT),
            // Bit-fields, and a union.
            (u32::LAYOUT, ParameterLayout::of_array(&u8::LAYOUT, 4)),
            (f32::LAYOUT, record::<4>(&[])),
            // The end of an item, and the start of the next one.
            (record::<24>(&[(8, <[i32; 2]>::LAYOUT)]), CELL),
        ] {
            assert_eq!(differs(has, &of), None, "{has:?}");
        }
    }

    #[test]
    fn another_number_is_found() {
        for (has, expected) in [
            (record::<48>(&[(0, <[i32; 4]>::LAYOUT)]), ("i32", "f32", 0)),
            (record::<48>(&[(16, <[f32; 6]>::LAYOUT)]), ("f32", "i32", 16)),
            (record::<48>(&[(28, i32::LAYOUT), (32, i32::LAYOUT)]), ("i32", "f32", 32)),
            (record::<48>(&[(16, u32::LAYOUT)]), ("u32", "i32", 16)),
            (record::<48>(&[(0, f64::LAYOUT)]), ("f64", "f32", 0)),
            (record::<48>(&[(40, u32::LAYOUT)]), ("u32", "i8", 40)),
            (ParameterLayout::of_array(&INNER, 4), ("i32", "f32", 0)),
        ] {
            assert_eq!(differs(has, &RECORD), Some(expected), "{has:?}");
        }
        for (has, of) in [
            (i32::LAYOUT, f32::LAYOUT),
            (ParameterLayout::of_enum::<u32>("Mode"), f32::LAYOUT),
            (u32::LAYOUT, i32::LAYOUT),
            (f64::LAYOUT, <*mut f32>::LAYOUT),
            (<*mut f32>::LAYOUT, u64::LAYOUT),
            (i16::LAYOUT, F16::LAYOUT),
        ] {
            assert_eq!(differs(has, &of), Some((has.name, of.name, 0)));
        }
        for (has, at) in [(record::<24>(&[(8, <[i32; 3]>::LAYOUT)]), 16), (<[i32; 6]>::LAYOUT, 4)] {
            assert_eq!(differs(has, &CELL), Some(("i32", "f32", at)));
        }
    }
}
