//! Sorted lists, in which each value stands once.
//!
//! Maps and sets of the standard library would do, but rustc compiles their code anew for each type
//! of a key, in every build of a program that has a pack. That was more than a fifth of the macro's
//! code.

/// Adds a value to a list if it is not there yet.
pub(crate) fn insert<T: Ord>(list: &mut Vec<T>, value: T) {
    if let Err(at) = list.binary_search(&value) {
        list.insert(at, value);
    }
}

/// Texts, each once.
pub(crate) fn texts<'a>(all: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut list: Vec<&str> = all.collect();
    list.sort_unstable();
    list.dedup();
    list
}
