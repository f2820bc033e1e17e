//! What the fuzz targets share.

/// An entry ID, one of a few, in its canonical form.
pub fn entry_id(number: u8) -> String {
    const KINDS: [&str; 3] = ["hip", "hipv4", "openmp"];
    const PROCESSORS: [&str; 6] = ["gfx906", "gfx90a", "gfx90a:xnack+", "gfx90a:sramecc+:xnack-", "gfx1100", "gfx9-4-generic"];
    let number = usize::from(number);
    match number % 19 {
        18 => "host-x86_64-unknown-linux-gnu-".to_owned(),
        other => format!("{}-amdgcn-amd-amdhsa--{}", KINDS[other % 3], PROCESSORS[other / 3]),
    }
}
