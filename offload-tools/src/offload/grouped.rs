//! Groups items with equal keys for output.

use std::collections::HashMap;
use std::hash::Hash;

/// Groups items with equal keys, in the order of each group's first item.
pub(super) fn grouped<T, K: Eq + Hash + Clone>(
    items: impl Iterator<Item = T>,
    key: impl Fn(&T) -> K,
) -> Vec<(K, Vec<T>)> {
    let (mut groups, mut numbers): (Vec<(K, Vec<T>)>, _) = (Vec::new(), HashMap::new());
    for item in items {
        let key = key(&item);
        let number = *numbers.entry(key.clone()).or_insert(groups.len());
        if number == groups.len() {
            groups.push((key, Vec::new()));
        }
        groups[number].1.push(item);
    }
    groups
}
