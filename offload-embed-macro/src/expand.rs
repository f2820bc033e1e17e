//! The expansion: an index in, tokens out.

use offload_format::embedded::{Origin, PackImageKind};
use offload_format::host_object::DeviceSection;
use offload_format::pack_index::{Index, IndexImage, IndexModule, PackIndex};
use proc_macro2::TokenStream;
use quote::quote;

/// An expression of type `offload_format::KernelPack`.
pub(crate) fn pack(index: &Index) -> TokenStream {
    match index {
        Index::Built(pack) => built(pack),
        Index::Absent { name, why, modules } => {
            let modules = modules.iter().map(|name| module(name, 0, 0));
            quote! { ::offload_format::KernelPack::new_absent(#name, #why, &[#(#modules),*]) }
        }
    }
}

fn built(pack: &PackIndex) -> TokenStream {
    let PackIndex { name, library, symbol, section, size, modules, .. } = pack;
    // A size that does not fit is one that cannot be linked either; the literal then fails to compile.
    let size = proc_macro2::Literal::u64_unsuffixed(*size);
    let section = match section {
        DeviceSection::HipFatbin => quote! { HipFatbin },
        DeviceSection::LlvmOffloading => quote! { LlvmOffloading },
    };
    let images = pack.images().map(image);
    let mut first = 0;
    let modules = modules.iter().map(|IndexModule { name, images }| {
        first += images.len();
        module(name, first - images.len(), images.len())
    });
    // The symbol's name has the hash of the pack's content: what is linked is what the index describes, or nothing is.
    quote! {
        {
            #[link(name = #library, kind = "static")]
            unsafe extern "C" {
                #[link_name = #symbol]
                safe static PACK: [u8; #size];
            }
            ::offload_format::KernelPack::new(
                #name,
                ::offload_format::host_object::DeviceSection::#section,
                &PACK,
                &[#(#images),*],
                &[#(#modules),*],
            )
        }
    }
}

fn module(name: &str, first: usize, count: usize) -> TokenStream {
    let [first, count] = [first, count].map(proc_macro2::Literal::usize_unsuffixed);
    quote! { ::offload_format::embedded::ModuleRecord { name: #name, first: #first, count: #count } }
}

fn image(image: &IndexImage) -> TokenStream {
    let IndexImage { target, offset, size, origin, kind } = image;
    let offset = proc_macro2::Literal::u64_unsuffixed(*offset);
    let size = proc_macro2::Literal::u64_unsuffixed(*size);
    let origin = match origin {
        Origin::Compiled => quote! { Compiled },
        Origin::Prebuilt => quote! { Prebuilt },
        Origin::ReadyMade => quote! { ReadyMade },
    };
    let kind = match kind {
        PackImageKind::CodeObject { version } => quote! { CodeObject { version: #version } },
        PackImageKind::Cubin => quote! { Cubin },
        PackImageKind::Ptx { version } => {
            let (major, minor) = (version.major, version.minor);
            quote! { Ptx { version: ::offload_format::target::PtxVersion { major: #major, minor: #minor } } }
        }
        PackImageKind::SharedObject { triple } => quote! { SharedObject { triple: #triple } },
    };
    let kind = quote! { ::offload_format::embedded::PackImageKind::#kind };
    quote! {
        ::offload_format::embedded::ImageRecord {
            target: #target,
            kind: #kind,
            offset: #offset,
            size: #size,
            origin: ::offload_format::embedded::Origin::#origin,
            code: ::offload_format::embedded::ImageRecord::code(#target, #kind),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pack_is_a_symbol_of_its_library_and_a_table() {
        let index = "offload-pack 1\nname saxpy\nlibrary offload_saxpy_90f2\nlibrary-size 36264\nlibrary-offset 232\n\
                     symbol offload_pack_90f2\nsection .hip_fatbin\nsize 9472\n\
                     module saxpy\nimage gfx90a 4096 5376 prebuilt code-object 6\n";
        let expected = quote! {
            {
                #[link(name = "offload_saxpy_90f2", kind = "static")]
                unsafe extern "C" {
                    #[link_name = "offload_pack_90f2"]
                    safe static PACK: [u8; 9472];
                }
                ::offload_format::KernelPack::new(
                    "saxpy",
                    ::offload_format::host_object::DeviceSection::HipFatbin,
                    &PACK,
                    &[::offload_format::embedded::ImageRecord {
                        target: "gfx90a",
                        kind: ::offload_format::embedded::PackImageKind::CodeObject { version: 6u32 },
                        offset: 4096,
                        size: 5376,
                        origin: ::offload_format::embedded::Origin::Prebuilt,
                        code: ::offload_format::embedded::ImageRecord::code(
                            "gfx90a",
                            ::offload_format::embedded::PackImageKind::CodeObject { version: 6u32 }
                        ),
                    }],
                    &[::offload_format::embedded::ModuleRecord { name: "saxpy", first: 0, count: 1 }],
                )
            }
        };
        assert_eq!(pack(&Index::parse(index).unwrap()).to_string(), expected.to_string());
    }

    #[test]
    fn a_pack_that_was_not_built_says_why() {
        let index = Index::parse("offload-pack 1\nname saxpy\nabsent OFFLOAD_SKIP was set\nmodule saxpy\n").unwrap();
        let expected = quote! {
            ::offload_format::KernelPack::new_absent(
                "saxpy",
                "OFFLOAD_SKIP was set",
                &[::offload_format::embedded::ModuleRecord { name: "saxpy", first: 0, count: 0 }]
            )
        };
        assert_eq!(pack(&index).to_string(), expected.to_string());
    }
}
