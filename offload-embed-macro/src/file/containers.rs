//! With the feature `containers`: all that is known of fatbins, and of bundles that are compressed or several.

use offload_format::ErrorKind;
use offload_format::bundle::Bundle;
use offload_format::compressed::{Bundles, Found};
use offload_format::nv_fatbin::NvFatbins;

/// The bundles in a file, with their offsets. `None` is a compressed one.
pub(super) fn bundles(bytes: &[u8]) -> Result<Vec<(u64, Option<Bundle<'_>>)>, String> {
    // What a compressed bundle of version 1, which does not say its size, may take up.
    const LIMIT: u64 = 1 << 30;
    let found = Bundles::new(bytes, LIMIT).map(|found| {
        found.map(|(at, found)| match found {
            Found::Plain(bundle) => (at, Some(bundle)),
            Found::Compressed(_) => (at, None),
        })
    });
    match found.collect() {
        // Of version 1, which ends where its stream does.
        Err(error)
            if matches!(error.kind(), ErrorKind::NotBuiltIn { .. } | ErrorKind::UnsupportedCompression { .. }) =>
        {
            Ok(vec![(0, None)])
        }
        found => found.map_err(|error: offload_format::Error| format!("is damaged: {error}")),
    }
}

pub(super) fn check_fatbins(bytes: &[u8]) -> Result<(), String> {
    let mut fatbins = NvFatbins::new(bytes);
    fatbins.try_for_each(|fatbin| fatbin.map(drop)).map_err(|error| format!("is damaged: {error}"))
}
