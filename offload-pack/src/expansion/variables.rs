//! Generates constants for the variables of a module. Host code reads and writes the variables
//! through these constants.
//!
//! ```text
//! pub const TABLE: __offload::Variable<'static, [f32; 256], f32, …> = __offload::new_variable!(…, "table");
//! pub const HIDDEN: __offload::HiddenVariable<__offload_variables::hidden, __offload::Static> = …;
//! ```
//!
//! A variable that host code cannot access has a constant, too, but calling this constant's methods
//! is a compile error that states the reason. Each such variable has its own type, because the
//! message shows the type's name.

use super::code::{attributes, documentation, memory_type};
use crate::signature::{Identifiers, Obstacle, Record, Type, Variable, identifier};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

/// Writes the constants of a module's variables. `given` contains the names that other values of
/// the module already use.
pub(super) fn write(
    text: &mut String,
    variables: &[Variable],
    records: &[Record],
    mut given: Identifiers,
    form: &str,
) {
    let (mut hidden, mut of_hidden) = (String::new(), Identifiers::default());
    for variable in variables {
        let Variable { symbol, source_name, place, comment, ty, .. } = variable;
        let name = given.give(&variable.name);
        let mut doc = format!("{} `{source_name}`, {place}", documentation(comment));
        let obstacle = variable.obstacle.or_else(|| {
            // The type with this name has different layouts for different targets.
            ty.size(records).is_none().then_some(Obstacle::Differs)
        });
        let (of_type, value) = match obstacle {
            None => (
                format!(
                    "Variable<'static, {}, {}, __offload::{form}>",
                    variable_type(ty),
                    variable_type(item(ty))
                ),
                format!("new_variable!(__offload_items::__offload_module, {symbol:?})"),
            ),
            Some(obstacle) => {
                let why = match obstacle {
                    Obstacle::Static => "Static",
                    Obstacle::Differs => "Differs",
                };
                let own = of_hidden.give(&identifier(source_name));
                let _ = write!(hidden, "#[derive(Debug)] pub enum {own} {{}} ");
                doc.push_str(". Host code cannot access the variable.");
                (
                    format!("HiddenVariable<__offload_variables::{own}, __offload::{why}>"),
                    "HiddenVariable::NEW".into(),
                )
            }
        };
        let attributes = attributes(&doc, comment);
        let _ = writeln!(
            text,
            "{attributes} #[allow(dead_code)] pub const {name}: __offload::{of_type} = __offload::{value};"
        );
    }
    if !hidden.is_empty() {
        let _ = writeln!(
            text,
            "#[doc(hidden)] #[allow(dead_code, non_camel_case_types)] pub mod __offload_variables {{ {hidden}}}"
        );
    }
}

pub(super) fn types(variables: &[Variable]) -> Vec<&Type> {
    variables.iter().filter(|it| it.obstacle.is_none()).map(|it| &it.ty).collect()
}

/// Returns the item type of an array with any number of dimensions, or the type itself.
fn item(ty: &Type) -> &Type {
    match ty {
        Type::Array { of, .. } => item(of),
        other => other,
    }
}

/// Returns the Rust type of a variable's value. Pointers get a type that buffers may contain.
fn variable_type(ty: &Type) -> String {
    match ty {
        Type::Array { of, count } => format!("[{}; {count}]", variable_type(of)),
        Type::Pointer { to, .. } => format!("__offload::types::Pointer<{}>", memory_type(to)),
        other => memory_type(other),
    }
}
