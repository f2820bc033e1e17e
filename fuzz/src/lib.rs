//! Functions that the fuzz targets share.

/// Returns one of 19 entry IDs in canonical form, chosen by `number`.
fn entry_id(number: u8) -> String {
    const KINDS: [&str; 3] = ["hip", "hipv4", "openmp"];
    const PROCESSORS: [&str; 6] = [
        "gfx906",
        "gfx90a",
        "gfx90a:xnack+",
        "gfx90a:sramecc+:xnack-",
        "gfx1100",
        "gfx9-4-generic",
    ];
    let number = usize::from(number);
    match number % 19 {
        18 => "host-x86_64-unknown-linux-gnu-".to_owned(),
        other => format!("{}-amdgcn-amd-amdhsa--{}", KINDS[other % 3], PROCESSORS[other / 3]),
    }
}

/// Passes each entry to `take`, which adds it to a builder. Returns the entries that the builder
/// accepted. The builder refuses an entry that cannot be in the same bundle as an earlier one.
pub fn taken<'a>(
    entries: impl IntoIterator<Item = &'a (u8, Vec<u8>)>,
    mut take: impl FnMut(&str, u64) -> bool,
) -> Vec<(String, &'a [u8])> {
    let named = entries.into_iter().map(|(name, bytes)| (entry_id(*name), bytes.as_slice()));
    named.filter(|(id, bytes)| take(id, bytes.len() as u64)).collect()
}
