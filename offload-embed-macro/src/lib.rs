//! The procedural macro under `offload::include_offload!`, which has the documentation. Programs depend on the crate `offload`.
#![forbid(unsafe_code)]

mod error;
mod expand;
mod file;
mod input;
mod options;
mod resolve;
mod section;
mod suggest;

use input::{Input, Options, What};
use offload_format::pack_index::Index;
use proc_macro::TokenStream;

/// Embeds a pack of GPU images: called by `offload::include_offload!`, which passes the version of what expansions use and the
/// name of its crate before the user's tokens.
#[proc_macro]
pub fn include_offload(input: TokenStream) -> TokenStream {
    let expanded = syn::parse::<Input>(input).and_then(|input| expand(&input));
    expanded.unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Embeds a pack, and declares a function for each of its kernels: called by `offload::include_kernels!` in the same way.
#[proc_macro]
pub fn include_kernels(input: TokenStream) -> TokenStream {
    let expanded = syn::parse::<Input>(input).and_then(|input| expand_kernels(&input));
    expanded.unwrap_or_else(|error| error.to_compile_error()).into()
}

fn expand_kernels(Input { what, options }: &Input) -> syn::Result<proc_macro2::TokenStream> {
    let What::Pack(name) = what else {
        let message =
            "include_kernels! is for packs of build.rs: a file by its path has no sources that tell of parameters";
        return Err(syn::Error::new(proc_macro2::Span::call_site(), message));
    };
    let (index, value) = expand_pack(name, options)?;
    Ok(expand::kernels(&index, options, &value))
}

fn expand_pack(name: &syn::LitStr, options: &Options) -> syn::Result<(Index, proc_macro2::TokenStream)> {
    let at_name = |error| syn::Error::new(name.span(), error);
    let (index, folder) = resolve::pack(&name.value()).map_err(at_name)?;
    options::check_for_pack(options, &index)?;
    let from_disk = resolve::from_disk().map_err(at_name)?.then_some(folder);
    let value = expand::pack(&index, options, from_disk.as_deref());
    Ok((index, value))
}

fn expand(Input { what, options }: &Input) -> syn::Result<proc_macro2::TokenStream> {
    match what {
        What::Pack(name) => expand_pack(name, options).map(|(_, value)| value),
        What::Path(path) => {
            // The literal's: this macro is called in a file of the crate `offload`.
            let source = path.span().unwrap().local_file();
            let file = file::read(&path.value(), source, options.retain.is_some())
                .map_err(|error| syn::Error::new(path.span(), error))?;
            options::check_for_file(options, &file)?;
            Ok(expand::file(&file, options))
        }
    }
}
