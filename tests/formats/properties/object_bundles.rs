//! Random bundles in host objects: the reader must return the inputs, and bundling the stripped
//! object again must produce the same bundle.

use super::{builder, bytes, check, compare, entries, payloads};
use offload_format::object_bundle::{self, ObjectBundle};
use offload_tests::prelude::*;
use proptest::sample;

#[test]
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
        compare(bundle.entries().map(|entry| (entry.id_str, entry.code_object)), &entries);

        let stripped = object_bundle::strip(&fat).unwrap();
        assert_same_bytes(&write(&stripped, &entries), &fat, "bundled again");
    });
}
