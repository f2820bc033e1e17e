//! Generates the expression for a `KernelPack`, with the table `MODULES`.

use crate::pack_index::{Index, IndexImage, IndexModule, IndexStream, Limits, PackIndex};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write as _;

/// Packs of at least this size in bytes are not copied into the crate's library: linkers read them
/// from the build script's output instead.
const LARGE: u64 = 64 << 20;

/// Returns the expression for a pack as Rust code. `form` is the pack's form: `Plain` or
/// `Compressed`. `more` contains items that refer to the bytes as `PACK`; if `is_registered` is
/// set, these items include a `REGISTERED_<n>` for each module with a bundle.
pub fn pack(index: &Index, form: &str, more: &str, is_registered: bool) -> String {
    match index {
        Index::Built(PackIndex { name, library, symbol, section, size, modules, .. }) => {
            let bundle = if *size >= LARGE { ", modifiers = \"-bundle\"" } else { "" };
            let table = table(modules, is_registered);
            let section = section.elf_name();
            // If the size does not fit into a `usize`, the literal does not compile; such a pack
            // could not be linked anyway.
            format!(
                "{{ __offload::track_from_disk! {{}}\n__offload::pack_symbol! {{ PACK: {size}, {symbol:?}, {library:?}{bundle} }}\n\
                 {more}{table}__offload::linked::<__offload::{form}>({name:?}, {section:?}, PACK, MODULES) }}"
            )
        }
        Index::Absent { name, why, modules, .. } => {
            let table = table(modules, false);
            format!(
                "{{ __offload::track_from_disk! {{}}\n{table}\
                 __offload::not_built::<__offload::{form}>({name:?}, {why:?}, MODULES) }}"
            )
        }
    }
}

/// Returns the constant `MODULES`, and the lists that it refers to.
pub fn table(modules: &[IndexModule], is_registered: bool) -> String {
    // Most images of a module have the same kernels, so each list is written once.
    let mut kernels =
        Lists { name: "KERNELS", of: "&__offload::core::primitive::str", all: Vec::new() };
    let mut limits = Lists { name: "LIMITS", of: "__offload::Limits", all: Vec::new() };
    let mut records = String::new();
    for (number, IndexModule { name, bundle, stream, images, .. }) in modules.iter().enumerate() {
        let _ = write!(records, "__offload::ModuleRecord {{ name: {name:?}, images: &[");
        for entry in images {
            let lists = entry.kernels.as_ref().map(|all| {
                let (mut names, mut of_kernels) = (String::new(), String::new());
                for kernel in all {
                    let _ = write!(names, "{:?},", kernel.name);
                    of_kernels += &limits_of(&kernel.limits);
                }
                (kernels.constant(names), limits.constant(of_kernels))
            });
            records.push_str(&image(entry, lists));
        }
        let stream = stream.map(|IndexStream { offset, size, inflated_size, method }| {
            format!(
                "__offload::IndexStream {{ offset: {offset}, size: {size}, \
                 inflated_size: {inflated_size}, method: __offload::Method::{method:?} }}"
            )
        });
        let registered = bundle.filter(|_| is_registered).map(|_| format!("&REGISTERED_{number}"));
        let (stream, registered) = (option(stream), option(registered));
        let _ = write!(records, "], stream: {stream}, registered: {registered} }},");
    }
    format!(
        "{}{}const MODULES: &[__offload::ModuleRecord] = &[{records}];\n",
        kernels.text(),
        limits.text()
    )
}

/// Lists of the same type. Each list becomes a constant.
struct Lists {
    name: &'static str,
    /// The type of the items.
    of: &'static str,
    all: Vec<String>,
}

impl Lists {
    /// Returns the name of the constant that contains this list. Equal lists share one constant.
    fn constant(&mut self, list: String) -> String {
        let at = self.all.iter().position(|other| *other == list).unwrap_or_else(|| {
            self.all.push(list);
            self.all.len() - 1
        });
        format!("{}_{at}", self.name)
    }

    fn text(&self) -> String {
        let Self { name, of, all } = self;
        let mut text = String::new();
        for (at, list) in all.iter().enumerate() {
            let _ = writeln!(text, "const {name}_{at}: &[{of}] = &[{list}];");
        }
        text
    }
}

fn limits_of(limits: &Limits) -> String {
    let mut text = "__offload::Limits::UNKNOWN".to_string();
    if let Some(threads) = limits.max_threads {
        let _ = write!(text, ".with_max_threads({threads})");
    }
    if let Some(block) = limits.required_block {
        let _ = write!(text, ".with_required_block({block:?})");
    }
    if let Some(bytes) = limits.shared_memory {
        let _ = write!(text, ".with_shared_memory({bytes})");
    }
    if let Some(threads) = limits.wavefront_size {
        let _ = write!(text, ".with_wavefront_size({threads})");
    }
    text + ","
}

fn option(value: Option<String>) -> String {
    match value {
        Some(value) => format!("__offload::core::option::Option::Some({value})"),
        None => "__offload::core::option::Option::None".to_string(),
    }
}

fn image(image: &IndexImage, lists: Option<(String, String)>) -> String {
    let IndexImage { target, offset, size, origin, kind, .. } = image;
    // The `Debug` output of a kind or an origin is a Rust expression, except that the paths are
    // incomplete.
    let mut kind = format!("{kind:?}");
    for name in [" PtxVersion ", " SpirvVersion ", " SpirvFeatures("] {
        kind = kind.replacen(name, &format!(" __offload::{}", name.trim_start()), 1);
    }
    let (kernels, limits) = lists.unzip();
    let (kernels, limits) = (option(kernels), limits.unwrap_or_else(|| "&[]".to_string()));
    format!(
        "__offload::ImageRecord {{ target: {target:?}, kind: __offload::PackImageKind::{kind}, \
         offset: {offset}, size: {size}, origin: __offload::Origin::{origin:?}, kernels: {kernels}, limits: {limits}, \
         code: __offload::ImageRecord::code({target:?}, __offload::PackImageKind::{kind}) }},"
    )
}
