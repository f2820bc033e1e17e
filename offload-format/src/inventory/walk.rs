//! Walks through a file, container by container.

#[cfg(feature = "object")]
use super::image_table;
use super::listing::Listing;
use super::{ContainerKind, Inventory, Place, Problem, containers, plain};
use crate::fat_file::{Content, find, within};
use crate::offload_binary::OffloadBinary;

pub(super) fn walk(file: &[u8], limit: u64) -> Inventory<'_> {
    let mut list = Listing::new(file, limit);
    find(file, |place, part| match part {
        Ok(part) => found(&mut list, place, part),
        Err(error) => list.inventory.problems.push(Problem { place, error, decompressed: false }),
    });
    #[cfg(all(feature = "containers", feature = "object"))]
    super::link::mark(&mut list.inventory.containers, file);
    list.inventory
}

fn found<'a>(list: &mut Listing<'a>, place: Place<'a>, found: Content<'a>) {
    let (kind, data) = match found {
        Content::Container(kind, data) => (kind, data),
        Content::KpackReference(section) => {
            return containers::kpack_reference(list, place, section);
        }
        Content::Elsewhere(path) => return list.inventory.elsewhere.push(path),
    };
    match kind {
        ContainerKind::Bundle | ContainerKind::CompressedBundle => {
            containers::bundles(list, place, data)
        }
        ContainerKind::OffloadBinary => {
            for found in OffloadBinary::in_a_row(data) {
                match found {
                    Ok((at, binary)) => plain::offload_binary(list, within(place, at), binary),
                    Err(error) => list.problem(place, error),
                }
            }
        }
        ContainerKind::Fatbin => containers::fatbins(list, place, data),
        ContainerKind::Kpack => containers::kpack(list, place, data),
        ContainerKind::Oxart => containers::oxarts(list, place, data),
        ContainerKind::TextBundle => containers::text_bundle(list, place, data),
        ContainerKind::Raw => plain::raw(list, place, data),
        #[cfg(feature = "object")]
        ContainerKind::ObjectBundle => containers::object_bundle(list, place, data),
        #[cfg(feature = "object")]
        ContainerKind::ImageTable => image_table::image_table(list, place, data),
        // Without the `object` feature, these kinds are not found.
        #[cfg(not(feature = "object"))]
        ContainerKind::ObjectBundle | ContainerKind::ImageTable => {}
    }
}
