//! Random packs in objects and libraries for every machine are found again.

use super::{bytes, check, entries, image_builder, image_bytes, images, write_bundle};
use offload_format::archive::write_library;
use offload_format::fat_file::{Container, find};
use offload_format::host_object::{self, CargoTarget, Machine};
use offload_format::offload_binary;
use offload_format::section::DeviceSection;
use offload_tests::data::assert_same_bytes;
use offload_tests::registry::NOTHING;
use proptest::prelude::{Strategy, prop_oneof};
use proptest::sample;

offload_tests::tests! {
    NOTHING => [packs_in_host_objects_are_found],
}

fn machines() -> Vec<Machine> {
    let targets = [
        ("x86_64", "linux"),
        ("aarch64", "linux"),
        ("riscv64", "linux"),
        ("loongarch64", "linux"),
        ("x86_64", "windows"),
        ("aarch64", "windows"),
        ("x86_64", "macos"),
        ("aarch64", "macos"),
    ];
    let machine =
        |(arch, os)| Machine::of(&CargoTarget { arch, os, pointer_width: "64", endian: "little" });
    targets.map(|target| machine(target).expect("objects are written for it")).to_vec()
}

fn packs_in_host_objects_are_found() {
    let container = prop_oneof![
        (entries(bytes(300)), 1..300u64)
            .prop_map(|(entries, align)| (DeviceSection::HipFatbin, write_bundle(&entries, align))),
        images(false).prop_filter("nothing to write", |images| !images.is_empty()).prop_map(
            |images| {
                let file = image_builder(&images)
                    .layout(offload_binary::Version::V1)
                    .to_vec(&image_bytes(&images));
                (DeviceSection::LlvmOffloading, file)
            }
        ),
    ];
    let symbol = "[a-z_][a-z0-9_]{0,40}";
    check(
        200,
        (sample::select(machines()), container, symbol),
        |(machine, (section, pack), symbol)| {
            let size = pack.len() as u64;
            let object = host_object::write(machine, section, &symbol, size).unwrap();
            let library = write_library("pack.o", &machine.linker_name(&symbol), object.size())
                .nest(|_| object.clone());
            for (layout, member) in [(&object, None), (&library, Some(&b"pack.o"[..]))] {
                let file = layout.to_vec(&[&pack]);
                let mut places = 0;
                find(&file, |place, container| {
                    let bytes = match container.unwrap() {
                        Container::Bundles(bytes) if section == DeviceSection::HipFatbin => bytes,
                        Container::OffloadBinaries(bytes)
                            if section == DeviceSection::LlvmOffloading =>
                        {
                            bytes
                        }
                        other => panic!("{other:?}"),
                    };
                    assert_eq!((Some(place.offset), place.member), (layout.offset_of(0), member));
                    assert_same_bytes(bytes, &pack, "what was found");
                    places += 1;
                });
                assert_eq!(places, 1);
            }
        },
    );
}
