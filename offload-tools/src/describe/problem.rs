//! Texts for the problems of an inventory.

use crate::text::escaped;
use offload_format::ErrorKind;
use offload_format::inventory::Problem;
use std::fmt::Write;

/// Returns the text of a problem without the file's name: `member a.o: section .hip_fatbin: code
/// object: ...`.
pub fn problem_text(problem: &Problem<'_>) -> String {
    let Problem { place, error, .. } = problem;
    let mut out = String::new();
    // Writing to a string does not fail.
    if let Some(slice) = place.slice {
        let _ = write!(out, "slice for processor {slice:#x}: ");
    }
    if let Some(member) = place.member {
        let _ = write!(out, "member {}: ", escaped(member));
    }
    if let Some(section) = place.section {
        let _ = write!(out, "section {}: ", escaped(section));
    }
    if problem.decompressed {
        let _ = write!(out, "compressed container at offset {}: ", place.offset);
    }
    out += &error.to_string();
    match error.kind() {
        ErrorKind::LimitExceeded { need, limit } if need <= limit => {
            out += "; the system does not give them"
        }
        // For kernels, the limit is on work, not on memory, so `--max-size` would not help.
        ErrorKind::LimitExceeded { .. } if error.part() != "work to find kernels" => {
            out += "; --max-size allows more"
        }
        _ => {}
    }
    out
}
