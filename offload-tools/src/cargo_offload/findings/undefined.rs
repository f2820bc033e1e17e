//! Reads UndefinedBehaviorSanitizer's reports: a line, followed by a stack if the options request
//! it.
//!
//! ```text
//! kernels/shift.cu:19:26: runtime error: shift exponent 34 is too large for 32-bit type 'int'
//!     #0 0x7f0792d9f83d in shift(int*, int) kernels/shift.cu:19
//! ```

use super::{Finding, Place, without_column};

/// Reads a report at the start of `lines`. Also returns how many lines the report has.
pub(super) fn read(lines: &[&str]) -> Option<(Finding, usize)> {
    let (place, what) = lines.first()?.split_once(": runtime error: ")?;
    let stack = lines[1..].iter().take_while(|line| line.trim_start().starts_with('#')).count();
    let place = Place { line: without_column(place).to_owned(), ..Place::default() };
    // Remove addresses, because they differ from run to run.
    let words: Vec<&str> = what.split(' ').filter(|word| !word.starts_with("0x")).collect();
    let (kind, places) = (words.join(" "), vec![place]);
    Some((Finding { kind, places, is_counted: true, ..Finding::default() }, 1 + stack))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_left_out() {
        let line = "kernels/x.cu:9:2: runtime error: load of misaligned address 0x617000010004 for type 'float', which \
                    requires 4 byte alignment";
        let (finding, _) = read(&[line]).unwrap();
        let kind = "load of misaligned address for type 'float', which requires 4 byte alignment";
        assert_eq!(finding.kind, kind);
    }

    #[test]
    fn a_line_says_it_all() {
        let lines = [
            "kernels/shift.cu:19:26: runtime error: shift exponent 34 is too large for 32-bit type 'int'",
            "    #0 0x7f0792d9f83d in shift(int*, int) kernels/shift.cu:19",
            "offload: the finding above is of the kernel shift, block (0, 0, 0), thread (32, 0, 0)",
        ];
        let (finding, size) = read(&lines).unwrap();
        assert_eq!(
            (finding.kind.as_str(), size),
            ("shift exponent 34 is too large for 32-bit type 'int'", 2)
        );
        assert_eq!(finding.places[0].line, "kernels/shift.cu:19");
    }
}
