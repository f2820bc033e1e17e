//! `register`: the data with which HIP's runtime registers the bundles before `main`, as in clang's
//! objects.

use crate::sorted;
use offload_format::pack_index::IndexModule;
use offload_format::section::SectionNames;
use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote};
use std::ffi::CString;

/// Returns the wrappers of the bundles, and the constructor that passes them to the runtime. `pack`
/// is an expression for the bytes of the pack.
pub(super) fn tokens(
    expansion: &TokenStream,
    modules: &[IndexModule],
    pack: &TokenStream,
) -> TokenStream {
    let bundles = modules.iter().enumerate().filter_map(|(number, module)| {
        let bundle = Literal::u64_unsuffixed(module.bundle?);
        let [wrapper, handle, registered] =
            ["WRAPPER", "HANDLE", "REGISTERED"].map(|name| format_ident!("{name}_{number}"));
        let names = kernels(module);
        let count = Literal::usize_unsuffixed(names.len());
        let functions = names.iter().enumerate().map(|(at, name)| {
            let (at, c_name) = (Literal::usize_unsuffixed(at), Literal::c_string(name));
            // This conversion changes nothing, because the bytes are from UTF-8 text.
            let name = name.to_string_lossy();
            quote! { #at #name #c_name }
        });
        Some(quote! { #wrapper, #handle, #registered: #bundle, #count [#(#functions)*]; })
    });
    let segment = SectionNames::HIP_FATBIN_SEGMENT.name;
    quote! { #expansion::register_bundles! { #segment, #pack; #(#bundles)* } }
}

/// Returns the kernels of a module's images, each once. A name with a NUL is left out: HIP's
/// runtime has no such kernels.
fn kernels(module: &IndexModule) -> Vec<CString> {
    let all = module.images.iter().flat_map(|image| image.kernels.iter().flatten());
    let names = sorted::texts(all.map(|kernel| &*kernel.name));
    names.into_iter().filter_map(|name| CString::new(name).ok()).collect()
}
