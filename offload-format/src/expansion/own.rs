//! Types of the program in the places of records.
//!
//! The C++ of a CPU passes a struct by the types of its fields: floating-point numbers in other
//! registers than integers. A program's type may have other types for the same bytes. So each such
//! record, and each that contains one, has a second struct with the kernel's types, through which
//! calls on the CPU pass the bytes.

use super::calls::memory_type;
use super::{Own, records};
use crate::signature::{Content, Record, Type};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

/// The records for which the program has types of its own.
#[derive(Debug)]
pub(super) struct OwnTypes<'a> {
    own: &'a [Own],
    records: &'a [Record],
    /// The names of these records, and of those that contain one of them.
    all: Vec<&'a str>,
}

impl<'a> OwnTypes<'a> {
    pub(super) fn new(own: &'a [Own], records: &'a [Record]) -> Self {
        let is_own = |record: &&Record| own.iter().any(|it| it.record == record.name);
        let mut all: Vec<&str> = records.iter().filter(is_own).map(|it| &*it.name).collect();
        loop {
            let contains = |record: &&Record| match &record.content {
                Content::Fields(fields) | Content::Packed(fields) => fields
                    .iter()
                    .any(|field| of_value(&field.ty).is_some_and(|name| all.contains(&name))),
                Content::Opaque => false,
            };
            let is_new = |record: &&Record| !all.contains(&&*record.name) && contains(record);
            let Some(record) = records.iter().find(is_new) else { break };
            all.push(&record.name);
        }
        Self { own, records, all }
    }

    /// Whether the program has a type for this record, or for a part of it.
    pub(super) fn has_another_form(&self, name: &str) -> bool {
        self.all.contains(&name)
    }

    /// Whether the program has types of its own.
    pub(super) fn is_empty(&self) -> bool {
        self.own.is_empty()
    }

    /// Writes the name of the program's type, or a struct with such types in it.
    pub(super) fn write(&self, text: &mut String, record: &Record, is_nested: bool) {
        let Record { name, source_name, content, .. } = record;
        match (self.own.iter().find(|it| it.record == *name), content) {
            (Some(Own { ty: Some(ty), .. }), _) => {
                let outer = if is_nested { "super::" } else { "" };
                let _ = writeln!(
                    text,
                    "#[doc = {:?}] #[allow(dead_code, non_camel_case_types, private_interfaces)] \
                     pub type {name} = {outer}{ty};",
                    format!("`{source_name}`, for which the program has this type.")
                );
            }
            (None, Content::Fields(fields) | Content::Packed(fields)) => {
                let _ = write!(
                    text,
                    "#[doc = {:?}] #[allow(non_camel_case_types, non_snake_case, private_interfaces, missing_debug_implementations)] \
                     #[derive(Clone, Copy)] #[repr({})] pub struct {name} {{ ",
                    format!("`{source_name}`, which contains a type of the program."),
                    records::repr(record, self.records)
                );
                records::write_fields(text, fields, memory_type);
                text.push_str("}\n");
                records::write_checks(text, record);
                let _ = writeln!(text, "__offload::impl_argument_of_record!({name});");
            }
            _ => {}
        }
    }

    /// Writes the struct for calls on the CPU, and returns its name.
    pub(super) fn write_passed(&self, text: &mut String, record: &Record) -> Option<String> {
        let Record { name, content, size, .. } = record;
        let size = (*size)?;
        let name = passed_name(name);
        let _ = write!(
            text,
            "#[allow(dead_code, non_camel_case_types, non_snake_case, missing_debug_implementations)] \
             #[derive(Clone, Copy)] #[repr({})] struct {name} {{ ",
            records::repr(record, self.records)
        );
        match content {
            Content::Fields(fields) | Content::Packed(fields) => {
                records::write_fields(text, fields, |ty| self.passed_type(ty));
            }
            Content::Opaque => {
                let _ = write!(
                    text,
                    "bytes: [__offload::core::mem::MaybeUninit<__offload::core::primitive::u8>; {}]",
                    size.bytes
                );
            }
        }
        text.push_str("}\n");
        records::write_checks(text, &Record { name: name.clone(), ..record.clone() });
        Some(name)
    }

    /// Returns the Rust type that calls on the CPU pass for a parameter or a field.
    pub(super) fn passed_type(&self, ty: &Type) -> String {
        match ty {
            Type::Array { of, count } => format!("[{}; {count}]", self.passed_type(of)),
            Type::Record(name) if self.has_another_form(name) => passed_name(name),
            other => memory_type(other),
        }
    }
}

fn passed_name(name: &str) -> String {
    format!("__offload_passed_{name}")
}

/// Returns the name of the record that values of this type are, or are arrays of.
fn of_value(ty: &Type) -> Option<&str> {
    match ty {
        Type::Array { of, .. } => of_value(of),
        Type::Record(name) => Some(name),
        Type::Scalar(_) | Type::Pointer { .. } | Type::Void => None,
    }
}
