//! Generates structs for the records among the parameters of kernels.

use super::Override;
use super::code::memory_type;
use super::overrides::Overrides;
use crate::signature::{Content, Field, Record, Shared, Type, shared};
use alloc::format;
use alloc::string::String;
use core::fmt::Write as _;

/// Writes the struct of a record, with checks that the struct has the device compiler's layout.
/// `is_free` is set if a constant may have the record's name.
pub(super) fn write(text: &mut String, record: &Record, records: &[Record], is_free: bool) {
    let Record { name, source_name, size, content, .. } = record;
    if let Some(known) = shared(record, records) {
        return write_shared(text, record, &known);
    }
    let Some(size) = size else {
        let (why, field) = match content {
            Content::Differs => {
                ("its fields differ between targets", "_fields_differ_between_targets")
            }
            _ if source_name.contains('<') => {
                ("nothing in the source instantiates this template", "_opaque")
            }
            _ => ("the source does not define it", "_opaque"),
        };
        // The field is hidden from documentation, but public: the compiler's message about a
        // missing field lists public fields.
        let visibility = if *content == Content::Differs { "#[doc(hidden)] pub " } else { "" };
        let doc = format!("`{source_name}`, which kernels receive only by pointer: {why}.");
        let _ = writeln!(
            text,
            "#[doc = {doc:?}] #[allow(non_camel_case_types)] #[repr(C)] #[derive(Debug)] \
             pub struct {name} {{ {visibility}{field}: [__offload::core::primitive::u8; 0] }}"
        );
        return;
    };
    let bytes = size.bytes;
    let what = if record.is_empty() { ", without data" } else { "" };
    let doc = format!("`{source_name}`{what}: {bytes} bytes, aligned to {}.", size.align);
    let repr = repr(record, records);
    let compares = if record.is_known(records) { ", PartialEq" } else { "" };
    let _ = write!(
        text,
        "#[doc = {doc:?}] #[allow(non_camel_case_types, non_snake_case)] #[derive(Clone, Copy, Debug{compares})] \
         #[repr({repr})] pub struct {name} {{ "
    );
    match content {
        Content::Empty => {
            let _ = write!(text, "_none: [__offload::core::primitive::u8; {bytes}]");
        }
        Content::Opaque | Content::Differs => {
            let _ = write!(
                text,
                "/// The bytes of the value in the device's layout. Bytes of padding need not be written.\n\
                 pub bytes: [__offload::core::mem::MaybeUninit<__offload::core::primitive::u8>; {bytes}]"
            );
        }
        Content::Fields(fields) | Content::Packed(fields) => write_fields(text, fields),
    }
    text.push_str("}\n");
    write_checks(text, record, "");
    let form = if record.is_plain(records) { "plain" } else { "bytes" };
    let _ = writeln!(text, "__offload::impl_record!({form} {name});");
    // An empty struct has no bytes in Rust, but at least one byte in C++, even as a field. This
    // constant lets programs use the struct like one without fields.
    if record.is_empty() && is_free {
        let doc = format!("The value of `{source_name}`.");
        let _ = writeln!(
            text,
            "#[doc = {doc:?}] #[allow(non_upper_case_globals)] \
             pub const {name}: {name} = {name} {{ _none: [0; {bytes}] }};"
        );
    }
}

fn repr(record: &Record, records: &[Record]) -> String {
    match (&record.content, record.size) {
        (Content::Packed(_), _) => "C, packed".into(),
        (_, Some(size)) if record.names_alignment(records) => format!("C, align({})", size.align),
        _ => "C".into(),
    }
}

/// Writes the fields of a struct.
fn write_fields(text: &mut String, fields: &[Field]) {
    for Field { name, offset, ty } in fields {
        let _ = write!(text, "/// At offset {offset}.\npub {name}: {}, ", memory_type(ty));
    }
}

/// Writes checks that a record's struct has the device compiler's layout. `message` contains
/// further arguments of `assert!`: nothing, or a comma and a message.
fn write_checks(text: &mut String, Record { name, size, content, .. }: &Record, message: &str) {
    let Some(size) = size else { return };
    text.push_str("const _: () = { ");
    for Field { name: field, offset, .. } in content.fields().unwrap_or_default() {
        let _ = write!(
            text,
            "__offload::core::assert!(__offload::core::mem::offset_of!({name}, {field}) == {offset}{message});"
        );
    }
    let _ = writeln!(
        text,
        "__offload::core::assert!(__offload::core::mem::size_of::<{name}>() == {}{message}); \
         __offload::core::assert!(__offload::core::mem::align_of::<{name}>() == {}{message}); }};",
        size.bytes, size.align
    );
}

/// Writes an import of the shared type, with checks that it has the device compiler's layout.
fn write_shared(text: &mut String, record: &Record, Shared { name: known, fields }: &Shared) {
    let name = &record.name;
    let alias = if name == known { String::new() } else { format!(" as {name}") };
    let _ =
        writeln!(text, "#[allow(non_camel_case_types)] pub use __offload::types::{known}{alias};");
    let field = |(name, offset): &(&str, u64)| {
        let (name, offset) = (String::from(*name), *offset);
        Field { name, offset, ty: Type::Void }
    };
    let content = Content::Fields(fields.iter().map(field).collect());
    write_checks(text, &Record { content, ..record.clone() }, "");
}

/// Writes the name of the program's type, or a struct that contains such types.
pub(super) fn write_override(
    text: &mut String,
    record: &Record,
    (overrides, records): (&Overrides<'_>, &[Record]),
    is_nested: bool,
) {
    let Record { name, source_name, content, .. } = record;
    match (overrides.of(name), content) {
        (Some(Override { ty: Some(ty), .. }), _) => {
            let outer = if is_nested { "super::" } else { "" };
            let _ = writeln!(
                text,
                "#[doc = {:?}] #[allow(dead_code, non_camel_case_types, private_interfaces)] \
                 pub type {name} = {outer}{ty};",
                format!("The program's own type for `{source_name}`.")
            );
        }
        (None, Content::Fields(fields) | Content::Packed(fields)) => {
            let _ = write!(
                text,
                "#[doc = {:?}] #[allow(non_camel_case_types, non_snake_case, private_interfaces, missing_debug_implementations)] \
                 #[derive(Clone, Copy)] #[repr({})] pub struct {name} {{ ",
                format!(
                    "The kernels' struct `{source_name}`, in which the program supplies the type \
                     of at least one field."
                ),
                repr(record, records)
            );
            write_fields(text, fields);
            text.push_str("}\n");
            // The sizes of the fields' types have already been compared, so only a greater
            // alignment can change the layout.
            let message = format!(
                "`{name}` contains a type of your program that replaces a struct of the kernels but \
                 has a greater alignment: give both the same alignment"
            );
            write_checks(text, record, &format!(", {message:?}"));
            let _ = writeln!(text, "__offload::impl_argument_of_record!({name});");
        }
        _ => {}
    }
}
