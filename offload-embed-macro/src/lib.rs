//! [`include_offload!`]: puts a pack of GPU images into the program and gives typed access to it.
#![forbid(unsafe_code)]

mod error;
mod expand;
mod resolve;

use proc_macro::TokenStream;
use syn::LitStr;

/// Embeds the pack that the package's build script made under this name, and evaluates to an
/// `offload_format::KernelPack`.
///
/// ```text
/// static SAXPY: offload_format::KernelPack = offload_embed_macro::include_offload!("saxpy");
///
/// let image = SAXPY.select(&Device::cuda(9, 0, driver_version))?;
/// ```
///
/// The bytes do not pass through the compiler: the build script has put them into a static library, and the expansion
/// names its symbol. They land in the section `.hip_fatbin`, if all targets are AMD's, or in `.llvm.offloading`, where
/// ROCm's and LLVM's tools look; a pack that no code uses is not linked.
///
/// The invocation is an expression for a `static`, in a library, a binary, a test, an example or a doctest of the package
/// that has the build script. The expansion names `::offload_format`, which the package must depend on, and compiles under
/// `#![forbid(unsafe_code)]`.
///
/// It is a compile error if there is no such pack, or if its files are damaged.
#[proc_macro]
pub fn include_offload(input: TokenStream) -> TokenStream {
    let name = match syn::parse::<LitStr>(input) {
        Ok(name) => name,
        Err(error) => {
            let error =
                syn::Error::new(error.span(), "include_offload! takes the name of a pack: include_offload!(\"saxpy\")");
            return error.to_compile_error().into();
        }
    };
    let expanded = match resolve::pack(&name.value()) {
        Ok(index) => expand::pack(&index),
        Err(error) => syn::Error::new(name.span(), error).to_compile_error(),
    };
    expanded.into()
}
