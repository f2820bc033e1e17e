//! Types of the program that replace kernels' structs: aliases of the types, and checks that
//! compare the types' layouts with those of the structs.

use super::declared::{checked, list};
use crate::declaration::ends;
use crate::overrides::Override;
use crate::{sorted, suggest};
use offload_pack::expansion;
use offload_pack::pack_index::IndexModule;
use offload_pack::signature::{Content, Record, Scalar, Type, shared};
use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::{Error, Result};

/// A module of a pack.
pub(super) struct Module<'a> {
    /// The module's name in Rust.
    pub(super) name: &'a str,
    pub(super) of_index: &'a IndexModule,
    /// Whether the module's code is in a separate Rust module.
    pub(super) is_nested: bool,
}

impl Override {
    /// Returns the name of the struct, with its module if the program names one.
    fn meant(&self) -> String {
        self.module.as_ref().map_or_else(String::new, |module| format!("{module}::"))
            + &self.name.unraw().to_string()
    }

    /// Whether both types replace the same struct in any module.
    fn overlaps(&self, other: &Self) -> bool {
        let is_one = self.module.is_none() || other.module.is_none() || self.module == other.module;
        is_one && self.name.unraw() == other.name.unraw()
    }

    /// Returns the struct that this type replaces in a module.
    fn record<'a>(&self, module: &'a Module<'_>) -> Option<&'a Record> {
        let is_possible = self.module.as_ref().is_none_or(|name| name == module.name);
        let mut records = module.of_index.signatures.records.iter().filter(|_| is_possible);
        records.find(|record| self.name.unraw() == record.name)
    }
}

