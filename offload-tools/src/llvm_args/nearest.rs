//! The option that somebody may have meant.

use super::{Spec, Value};

/// What `text` would be with the option's name that takes the fewest changes of a letter, the first one of several. An
/// option that takes no value is compared with all of the text, others with what stands before `=`.
pub(super) fn nearest(text: &str, options: impl Iterator<Item = &'static Spec>) -> Option<String> {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    let changes = |option: &&Spec| distance(if option.value == Value::Nothing { text } else { name }, option.name);
    let option = options.min_by_key(changes)?;
    Some(match value {
        _ if option.value == Value::Nothing => option.name.to_owned(),
        "" => option.name.to_owned(),
        _ => format!("{}={value}", option.name),
    })
}

/// How many letters must be put in, taken out or replaced.
pub(crate) fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    // `row[i]`: from the letters of `from` so far to the first `i` of `to`.
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (count, letter) in from.chars().enumerate() {
        let mut diagonal = count;
        row[0] = count + 1;
        for (i, other) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[i + 1];
            row[i + 1] = replaced.min(diagonal + 1).min(row[i] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn distances() {
        for (from, to, expected) in [("", "", 0), ("a", "", 1), ("lst", "list", 1), ("compres", "compress", 1)] {
            assert_eq!((distance(from, to), distance(to, from)), (expected, expected), "{from} {to}");
        }
        assert_eq!(distance("bogus", "inputs"), 4);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
