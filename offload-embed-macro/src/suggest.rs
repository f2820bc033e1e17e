//! Suggestions for a misspelt name. `distance` replaces the crate strsim, which each user's build
//! would have to compile. offload-tools does use strsim, since no crate depends on it.

/// Returns the closest name, if at most a third of its characters differ.
pub(crate) fn closest<'a, T: AsRef<str>>(meant: &str, names: &'a [T]) -> Option<&'a str> {
    let mut closest: Option<(usize, &str)> = None;
    for name in names {
        let name = name.as_ref();
        let distance = distance(meant, name);
        if closest.is_none_or(|(least, _)| distance < least) {
            closest = Some((distance, name));
        }
    }
    let (distance, name) = closest?;
    (distance <= name.chars().count().div_ceil(3)).then_some(name)
}

/// Returns the number of characters to insert, remove or replace to turn `from` into `to`.
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
    fn what_is_close_is_meant() {
        assert_eq!(
            [distance("", "abc"), distance("abc", "abc"), distance("sectoin", "section")],
            [3, 0, 2]
        );
        let names = ["path", "section", "align", "retain"];
        assert_eq!(closest("retian", &names), Some("retain"));
        assert_eq!(closest("alignment", &names), None);
        assert_eq!(closest("pth", &names), Some("path"));
        assert_eq!(closest("x", &[""; 0]), None);
    }
}
