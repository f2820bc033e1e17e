//! The option that the user probably meant.

use super::{Spec, Value};
use strsim::levenshtein;

/// Returns `text` with its name replaced by the most similar option's name; if several are equally
/// similar, by the first. An option without a value is compared with all of the text, other options
/// with the part before `=`.
pub(super) fn nearest(text: &str, options: impl Iterator<Item = &'static Spec>) -> Option<String> {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    let changes = |option: &&Spec| {
        levenshtein(if option.value == Value::Nothing { text } else { name }, option.name)
    };
    let option = options.min_by_key(changes)?;
    Some(match value {
        _ if option.value == Value::Nothing => option.name.to_owned(),
        "" => option.name.to_owned(),
        _ => format!("{}={value}", option.name),
    })
}
