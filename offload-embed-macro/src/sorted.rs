//! Sorted lists that contain each value once.
//!
//! Maps and sets of the standard library would work, but rustc compiles their code again for each
//! key type. It does so in every build of a program that has a pack. That code was more than a
//! fifth of the macro's code.

/// Adds a value to a list if it is not there yet.
pub(crate) fn insert<T: Ord>(list: &mut Vec<T>, value: T) {
    if let Err(at) = list.binary_search(&value) {
        list.insert(at, value);
    }
}

/// Returns the texts in order, each once.
pub(crate) fn texts(all: Vec<&str>) -> Vec<&str> {
    let mut list = Vec::new();
    for text in all {
        insert(&mut list, text);
    }
    list
}
