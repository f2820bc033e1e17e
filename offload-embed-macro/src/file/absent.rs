//! Without the feature `containers`: one plain bundle.

use offload_format::bundle::{Bundle, COMPRESSED_MAGIC};

const VERSION: &str = concat!(env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"));

/// What has to be added to the manifest.
fn lack(what: &str) -> String {
    format!(
        "{what}; offload reads that with its feature `containers`:\n  \
         offload = {{ version = \"{VERSION}\", features = [\"containers\"] }}"
    )
}

/// The bundle in a file, with its offset.
pub(super) fn bundles(bytes: &[u8]) -> Result<Vec<(u64, Option<Bundle<'_>>)>, String> {
    if bytes.starts_with(&COMPRESSED_MAGIC) {
        return Err(lack("is a compressed bundle"));
    }
    let bundle = Bundle::parse(bytes).map_err(|error| format!("is damaged: {error}"))?;
    let behind = bytes.get(bundle.size() as usize..).unwrap_or_default();
    match behind.iter().all(|byte| *byte == 0) {
        true => Ok(vec![(0, Some(bundle))]),
        false => Err(lack("has more behind its first bundle")),
    }
}

pub(super) fn check_fatbins(_bytes: &[u8]) -> Result<(), String> {
    Err(lack("is a fatbin"))
}
