//! Generates the items of a module: structs, functions, and constants for variables and for kernels
//! without a signature.

use super::calls::Calls;
use super::overrides::Overrides;
use super::templates::{self, Generic};
use super::{Declared, NAMED, Program, named, records, variables};
use crate::pack_index::IndexModule;
use crate::signature::{
    Enumeration, Enumerator, Identifiers, Record, Signature, Signatures, Type, Variable,
    identifier, shared,
};
use alloc::borrow::{Cow, ToOwned};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt::Write as _;

/// Returns the items of a module as Rust code. If the module [`is_nested`](super::is_nested), they
/// belong in a separate Rust module. `form` is the pack's form: `Plain` or `Compressed`.
pub fn items(
    module: &IndexModule,
    signatures: &Signatures,
    Program { declared, overrides }: Program<'_>,
    number: usize,
    is_nested: bool,
    form: &str,
) -> String {
    let Signatures { kernels: known, records, enumerations, variables } = signatures;
    // A kernel in a source may have the name of the macro's own function, `named`.
    let mut known = Cow::from(known);
    if known.iter().any(|kernel| kernel.name == NAMED) {
        let mut free = function_name(NAMED);
        while known.iter().any(|kernel| kernel.name == free)
            || declared.iter().any(|kernel| kernel.signature.name == free)
        {
            free.push('_');
        }
        for kernel in known.to_mut().iter_mut().filter(|kernel| kernel.name == NAMED) {
            kernel.name.clone_from(&free);
        }
    }
    let (mut symbols, mut names) = (Vec::new(), Vec::new());
    for kernel in declared {
        symbols.push(&*kernel.signature.symbol);
        names.push(&*kernel.signature.name);
    }
    let (mut kernels, mut callable, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for kernel in known.iter().filter(|kernel| !symbols.contains(&&*kernel.symbol)) {
        names.push(&kernel.name);
        kernels.push(kernel);
        let list = if kernel.difference.is_empty() { &mut callable } else { &mut others };
        list.push(kernel);
    }

    let outer = "super::".repeat(1 + usize::from(is_nested));
    let mut text = String::new();
    if is_nested {
        text.push_str("use super::__offload;\n");
    }
    let without_signature = without_signature(module, &known, &symbols);
    let mut given = Identifiers::default();
    for name in &names {
        given.give(name);
    }
    let mut constants: Vec<(String, &str)> = Vec::new();
    for symbol in without_signature {
        constants.push((given.give(&function_name(&identifier(symbol))), symbol));
    }
    let is_free = |name: &str| {
        name != NAMED
            && !names.contains(&name)
            && !constants.iter().any(|(known, _)| known == name)
            && !variables.iter().any(|variable| variable.name == name)
    };
    let mut generics: Vec<Generic<'_>> = Vec::new();
    for (source_name, instances) in templates::find(&callable, records) {
        let is_taken = |name: &str| {
            !is_free(name)
                || generics.iter().any(|it| it.name == name)
                || records.iter().any(|it| it.name == name)
                || enumerations.iter().any(|it| it.name == name)
        };
        let name = || {
            let mut name = identifier(source_name);
            while is_taken(&name) {
                name.push('_');
            }
            name
        };
        let generic = Generic::new(instances, name);
        generics.extend(generic);
    }
    let used = used(&kernels, &generics, variables, records);
    let overrides = Overrides::new(overrides, records);
    let (mut of_scope, mut types) = (vec!["__offload"], String::new());
    for record in &used {
        let name = &*record.name;
        if overrides.has_another_form(name) {
            let with = (&overrides, &**records);
            records::write_override(&mut text, record, with, is_nested);
            of_scope.push(name);
            continue;
        }
        let is_empty = record.is_empty();
        records::write(&mut text, record, records, !is_empty || is_free(name));
        if is_empty {
            // An import would also import the constant with this name, but a parameter cannot have
            // the name of a constant in scope.
            let _ = writeln!(types, "#[doc(hidden)] type {name} = super::{name};");
        } else {
            of_scope.push(name);
        }
    }
    write_constants(&mut text, enumerations, is_nested);
    let layouts: Vec<String> = declared.iter().map(Declared::layout).collect();
    for (kernel, layout) in declared.iter().zip(&layouts) {
        of_scope.push(layout);
        for parameter in &kernel.signature.parameters {
            if let Type::Record(name) = &parameter.ty {
                of_scope.push(name);
            }
        }
    }
    let _ = write!(
        text,
        "#[allow(dead_code, unused_imports, missing_debug_implementations, non_camel_case_types, \
             non_upper_case_globals, private_bounds, private_interfaces)]\n\
             #[doc = \"Functions of kernels.\"] mod __offload_items {{\nuse super::{{{}}};\n{types}\
             #[doc(hidden)] type __offload_form = __offload::{form};\n\
             #[doc(hidden)] pub const __offload_module: __offload::Module<'static, __offload_form> = __offload::module(&{outer}PACK, {number});\n",
        of_scope.join(",")
    );
    // The checks are in a separate function, because constants in a generic function are evaluated
    // for each instance.
    text.push_str(
            "#[doc(hidden)] pub fn __offload_kernel(symbol: &'static __offload::core::primitive::str) \
             -> __offload::Kernel<'static, __offload_form> { __offload::kernel(__offload_module, symbol) }\n",
        );
    let mut calls = Calls::new(module, signatures, &overrides);
    let (mut imports, mut without_function) = (vec![NAMED], String::new());
    for kernel in &callable {
        if calls.add(kernel) {
            imports.push(&kernel.name);
        } else {
            let why = "the size of one of its parameters is not known";
            named::line(&mut without_function, kernel, &kernel.place, [why]);
        }
    }
    generics.iter().for_each(|generic| calls.add_generic(generic));
    for kernel in declared {
        calls.add_declared(kernel);
        imports.push(&kernel.signature.name);
    }
    for kernel in &others {
        let why =
            format!("it has different parameters in some images: {}", kernel.difference.join("; "));
        named::line(&mut without_function, kernel, &kernel.place, [&*why]);
    }
    text.push_str(&calls.text(&without_function));
    for kernel in others {
        if write_uncallable(&mut text, kernel) {
            imports.push(&kernel.name);
        }
    }
    let _ = write!(
        text,
        "}}\n#[doc(inline)] pub use self::__offload_items::{{{}}};\n",
        imports.join(",")
    );
    if !generics.is_empty() {
        // As in `write_constants`, other items of the program hide these imports.
        let names: Vec<&str> = generics.iter().map(|it| &*it.name).collect();
        let names = if is_nested { format!("{{{}}}", names.join(",")) } else { "*".to_owned() };
        let _ = writeln!(
            text,
            "#[allow(unused_imports)] #[doc(inline)] pub use self::__offload_items::__offload_templates::{names};"
        );
    }
    for (name, symbol) in constants {
        let doc = format!("The kernel `{symbol}`, whose parameters are not known.");
        let _ = writeln!(
            text,
            "#[doc = {doc:?}] #[allow(non_upper_case_globals)] \
                 pub const {name}: __offload::Kernel<'static, __offload::{form}> = \
                 __offload::kernel(__offload_items::__offload_module, {symbol:?});"
        );
    }
    variables::write(&mut text, variables, records, given, form);
    text
}

/// Returns the name of a kernel's function or constant, which must differ from the name of the
/// function `named`.
fn function_name(name: &str) -> String {
    if name == NAMED { format!("{NAMED}_") } else { name.to_owned() }
}

/// Writes a module for each enumeration, with a constant for each value. The modules are imported
/// with a glob, so an item of the program with the same name hides a module. A separate Rust module
/// contains no items of the program, but it may have a glob import of the outer module.
fn write_constants(text: &mut String, enumerations: &[Enumeration], is_nested: bool) {
    if enumerations.is_empty() {
        return;
    }
    let outer = "super::".repeat(2);
    text.push_str("#[doc = \"Values of enumerations.\"] mod __offload_constants {\n");
    for Enumeration { name, source_name, ty, values } in enumerations {
        let doc = format!("The values of `{source_name}`, which kernels take as `{}`.", ty.name());
        let _ = write!(
            text,
            "#[doc = {doc:?}] #[allow(dead_code, non_snake_case, non_upper_case_globals)] pub mod {name} {{ "
        );
        for Enumerator { name, value } in values {
            let _ = write!(
                text,
                "#[doc = \"{value}\"] pub const {name}: {outer}__offload::core::primitive::{} = {value}; ",
                ty.name()
            );
        }
        text.push_str("}\n");
    }
    let names: Vec<&str> = enumerations.iter().map(|it| &*it.name).collect();
    let names = if is_nested { format!("{{{}}}", names.join(",")) } else { "*".to_owned() };
    let _ = writeln!(
        text,
        "}}\n#[allow(unused_imports)] #[doc(inline)] pub use self::__offload_constants::{names};"
    );
}

/// Returns the kernels in the module's images that are neither in a source nor declared by the
/// program.
fn without_signature<'a>(
    module: &'a IndexModule,
    known: &'a [Signature],
    declared: &[&'a str],
) -> Vec<&'a str> {
    let mut of_sources: Vec<&str> = declared.to_vec();
    of_sources.extend(known.iter().map(|kernel| &*kernel.symbol));
    of_sources.sort_unstable();
    let mut unknown = Vec::new();
    for name in module.kernel_names() {
        if of_sources.binary_search(&name).is_err() {
            unknown.push(name);
        }
    }
    unknown
}

