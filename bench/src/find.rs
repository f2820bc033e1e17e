//! Measures the time to find one image among the sixteen of a bundle, by our library and by AMD's
//! comgr.

use crate::comgr::Comgr;
use crate::measure::row_of_many;
use offload_format::bundle::{Bundle, BundleBuilder, HIP_ENTRY_PREFIX};
use offload_format::target::TargetId;
use std::hint::black_box;

const TARGETS: [&str; 16] = [
    "gfx803",
    "gfx900",
    "gfx906:sramecc+:xnack-",
    "gfx906:sramecc-:xnack-",
    "gfx908",
    "gfx90c",
    "gfx1010",
    "gfx1011",
    "gfx1012",
    "gfx1030",
    "gfx1031",
    "gfx1032",
    "gfx1033",
    "gfx1034",
    "gfx90a:xnack+",
    "gfx90a:xnack-",
];

/// The device for the search: only the last image fits it.
const DEVICE: &str = "gfx90a:sramecc+:xnack-";

/// Runs both searches, and prints their times.
pub fn bench() {
    println!("find: one image among {}, from the bundle's bytes", TARGETS.len());
    let mut builder = BundleBuilder::hip();
    for target in TARGETS {
        builder
            .entry(&format!("{HIP_ENTRY_PREFIX}{target}"), 8)
            .expect("targets may stand together");
    }
    let code_objects: Vec<[u8; 8]> = (0..TARGETS.len() as u64).map(u64::to_le_bytes).collect();
    let mut payloads: Vec<&[u8]> = vec![b""];
    payloads.extend(code_objects.iter().map(|it| it.as_slice()));
    let bytes = builder.layout().to_vec(&payloads);

    let last = code_objects.last().map(|it| it.as_slice());
    assert_eq!(find(&bytes), last);
    row_of_many("ours", 11, 100_000, || {
        black_box(find(black_box(&bytes)));
    });
    match Comgr::load() {
        Ok(comgr) => {
            let offset = Bundle::parse(&bytes)
                .ok()
                .and_then(|it| it.entries().last())
                .map(|entry| entry.offset());
            assert_eq!(comgr.lookup(&bytes, DEVICE), offset);
            row_of_many("amd_comgr_lookup_code_object", 11, 1000, || {
                black_box(comgr.lookup(black_box(&bytes), DEVICE));
            });
        }
        Err(error) => println!("  (no comgr to compare with: {error})"),
    }
}

/// Returns the code object that offload-format selects for [`DEVICE`] from a bundle.
fn find(bytes: &[u8]) -> Option<&[u8]> {
    let device = TargetId::parse(DEVICE).ok()?;
    Bundle::parse(bytes).ok()?.find_hip(&device).map(|entry| entry.code_object())
}
