//! Images in fatbins, bundles, offload binaries, archives, and these in each other.

use super::{Name, Part, single};
use offload_format::archive::{self, Archive};
use offload_format::bundle;
use offload_format::compressed::{self, Bundles, Found};
use offload_format::nv_fatbin::{self, NvFatbins};
use offload_format::offload_binary::{self, OffloadBinaries};
use offload_format::{ErrorKind, Result};

/// More than any image decompresses to.
const LIMIT: u64 = 1 << 32;
/// Containers in containers: an archive of bundles of offload binaries of fatbins.
const DEPTH: u32 = 4;

/// Shows every image in these bytes, or says why they cannot be taken apart.
pub(super) fn walk(bytes: &[u8], visit: &mut dyn FnMut(Part<'_>)) -> std::result::Result<(), String> {
    walk_in(bytes, DEPTH, visit).map_err(|error| match error.kind() {
        ErrorKind::NotBuiltIn { feature } => format!(
            "{} is compressed with {feature}; offload-build reads compressed files with its feature `compression`",
            error.part()
        ),
        _ => error.to_string(),
    })
}

fn walk_in(bytes: &[u8], depth: u32, visit: &mut dyn FnMut(Part<'_>)) -> Result<()> {
    if depth == 0 {
        visit(Part::Other("containers in containers in containers".to_owned()));
    } else if bytes.starts_with(archive::MAGIC) {
        for member in Archive::parse(bytes)?.members() {
            member.data().map_or(Ok(()), |data| walk_in(data, depth - 1, visit))?;
        }
    } else if bytes.starts_with(bundle::MAGIC) || bytes.starts_with(&compressed::MAGIC) {
        for found in Bundles::new(bytes, LIMIT) {
            match found?.1 {
                Found::Plain(bundle) => bundle_entries(&bundle, depth, visit)?,
                Found::Compressed(compressed) => {
                    let plain = compressed.decompress(LIMIT)?;
                    bundle_entries(&bundle::Bundle::parse(&plain)?, depth, visit)?;
                }
            }
        }
    } else if bytes.starts_with(&offload_binary::MAGIC) {
        for binary in OffloadBinaries::new(bytes) {
            let (_, binary) = binary?;
            let plain;
            let images = match binary.compressed() {
                Some(compressed) => {
                    plain = compressed.decompress(LIMIT)?;
                    offload_binary::OffloadBinary::parse(&plain)?.images()
                }
                None => binary.images(),
            };
            images.into_iter().try_for_each(|image| walk_in(image.data(), depth - 1, visit))?;
        }
    } else if bytes.starts_with(&nv_fatbin::MAGIC) {
        for fatbin in NvFatbins::new(bytes) {
            for entry in fatbin?.1.entries() {
                let payload = entry.decompress(LIMIT)?;
                payload.images().for_each(|(image, bytes)| match image.arch() {
                    Some(arch) => visit(Part::Image(Name::Target(arch.to_string()), bytes)),
                    None => visit(Part::Other(image.kind().to_string())),
                });
            }
        }
    } else {
        visit(single(bytes));
    }
    Ok(())
}

fn bundle_entries(bundle: &bundle::Bundle<'_>, depth: u32, visit: &mut dyn FnMut(Part<'_>)) -> Result<()> {
    // The host's entry is most often empty, and never an image.
    let device = bundle.entries().filter(|entry| entry.id().is_ok_and(|id| !id.is_host()));
    device.map(|entry| entry.code_object()).try_for_each(|bytes| walk_in(bytes, depth - 1, visit))
}
