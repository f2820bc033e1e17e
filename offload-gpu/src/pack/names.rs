//! Comparisons of names at compile time, without trait methods.
//!
//! The functions are `#[inline]` for the same reason as in the module `message`.

use core::cmp::Ordering;

/// Returns the position of a name in an alphabetical list, by binary search: a pack may have
/// thousands of names, and the compiler stops long evaluations.
#[inline]
pub(super) const fn position(names: &[&str], name: &str) -> Option<usize> {
    let (mut from, mut to) = (0, names.len());
    while from < to {
        let middle = from + (to - from) / 2;
        match order(names[middle].as_bytes(), name.as_bytes()) {
            Ordering::Equal => return Some(middle),
            Ordering::Less => from = middle + 1,
            Ordering::Greater => to = middle,
        }
    }
    None
}

/// Compares two strings.
#[inline]
const fn order(a: &[u8], b: &[u8]) -> Ordering {
    let mut i = 0;
    while i < a.len() && i < b.len() {
        if a[i] != b[i] {
            return if a[i] < b[i] { Ordering::Less } else { Ordering::Greater };
        }
        i += 1;
    }
    if i < b.len() {
        Ordering::Less
    } else if i < a.len() {
        Ordering::Greater
    } else {
        Ordering::Equal
    }
}

/// Whether two strings are equal.
#[inline]
pub(crate) const fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len()
}
