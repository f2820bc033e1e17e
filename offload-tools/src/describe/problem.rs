//! Describes the problems in an inventory.

use crate::text::{escaped, shortened};
use offload_format::ErrorKind;
use offload_format::inventory::{Place, Problem};

/// Formats a place as the start of a message: `member a.o: section .hip_fatbin: `. Shortens names
/// to `width` characters, unless `width` is 0.
pub fn place_text(place: &Place<'_>, width: usize) -> String {
    let mut out = String::new();
    if let Some(slice) = place.slice {
        out += &format!("slice for processor {slice:#x}: ");
    }
    for (kind, name) in [("member", place.member), ("section", place.section)] {
        if let Some(name) = name {
            out += &format!("{kind} {}: ", shortened(&escaped(name), width));
        }
    }
    out
}

/// Returns a problem's text without the file's name: `member a.o: section .hip_fatbin: code object:
/// ...`.
pub fn problem_text(problem: &Problem<'_>) -> String {
    let Problem { place, error, .. } = problem;
    let mut out = place_text(place, 0);
    if problem.decompressed {
        out += &format!("compressed container at offset {}: ", place.offset);
    }
    out += &error.to_string();
    if matches!(error.kind(), ErrorKind::LimitExceeded { need, limit } if need > limit) {
        out += "; use --max-size to allow more"
    }
    out
}
