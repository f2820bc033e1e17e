//! Generates the tokens of the expansion.
//!
//! offload-pack's module `expansion` writes most of the code as text. In this text, `__offload` is
//! the hidden module of the crate `offload-gpu`. The only unsafe code in the expansion is the block
//! of the user's option `unsafe(cpu)`. All other unsafe code is in macros of `offload-gpu`
//! (`placement`).

mod declared;
mod kernels;
mod overrides;
pub(crate) mod register;

pub(crate) use kernels::{Pack, kernels};

use crate::input::Options;
use offload_pack::expansion;
use offload_pack::pack_index::{Index, IndexModule, PackIndex};
use proc_macro2::TokenStream;
use std::path::Path;

/// A file that is embedded.
pub(crate) struct Embedded {
    /// The file's name without its extension.
    pub(crate) name: String,
    pub(crate) modules: Vec<IndexModule>,
    /// The expression for the `KernelPack`.
    pub(crate) value: TokenStream,
}

/// Returns an expression of type `KernelPack` for a pack of the build script, whether it was built
/// or not. If `from_disk` is a folder, development builds read the pack from this folder.
pub(crate) fn pack(index: &Index, options: &Options, from_disk: Option<&Path>) -> String {
    let form = form(options, index.is_compressed());
    let (mut more, is_registered) = (String::new(), options.register.is_some());
    if let Index::Built(PackIndex { name, size, modules, .. }) = index {
        if options.retain.is_some() {
            more = format!(
                "#[used] static RETAINED: &[__offload::core::primitive::u8; {size}] = PACK;\n{}",
                listed(name, "*PACK")
            );
        }
        if is_registered {
            more.push_str(&register::text(modules, "*PACK"));
        }
    }
    let linked = expansion::pack(index, form, &more, is_registered);
    match (index, from_disk) {
        // With the `register` option, the bundles must be in the program, so the pack cannot be
        // read from disk.
        (Index::Built(pack), Some(folder)) if !is_registered => {
            let on_disk = on_disk(pack, form, folder);
            format!(
                "{{ __offload::track_from_disk! {{}} #[cfg(debug_assertions)] static PACK: __offload::KernelPack<__offload::{form}> = {on_disk};\n\
                 #[cfg(not(debug_assertions))] static PACK: __offload::KernelPack<__offload::{form}> = {linked};\n\
                 PACK }}"
            )
        }
        _ => linked,
    }
}

/// Returns the type parameter of `KernelPack`: `Compressed` if the pack is compressed or the option
/// `compressed` is set, otherwise `Plain`.
fn form(options: &Options, is_compressed: bool) -> &'static str {
    if is_compressed || options.compressed.is_some() { "Compressed" } else { "Plain" }
}

/// Returns the expression for a pack that the program reads from disk on first use.
fn on_disk(pack: &PackIndex, form: &str, folder: &Path) -> String {
    let (name, section, folder) = (&pack.name, pack.section.elf_name(), folder.to_string_lossy());
    // The program compares this index with the index that it reads from disk.
    let index = Index::Built(pack.clone()).to_string();
    let table = expansion::table(&pack.modules, false);
    format!(
        "{{ {table} fn load() -> &'static __offload::KernelPack<__offload::{form}> {{\n\
             static LOADED: ::std::sync::OnceLock<__offload::KernelPack<__offload::{form}>> = ::std::sync::OnceLock::new();\n\
             LOADED.get_or_init(|| {{ __offload::load_from_disk({name:?}, {folder:?}, {index:?}, |path| {{\n\
                 ::std::fs::read(path).map_err(|error| ::std::string::ToString::to_string(&error)) }}) }})\n\
         }}\n\
         __offload::on_disk({name:?}, {section:?}, MODULES, load) }}"
    )
}

/// Returns the code for a pack's entry in the program's list of packs. The entry keeps the pack in
/// the program, so only packs with `retain` are listed.
pub(crate) fn listed(name: &str, pack: &str) -> String {
    format!("__offload::list_pack!({pack}, {name:?});\n")
}

/// Parses the text with rustc's own parser. In development builds, proc-macro2's parser takes
/// several times as long: it is not optimized, and passes tokens one by one.
pub(crate) fn parsed(text: &str) -> TokenStream {
    const PARSES: &str = "names are identifiers";
    if proc_macro::is_available() {
        text.parse::<proc_macro::TokenStream>().expect(PARSES).into()
    } else {
        text.parse().expect(PARSES)
    }
}
