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

use input::{Input, What};
use proc_macro::TokenStream;

/// Embeds a pack of GPU images: called by `offload::include_offload!`, which passes the version of what expansions use and the
/// name of its crate before the user's tokens.
#[proc_macro]
pub fn include_offload(input: TokenStream) -> TokenStream {
    let expanded = syn::parse::<Input>(input).and_then(|input| expand(&input));
    expanded.unwrap_or_else(|error| error.to_compile_error()).into()
}

fn expand(Input { what, options }: &Input) -> syn::Result<proc_macro2::TokenStream> {
    match what {
        What::Pack(name) => {
            let at_name = |error| syn::Error::new(name.span(), error);
            let (index, folder) = resolve::pack(&name.value()).map_err(at_name)?;
            options::check_for_pack(options, &index)?;
            let from_disk = resolve::from_disk().map_err(at_name)?.then_some(folder);
            Ok(expand::pack(&index, options, from_disk.as_deref()))
        }
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
