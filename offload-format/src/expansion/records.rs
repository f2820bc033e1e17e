//! Structs for the records among the parameters of kernels.

use super::calls::memory_type;
use crate::signature::{Content, Record};
use alloc::format;
use alloc::string::String;
use core::fmt::Write as _;

/// Writes the struct of a record, with checks that it has the device compiler's layout. `is_free`
/// is whether a constant may have the record's name.
pub(super) fn write(text: &mut String, record: &Record, records: &[Record], is_free: bool) {
    let Record { name, source_name, size, content, .. } = record;
    let Some(size) = size else {
        let why = if source_name.contains('<') {
            "nothing in the source instantiates this template"
        } else {
            "the source does not define it"
        };
        let doc = format!(
            "`{source_name}`, which kernels get by pointers alone: {why}, or its layout differs between targets."
        );
        let _ = writeln!(
            text,
            "#[doc = {doc:?}] #[allow(non_camel_case_types)] #[repr(C)] #[derive(Debug)] \
             pub struct {name} {{ _opaque: [__offload::core::primitive::u8; 0] }}"
        );
        return;
    };
    let (bytes, align) = (size.bytes, size.align);
    let what = if record.is_empty() { ", without data" } else { "" };
    let doc = format!("`{source_name}`{what}: {bytes} bytes, aligned to {align}.");
    let repr = match content {
        Content::Packed(_) => "C, packed".into(),
        _ if record.names_alignment(records) => format!("C, align({align})"),
        _ => "C".into(),
    };
    let compares = if record.is_known(records) { ", PartialEq" } else { "" };
    let _ = write!(
        text,
        "#[doc = {doc:?}] #[allow(non_camel_case_types, non_snake_case)] #[derive(Clone, Copy, Debug{compares})] \
         #[repr({repr})] pub struct {name} {{ "
    );
    let mut checks = String::new();
    match content {
        Content::Opaque if record.is_empty() => {
            let _ = write!(text, "_none: [__offload::core::primitive::u8; {bytes}]");
        }
        Content::Opaque => {
            let _ = write!(
                text,
                "/// The bytes of the value in the device's layout. Bytes of padding need not be written.\n\
                 pub bytes: [__offload::core::mem::MaybeUninit<__offload::core::primitive::u8>; {bytes}]"
            );
        }
        Content::Fields(fields) | Content::Packed(fields) => {
            for field in fields {
                let (name_of_field, offset, ty) =
                    (&field.name, field.offset, memory_type(&field.ty));
                let _ = write!(text, "/// At offset {offset}.\npub {name_of_field}: {ty}, ");
                let _ = write!(
                    checks,
                    "__offload::core::assert!(__offload::core::mem::offset_of!({name}, {name_of_field}) == {offset});"
                );
            }
        }
    }
    let form = if record.is_plain(records) { "plain" } else { "bytes" };
    let _ = writeln!(
        text,
        "}}\nconst _: () = {{ {checks} \
         __offload::core::assert!(__offload::core::mem::size_of::<{name}>() == {bytes}); \
         __offload::core::assert!(__offload::core::mem::align_of::<{name}>() == {align}); }};\n\
         __offload::impl_record!({form} {name});"
    );
    // A struct of Rust that has no fields has no bytes, but C++ gives one byte or more to it, also
    // as a field. This constant gives it the form of a struct without fields.
    if record.is_empty() && is_free {
        let doc = format!("The value of `{source_name}`.");
        let _ = writeln!(
            text,
            "#[doc = {doc:?}] #[allow(non_upper_case_globals)] \
             pub const {name}: {name} = {name} {{ _none: [0; {bytes}] }};"
        );
    }
}
