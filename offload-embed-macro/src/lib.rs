//! The procedural macro that `offload_gpu::include_offload!` calls; see there for the
//! documentation. Programs depend on the crate `offload-gpu`.
//!
//! | step | module |
//! |---|---|
//! | the tokens between the parentheses are parsed | `input`, `declaration` |
//! | the index of a pack, or a file by its path, is read | `resolve`, `file` |
//! | options are compared with what was found | `options`, `section` |
//! | the code is written | `expand`, `derive` |
//!
//! The code names all types by full paths, and all of its own items but `PACK` begin with
//! `__offload`.
#![forbid(unsafe_code)]

mod declaration;
mod derive;
mod error;
mod expand;
mod file;
mod input;
mod options;
mod resolve;
mod section;
mod sorted;
mod suggest;

use declaration::Declarations;
use derive::Record;
use expand::Pack;
use file::File;
use input::{Input, Options, What};
use offload_format::pack_index::Index;
use proc_macro::TokenStream;

/// Embeds a pack of GPU images. `offload_gpu::include_offload!` calls this macro.
/// `offload_gpu::include_offload!` passes the version of the interface and the name of the crate
/// `offload-gpu`, and then the user's tokens.
#[proc_macro]
pub fn include_offload(input: TokenStream) -> TokenStream {
    let expanded = syn::parse::<Input>(input).and_then(|input| expand(&input));
    expanded.unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Embeds a pack, and declares a function for each of its kernels. `offload_gpu::include_kernels!`
/// calls this macro, and also passes the version and the name of its crate.
#[proc_macro]
pub fn include_kernels(input: TokenStream) -> TokenStream {
    let expanded = syn::parse::<Input>(input).and_then(|input| expand_kernels(&input));
    expanded.unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Derives the trait `Parameter` of the crate `offload-gpu`, which has the documentation.
#[proc_macro_derive(Parameter, attributes(offload))]
pub fn parameter(input: TokenStream) -> TokenStream {
    let expanded = syn::parse::<Record>(input).map(|record| record.expand());
    expanded.unwrap_or_else(|error| error.to_compile_error()).into()
}

fn expand_kernels(
    Input { what, options, declared }: &Input,
) -> syn::Result<proc_macro2::TokenStream> {
    let none = Declarations::default();
    let declared = declared.as_ref().map_or(&none, |(_, declared)| declared);
    match what {
        What::Pack(name) => {
            let (index, value) = expand_pack(name, options)?;
            let (name, modules) = match &index {
                Index::Built(pack) => (&pack.name, &pack.modules),
                Index::Absent { name, modules, .. } => (name, modules),
            };
            let pack = Pack { name, modules, is_compressed: index.is_compressed(), value };
            expand::kernels(pack, options, declared)
        }
        What::Path(path) => {
            if declared.is_empty() {
                let message = "a file by its path has no sources that tell of its kernels' parameters: declare them, \
                               extern { fn saxpy(n: i32, a: f32, x: *const f32, y: *mut f32); }";
                return Err(syn::Error::new(path.span(), message));
            }
            let (file, value) = expand_file(path, options)?;
            let pack =
                Pack { name: &file.name, modules: &file.modules, is_compressed: false, value };
            expand::kernels(pack, options, declared)
        }
    }
}

fn expand_pack(
    name: &syn::LitStr,
    options: &Options,
) -> syn::Result<(Index, proc_macro2::TokenStream)> {
    let at_name = |error| syn::Error::new(name.span(), error);
    let (index, folder) = resolve::pack(&name.value()).map_err(at_name)?;
    options::check_for_pack(options, &index)?;
    let from_disk = resolve::from_disk().map_err(at_name)?.then_some(folder);
    let value = expand::parsed(&expand::pack(&index, options, from_disk.as_deref()));
    Ok((index, value))
}

fn expand_file(
    path: &syn::LitStr,
    options: &Options,
) -> syn::Result<(File, proc_macro2::TokenStream)> {
    // A path is relative to the source file of its literal. The call of this macro is in another
    // file, of the crate `offload-gpu`.
    let source = path.span().unwrap().local_file();
    let file = file::read(&path.value(), source, options.retain.is_some());
    let file = file.map_err(|error| syn::Error::new(path.span(), error))?;
    options::check_for_file(options, &file)?;
    let value = expand::file(&file, options);
    Ok((file, value))
}

fn expand(Input { what, options, declared }: &Input) -> syn::Result<proc_macro2::TokenStream> {
    if let Some((span, _)) = declared {
        let message = "kernels are declared in include_kernels!(\"saxpy\", extern { ... }), which gives a function for each";
        return Err(syn::Error::new(*span, message));
    }
    let value = match what {
        What::Pack(name) => expand_pack(name, options)?.1,
        What::Path(path) => expand_file(path, options)?.1,
    };
    Ok(expand::scoped(options, &value))
}

// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
