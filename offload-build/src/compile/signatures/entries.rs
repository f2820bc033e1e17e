//! Writes the entries of kernels in the CPU image as C++ code, to be appended to the source that
//! defines the kernels.
//!
//! An entry names its kernel in C++, using the debug information:
//!
//! | kernel | how it is named |
//! |---|---|
//! | with parameters that are numbers or pointers to numbers | by a cast to the function's type, in case of overloads |
//! | with other types, and a name that another kernel shares | by the same cast |
//! | with other types | through a template that deduces these types, which may be local or unnamed |
//!
//! `offload/entry.h` contains the rest of an entry.

use super::passed;
use super::types::Types;
use crate::compile::debug_info::assembly::{Assembly, Function, Parameter};
use crate::compile::debug_info::kernels::{self, Kernel};
use crate::compile::debug_info::metadata::{Id, Metadata};
use std::fmt::Write;

/// The words that make up the names of C++'s number types.
const NUMBERS: [&str; 16] = [
    "bool", "char", "signed", "unsigned", "short", "int", "long", "float", "double", "wchar_t",
    "char8_t", "char16_t", "char32_t", "__int128", "_Float16", "__bf16",
];

/// Returns the entries of a source's kernels. `text` is clang's LLVM IR for the source, or g++'s
/// assembly.
pub(crate) fn entries(text: &str, is_assembly: bool) -> String {
    let assembly = if is_assembly { Assembly::parse(text) } else { Assembly::default() };
    let metadata = Metadata::parse(if is_assembly { &assembly.metadata } else { text });
    let types = Types::new(&metadata);
    let mut functions = assembly.kernels;
    if !is_assembly {
        for Kernel { symbol, subprogram, .. } in kernels::kernels(text, &metadata) {
            let Some(node) = metadata.node(subprogram) else { continue };
            let mut parameters = Vec::new();
            for ty in passed(&metadata, node).unwrap_or_default() {
                let is_address = types.is_address(ty);
                parameters.push(Parameter { name: None, ty: Some(ty), is_address });
            }
            functions.push(Function { symbol, clang_symbol: None, subprogram, parameters });
        }
    }
    // List each kernel with its qualified name in the source.
    let mut all: Vec<(&Function, String)> = Vec::new();
    for function in &functions {
        let Some(node) = metadata.node(function.subprogram) else { continue };
        let own = node.string("name").unwrap_or_else(|| function.symbol.clone());
        all.push((function, without_anonymous(&types.qualified(node, &own))));
    }
    let mut text = String::new();
    for (number, (kernel, name)) in all.iter().enumerate() {
        let mut same_names = 0;
        for (_, other) in &all {
            same_names += usize::from(other == name);
        }
        let is_overloaded = same_names > 1;
        write_entry(&mut text, kernel, name, (number, is_overloaded), &types, &metadata);
    }
    text
}

fn write_entry(
    text: &mut String,
    Function { symbol, clang_symbol, subprogram, parameters }: &Function,
    name: &str,
    (number, is_overloaded): (usize, bool),
    types: &Types<'_>,
    metadata: &Metadata<'_>,
) {
    let Some(node) = metadata.node(*subprogram) else { return };
    let file = metadata.follow(node, "file").and_then(|file| file.string("filename"));
    let file = file.or_else(|| node.string("file")).unwrap_or_default();
    let _ = writeln!(text, "#line {} {file:?}", node.number("line").unwrap_or(1));
    let (mut list, mut deduced, mut is_spelled) = (String::new(), String::new(), true);
    let mut addresses = String::new();
    for (at, Parameter { ty, is_address, .. }) in parameters.iter().enumerate() {
        let comma = if at == 0 { "" } else { ", " };
        let _ = write!(addresses, "{comma}{}", u8::from(*is_address));
        match ty.and_then(|ty| spelled(ty, is_overloaded, types, metadata)) {
            Some(ty) => _ = write!(list, "{comma}{ty}"),
            None => {
                is_spelled = false;
                let _ = write!(list, "{comma}T{at}_");
                let _ = write!(deduced, ", typename T{at}_");
            }
        }
    }
    if !is_nameable(name) || is_overloaded && !is_spelled {
        let why = if is_nameable(name) {
            "other kernels have this name, and the type of a parameter is local or has no name"
        } else {
            "this name contains a local or unnamed type"
        };
        let message = format!(
            "the image for the CPU cannot call the kernel {name} by its name in C++: {why}. Give \
             the type a name at namespace scope"
        );
        let _ = writeln!(text, "static_assert(false, {message:?});");
        return;
    }
    let mut kernel = format!("static_cast<void (*)({list})>(::{name})");
    if !is_spelled {
        let _ = write!(
            text,
            "template <typename R_{deduced}> constexpr auto offload_cpu_named_{number}(R_ (*kernel_)({list})) {{ return kernel_; }} "
        );
        kernel = format!("offload_cpu_named_{number}(::{name})");
    }
    for symbol in [Some(symbol), clang_symbol.as_ref()].into_iter().flatten() {
        let _ = writeln!(
            text,
            "OFFLOAD_CPU_KERNEL({symbol}) {{ offload_cpu::entry<{addresses}>::run(addresses, {kernel}); }}"
        );
    }
}

/// Removes anonymous namespaces from a name, because C++ finds their members without them.
fn without_anonymous(name: &str) -> String {
    name.replace("(anonymous namespace)::", "").replace("{anonymous}::", "")
}

/// Whether C++ code at namespace scope can use a name.
fn is_nameable(name: &str) -> bool {
    for part in
        ["{", "(lambda", "<lambda", "(unnamed", "<unnamed", "(anonymous", "<anonymous", ")::"]
    {
        if name.contains(part) {
            return false;
        }
    }
    true
}

/// Returns a type in C++ syntax, or `None` for a type that is not built from number types. With
/// `with_records`, returns `None` only for an unnamed type.
fn spelled(
    id: Id,
    with_records: bool,
    types: &Types<'_>,
    metadata: &Metadata<'_>,
) -> Option<String> {
    let node = metadata.node(id)?;
    let after = match node.tag() {
        "pointer_type" => " *",
        "reference_type" => " &",
        "rvalue_reference_type" => " &&",
        "const_type" => " const",
        "volatile_type" => " volatile",
        "restrict_type" | "typedef" => "",
        _ => {
            let name = node.string("name").filter(|name| !name.is_empty());
            if node.kind == "DIBasicType" {
                for word in name.as_ref()?.split(' ') {
                    if !NUMBERS.contains(&word) {
                        return None;
                    }
                }
                return name;
            }
            let is_named = matches!(
                node.tag(),
                "structure_type" | "class_type" | "union_type" | "enumeration_type"
            );
            let name = name.filter(|_| is_named && with_records)?;
            let name = without_anonymous(&types.qualified(node, &name));
            return is_nameable(&name).then(|| format!("::{name}"));
        }
    };
    let inner = match node.reference("baseType") {
        None => Some("void".to_owned()),
        Some(inner) => spelled(inner, with_records, types, metadata),
    };
    match inner {
        Some(inner) => Some(inner + after),
        // `typedef struct { … } name;`
        None if node.tag() == "typedef" && with_records => {
            node.string("name").map(|name| format!("::{}", types.qualified(node, &name)))
        }
        None => None,
    }
}
