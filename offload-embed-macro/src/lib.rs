//! [`include_offload!`]: puts a pack of GPU images into the program and gives typed access to it.
#![forbid(unsafe_code)]

mod error;
mod expand;
mod file;
mod input;
mod options;
mod resolve;
mod suggest;

use input::{Input, What};
use proc_macro::{Span, TokenStream};

/// DOC
#[proc_macro]
pub fn include_offload(input: TokenStream) -> TokenStream {
    let expanded = syn::parse::<Input>(input).and_then(|input| expand(&input));
    expanded.unwrap_or_else(|error| error.to_compile_error()).into()
}

fn expand(Input { what, options }: &Input) -> syn::Result<proc_macro2::TokenStream> {
    match what {
        What::Pack(name) => {
            let index = resolve::pack(&name.value()).map_err(|error| syn::Error::new(name.span(), error))?;
            options::check_for_pack(options, &index)?;
            Ok(expand::pack(&index, options))
        }
        What::Path(path) => {
            let file = file::read(&path.value(), Span::call_site().local_file(), options.retain.is_some())
                .map_err(|error| syn::Error::new(path.span(), error))?;
            options::check_for_file(options, &file)?;
            Ok(expand::file(&file, options))
        }
    }
}
