//! Without the feature `containers`: files that are one image each.

use super::{Part, single};
use offload_format::image::Image;
use offload_format::{archive, bundle, offload_binary};

const VERSION: &str = concat!(env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"));

/// Shows the image that these bytes are, or says what it takes to take them apart.
pub(super) fn walk(bytes: &[u8], visit: &mut dyn FnMut(Part<'_>)) -> Result<(), String> {
    let magics: [&[u8]; 4] = [archive::MAGIC, bundle::MAGIC, &bundle::COMPRESSED_MAGIC, &offload_binary::MAGIC];
    if magics.iter().any(|magic| bytes.starts_with(magic)) || Image::parse(bytes) == Ok(Image::Fatbin) {
        return Err(format!(
            "offload-build reads fatbins, bundles, offload binaries and archives with its feature `containers`:\n  \
             offload-build = {{ version = \"{VERSION}\", features = [\"containers\"] }}"
        ));
    }
    visit(single(bytes));
    Ok(())
}
