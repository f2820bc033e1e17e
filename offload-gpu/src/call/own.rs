//! Compares types of a program with the records of kernels at compile time, for `use` in
//! `include_kernels!`.

use crate::pack::words::Words;

/// A type of the program in the place of a record.
#[derive(Debug, Clone, Copy)]
pub struct OwnType {
    /// The path of the type, as the program writes it.
    pub path: &'static str,
    /// The record's name in the source.
    pub record: &'static str,
}

/// The place of a value in bytes: its size, with an alignment for a type, or an offset for a field.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// The number of bytes.
    pub size: usize,
    /// The alignment of a type, or the offset of a field from the start of its type.
    pub at: usize,
}

impl Extent {
    /// Returns the size of the field at this address, and its offset. Only macro expansions use it.
    pub const fn of<F>(_: *const F, offset: isize) -> Self {
        Self { size: size_of::<F>(), at: offset.unsigned_abs() }
    }
}

/// Checks the size and the alignment of a program's type. A greater alignment is right: values in
/// memory of the same size are then at the same places.
///
/// # Panics
/// Panics if the type has another size than the record, or a smaller alignment.
#[track_caller]
#[inline]
pub const fn check_own(own: &OwnType, has: Extent, record: Extent) {
    if has.size != record.size || has.at < record.at {
        let words = Words::new().add("`").add(own.path).add("` has ").add_bytes(has.size);
        let words = words.add(", aligned to ").add_number(has.at).add(": the kernels' `");
        let words = words.add(own.record).add("` has ").add_bytes(record.size);
        panic!("{}", words.add(", aligned to ").add_number(record.at).as_str());
    }
}

/// Checks the size and the offset of a field of a program's type.
///
/// # Panics
/// Panics if the record's field has another size or offset.
#[track_caller]
#[inline]
pub const fn check_own_field(own: &OwnType, field: &str, has: Extent, record: Extent) {
    if has.size != record.size || has.at != record.at {
        let words = Words::new().add("the field `").add(field).add("` of `").add(own.path);
        let words = words.add("` has ").add_bytes(has.size).add(" at offset ").add_number(has.at);
        let words = words.add(": that of the kernels' `").add(own.record).add("` has ");
        let words = words.add_bytes(record.size).add(" at offset ").add_number(record.at);
        panic!("{}", words.as_str());
    }
}
