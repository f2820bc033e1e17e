//! Random bundles in host objects: the reader returns the inputs, and the `object` crate finds the
//! host unchanged after the bundle is extracted.

use super::{builder, bytes, check, compare, entries, payloads};
use object::read::{Object, ObjectSection, ObjectSymbol};
use offload_format::object_bundle::{self, ObjectBundle};
use offload_tests::prelude::*;
use proptest::sample;

offload_tests::tests! {
    NOTHING => [hosts_and_bundles_come_out_as_they_went_in],
}

/// Returns the parts of an object that a linker uses.
fn meaning(object: &[u8]) -> (Vec<String>, BTreeSet<String>) {
    let object = object::File::parse(object).expect("an object");
    let names = |index| {
        object.symbol_by_index(index).expect("a symbol").name().expect("its name").to_owned()
    };
    let sections = object.sections().filter(|section| {
        // The writer makes these sections anew.
        !matches!(section.name(), Ok(".strtab" | ".shstrtab" | ".symtab"))
    });
    let sections = sections.map(|section| {
        let relocations = section.relocations().map(|(at, it)| {
            let target = match it.target() {
                object::RelocationTarget::Symbol(index) => names(index),
                other => format!("{other:?}"),
            };
            format!("{at} {:?} {target} {}", it.flags(), it.addend())
        });
        let relocations = relocations.collect::<Vec<_>>();
        let is_relocations = section.name().is_ok_and(|name| name.starts_with(".rel"));
        let data = if is_relocations { &[] } else { section.data().expect("its bytes") };
        let (name, flags, align) = (section.name(), section.flags(), section.align());
        format!("{name:?} {flags:?} {align} {data:?} {relocations:?}")
    });
    let symbols = object.symbols().map(|symbol| {
        let section = symbol.section_index().and_then(|index| object.section_by_index(index).ok());
        let section = section.map(|section| section.name().expect("its name").to_owned());
        let place = (symbol.address(), symbol.size());
        format!("{:?} {place:?} {:?} {section:?}", symbol.name(), symbol.kind())
    });
    (sections.collect(), symbols.collect())
}

fn hosts_and_bundles_come_out_as_they_went_in() {
    let hosts = [
        "object_bundle/host.o",
        "object_bundle/host.obj",
        "fat_file/llvm_offloading.o",
        "fat_file/hip_nordc.o",
    ]
    .map(corpus_file);
    check(60, (sample::select(hosts.to_vec()), entries(bytes(300))), |(host, mut entries)| {
        let write = |host: &[u8], entries: &_| {
            let layout = object_bundle::bundle(host, &builder(entries, 1)).unwrap();
            layout.to_vec(&payloads(entries))
        };
        let fat = write(&host, &entries);
        for (_, payload) in entries.iter_mut().filter(|(id, _)| id.starts_with("host")) {
            *payload = object_bundle::HOST_PLACEHOLDER.to_vec();
        }
        let bundle = ObjectBundle::parse(&fat).unwrap();
        compare(bundle.entries().map(|entry| (entry.id_str(), entry.code_object())), &entries);

        let stripped = object_bundle::strip(&fat).unwrap();
        assert_eq!(meaning(&stripped), meaning(&host));
        assert_same_bytes(&write(&stripped, &entries), &fat, "bundled again");
    });
}
