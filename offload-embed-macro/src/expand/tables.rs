//! `IMAGES` and `MODULES`: the facts about a pack at compile time.

use offload_format::compression::Method;
use offload_format::pack_index::{IndexImage, IndexModule, Limits, Origin, PackImageKind};
use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{format_ident, quote};

/// Returns the constants `IMAGES` and `MODULES`, and the lists to which they refer. `registered` is
/// true if there is a `REGISTERED_<n>` for each module that has a bundle.
pub(super) fn tables(
    expansion: &TokenStream,
    modules: &[IndexModule],
    registered: bool,
) -> TokenStream {
    // Most images of a module have the same kernels, so each list is written once.
    let (mut lists, mut limits) = (Lists::new("KERNELS"), Lists::new("LIMITS"));
    let mut images = Vec::new();
    for entry in modules.iter().flat_map(|module| &module.images) {
        let (kernels, limits) = match &entry.kernels {
            None => (quote! { #expansion::core::option::Option::None }, quote! { &[] }),
            Some(kernels) => {
                let names = lists.constant(kernels.iter().map(|kernel| &*kernel.name).collect());
                let limits = limits.constant(kernels.iter().map(|kernel| kernel.limits).collect());
                (quote! { #expansion::core::option::Option::Some(#names) }, quote! { #limits })
            }
        };
        images.push(image(expansion, entry, &kernels, &limits));
    }
    let names = lists.all.iter().enumerate().map(|(at, names)| {
        let list = lists.name(at);
        quote! { const #list: &[&#expansion::core::primitive::str] = &[#(#names),*]; }
    });
    let limits = limits.all.iter().enumerate().map(|(at, values)| {
        let (list, values) = (limits.name(at), values.iter().map(|one| limits_of(expansion, one)));
        quote! { const #list: &[#expansion::Limits] = &[#(#values),*]; }
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
        #(#names)*
        #(#limits)*
        const IMAGES: &[#expansion::ImageRecord] = &[#(#images),*];
        #modules
    }
}

/// Returns the constant of a compressed pack with the place of each module's stream; `None` if the
/// pack is not compressed.
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

/// Lists of one type; each list becomes a constant.
struct Lists<T> {
    prefix: &'static str,
    all: Vec<Vec<T>>,
}

impl<T: PartialEq> Lists<T> {
    fn new(prefix: &'static str) -> Self {
        Self { prefix, all: Vec::new() }
    }

    /// Returns the name of the constant that contains this list. Equal lists share one constant.
    fn constant(&mut self, list: Vec<T>) -> Ident {
        let at = self.all.iter().position(|other| *other == list).unwrap_or_else(|| {
            self.all.push(list);
            self.all.len() - 1
        });
        self.name(at)
    }

    fn name(&self, number: usize) -> Ident {
        Ident::new(&format!("{}_{number}", self.prefix), Span::call_site())
    }
}

fn limits_of(expansion: &TokenStream, limits: &Limits) -> TokenStream {
    let number = Literal::u64_unsuffixed;
    let mut tokens = quote! { #expansion::Limits::UNKNOWN };
    if let Some(threads) = limits.max_threads.map(number) {
        tokens.extend(quote! { .with_max_threads(#threads) });
    }
    if let Some([x, y, z]) = limits.required_block.map(|block| block.map(number)) {
        tokens.extend(quote! { .with_required_block([#x, #y, #z]) });
    }
    if let Some(bytes) = limits.shared_memory.map(number) {
        tokens.extend(quote! { .with_shared_memory(#bytes) });
    }
    if let Some(threads) = limits.wavefront_size.map(number) {
        tokens.extend(quote! { .with_wavefront_size(#threads) });
    }
    tokens
}

/// Returns the constant `MODULES` for a pack without images.
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
        Some(registered) => quote! { #expansion::core::option::Option::Some(&#registered) },
        None => quote! { #expansion::core::option::Option::None },
    };
    quote! { #expansion::ModuleRecord { name: #name, first: #first, count: #count, registered: #registered } }
}

fn image(
    expansion: &TokenStream,
    image: &IndexImage,
    kernels: &TokenStream,
    limits: &TokenStream,
) -> TokenStream {
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
            limits: #limits,
            code: #expansion::ImageRecord::code(#target, #kind),
        }
    }
}
