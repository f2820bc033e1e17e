//! The expansion: from the facts about a pack to tokens.
//!
//! The tokens contain no unsafe code, except the block of the user's option `unsafe(cpu)`. Macros
//! of the crate `offload-gpu` (`placement`) contain it. The tokens use full paths, so that no name
//! in the user's crate, or in the crate of `crate = …`, replaces the right type.

mod declared;
mod kernels;
mod register;
mod tables;

pub(crate) use kernels::{Pack, kernels};

use crate::file::{File, FileKind};
use crate::input::Options;
use offload_format::pack_index::{Index, PackIndex};
use offload_format::section::SectionNames;
use proc_macro2::{Delimiter, Group, Literal, TokenStream};
use quote::{format_ident, quote};
use std::path::Path;

/// The variable that makes development builds read packs from disk.
pub(crate) const FROM_DISK: &str = "OFFLOAD_FROM_DISK";

/// The size in bytes from which a pack is not copied into the crate's library. Linkers then read
/// the pack from the build script's output.
const LARGE: u64 = 64 << 20;

/// Returns an expression of type `KernelPack`, for a pack that the build script made or left out.
/// If `from_disk` is a folder, development builds read the pack from it.
pub(crate) fn pack(index: &Index, options: &Options, from_disk: Option<&Path>) -> TokenStream {
    let value = match (index, from_disk) {
        (Index::Built(pack), None) => built(pack, options),
        // With the option `register`, HIP's runtime registers the bundles in the program, so the
        // pack cannot be read from disk.
        (Index::Built(pack), Some(_)) if options.register.is_some() => built(pack, options),
        (Index::Built(pack), Some(folder)) => {
            let (expansion, linked, on_disk) =
                (options.expansion(), built(pack, options), on_disk(pack, options, folder));
            let form = form(options, index.is_compressed());
            quote! {{
                #[cfg(debug_assertions)]
                static PACK: #expansion::KernelPack<#form> = #on_disk;
                #[cfg(not(debug_assertions))]
                static PACK: #expansion::KernelPack<#form> = #linked;
                PACK
            }}
        }
        (Index::Absent { name, why, modules, .. }, _) => {
            let expansion = options.expansion();
            let form = form(options, index.is_compressed());
            let modules = tables::modules_without_images(&expansion, modules);
            quote! {{
                #modules
                #expansion::not_built::<#form>(#name, #why, MODULES)
            }}
        }
    };
    // `option_env!` makes Cargo build the crate again when the variable changes.
    let expansion = options.expansion();
    quote! {{
        const _: #expansion::core::option::Option<&#expansion::core::primitive::str> = #expansion::core::option_env!(#FROM_DISK);
        #value
    }}
}

/// Returns the type parameter of `KernelPack`: `Compressed` for a pack that is compressed or must
/// be treated as compressed, otherwise `Plain`.
fn form(options: &Options, is_compressed: bool) -> TokenStream {
    let (expansion, name) =
        (options.expansion(), format_ident!("{}", form_name(options, is_compressed)));
    quote! { #expansion::#name }
}

fn form_name(options: &Options, is_compressed: bool) -> &'static str {
    if is_compressed || options.compressed.is_some() { "Compressed" } else { "Plain" }
}

/// Returns a pack that is read when the program first uses it.
fn on_disk(pack: &PackIndex, options: &Options, folder: &Path) -> TokenStream {
    let expansion = options.expansion();
    let (name, section, folder) = (&pack.name, pack.section.elf_name(), folder.to_string_lossy());
    // The program compares this index with the files that it reads.
    let index = Index::Built(pack.clone()).to_string();
    let tables = tables::tables(&expansion, &pack.modules, false);
    let form = form(options, pack.is_compressed());
    quote! {{
        #tables
        fn load() -> &'static #expansion::KernelPack<#form> {
            static LOADED: ::std::sync::OnceLock<#expansion::KernelPack<#form>> = ::std::sync::OnceLock::new();
            LOADED.get_or_init(|| {
                #expansion::load_from_disk(#name, #folder, #index, |path| {
                    ::std::fs::read(path).map_err(|error| ::std::string::ToString::to_string(&error))
                })
            })
        }
        #expansion::on_disk(#name, #section, IMAGES, MODULES, load)
    }}
}