/// Writes a function whose calls do not compile, for a kernel that differs between images. If the
/// kernel has no parameters, writes nothing and returns false, because the compiler shows the error
/// at the first argument.
fn write_uncallable(text: &mut String, kernel: &Signature) -> bool {
    let Signature { name, source_name, difference, parameters, .. } = kernel;
    let Some((first, others)) = parameters.split_first() else { return false };
    let agrees = format!("__offload_{name}_is_the_same_in_all_images");
    let message = format!(
        "the kernel `{source_name}` has different parameters in some images, so no call can be \
         correct for all images"
    );
    let doc = format!(" `{source_name}` cannot be called: {}.", difference.join("; "));
    let mut notes = String::new();
    for line in difference {
        let _ = write!(notes, ", note = {line:?}");
    }
    let mut more = String::new();
    for it in others {
        let _ = write!(more, ", {}: impl __offload::core::marker::Sized", it.name);
    }
    let _ = writeln!(
        text,
        "#[diagnostic::on_unimplemented(message = {message:?}, label = \"for this kernel\"{notes})] \
         #[doc(hidden)] pub trait {agrees} {{}} \
         #[doc = {doc:?}] #[allow(clippy::too_many_arguments, non_snake_case, unused_variables)] \
         pub fn {name}({}: impl {agrees}{more}) {{}}",
        first.name
    );
    true
}

