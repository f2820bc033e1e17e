//! Tests of compressed bundles: comparisons with LLVM 22's bundler, and damaged bundles.

mod beside_llvm;
mod damaged;

use offload_format::bundle::{BundleBuilder, HIP_ENTRY_PREFIX};
use offload_format::compressed::{CompressOptions, Version};
use offload_format::compression::Method;

const LIMIT: u64 = 1 << 26;
const HOST: &str = "host-x86_64-unknown-linux-gnu";
const TARGETS: [&str; 4] = ["gfx90a", "gfx1100", "gfx942:sramecc+", "gfx9-4-generic"];

/// Returns the IDs of a bundle with the host's entry and this many code objects.
fn ids(code_objects: usize) -> Vec<String> {
    let devices = TARGETS[..code_objects].iter().map(|it| format!("{HIP_ENTRY_PREFIX}{it}"));
    [HOST.to_owned()].into_iter().chain(devices).collect()
}

fn hip_bundle(code_objects: &[Vec<u8>]) -> Vec<u8> {
    let mut builder = BundleBuilder::hip();
    let mut payloads: Vec<&[u8]> = vec![b""];
    for (id, code_object) in ids(code_objects.len())[1..].iter().zip(code_objects) {
        builder.entry(id, code_object.len() as u64).unwrap();
        payloads.push(code_object);
    }
    builder.layout().to_vec(&payloads)
}

fn every_option() -> Vec<CompressOptions> {
    let mut all = Vec::new();
    for version in [Version::V2, Version::V3] {
        for method in [Method::Zlib, Method::Zstd] {
            for level in [None, Some(1), Some(9)] {
                let mut options = CompressOptions::default();
                (options.version, options.method, options.level) = (version, method, level);
                all.push(options);
            }
        }
    }
    all
}
