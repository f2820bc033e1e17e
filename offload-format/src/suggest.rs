//! Suggestions for a misspelt name: of a pack, an option, a kernel.
//!
//! The twenty lines of `distance` are here because a crate for them (strsim) would be one more to
//! compile in each user's build. No crate depends on offload-tools, so offload-tools uses strsim.

use alloc::vec::Vec;

/// Returns the closest name, if at most a third of it differs.
pub fn closest<'a>(meant: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest(meant, names, 1).first().copied()
}

/// Returns the names of which at most a third differs, the closest first, at most `most` of them.
pub fn nearest<'a>(
    meant: &str,
    names: impl IntoIterator<Item = &'a str>,
    most: usize,
) -> Vec<&'a str> {
    let names = names.into_iter().map(|name| (distance(meant, name), name));
    let is_near = |(distance, name): &(usize, &str)| *distance <= name.chars().count().div_ceil(3);
    let mut near: Vec<(usize, &str)> = names.filter(is_near).collect();
    near.sort_by_key(|(distance, _)| *distance);
    near.truncate(most);
    near.into_iter().map(|(_, name)| name).collect()
}

/// Returns how many characters have to be inserted, removed or replaced to turn `from` into `to`.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    // For each prefix of `to`, the number of changes that turn the characters of `from` so far into
    // this prefix.
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
    fn what_is_close_is_meant() {
        assert_eq!(
            [distance("", "abc"), distance("abc", "abc"), distance("sectoin", "section")],
            [3, 0, 2]
        );
        let names = ["path", "section", "align", "retain"];
        assert_eq!(closest("retian", names), Some("retain"));
        assert_eq!(closest("alignment", names), None);
        assert_eq!(closest("pth", names), Some("path"));
        assert_eq!(closest("x", []), None);
        let names = ["affine_u8", "affine_f16", "affine_f64", "badd_f32"];
        assert_eq!(nearest("affine_f32", names, 2), ["affine_f16", "affine_f64"]);
    }
}
