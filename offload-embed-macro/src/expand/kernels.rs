//! The expansion of `include_kernels!`: the pack, and a function for each kernel whose parameters
//! are known.

use super::declared;
use crate::declaration::{Declaration, Declarations};
use crate::input::Options;
use crate::suggest;
use offload_format::expansion::Module;
use offload_format::pack_index::IndexModule;
use offload_format::signature::identifier;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Error, Result};

/// The pack for which functions are declared.
pub(crate) struct Pack<'a> {
    pub(crate) name: &'a str,
    pub(crate) modules: &'a [IndexModule],
    pub(crate) is_compressed: bool,
    /// The expression for the `KernelPack`.
    pub(crate) value: TokenStream,
}

/// Returns the items for a pack. Kernels that the program declares replace their known signatures.
///
/// Returns an error if a declared kernel is not in the pack, or has another number of parameters
/// there.
pub(crate) fn kernels(
    pack: &Pack<'_>,
    options: &Options,
    declared: &Declarations,
) -> Result<TokenStream> {
    let Pack { name, modules, is_compressed, value } = pack;
    let expansion = options.expansion();
    let form = super::form(options, *is_compressed);
    let names: Vec<String> = modules.iter().map(|module| identifier(&module.name)).collect();
    if let Some((wrong, _)) =
        declared.modules.iter().find(|(wrong, _)| names.iter().all(|name| wrong != name))
    {
        let hint = match suggest::closest(&wrong.to_string(), names.iter().map(String::as_str)) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("it has {}", names.join(", ")),
        };
        return Err(Error::new(
            wrong.span(),
            format!("the pack \"{name}\" has no module `{wrong}`: {hint}"),
        ));
    }
    let form_name = super::form_name(options, *is_compressed);
    let (mut items, mut is_placed) = (Vec::new(), false);
    for (number, (module, rust_name)) in modules.iter().zip(&names).enumerate() {
        let signatures = module.signatures.parse().map_err(|error| {
            let message =
                format!("the index of the pack \"{name}\", module \"{}\": {error}", module.name);
            Error::new(proc_macro2::Span::call_site(), message)
        })?;
        let of_module = declared
            .modules
            .iter()
            .filter(|(name, _)| name == rust_name)
            .flat_map(|(_, kernels)| kernels);
        let items_of = |is_nested: bool, kernels: &[&Declaration]| -> Result<TokenStream> {
            let (declared, of_program) = declared::of(&expansion, module, kernels)?;
            let IndexModule { images, .. } = module;
            let (form, signatures, declared) = (form_name, &signatures, &*declared);
            let text = Module { number, is_nested, form, images, signatures, declared }.items();
            let text = parsed(&text);
            Ok(quote! { #of_program #text })
        };
        // The only module of a pack, and the module with the pack's name, need no separate module
        // in Rust.
        if module.name == *name || modules.len() == 1 {
            is_placed = true;
            let kernels: Vec<&Declaration> = declared.kernels.iter().chain(of_module).collect();
            items.push(items_of(false, &kernels)?);
            continue;
        }
        let kernels: Vec<&Declaration> = of_module.collect();
        let rust_name = format_ident!("{rust_name}");
        let of_module = items_of(true, &kernels)?;
        // Declarations may use types from the scope around the macro.
        let outer = (!kernels.is_empty()).then(|| quote! { use super::*; });
        let doc = format!("The kernels of the module `{}`.", module.name);
        items.push(quote! {
            #[doc = #doc]
            pub mod #rust_name {
                use super::__offload;
                #outer
                #of_module
            }
        });
    }
    if let (Some(kernel), false) = (declared.kernels.first(), is_placed) {
        let message = format!(
            "the pack \"{name}\" has several modules: mod {} {{ ... }} says whose kernel it is",
            names.join(" { ... }, mod ")
        );
        return Err(Error::new(kernel.name.span(), message));
    }
    let unknown = unknown(pack, declared).map(|message| {
        // rustdoc reads no function bodies, so documentation needs no functions.
        quote! {
            #[cfg(not(doc))]
            #expansion::core::compile_error! { #message }
        }
    });
    let doc = format!("The pack `{name}`.");
    Ok(quote! {
        #unknown
        #[allow(unused_imports)]
        use #expansion as __offload;
        #[doc = #doc]
        pub static PACK: #expansion::KernelPack<#form> = #value;
        #(#items)*
    })
}

/// Returns the error for a pack with modules about whose kernels nothing is known, if the program
/// declares no kernels. Each call of a kernel would be an error that does not contain the reason.
fn unknown(pack: &Pack<'_>, declared: &Declarations) -> Option<String> {
    let has_names =
        |module: &IndexModule| module.images.iter().any(|image| image.kernels.is_some());
    let module = pack.modules.iter().find(|module| !has_names(module))?;
    let why = module.signatures_unknown.as_ref().filter(|_| declared.is_empty())?;
    let name = pack.name;
    Some(format!(
        "the parameters of the kernels of the pack \"{name}\" are not known, so there are no functions for them: {why}\n\
         build with clang; or store the parameters in the package, on a machine with clang: OFFLOAD_PREBUILT=signatures cargo \
         build; or declare the kernels: include_kernels!(\"{name}\", extern {{ fn scale(n: i32, x: *mut f32); }}). \
         include_offload!(\"{name}\") embeds the pack without functions"
    ))
}

/// Parses the text with rustc's own parser: the parser of proc-macro2 is not optimized in
/// development builds. Passing tokens one by one takes several times as long there.
fn parsed(text: &str) -> TokenStream {
    const PARSES: &str = "names are identifiers";
    if proc_macro::is_available() {
        text.parse::<proc_macro::TokenStream>().expect(PARSES).into()
    } else {
        text.parse().expect(PARSES)
    }
}
