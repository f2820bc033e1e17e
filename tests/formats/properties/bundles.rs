//! Random bundles: uncompressed, compressed, and several in a row. The reader must return the
//! inputs, and the writer must reproduce the bytes.

use super::*;
use offload_format::bundle::{Bundle, BundleBuilder, EntryTable, HIP_ALIGN, HIP_HOST_ENTRY_ID};
use offload_format::compressed::{
    self, CompressOptions, CompressedBundle, Found, Version, compress,
};
use offload_tests::prelude::*;
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, prop_oneof};
use proptest::sample;

#[test]
fn bundles_are_written_again_as_they_were() {
    check(300, (entries(bytes(300)), 1..5000u64), |(entries, align)| {
        let file = write_bundle(&entries, align);
        let bundle = Bundle::parse(&file).unwrap();
        compare_bundle(&bundle, &entries);
        assert!(bundle.entries().all(|entry| entry.offset % align == 0));
        let ends = bundle.entries().map(|it| it.offset + it.code_object.len() as u64);
        let size = file.len() as u64;
        assert_eq!((bundle.size(), ends.max().unwrap_or(32)), (size, size));

        let read = bundle.entries().map(|entry| (entry.id_str, entry.code_object.to_vec()));
        assert_same_bytes(&write_bundle(&read.collect::<Vec<_>>(), align), &file, "written again");
    });
}

#[test]
fn bundles_of_hip_are_aligned_and_read() {
    check(50, entries(bytes(6000)), |mut entries| {
        entries.retain(|(id, _)| id.starts_with("hip"));
        let mut builder = BundleBuilder::hip();
        for (id, payload) in &entries {
            builder.entry(id, payload.len() as u64).unwrap();
        }
        entries.insert(0, (HIP_HOST_ENTRY_ID, Vec::new()));
        let file = builder.layout().to_vec(&payloads(&entries));
        let bundle = Bundle::parse(&file).unwrap();
        compare_bundle(&bundle, &entries);
        assert!(bundle.entries().all(|entry| entry.offset % HIP_ALIGN == 0));
    });
}

fn options() -> impl Strategy<Value = CompressOptions> {
    (sample::select(&[Version::V2, Version::V3][..]), methods()).prop_map(
        |(version, (method, level))| {
            let mut options = CompressOptions::default();
            (options.version, options.method, options.level) = (version, method, level);
            options
        },
    )
}

#[test]
fn compressed_bundles_are_written_again_as_they_were() {
    check(120, (entries(bytes(4000)), 1..300u64, options()), |(entries, align, options)| {
        let plain = write_bundle(&entries, align);
        let file = compress(&plain, &options).unwrap();
        let bundle = CompressedBundle::parse(&file).unwrap();
        assert_eq!(bundle.total_size, Some(file.len() as u64));
        assert_eq!(bundle.method(), Some(options.method));
        assert_eq!(bundle.uncompressed_size, plain.len() as u64);
        assert_eq!(bundle.hash, compressed::hash(&plain));
        let whole = bundle.decompress(LIMIT).unwrap();
        assert_same_bytes(&whole, &plain, "decompressed");
        assert_same_bytes(&compress(&whole, &options).unwrap(), &file, "compressed again");

        let table = bundle.entry_table(LIMIT).unwrap();
        let table = EntryTable::parse(&table).unwrap();
        for (entry, (id, payload)) in table.entries().zip(&entries) {
            assert_eq!(entry.id_str, canonical(id));
            assert_same_bytes(&bundle.code_object(&entry, LIMIT).unwrap(), payload, id);
        }
        assert_eq!(table.entries().count(), entries.len());
    });
}

fn padding() -> impl Strategy<Value = usize> {
    prop_oneof![Just(0), 1..100usize, Just(4096)]
}

#[test]
fn each_bundle_in_a_row_is_read() {
    let bundle = (entries(bytes(200)), 1..100u64, proptest::option::of(options()), padding());
    check(120, vec(bundle, 0..6), |bundles| {
        let mut file = Vec::new();
        let mut starts = Vec::new();
        for (entries, align, options, padding) in &bundles {
            let plain = write_bundle(entries, *align);
            starts.push(file.len() as u64);
            file.extend(match options {
                Some(options) => compress(&plain, options).unwrap(),
                None => plain,
            });
            file.resize(file.len() + padding, 0);
        }
        let found: Vec<_> = Found::in_a_row(&file, LIMIT).map(Result::unwrap).collect();
        assert!(found.iter().map(|(at, _)| *at).eq(starts));
        for ((_, found), (entries, ..)) in found.iter().zip(&bundles) {
            let whole;
            let bundle = match found {
                Found::Plain(bundle) => *bundle,
                Found::Compressed(bundle) => {
                    whole = bundle.decompress(LIMIT).unwrap();
                    Bundle::parse(&whole).unwrap()
                }
            };
            compare_bundle(&bundle, entries);
        }
    });
}
