//! The procedural macros for `offload_gpu::include_offload!` and `offload_gpu::include_kernels!`.
//! Programs depend on the crate `offload-gpu`, which documents the macros.
//!
//! | step | module |
//! |---|---|
//! | find and read a pack's index | `resolve`, `index` |
//! | pass on the build script's code | `written` |
//! | parse the tokens between the parentheses | `input`, `declaration`, `overrides` |
//! | compare the options with the pack | `options` |
//! | write the code | `embed`, `expand`, `derive` |
//! | all these steps for a file that is embedded by its path | `file`, with the `files` feature |
//!
//! Without the `macros` feature, the crate only passes on the build script's code, and depends on
//! no other crate. The generated code refers to all types by full paths. In the user's scope, the
//! items that it defines have names that begin with `__offload`, except `PACK`, `named` and items
//! named after the sources.
#![forbid(unsafe_code)]

#[cfg(feature = "macros")]
mod declaration;
#[cfg(feature = "macros")]
mod derive;
#[cfg(feature = "macros")]
mod embed;
#[cfg(not(feature = "macros"))]
mod embed_disabled;
#[cfg_attr(not(feature = "macros"), allow(dead_code))]
mod error;
#[cfg(feature = "macros")]
mod expand;
#[cfg(not(feature = "files"))]
mod feature;
#[cfg(feature = "files")]
mod file;
#[cfg(all(feature = "macros", not(feature = "files")))]
mod file_disabled;
#[cfg(feature = "macros")]
mod index;
#[cfg(feature = "macros")]
mod input;
#[cfg(feature = "macros")]
mod options;
#[cfg(feature = "macros")]
mod overrides;
mod resolve;
#[cfg(feature = "macros")]
mod sorted;
mod suggest;
mod written;

#[cfg(not(feature = "macros"))]
use embed_disabled as embed;
#[cfg(all(feature = "macros", not(feature = "files")))]
use file_disabled as file;
use proc_macro::TokenStream;
use written::Call;

/// Embeds a pack of GPU images. `offload_gpu::include_offload!` calls this macro with the version
/// of the interface, the name of the crate `offload-gpu`, and the user's tokens.
#[proc_macro]
pub fn include_offload(input: TokenStream) -> TokenStream {
    Call::parse(input).map_or_else(|error| error, |call| embed::value(&call))
}

/// Embeds a pack, and declares a function for each of its kernels. `offload_gpu::include_kernels!`
/// calls this macro with the arguments listed at `include_offload!`.
#[proc_macro]
pub fn include_kernels(input: TokenStream) -> TokenStream {
    let expand = |call: Call| call.written().unwrap_or_else(|| embed::kernels(&call));
    Call::parse(input).map_or_else(|error| error, expand)
}

/// Derives the `Parameter` trait, which the crate `offload-gpu` documents.
#[cfg(feature = "macros")]
#[proc_macro_derive(Parameter, attributes(offload))]
pub fn parameter(input: TokenStream) -> TokenStream {
    embed::expanded(syn::parse(input).map(|record: derive::Record| record.expand()))
}

// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
