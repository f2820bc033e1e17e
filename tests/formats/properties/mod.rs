//! Round trips of containers with random content, in every version, order and alignment. Readers
//! must return the writers' input, and writers must then reproduce the bytes. The random numbers
//! are the same in each run.

mod archives;
mod bundles;
mod fatbins;
mod host_objects;
mod object_bundles;
mod offload_binaries;
mod selection;

use crate::offload_binary::{Made, builder as image_builder};
use offload_format::bundle::{Bundle, BundleBuilder, EntryId};
use offload_format::compression::Method;
use offload_format::offload_binary::Version;
use proptest::collection::{btree_map, vec};
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof};
use proptest::sample::{self, subsequence};
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use std::fmt::Debug;

/// Checks a property with this many generated values.
pub(crate) fn check<T: Debug>(cases: u32, values: impl Strategy<Value = T>, property: impl Fn(T)) {
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner =
        TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let outcome = runner.run(&values, |value| {
        property(value);
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

/// Generates bytes, some of which look like the start of a container.
fn bytes(most: usize) -> impl Strategy<Value = Vec<u8>> + Clone {
    let starts: [&[u8]; 2] = [b"CCOB\x03\0\x01\0", b"__CLANG_OFFLOAD_BUNDLE__\x01\0\0\0\0\0\0\0"];
    prop_oneof![
        1 => Just(Vec::new()),
        1 => sample::select(starts.to_vec()).prop_map(|start| [start, b" no bundle"].concat()),
        4 => vec(any::<u8>(), 0..most),
        2 => (any::<u8>(), 0..most).prop_map(|(byte, size)| vec![byte; size]),
    ]
}

/// IDs that may all be in one bundle. Some do not have the canonical spelling.
const IDS: [&str; 12] = [
    "host-x86_64-unknown-linux-gnu",
    "hip-amdgcn-amd-amdhsa--gfx906:xnack+",
    "hip-amdgcn-amd-amdhsa--gfx906:xnack-",
    "hip-amdgcn-amd-amdhsa--gfx90a:xnack-:sramecc+",
    "hipv4-amdgcn-amd-amdhsa--gfx1100",
    "hipv4-amdgcn-amd-amdhsa--gfx9-4-generic",
    "hip-spirv64-amd-amdhsa-unknown-amdgcnspirv",
    "openmp-amdgcn-amd-amdhsa--gfx906",
    "openmp-nvptx64-nvidia-cuda-sm_70",
    "openmp-nvptx64-nvidia-cuda--sm_90a",
    "openmp-x86_64-pc-linux-gnu-",
    "openmp-spirv64-intel-unknown--bmg_g21",
];

type Entries<'a> = Vec<(&'a str, Vec<u8>)>;

fn entries(payload: impl Strategy<Value = Vec<u8>>) -> impl Strategy<Value = Entries<'static>> {
    let ids = subsequence(IDS.to_vec(), 0..=IDS.len()).prop_shuffle();
    (ids, vec(payload, IDS.len()))
        .prop_map(|(ids, payloads)| ids.into_iter().zip(payloads).collect())
}

fn canonical(id: &str) -> String {
    EntryId::parse(id).expect("an ID of the list").to_canonical()
}

fn builder(entries: &Entries<'_>, align: u64) -> BundleBuilder {
    let mut builder = BundleBuilder::new();
    builder.align(align);
    for (id, payload) in entries {
        builder.entry(id, payload.len() as u64).expect("an ID of the list");
    }
    builder
}

fn payloads<'a>(entries: &'a Entries<'_>) -> Vec<&'a [u8]> {
    entries.iter().map(|(_, payload)| payload.as_slice()).collect()
}

fn write_bundle(entries: &Entries<'_>, align: u64) -> Vec<u8> {
    builder(entries, align).layout().to_vec(&payloads(entries))
}

fn compare<'a>(read: impl Iterator<Item = (&'a str, &'a [u8])>, entries: &Entries<'_>) {
    let read: Vec<_> = read.map(|(id, payload)| (id.to_owned(), payload)).collect();
    let expected: Vec<_> =
        entries.iter().map(|(id, payload)| (canonical(id), payload.as_slice())).collect();
    assert_eq!(read, expected);
}

fn compare_bundle(bundle: &Bundle<'_>, entries: &Entries<'_>) {
    compare(bundle.entries().map(|entry| (entry.id_str, entry.code_object)), entries);
}

/// Returns compression methods with levels, none of them slow.
fn methods() -> impl Strategy<Value = (Method, Option<i32>)> + Clone {
    let zlib = proptest::option::of(0..=9).prop_map(|level| (Method::Zlib, level));
    prop_oneof![zlib, proptest::option::of(-5..=12).prop_map(|level| (Method::Zstd, level))]
}

const LIMIT: u64 = 1 << 24;

/// Generates images. With `nul`, values may contain a NUL, which some versions cannot store.
pub(crate) fn images(nul: bool) -> impl Strategy<Value = Vec<Made>> {
    let key = prop_oneof![
        sample::select(&["triple", "arch", "feature", "", "κλειδί"][..]).prop_map(str::to_owned),
        "[^\0]{0,12}",
        "[a-c]{0,3}|[a-z]{60,200}",
    ];
    let value =
        prop_oneof![Just(b"gfx90a".to_vec()), Just(Vec::new()), vec(u8::from(!nul)..=255, 0..30)];
    let image = (any::<u16>(), any::<u16>(), any::<u32>(), btree_map(key, value, 0..7), bytes(200));
    let image = image.prop_map(|(image_kind, offload_kind, flags, strings, data)| {
        let strings = strings.into_iter().collect();
        Made { image_kind, offload_kind, flags, strings, data }
    });
    vec(image, 0..5)
}

pub(crate) fn write_images(images: &[Made], version: Version) -> Vec<u8> {
    let (builder, bytes) = image_builder(images);
    builder.layout(version).to_vec(&bytes)
}