/// Returns an alias for each type of the program, and the checks of these types.
///
/// Returns an error if no kernel of the pack uses the struct that a type replaces, or if two types
/// replace the same struct.
pub(super) fn items(
    pack: &str,
    overrides: &[Override],
    modules: &[Module<'_>],
    expansion: &TokenStream,
) -> Result<TokenStream> {
    let mut items = TokenStream::new();
    for (number, ty) in overrides.iter().enumerate() {
        if let Some(again) = overrides[..number].iter().find(|it| it.overlaps(ty)) {
            let message =
                format!("`{}` has two replacement types: remove one of them", again.meant());
            return Err(Error::new(ty.name.span(), message));
        }
        let (alias, path) = (alias(number), &ty.path);
        items.extend(quote! { #[allow(non_camel_case_types, dead_code)] type #alias = #path; });
        let mut checked: Vec<String> = Vec::new();
        for module in modules {
            let Some(record) = ty.record(module) else { continue };
            let checks =
                checks(ty, &alias, (record, &module.of_index.signatures.records), expansion);
            // Most modules with this struct include the same header, so their checks are equal.
            let text = checks.to_string();
            if !checked.contains(&text) {
                checked.push(text);
                items.extend(checks);
            }
        }
        if !modules.iter().any(|module| ty.record(module).is_some()) {
            check_name(pack, ty, modules)?;
        }
    }
    Ok(items)
}

/// Returns the types that replace structs in a module.
pub(super) fn of_module(overrides: &[Override], module: &Module<'_>) -> Vec<expansion::Override> {
    let replaced = overrides.iter().enumerate().filter_map(|(number, ty)| {
        let record = ty.record(module)?;
        // The program has already imported or defined the name in this scope.
        let is_there = !module.is_nested && ty.path.to_string() == record.name;
        let ty = (!is_there).then(|| alias(number).to_string());
        Some(expansion::Override { record: record.name.clone(), ty })
    });
    replaced.collect()
}

/// Returns the alias, in the pack's scope, of the type with this number.
fn alias(number: usize) -> Ident {
    format_ident!("__offload_override_{number}")
}

/// Returns an error that lists the structs, unless the parameters of the pack's kernels are
/// unknown.
fn check_name(pack: &str, ty: &Override, modules: &[Module<'_>]) -> Result<()> {
    if let Some(name) = &ty.module
        && !modules.iter().any(|module| name == module.name)
    {
        let names: Vec<&str> = modules.iter().map(|module| module.name).collect();
        let message =
            format!("the pack \"{pack}\" has no module `{name}`: it has {}", list(&names));
        return Err(Error::new(name.span(), message));
    }
    let (mut has_kernels, mut names) = (false, Vec::new());
    for module in modules {
        if ty.module.as_ref().is_none_or(|name| name == module.name) {
            let signatures = &module.of_index.signatures;
            has_kernels |= !signatures.kernels.is_empty();
            for record in &signatures.records {
                names.push(record.name.as_str());
            }
        }
    }
    if !has_kernels {
        return Ok(());
    }
    let names = sorted::texts(names);
    let name = ty.name.unraw().to_string();
    let hint = match suggest::closest(&name, &names) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if names.is_empty() => "the kernels take no structs".to_owned(),
        None => format!("the kernels take {}", list(&names)),
    };
    let message = format!("no kernel of the pack \"{pack}\" takes a struct `{name}`: {hint}");
    Err(Error::new(ty.name.span(), message))
}

/// Returns the checks of a type that replaces a struct.
fn checks(
    ty: &Override,
    alias: &Ident,
    (record, records): (&Record, &[Record]),
    expansion: &TokenStream,
) -> TokenStream {
    let (start, end) = ends(&ty.path);
    let Some(size) = record.size else {
        if record.content != Content::Differs {
            return TokenStream::new();
        }
        let message = format!(
            "`{}` cannot replace the kernels' `{}`, whose fields differ between targets",
            ty.path, record.source_name
        );
        return Error::new(start, message).into_compile_error();
    };
    let text: String = ty.path.to_string().split_whitespace().collect();
    let source_name = &record.source_name;
    let replaced = quote! { &#expansion::Override { path: #text, record: #source_name } };
    // Messages about failed checks point to the program's type.
    let check = |function: &str, arguments: TokenStream| {
        checked(expansion, function, arguments, (start, end))
    };
    let extent = |size: u64, at: u64| {
        let [size, at] = [size, at].map(Literal::u64_unsuffixed);
        quote! { #expansion::Extent { size: #size, at: #at } }
    };
    let expected = extent(size.bytes, size.align);
    let has = quote! {
        #expansion::Extent {
            size: #expansion::core::mem::size_of::<#alias>(),
            at: #expansion::core::mem::align_of::<#alias>(),
        }
    };
    let mut all = TokenStream::new();
    for field in record.content.fields().unwrap_or_default() {
        // If the type lacks this field, the compiler's message points to the type.
        let span = Span::call_site().located_at(start);
        let (name, place) = match field.name.strip_prefix("r#") {
            Some(keyword) => (keyword, Ident::new_raw(keyword, span)),
            None => (&*field.name, Ident::new(&field.name, span)),
        };
        let Some(of_field) = field.ty.size(records) else { continue };
        let expected = extent(of_field.bytes, field.offset);
        let layout = layout(&field.ty, records, expansion);
        all.extend(check(
            "check_override_field",
            quote! {
                #replaced, #name,
                #expansion::override_field!(#alias, #place),
                #expected,
                &#layout
            },
        ));
    }
    all.extend(check("check_override", quote! { #replaced, #has, #expected }));
    all
}

/// Returns the `ParameterLayout` of a value in a kernel's struct.
fn layout(ty: &Type, records: &[Record], expansion: &TokenStream) -> TokenStream {
    let of_rust = |ty: TokenStream| quote! { <#expansion::#ty as #expansion::Parameter>::LAYOUT };
    match ty {
        Type::Scalar(Scalar::Bool) => of_rust(quote! { types::Bool }),
        Type::Scalar(Scalar::F16) => of_rust(quote! { types::F16 }),
        Type::Scalar(Scalar::Bf16) => of_rust(quote! { types::Bf16 }),
        Type::Scalar(Scalar::Isize) => of_rust(quote! { Isize }),
        Type::Scalar(Scalar::Usize) => of_rust(quote! { Usize }),
        Type::Scalar(scalar) => {
            let name = format_ident!("{}", scalar.name());
            of_rust(quote! { core::primitive::#name })
        }
        Type::Pointer { .. } | Type::Void => of_rust(quote! { types::Pointer<()> }),
        Type::Array { of, count } => {
            let (item, count) = (layout(of, records, expansion), Literal::u64_unsuffixed(*count));
            quote! { #expansion::ParameterLayout::of_array(&#item, #count) }
        }
        Type::Record(name) => {
            let record = records.iter().find(|record| record.name == *name);
            if let Some(shared) = record.and_then(|record| shared(record, records)) {
                let name = format_ident!("{}", shared.name);
                return of_rust(quote! { types::#name });
            }
            let bytes = record.and_then(|record| record.size).map_or(0, |size| size.bytes);
            let bytes = Literal::u64_unsuffixed(bytes);
            // If the record's fields are unknown, the list is empty.
            let mut fields = TokenStream::new();
            for field in record.and_then(|it| it.content.fields()).unwrap_or_default() {
                let offset = Literal::u64_unsuffixed(field.offset);
                let of_field = layout(&field.ty, records, expansion);
                fields.extend(quote! { (#offset, #of_field), });
            }
            quote! {
                #expansion::ParameterLayout::of_record::<[#expansion::core::primitive::u8; #bytes]>(#name, &[#fields])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use offload_pack::pack_index::Index;
    use syn::parse::Parser;

    /// Returns the items for these types and a pack with the modules `a` and `b`. In `b`, the
    /// struct `Inner` in `P` is larger.
    fn items(overrides: &[&str]) -> Result<String> {
        let of_module = |name: &str, bytes: u32| {
            format!(
                "module {name}\nrecord Inner {bytes} 4 opaque Inner\nrecord P 16 8 fields P\n\
                 field i 0 Inner\nfield d 8 f64\n"
            )
        };
        let modules = [of_module("a", 4), of_module("b", 8)].concat();
        let index = format!("offload-pack 10\nname p\nabsent why\n{modules}");
        let index = Index::parse(&index).unwrap();
        let modules = index.modules().iter();
        let modules = modules.map(|it| Module { name: &it.name, of_index: it, is_nested: true });
        let modules: Vec<Module<'_>> = modules.collect();
        let overrides: Result<Vec<Override>> =
            overrides.iter().map(|text| Override::parse.parse_str(text)).collect();
        super::items("p", &overrides?, &modules, &quote! { ::e }).map(|items| items.to_string())
    }

    #[test]
    fn fields_are_compared_with_those_of_each_module() {
        let items = items(&["use A as P"]).unwrap();
        for size in ["size : 4 , at : 0", "size : 8 , at : 0"] {
            assert!(items.contains(size), "{size}: {items}");
        }
    }

    #[test]
    fn a_struct_has_one_type() {
        let is_one = |overrides: &[&str]| items(overrides).is_ok();
        assert!(is_one(&["use A as a::P", "use B as b::P"]));
        assert!(is_one(&["use A as P", "use B as Inner"]));
        assert!(!is_one(&["use A as a::P", "use B as P"]));
        assert!(!is_one(&["use A as P", "use B as b::P"]));
    }
}
