//! Random packs in objects and libraries for every machine. The search must find the packs.

use super::{bytes, check, entries, images, write_bundle, write_images};
use crate::host_object::any::HOSTS;
use crate::host_object::target;
use offload_format::archive::write_library;
use offload_format::fat_file::{ContainerKind, Content, find};
use offload_format::host_object::{self, Machine};
use offload_format::offload_binary::Version;
use offload_format::section::DeviceSection;
use offload_tests::prelude::*;
use proptest::prelude::{Strategy, prop_oneof};
use proptest::sample;

#[test]
fn packs_in_host_objects_are_found() {
    let machine = sample::select(HOSTS.to_vec()).prop_map(|(arch, os, ..)| {
        Machine::of(&target(arch, os)).expect("objects are written for it")
    });
    let container = prop_oneof![
        (entries(bytes(300)), 1..300u64)
            .prop_map(|(entries, align)| (DeviceSection::HipFatbin, write_bundle(&entries, align))),
        images(false)
            .prop_filter("nothing to write", |images| !images.is_empty())
            .prop_map(|images| (DeviceSection::LlvmOffloading, write_images(&images, Version::V1))),
    ];
    let written = (machine, container, "[a-z_][a-z0-9_]{0,40}");
    check(200, written, |(machine, (section, pack), symbol)| {
        let size = pack.len() as u64;
        let object = host_object::write(machine, section, &symbol, size).unwrap();
        let library = write_library("pack.o", &machine.linker_name(&symbol), object.size())
            .nest(|_| object.clone());
        for (layout, member) in [(&object, None), (&library, Some(&b"pack.o"[..]))] {
            let file = layout.to_vec(&[&pack]);
            let mut places = 0;
            find(&file, |place, container| {
                let bytes = match (section, container.unwrap()) {
                    (
                        DeviceSection::HipFatbin,
                        Content::Container(
                            ContainerKind::Bundle | ContainerKind::CompressedBundle,
                            bytes,
                        ),
                    )
                    | (
                        DeviceSection::LlvmOffloading,
                        Content::Container(ContainerKind::OffloadBinary, bytes),
                    ) => bytes,
                    other => panic!("{other:?}"),
                };
                assert_eq!((Some(place.offset), place.member), (layout.offset_of(0), member));
                assert_same_bytes(bytes, &pack, "what was found");
                places += 1;
            });
            assert_eq!(places, 1);
        }
    });
}
