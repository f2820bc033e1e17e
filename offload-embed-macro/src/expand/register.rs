//! The `register` option: data that registers the bundles with HIP's runtime before `main`, like
//! the data in clang's objects.

use offload_format::section::SectionNames;
use offload_pack::pack_index::IndexModule;

/// Returns the wrappers of the bundles, and the constructor that passes them to the runtime. `pack`
/// is an expression for the bytes of the pack.
pub(crate) fn text(modules: &[IndexModule], pack: &str) -> String {
    let mut bundles = String::new();
    for (number, module) in modules.iter().enumerate() {
        let Some(bundle) = module.bundle else { continue };
        let mut names = module.kernel_names();
        // HIP's runtime does not support names that contain a NUL.
        names.retain(|name| !name.contains('\0'));
        bundles += &format!(
            "WRAPPER_{number}, HANDLE_{number}, REGISTERED_{number}: {bundle}, {} [",
            names.len()
        );
        for (at, name) in names.iter().enumerate() {
            bundles += &format!("{at} {name:?} b\"{}\\0\" ", name.as_bytes().escape_ascii());
        }
        bundles += "];\n";
    }
    let segment = SectionNames::HIP_FATBIN_SEGMENT.name;
    format!("__offload::register_bundles! {{ {segment:?}, {pack}; {bundles} }}\n")
}
