//! The walk through a file, container by container.

#[cfg(feature = "object")]
use super::image_table;
use super::listing::Listing;
use super::{Inventory, Place, Problem, containers, plain};
use crate::fat_file::{Container, find, within};
use crate::offload_binary::OffloadBinaries;

pub(super) fn walk(file: &[u8], limit: u64) -> Inventory<'_> {
    let mut list = Listing::new(file, limit);
    find(file, |place, container| match container {
        Ok(container) => found(&mut list, place, container),
        Err(error) => list.inventory.problems.push(Problem { place, error, decompressed: false }),
    });
    #[cfg(all(feature = "containers", feature = "object"))]
    super::link::mark(&mut list.inventory.containers, file);
    list.inventory
}

fn found<'a>(list: &mut Listing<'a>, place: Place<'a>, found: Container<'a>) {
    match found {
        Container::Bundles(section) => containers::bundles(list, place, section),
        Container::OffloadBinaries(section) => {
            for found in OffloadBinaries::new(section) {
                match found {
                    Ok((at, binary)) => plain::offload_binary(list, within(place, at), binary),
                    Err(error) => list.problem(place, error),
                }
            }
        }
        Container::NvFatbins(section) => containers::fatbins(list, place, section),
        Container::Kpack(file) => containers::kpack(list, place, file),
        Container::Oxart(section) => containers::oxarts(list, place, section),
        Container::KpackReference(section) => containers::kpack_reference(list, place, section),
        #[cfg(feature = "object")]
        Container::ObjectBundle(bundle) => containers::object_bundle(list, place, bundle),
        #[cfg(feature = "object")]
        Container::ImageTable(table) => image_table::image_table(list, place, table),
        #[cfg(feature = "containers")]
        Container::TextBundle(bundle) => containers::text_bundle(list, place, bundle),
        Container::Image(bytes) => plain::raw(list, place, bytes),
        Container::Elsewhere(path) => list.inventory.elsewhere.push(path),
    }
}
