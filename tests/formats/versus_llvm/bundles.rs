//! Our bundles must equal those of LLVM 22's `clang-offload-bundler`, and each side must read the
//! other's.

use super::{ids, target_ids};
use crate::target_ids::processors_of_llvm_22;
use offload_format::bundle::{Bundle, BundleBuilder, HIP_ENTRY_PREFIX};
use offload_tests::bundler::{self, bundler};
use offload_tests::prelude::*;

/// Entry IDs as in `-targets`, with their code objects.
type BundleEntries = Vec<(String, Vec<u8>)>;

const HOST: &str = "host-x86_64-unknown-linux-gnu";

fn ours(align: u64, entries: &BundleEntries) -> Vec<u8> {
    let mut builder = BundleBuilder::new();
    builder.align(align);
    for (id, code_object) in entries {
        builder.entry(id, code_object.len() as u64).unwrap_or_else(|error| panic!("{id}: {error}"));
    }
    builder.layout().to_vec(&entries.iter().map(|(_, code)| code.as_slice()).collect::<Vec<_>>())
}

/// Writes one bundle with `clang-offload-bundler` and one with [`BundleBuilder`]. Asserts that both
/// bundles are equal, and that LLVM's reader and ours find the same IDs.
fn compare_bundles(folder: &Path, align: u64, entries: &BundleEntries) {
    let ours = ours(align, entries);
    let theirs =
        bundler::bundle(folder, &format!("-type=bc -bundle-align={align}"), entries, "theirs");
    let what = entries.iter().map(|(id, bytes)| (id, bytes.len())).collect::<Vec<_>>();
    let what = format!("align {align}, {what:?}");
    assert_same_bytes(&ours, &theirs, &what);

    let file = folder.join("ours");
    scratch::write(&file, &ours);
    assert_eq!(listed_ids(&file), ids(&ours), "{what}");
}

pub(super) fn listed_ids(bundle: &Path) -> BTreeSet<String> {
    bundler::listed("-type=bc", bundle).into_iter().collect()
}

/// LLVM divides by the alignment, so 0 makes it crash. This library treats 0 as no alignment
/// (`bundle::write::tests`).
#[test(LLVM)]
fn an_alignment_of_0() {
    let folder = scratch::folder("versus-llvm-bundle-align-0");
    let mut tool = bundler(&folder, "-type=bc -bundle-align=0 -input=/dev/null -output=theirs");
    let output = tool.arg(bundler::targets([HOST])).output().unwrap();
    assert!(output.status.code().is_none_or(|code| code > 128), "{output:?}");
}

#[test(LLVM.slow())]
fn random_bundles() {
    let folder = scratch::folder("versus-llvm-bundle-random");
    let mut random = Random::new(1);
    for _ in 0..100 {
        let mut all = Vec::new();
        for row in processors_of_llvm_22() {
            // All entries for a processor must name the same features; otherwise the tool refuses
            // the bundle.
            let features: Vec<&str> =
                row.features.iter().copied().filter(|_| random.below(2) == 0).collect();
            for id in target_ids(row, &features) {
                if random.below(8) == 0 {
                    let prefix = ["hip-amdgcn-amd-amdhsa--", HIP_ENTRY_PREFIX][row.name.len() % 2];
                    let bytes = some_bytes(random.below(99), random.below(300));
                    all.push((format!("{prefix}{id}"), bytes));
                }
            }
        }
        random.shuffle(&mut all);
        // Some bundles have only one or two entries, some have no host, and some payloads are
        // empty.
        all.truncate(random.pick(&[1, 2, usize::MAX]));
        if let Some((_, first)) = all.first_mut().filter(|_| random.below(3) == 0) {
            first.clear();
        }
        if random.below(4) > 0 {
            let host = (HOST.to_owned(), some_bytes(99, random.below(2) * 50));
            all.insert(random.below(all.len() + 1), host);
        }
        compare_bundles(&folder, random.pick(&[1, 2, 3, 7, 8, 16, 100, 256, 4096]), &all);
    }
}

/// LLVM 22 treats the target ID after a three-field triple as an environment, and adds a dash.
#[test]
fn ids_without_an_environment() {
    let bytes = corpus_file("bundle/nvptx4.bc");
    let entry = Bundle::parse(&bytes).unwrap().entries().nth(1).unwrap();
    assert_eq!(entry.id_str, "openmp-nvptx64-nvidia-cuda-sm_70-");
    let id = entry.id().unwrap();
    assert_eq!((id.kind(), id.triple().env, id.target()), ("openmp", "", "sm_70"));
}
