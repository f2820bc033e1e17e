//! `register`: the data with which HIP's runtime registers the bundles before `main`, as in clang's
//! objects.

use crate::sorted;
use offload_format::pack_index::IndexModule;
use offload_format::section::SectionNames;

/// Returns the wrappers of the bundles, and the constructor that passes them to the runtime. `pack`
/// is an expression for the bytes of the pack.
pub(super) fn text(modules: &[IndexModule], pack: &str) -> String {
    let bundles = modules.iter().enumerate().filter_map(|(number, module)| {
        let bundle = module.bundle?;
        let names = kernels(module);
        let count = names.len();
        let functions = names
            .iter()
            .enumerate()
            .map(|(at, name)| format!("{at} {name:?} b\"{}\\0\" ", name.as_bytes().escape_ascii()));
        Some(format!(
            "WRAPPER_{number}, HANDLE_{number}, REGISTERED_{number}: {bundle}, {count} [{}];\n",
            functions.collect::<String>()
        ))
    });
    let segment = SectionNames::HIP_FATBIN_SEGMENT.name;
    let bundles: String = bundles.collect();
    format!("__offload::register_bundles! {{ {segment:?}, {pack}; {bundles} }}\n")
}

/// Returns the kernels of a module's images, each once. A name with a NUL is left out: HIP's
/// runtime has no such kernels.
fn kernels(module: &IndexModule) -> Vec<&str> {
    let all = module.images.iter().flat_map(|image| image.kernels.iter().flatten());
    let mut names = sorted::texts(all.map(|kernel| &*kernel.name));
    names.retain(|name| !name.contains('\0'));
    names
}
