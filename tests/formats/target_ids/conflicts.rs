//! Tests which targets may not be in one bundle, compared with LLVM 22's `clang-offload-bundler`.

use super::some_target;
use offload_format::bundle::{BundleBuilder, Composition, EntryId};
use offload_tests::bundler::{bundler, targets};
use offload_tests::prelude::*;

/// Whether LLVM overlooks this conflict. LLVM compares only with the first ID, and only in one
/// direction.
fn is_overlooked(first: &str, second: &str) -> bool {
    let [first, second] =
        [first, second].map(|id| EntryId::parse(id).unwrap().target_id().unwrap());
    second.features().all(|(name, _)| first.features().any(|(other, _)| name == other))
}

#[test(LLVM.slow())]
fn targets_that_may_not_stand_together() {
    let folder = scratch::folder("target-ids-composition");
    let mut random = Random::new(4);
    let mut answers = BTreeMap::new();
    for _ in 0..300 {
        let mut ids = BTreeSet::new();
        for _ in 0..2 + random.below(3) {
            let kind = random.pick(&["hip", "hip", "hipv4"]);
            let target = some_target(&mut random, &["gfx906", "gfx906", "gfx90a"]);
            ids.insert(format!("{kind}-amdgcn-amd-amdhsa--{target}"));
        }
        let mut ids: Vec<String> = ids.into_iter().collect();
        random.shuffle(&mut ids);
        let mut tool = bundler(&folder, "-type=bc -output=out");
        tool.arg(targets(&ids)).args(ids.iter().map(|_| "-input=/dev/null"));
        let output = tool.output().unwrap();
        let said = stderr(&output);
        let ours = Composition::find_conflict(ids.iter().map(String::as_str));
        match &ours {
            Some((first, second)) if is_overlooked(first, second) => {}
            Some((first, second)) => {
                let message = format!(
                    "Cannot bundle inputs with conflicting targets: '{first}' and '{second}'"
                );
                assert!(said.contains(&message), "{ids:?}\n{message}\n{said}");
            }
            None => assert!(output.status.success(), "{ids:?}: {said}"),
        }
        let mut builder = BundleBuilder::new();
        let refused = ids.iter().any(|id| builder.entry(id, 0).is_err());
        // IDs that differ only in the order of their features are the same ID.
        let two_orders =
            ids.iter().enumerate().any(|(at, a)| ids[..at].iter().any(|b| same_to_the_last(a, b)));
        assert_eq!(refused, ours.is_some() || two_orders, "{ids:?}");
        *answers.entry((ours.is_some(), output.status.success())).or_insert(0) += 1;
    }
    assert_eq!(answers.len(), 3, "conflicts, overlooked conflicts and none: {answers:?}");
}

fn same_to_the_last(a: &str, b: &str) -> bool {
    let [a, b] = [a, b].map(|id| EntryId::parse(id).unwrap());
    a.kind() == b.kind()
        && a.target_id().unwrap().to_canonical() == b.target_id().unwrap().to_canonical()
}
