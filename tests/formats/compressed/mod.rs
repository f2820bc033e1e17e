//! Compressed bundles: compared with those of LLVM 22's bundler, mixed with uncompressed bundles,
//! and damaged.

mod beside_llvm;
mod damaged;
mod in_a_row;
mod versions;

use offload_format::bundle::{BundleBuilder, HIP_ENTRY_PREFIX};
use offload_format::compressed::{CompressOptions, Version};
use offload_format::compression::Method;
use offload_tests::data::read;
use offload_tests::scratch;
use offload_tests::tools::{llvm, succeed};
use std::path::Path;

offload_tests::tests! {
    ;
    beside_llvm::tests(),
    damaged::tests(),
    in_a_row::tests(),
    versions::tests(),
}

const LIMIT: u64 = 1 << 26;
const TARGETS: [&str; 4] = ["gfx90a", "gfx1100", "gfx942:sramecc+", "gfx9-4-generic"];

/// Returns a HIP bundle of these code objects.
fn hip_bundle(code_objects: &[Vec<u8>]) -> Vec<u8> {
    let mut builder = BundleBuilder::hip();
    let mut payloads: Vec<&[u8]> = vec![b""];
    for (target, code_object) in TARGETS.iter().zip(code_objects) {
        builder.entry(&format!("{HIP_ENTRY_PREFIX}{target}"), code_object.len() as u64).unwrap();
        payloads.push(code_object);
    }
    builder.layout().to_vec(&payloads)
}

/// Returns `clang-offload-bundler`'s bundle of the same code objects with these options and
/// variables.
fn llvm_bundle(
    folder: &Path,
    code_objects: &[Vec<u8>],
    options: &[&str],
    variables: &[(&str, &str)],
) -> Vec<u8> {
    let mut tool = llvm("clang-offload-bundler");
    tool.current_dir(folder).args([
        "-type=o",
        "-bundle-align=4096",
        "-input=/dev/null",
        "-output=theirs",
    ]);
    tool.args(options).envs(variables.iter().copied());
    let mut targets = "-targets=host-x86_64-unknown-linux-gnu".to_owned();
    for (target, code_object) in TARGETS.iter().zip(code_objects) {
        scratch::write(folder.join(target), code_object);
        targets += &format!(",{HIP_ENTRY_PREFIX}{target}");
        tool.arg(format!("-input={target}"));
    }
    succeed(tool.arg(targets));
    read(folder.join("theirs"))
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
