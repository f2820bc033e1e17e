//! Types, documentation and attributes as Rust code, for functions and structs.

use crate::signature::{Scalar, Type};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// The maximum number of arguments that clippy accepts without a warning.
const FEW_ARGUMENTS: usize = 7;

/// Returns the type of the argument for a parameter. If the parameter is a `void` pointer, a
/// pointer to any type may be passed.
pub(super) fn argument_type(ty: &Type) -> String {
    match ty {
        Type::Pointer { is_mutable, to } if **to == Type::Void => {
            format!("__offload::{}", if *is_mutable { "AnyMut" } else { "AnyConst" })
        }
        other => value_type(other),
    }
}

/// Returns the Rust type of a parameter. A `bool` has Rust's type only if it is passed by value: in
/// memory, a `bool` may be any byte.
pub(super) fn value_type(ty: &Type) -> String {
    match ty {
        Type::Scalar(Scalar::Bool) => "__offload::core::primitive::bool".to_owned(),
        other => memory_type(other),
    }
}

/// Returns the path of a scalar type that Rust has.
pub(super) fn value_name(scalar: Scalar) -> String {
    format!("__offload::core::primitive::{}", scalar.name())
}

/// Returns the attributes of a function with these parameters. Unneeded attributes are omitted,
/// because each attribute costs rustc some time.
pub(super) fn function_attributes(name: &str, parameters: Vec<&str>) -> String {
    let mut has_uppercase = name.contains(char::is_uppercase);
    for parameter in &parameters {
        has_uppercase |= parameter.contains(char::is_uppercase);
    }
    let is_long = parameters.len() > FEW_ARGUMENTS;
    let many = if is_long { "#[allow(clippy::too_many_arguments)]" } else { "" };
    let uppercase = if has_uppercase { "#[allow(non_snake_case)]" } else { "" };
    format!("{many}{uppercase}")
}

/// Returns the documentation attributes for the item of a kernel or variable with this comment.
pub(super) fn attributes(doc: &str, comment: &[String]) -> String {
    let has_links = comment.iter().any(|line| line.contains(['[', '<']));
    let links = if has_links {
        "#[allow(rustdoc::broken_intra_doc_links, rustdoc::invalid_html_tags)]"
    } else {
        ""
    };
    format!("#[doc = {doc:?}]{links}")
}

/// Returns the Rust type of a record's field or of a pointer's target. `__offload` is the hidden
/// module of the crate `offload-gpu`.
pub(super) fn memory_type(ty: &Type) -> String {
    match ty {
        Type::Scalar(Scalar::Bool) => "__offload::types::Bool".to_owned(),
        Type::Scalar(Scalar::F16) => "__offload::types::F16".to_owned(),
        Type::Scalar(Scalar::Bf16) => "__offload::types::Bf16".to_owned(),
        Type::Scalar(Scalar::Isize) => "__offload::Isize".to_owned(),
        Type::Scalar(Scalar::Usize) => "__offload::Usize".to_owned(),
        Type::Scalar(scalar) => value_name(*scalar),
        Type::Pointer { is_mutable: true, to } => format!("*mut {}", memory_type(to)),
        Type::Pointer { is_mutable: false, to } => format!("*const {}", memory_type(to)),
        Type::Array { of, count } => format!("[{}; {count}]", memory_type(of)),
        Type::Record(name) => name.clone(),
        Type::Void => "__offload::core::ffi::c_void".to_owned(),
    }
}

/// Returns the lines of a comment as documentation, followed by an empty line. Code blocks are
/// marked as text, so that rustdoc does not test them.
pub(super) fn documentation(comment: &[String]) -> String {
    let mut doc = String::new();
    let mut is_code = false;
    for line in comment {
        let line = line.trim();
        let is_fence = line.starts_with("```") || line.starts_with("~~~");
        is_code ^= is_fence;
        doc.push_str(match (is_fence, is_code) {
            (true, true) => " ```text",
            (true, false) => " ```",
            _ => " ",
        });
        doc.push_str(if is_fence { "" } else { line });
        doc.push('\n');
    }
    if comment.is_empty() { doc } else { doc + if is_code { " ```\n\n" } else { "\n" } }
}
