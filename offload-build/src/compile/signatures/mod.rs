//! Reads the signatures of kernels, and the types of variables, from debug information.
//!
//! ```text
//! source -> clang -g -S -emit-llvm -> metadata -> kernels, variables -> types -> Signature, Variable, Record
//! ```
//!
//! clang can describe a source in several forms. This module reads the debug information in LLVM
//! IR, because it contains mangled names and the target's sizes and offsets, and its text form is
//! the same in clang 14 to 22.
//!
//! If g++ compiles the image for the CPU, clang may see different types, because a source can test
//! which compiler reads it. g++'s debug information shows the types in that image.

mod comment;
mod entries;
mod merge;
mod rust;
mod template;
mod types;
mod unite;
mod variables;

pub(crate) use entries::entries;
pub(crate) use merge::merge;
pub(crate) use rust::refusal as refusal_of_rust;
pub(crate) use unite::{Description, unite};

use crate::compile::debug_info::assembly::{Assembly, Function};
use crate::compile::debug_info::metadata::{Metadata, Node};
use crate::compile::debug_info::{kernels, metadata};
use offload_pack::signature::{
    Identifiers, Parameter, Signature, Signatures, Type, Variable, identifier,
};
use std::collections::HashMap;
use types::Types;

/// Returns the kernels' signatures and the variables in `ir`, clang's LLVM IR for a source. `read`
/// returns the text of a source file that the debug information names.
///
/// Leaves out kernels with a parameter of unknown size. Overloaded kernels share a name in Rust
/// until `merge` gives each a separate name.
pub(crate) fn read(ir: &str, read: &dyn Fn(&str) -> Option<String>) -> Signatures {
    let metadata = Metadata::parse(ir);
    let kernels = kernels::kernels(ir, &metadata);
    let mut types = Types::new(&metadata);
    let is_rust = types.is_rust;
    let mut names: HashMap<(u32, u64), String> = HashMap::new();
    for variable in metadata.all("DILocalVariable") {
        if let (Some(scope), Some(number), Some(name)) =
            (variable.reference("scope"), variable.number("arg"), variable.string("name"))
        {
            names.insert((scope, number), name);
        }
    }
    // Each type is converted only once, so collect all facts about it first.
    for kernel in &kernels {
        kernel.stored.iter().for_each(|stored| types.add_stored(*stored));
    }
    // The source files and their texts. A list suffices, because there are few files.
    let mut sources: Vec<(String, Option<String>)> = Vec::new();
    // Returns the location and the comment of a definition.
    let mut comment_of = |node: Node<'_>| {
        let line = node.number("line").unwrap_or(0);
        let file = metadata.follow(node, "file");
        let file =
            file.and_then(|file| if is_rust { rust::file(file) } else { file.string("filename") });
        let file = file.unwrap_or_default();
        let file = file.strip_prefix("./").unwrap_or(&file).to_owned();
        let at = sources.iter().position(|(known, _)| *known == file).unwrap_or_else(|| {
            sources.push((file.clone(), read(&file)));
            sources.len() - 1
        });
        let text = sources[at].1.as_deref();
        let comment = text.map(|text| {
            let line = line as usize;
            comment::above(text, if is_rust { rust::declaration(text, line) } else { line })
        });
        (format!("{file}:{line}"), comment.unwrap_or_default())
    };
    let mut signatures = Vec::new();
    for kernel in &kernels {
        let Some(subprogram) = metadata.node(kernel.subprogram) else { continue };
        let Some(passed) = passed(&metadata, subprogram) else { continue };
        let mut given = Identifiers::default();
        let mut parameters = Vec::new();
        for (number, ty) in (1..).zip(&passed) {
            let name = names
                .get(&(kernel.subprogram, number))
                .cloned()
                .unwrap_or_else(|| format!("arg{number}"));
            let ty = if kernel.shared.contains(&number) {
                Some(types.shared_memory())
            } else {
                types.parameter(*ty, &name)
            };
            if let Some(ty) = ty {
                parameters.push(Parameter { name: given.give(&identifier(&name)), ty });
            }
        }
        if parameters.len() < passed.len() {
            continue;
        }
        let (place, comment) = comment_of(subprogram);
        let own = subprogram.string("name").unwrap_or_else(|| kernel.symbol.clone());
        let source_name = types.qualified(subprogram, &own);
        let template = template::template(&mut types, &metadata, subprogram, &own);
        signatures.push(Signature {
            symbol: kernel.symbol.clone(),
            // In Rust, `#[unsafe(no_mangle)]` makes the function's own name unique.
            name: identifier(if is_rust { &kernel.symbol } else { &source_name }),
            source_name,
            template,
            place,
            comment,
            parameters,
            difference: Vec::new(),
        });
    }
    let defined = variables::defined(ir, &metadata);
    let variables = defined
        .iter()
        .filter_map(|variable| variable.variable(&metadata, &mut types, &mut comment_of))
        .collect();
    let Types { records, enumerations, .. } = types;
    Signatures { kernels: signatures, records, enumerations, variables }
}

/// Returns the kernels and variables that a source defines, from g++'s assembly with comments.
/// Unknown types become `void`.
pub(crate) fn read_assembly(text: &str) -> Signatures {
    let assembly = Assembly::parse(text);
    let metadata = Metadata::parse(&assembly.metadata);
    let mut types = Types::new(&metadata);
    let mut kernels = Vec::new();
    for Function { symbol, parameters: of_function, .. } in assembly.kernels {
        let mut parameters = Vec::new();
        let mut given = Identifiers::default();
        for (number, it) in (1..).zip(of_function) {
            let name = it.name.unwrap_or_else(|| format!("arg{number}"));
            let name = given.give(&identifier(&name));
            let ty = it.ty.and_then(|ty| types.parameter(ty, &name)).unwrap_or(Type::Void);
            parameters.push(Parameter { name, ty });
        }
        kernels.push(Signature {
            name: identifier(&symbol),
            source_name: symbol.clone(),
            symbol,
            parameters,
            ..Signature::default()
        });
    }
    let mut variables = Vec::new();
    for (symbol, ty) in assembly.variables {
        variables.push(Variable {
            name: identifier(&symbol),
            source_name: symbol.clone(),
            place: String::new(),
            comment: Vec::new(),
            ty: types.parameter(ty, &symbol).unwrap_or(Type::Void),
            obstacle: None,
            symbol,
        });
    }
    let Types { records, enumerations, .. } = types;
    Signatures { kernels, records, enumerations, variables }
}

/// Returns the type node of each parameter.
fn passed(metadata: &Metadata<'_>, subprogram: Node<'_>) -> Option<Vec<u32>> {
    let list = metadata.follow(metadata.follow(subprogram, "type")?, "types")?;
    let mut items = list.items();
    // The first item is the function's result. The list is empty if the debug information contains
    // no types.
    items.next()?;
    let mut types = Vec::new();
    for item in items {
        types.push(metadata::reference(item)?);
    }
    Some(types)
}

#[cfg(test)]
mod tests;
