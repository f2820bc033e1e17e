//! `IMAGES` and `MODULES`: the facts about a pack at compile time.

use offload_format::compression::Method;
use offload_format::pack_index::{IndexImage, IndexModule};
use offload_format::pack_index::{Origin, PackImageKind};
use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{format_ident, quote};

/// The constants. `registered` says whether there is a `REGISTERED_<n>` for each module that has a
/// bundle.
pub(super) fn tables(
    expansion: &TokenStream,
    modules: &[IndexModule],
    registered: bool,
) -> TokenStream {
    // Most images of a module have the same kernels, so each list is written once.
    let mut lists: Vec<Vec<&str>> = Vec::new();
    let mut images = Vec::new();
    for entry in modules.iter().flat_map(|module| &module.images) {
        let kernels = match &entry.kernels {
            None => quote! { ::core::option::Option::None },
            Some(kernels) => {
                let names: Vec<&str> = kernels.iter().map(|kernel| kernel.name.as_str()).collect();
                let at = lists.iter().position(|list| *list == names).unwrap_or_else(|| {
                    lists.push(names);
                    lists.len() - 1
                });
                let list = list_name(at);
                quote! { ::core::option::Option::Some(#list) }
            }
        };
        images.push(image(expansion, entry, &kernels));
    }
    let lists = lists.iter().enumerate().map(|(at, names)| {
        let list = list_name(at);
        quote! { const #list: &[&::core::primitive::str] = &[#(#names),*]; }
    });
    let mut first = 0;
    let modules =
        modules.iter().enumerate().map(|(number, IndexModule { name, bundle, images, .. })| {
            first += images.len();
            let registered =
                bundle.filter(|_| registered).map(|_| format_ident!("REGISTERED_{number}"));
            module(expansion, name, first - images.len(), images.len(), registered)
        });
    let modules = quote! { const MODULES: &[#expansion::ModuleRecord] = &[#(#modules),*]; };
    quote! {
        #(#lists)*
        const IMAGES: &[#expansion::ImageRecord] = &[#(#images),*];
        #modules
    }
}

/// The constant of a compressed pack: where the stream of each module is; nothing if it is not
/// compressed.
pub(super) fn streams(expansion: &TokenStream, modules: &[IndexModule]) -> Option<TokenStream> {
    modules.iter().find(|module| module.stream.is_some())?;
    let streams = modules.iter().map(|module| {
        let [offset, size, inflated_size] = match module.stream {
            Some(stream) => [stream.offset, stream.size, stream.inflated_size],
            // The module has no images.
            None => [0; 3],
        }
        .map(Literal::u64_unsuffixed);
        let is_zstd = module.stream.is_some_and(|stream| stream.method == Method::Zstd);
        quote! {
            #expansion::StreamRecord {
                offset: #offset,
                size: #size,
                inflated_size: #inflated_size,
                is_zstd: #is_zstd
            }
        }
    });
    Some(quote! { const STREAMS: &[#expansion::StreamRecord] = &[#(#streams),*]; })
}

fn list_name(number: usize) -> Ident {
    Ident::new(&format!("KERNELS_{number}"), Span::call_site())
}

/// The constant of a pack without images.
pub(super) fn modules_without_images(
    expansion: &TokenStream,
    modules: &[IndexModule],
) -> TokenStream {
    let modules = modules.iter().map(|it| module(expansion, &it.name, 0, 0, None));
    quote! { const MODULES: &[#expansion::ModuleRecord] = &[#(#modules),*]; }
}

fn module(
    expansion: &TokenStream,
    name: &str,
    first: usize,
    count: usize,
    registered: Option<Ident>,
) -> TokenStream {
    let [first, count] = [first, count].map(Literal::usize_unsuffixed);
    let registered = match registered {
        Some(registered) => quote! { ::core::option::Option::Some(&#registered) },
        None => quote! { ::core::option::Option::None },
    };
    quote! { #expansion::ModuleRecord { name: #name, first: #first, count: #count, registered: #registered } }
}

fn image(expansion: &TokenStream, image: &IndexImage, kernels: &TokenStream) -> TokenStream {
    let IndexImage { target, offset, size, origin, kind, .. } = image;
    let [offset, size] = [*offset, *size].map(Literal::u64_unsuffixed);
    let origin = match origin {
        Origin::Compiled => quote! { Compiled },
        Origin::Prebuilt => quote! { Prebuilt },
        Origin::Supplied => quote! { Supplied },
    };
    let kind = match kind {
        PackImageKind::CodeObject { version } => quote! { CodeObject { version: #version } },
        PackImageKind::Cubin => quote! { Cubin },
        PackImageKind::Ptx { version } => {
            let (major, minor) = (version.major, version.minor);
            quote! { Ptx { version: #expansion::PtxVersion { major: #major, minor: #minor } } }
        }
        PackImageKind::SharedObject { triple } => quote! { SharedObject { triple: #triple } },
    };
    let kind = quote! { #expansion::PackImageKind::#kind };
    quote! {
        #expansion::ImageRecord {
            target: #target,
            kind: #kind,
            offset: #offset,
            size: #size,
            origin: #expansion::Origin::#origin,
            kernels: #kernels,
            code: #expansion::ImageRecord::code(#target, #kind),
        }
    }
}
