//! Sorted lists that contain each value once.
//!
//! They replace the standard library's maps and sets, which rustc would compile for each key type
//! in every build of a program with a pack. That code was more than a fifth of the macro's code.

/// Adds a value to a sorted list, unless the list already contains the value.
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
