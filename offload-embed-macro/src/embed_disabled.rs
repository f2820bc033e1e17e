//! Replaces the module `embed` if the `macros` feature is off. Its functions return an error that
//! names the feature.

use crate::feature;
use crate::written::Call;
use proc_macro::{Span, TokenStream};

pub(crate) fn kernels(call: &Call) -> TokenStream {
    value(call)
}

pub(crate) fn value(call: &Call) -> TokenStream {
    let message = "without the feature `macros` of offload-gpu, only calls such as \
                   include_kernels!(\"saxpy\") work. include_offload!, options, declared kernels \
                   and OFFLOAD_FROM_DISK need this feature, and embedding a file by its path \
                   needs `files`. In Cargo.toml: ";
    call.error(&(message.to_owned() + &feature::line("macros")), Span::call_site())
}