/// Returns the records in the types of kernels, variables and template arguments.
fn used<'a>(
    kernels: &[&Signature],
    generics: &[Generic<'_>],
    variables: &[Variable],
    records: &'a [Record],
) -> Vec<&'a Record> {
    let mut used = vec![false; records.len()];
    let mut types: Vec<&Type> = Vec::new();
    for kernel in kernels {
        types.extend(kernel.parameters.iter().map(|parameter| &parameter.ty));
    }
    for generic in generics {
        types.extend(generic.types());
    }
    types.extend(variables::types(variables));
    while let Some(ty) = types.pop() {
        match ty {
            Type::Pointer { to: inner, .. } | Type::Array { of: inner, .. } => types.push(inner),
            Type::Record(name) => {
                let found = records.iter().position(|record| record.name == *name);
                let Some(number) = found.filter(|number| !used[*number]) else { continue };
                used[number] = true;
                if shared(&records[number], records).is_none() {
                    let fields = records[number].content.fields().unwrap_or_default();
                    types.extend(fields.iter().map(|field| &field.ty));
                }
            }
            Type::Scalar(_) | Type::Void => {}
        }
    }
    let mut found = Vec::new();
    for (record, is_used) in records.iter().zip(used) {
        if is_used {
            found.push(record);
        }
    }
    found
}
