//! AddressSanitizer's reports:
//!
//! ```text
//! ==1524==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x617000000290 at pc …
//! READ of size 4 at 0x617000000290 thread T2
//!     #0 0x7f0792d9f83d in scale(float*, float) kernels/sum.cu:15
//!
//! 0x617000000290 is located 0 bytes to the right of 400-byte region [0x617000000100,0x617000000290)
//! …
//! SUMMARY: AddressSanitizer: heap-buffer-overflow kernels/sum.cu:15 in scale(float*, float)
//! ```

use super::{Access, Finding, Place, of_kernel, up_to_summary};

/// Reads a report at the start of `lines`. Also returns how many lines the report has.
pub(super) fn read(lines: &[&str]) -> Option<(Finding, usize)> {
    let (_, what) = lines.first()?.split_once("ERROR: AddressSanitizer: ")?;
    // `attempting free on address which was not malloc()-ed` has no one-word name.
    let kind = what.split(" on ").next().unwrap_or(what);
    let kind = if kind.starts_with("attempting ") {
        kind
    } else {
        kind.split([' ', '(']).next().unwrap_or(kind)
    };
    // After the summary, there are only shadow bytes with their legend, or the next report.
    let lines = up_to_summary(lines);
    let access =
        lines.iter().skip(1).find_map(|line| line.split_once(" at ").map(|(access, _)| access));
    let access = access.filter(|access| access.starts_with("READ") || access.starts_with("WRITE"));
    let stack = lines.iter().position(|line| line.trim_start().starts_with("#0 "))?;
    let of_kernel = of_kernel(lines[stack..].iter().copied());
    let place = Place {
        line: of_kernel.as_ref().map_or(String::new(), |frame| frame.line.to_owned()),
        what: access.map_or(String::new(), str::to_lowercase),
        thread: String::new(),
    };
    let located = lines.iter().find_map(|line| Some(line.split_once(" is located ")?.1));
    // Remove the addresses, which leaves `0 bytes to the right of 400-byte region`.
    let note = located.and_then(|located| located.split(" [0x").next());
    Some((
        Finding {
            kind: kind.to_owned(),
            places: vec![place],
            notes: note.map(str::to_owned).into_iter().collect(),
            access: located.and_then(|located| accessed(what, located)),
            is_counted: true,
            ..Finding::default()
        },
        lines.len(),
    ))
}

/// Reads the addresses in `heap-buffer-overflow on address 0x617000000290 at …` and in `0 bytes to
/// the right of 400-byte region [0x617000000100,0x617000000290)`.
fn accessed(what: &str, located: &str) -> Option<Access> {
    let number = |text: &str| {
        let digits = text.split(|letter: char| !letter.is_ascii_hexdigit()).next()?;
        u64::from_str_radix(digits, 16).ok()
    };
    let (_, address) = what.split_once(" on address 0x")?;
    let (start, end) = located.split_once(" [0x")?.1.split_once(",0x")?;
    Some(Access { address: number(address)?, start: number(start)?, end: number(end)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_past_the_end() {
        let report = "\
==1524==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x617000000290 at pc 0x7f bp 0x7f sp 0x7f
READ of size 4 at 0x617000000290 thread T2
    #0 0x7f0792d9f83d in scale(float*, float) kernels/sum.cu:15
    #1 0x561492ef5b5f in x::kernels::__call_1::invoke /x/placement.rs:172

0x617000000290 is located 0 bytes to the right of 400-byte region [0x617000000100,0x617000000290)
allocated by thread T2 here:
    #0 0x7f07936b7ffd in __interceptor_posix_memalign libsanitizer/asan/asan_malloc_linux.cpp:145

SUMMARY: AddressSanitizer: heap-buffer-overflow kernels/sum.cu:15 in scale(float*, float)
Shadow bytes around the buggy address:";
        let lines: Vec<&str> = report.lines().collect();
        let (finding, size) = read(&lines).unwrap();
        assert_eq!((finding.kind.as_str(), size), ("heap-buffer-overflow", 10));
        let place = Place {
            line: "kernels/sum.cu:15".into(),
            what: "read of size 4".into(),
            thread: String::new(),
        };
        assert_eq!(finding.places, [place]);
        assert_eq!(finding.notes, ["0 bytes to the right of 400-byte region"]);
        let access = Access { address: 0x617000000290, start: 0x617000000100, end: 0x617000000290 };
        assert_eq!(finding.access, Some(access));
    }

    #[test]
    fn a_free_that_is_wrong() {
        let report = "\
==15==ERROR: AddressSanitizer: attempting free on address which was not malloc()-ed: 0x51d0000 in thread T2
    #0 0x7f0792d9f83d in scale(float*, float) kernels/sum.cu:15
SUMMARY: AddressSanitizer: bad-free kernels/sum.cu:15 in scale(float*, float)";
        let (finding, _) = read(&report.lines().collect::<Vec<_>>()).unwrap();
        assert_eq!(finding.kind, "attempting free");
    }
}
