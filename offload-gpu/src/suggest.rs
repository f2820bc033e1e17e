//! Suggestions for a misspelt kernel name. The macro's crate has a separate function for the names
//! that it reads, since the two crates share no code without the `macros` feature.

use alloc::vec::Vec;

/// Returns at most `most` names that differ in at most a third of their characters, the closest
/// first. Equally close names keep the order of `names`; each name occurs once.
pub(crate) fn nearest<'a>(
    meant: &str,
    names: impl IntoIterator<Item = &'a str>,
    most: usize,
) -> Vec<&'a str> {
    let (mut distances, mut near): (Vec<usize>, Vec<&str>) = (Vec::new(), Vec::new());
    for name in names {
        let distance = distance(meant, name);
        if distance <= name.chars().count().div_ceil(3) && !near.contains(&name) {
            // rustc would compile much more code for a sort.
            let at = distances.partition_point(|other| *other <= distance);
            distances.insert(at, distance);
            near.insert(at, name);
        }
    }
    near.truncate(most);
    near
}

/// Returns the number of characters to insert, remove or replace to turn `from` into `to`.
#[inline]
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    // For each prefix of `to`, how many changes turn the characters of `from` read so far into it.
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (at, have) in from.chars().enumerate() {
        let mut before = row[0];
        row[0] = at + 1;
        for (to_at, want) in to.iter().enumerate() {
            let replaced = before + usize::from(have != *want);
            before = row[to_at + 1];
            row[to_at + 1] = replaced.min(before + 1).min(row[to_at] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_names_are_first() {
        assert_eq!(
            [distance("", "abc"), distance("abc", "abc"), distance("sectoin", "section")],
            [3, 0, 2]
        );
        let names = ["affine_u8", "affine_f16", "affine_f64", "badd_f32"];
        assert_eq!(nearest("affine_f32", names, 2), ["affine_f16", "affine_f64"]);
        assert_eq!(nearest("affine_f64", names, 1), ["affine_f64"]);
        assert!(nearest("x", names, 5).is_empty());
    }
}
