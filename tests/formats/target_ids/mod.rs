//! Compares target triples, bundle entry IDs and target IDs with LLVM 22: their spelling, their
//! compatibility, conflicts in one bundle, and the processors' numbers in ELF headers.
//!
//! All cases are generated, and are the same in every run. Where this library differs on purpose
//! (docs/llvm-differences.md), a test shows the difference.

mod clang;
mod compatibility;
mod conflicts;
mod numbers;
mod spelling;

use offload_format::target::OffloadArch;
use offload_format::target::amdgpu::{PROCESSORS, Processor};
use offload_tests::data::Random;

fn words(list: &str) -> Vec<&str> {
    list.split_ascii_whitespace().collect()
}

fn some_target(random: &mut Random, processors: &[&str]) -> String {
    let mut target = random.pick(processors).to_string();
    let mut features = vec!["sramecc", "xnack", "xnack", "sramecc", "foo"];
    for _ in 0..random.below(3) {
        let feature = features.swap_remove(random.below(features.len()));
        if !target.contains(feature) {
            target += &format!(":{feature}{}", random.pick(&["+", "-"]));
        }
    }
    target
}

/// Returns the processors whose names LLVM 22's bundler keeps.
pub(crate) fn processors_of_llvm_22() -> impl Iterator<Item = &'static Processor> {
    PROCESSORS.iter().filter(|row| {
        let arch = OffloadArch::parse(row.name).expect("a target");
        arch.first_clang().is_some_and(|first| first <= 22)
            && !matches!(row.name, "gfx940" | "gfx941")
    })
}
