//! Compares our bundles and offload binaries with those of LLVM 22's tools: the bytes must be
//! equal, and each side must read the other's.
//!
//! docs/formats.md explains the facts that the cases test. tests/corpus has small files written by
//! LLVM.

mod bundles;
mod malformed;
mod offload_binaries;

use offload_format::bundle::Bundle;
use offload_format::target::amdgpu::Processor;
use std::collections::BTreeSet;

/// Returns the IDs that our reader finds in a bundle, as a set, because LLVM uses hash table order.
fn ids(bundle: &[u8]) -> BTreeSet<String> {
    Bundle::parse(bundle).unwrap().entries().map(|entry| entry.id_str.to_owned()).collect()
}

/// Returns every target ID of a processor that names exactly these features.
fn target_ids(row: &Processor, features: &[&str]) -> Vec<String> {
    let mut ids = vec![row.name.to_owned()];
    for feature in features {
        ids = ids
            .iter()
            .flat_map(|id| [format!("{id}:{feature}+"), format!("{id}:{feature}-")])
            .collect();
    }
    ids
}