fn built(pack: &PackIndex, options: &Options) -> TokenStream {
    let expansion = options.expansion();
    let PackIndex { name, library, symbol, section, size, modules, .. } = pack;
    // If the size does not fit into a `usize`, the literal fails to compile. Such a pack could not
    // be linked either.
    let size = Literal::u64_unsuffixed(*size);
    let section = section.elf_name();
    let registered =
        options.register.map(|_| register::tokens(&expansion, modules, &quote! { *PACK }));
    let tables = tables::tables(&expansion, modules, registered.is_some());
    let streams = tables::streams(&expansion, modules);
    let form = form(options, streams.is_some());
    let value = match streams {
        Some(_) => {
            quote! { #expansion::compressed(#name, #section, PACK, IMAGES, MODULES, STREAMS) }
        }
        None => quote! { #expansion::linked::<#form>(#name, #section, PACK, IMAGES, MODULES) },
    };
    let retained = options.retain.map(|_| {
        let listed = listed(&expansion, name, &quote! { *PACK });
        quote! {
            #[used]
            static RETAINED: &[#expansion::core::primitive::u8; #size] = PACK;
            #listed
        }
    });
    let bundle = (pack.size >= LARGE).then(|| quote! { , modifiers = "-bundle" });
    quote! {{
        #expansion::pack_symbol! { PACK: #size, #symbol, #library #bundle }
        #retained
        #registered
        #tables
        #streams
        #value
    }}
}

/// Returns the expansion for a file.
pub(crate) fn file(file: &File, options: &Options) -> TokenStream {
    let expansion = options.expansion();
    let File { name, size, modules, .. } = file;
    let path = file.path.to_string_lossy();
    let align = match &options.align {
        Some(align) => align.token(),
        None => Literal::u64_unsuffixed(file.kind.align()),
    };
    // Drivers read PTX up to a NUL, so the expansion adds one.
    let is_text = file.kind == FileKind::Ptx;
    let whole = Literal::u64_unsuffixed(size + u64::from(is_text));
    let size = Literal::u64_unsuffixed(*size);
    // The section's names: for ELF and COFF, and for Mach-O.
    let (placed, section) = match (&options.section, file.kind.section()) {
        (Some(name), _) => {
            let section = name.token();
            (quote! { #section, #section }, name.value())
        }
        (None, Some(SectionNames { name, macho: (segment, section) })) => {
            let macho = format!("{segment},{section}");
            (quote! { #name, #macho }, name.to_owned())
        }
        (None, None) => (quote! {}, ".rodata".to_owned()),
    };
    let used = options.retain.map(|_| quote! { used });
    let content = if is_text {
        quote! {{
            let mut text = [0; #whole];
            text.split_at_mut(#size).0.copy_from_slice(BYTES);
            text
        }}
    } else {
        quote! { *BYTES }
    };
    let listed = options.retain.map(|_| listed(&expansion, name, &quote! { FILE.0 }));
    let registered =
        options.register.map(|_| register::tokens(&expansion, modules, &quote! { FILE.0 }));
    let tables = tables::tables(&expansion, modules, registered.is_some());
    let value = match file.closed {
        None => {
            quote! { #expansion::file(#name, #section, &FILE.0, IMAGES, MODULES) }
        }
        Some(why) => {
            quote! { #expansion::opaque::<#expansion::Plain>(#name, #section, &FILE.0, #why, MODULES) }
        }
    };
    let value = match &options.trusts_cpu {
        None => value,
        // The block is the user's own, so the compiler refuses it under `forbid(unsafe_code)`.
        Some(word) => {
            let mut block = Group::new(Delimiter::Brace, quote! { #expansion::trusted(#value) });
            block.set_span(word.span());
            quote! { #word #block }
        }
    };
    quote! {{
        // `include_bytes!` makes Cargo build the crate again when the file changes.
        const BYTES: &[#expansion::core::primitive::u8; #size] = #expansion::core::include_bytes!(#path);
        #expansion::placed_file! { [#placed] [#used] FILE: #whole, #align, #content }
        #listed
        #registered
        #tables
        #value
    }}
}

/// Returns the entry of a pack in the program's list of packs. The entry refers to the pack. The
/// list therefore has only packs that are in the program anyway.
fn listed(expansion: &TokenStream, name: &str, pack: &TokenStream) -> TokenStream {
    let room = Literal::usize_unsuffixed(name.len().next_multiple_of(8));
    quote! { #expansion::list_pack!(#room, #pack, #name); }
}

#[cfg(test)]
mod tests;
