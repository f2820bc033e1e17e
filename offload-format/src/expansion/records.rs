//! Structs for the records among the parameters of kernels.

use super::calls::memory_type;
use crate::signature::{Content, Record};
use alloc::format;
use alloc::string::String;
use core::fmt::Write as _;

/// Writes the struct of a record, with checks that it has the device compiler's layout.
pub(super) fn write(text: &mut String, record: &Record, records: &[Record]) {
    let Record { name, source_name, size, content, .. } = record;
    let Some(size) = size else {
        let doc = format!("`{source_name}`, which kernels get by pointers alone.");
        let _ = writeln!(
            text,
            "#[doc = {doc:?}] #[allow(non_camel_case_types)] #[repr(C)] #[derive(Debug)] \
             pub struct {name} {{ _opaque: [__offload::core::primitive::u8; 0] }}"
        );
        return;
    };
    let (bytes, align) = (size.bytes, size.align);
    let doc = format!("`{source_name}`: {bytes} bytes, aligned to {align}.");
    let repr = match content {
        Content::Packed(_) => "C, packed".into(),
        _ if record.names_alignment(records) => format!("C, align({align})"),
        _ => "C".into(),
    };
    let _ = write!(
        text,
        "#[doc = {doc:?}] #[allow(non_camel_case_types, non_snake_case)] #[derive(Clone, Copy, Debug)] \
         #[repr({repr})] pub struct {name} {{ "
    );
    let mut checks = String::new();
    match content {
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
    let _ = writeln!(
        text,
        "}}\nconst _: () = {{ {checks} \
         __offload::core::assert!(__offload::core::mem::size_of::<{name}>() == {bytes}); \
         __offload::core::assert!(__offload::core::mem::align_of::<{name}>() == {align}); }};\n\
         __offload::impl_argument_of_record!({name});"
    );
}
