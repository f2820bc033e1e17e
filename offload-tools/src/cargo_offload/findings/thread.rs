//! ThreadSanitizer's reports:
//!
//! ```text
//! WARNING: ThreadSanitizer: data race (pid=31517)
//!   Write of size 4 at 0x7b4000010204 by thread T68:
//!     #0 block_sum(int, float const*, float*) kernels/sum.cu:4 (offload-31517-8a.so+0x243f)
//!
//!   Previous read of size 4 at 0x7b4000010204 by thread T67:
//!     #0 block_sum(int, float const*, float*) kernels/sum.cu:8 (offload-31517-8a.so+0x2505)
//!
//!   Location is heap block of size 256 at 0x7b4000010200 allocated by thread T67:
//! …
//!   Thread T68 'block (0,0,0) thread (1,0,0) of _Z9block_sumiPKfPf' (tid=0, running) created by thread T2 at:
//! …
//! SUMMARY: ThreadSanitizer: data race kernels/sum.cu:4 in block_sum(int, float const*, float*)
//! ```

use super::{Access, Finding, Place, of_kernel};

/// Reads a report at the start of `lines`. Also returns the number of its lines.
pub(super) fn read(lines: &[&str]) -> Option<(Finding, usize)> {
    let (_, kind) = lines.first()?.split_once("WARNING: ThreadSanitizer: ")?;
    let kind = kind.split(" (pid=").next().unwrap_or(kind);
    let size = lines
        .iter()
        .position(|line| line.starts_with("SUMMARY: "))
        .map_or(lines.len(), |at| at + 1);
    let lines = &lines[..size];
    let mut finding = Finding { kind: kind.to_owned(), ..Finding::default() };
    for (at, line) in lines.iter().enumerate() {
        let Some((access, address, thread)) = access(line) else { continue };
        if finding.access.is_none() {
            finding.access = address.and_then(|address| accessed(lines, address));
        }
        let of_kernel = of_kernel(lines[at + 1..].iter().copied());
        let (thread, kernel) = thread.and_then(|name| named(lines, name)).unwrap_or_default();
        // Both sides of a race are of the same kernel, except in overlapping launches.
        let first = finding.kernel.take();
        finding.set_kernel((!kernel.is_empty()).then_some(kernel));
        finding.kernel = first.or(finding.kernel);
        let line = of_kernel.map_or(String::new(), |frame| frame.line.to_owned());
        finding.places.push(Place { line, what: access, thread });
    }
    Some((finding, size))
}

/// Returns the access (`write of size 4`), its address, and the thread's name, from the line above
/// a stack.
fn access(line: &str) -> Option<(String, Option<u64>, Option<&str>)> {
    let (access, rest) = line.strip_prefix("  ")?.split_once(" at 0x")?;
    let access = access.strip_prefix("Previous ").unwrap_or(access).to_lowercase();
    let is_access = ["write of", "read of", "atomic write of", "atomic read of"]
        .iter()
        .any(|start| access.starts_with(start));
    let thread = rest.split_once(" by thread ").map(|(_, name)| name.trim_end_matches(':'));
    let address = hexadecimal(rest.split(' ').next()?);
    // The name is the first word; a list of held locks may follow.
    is_access.then(|| (access, address, thread.map(|name| name.split(' ').next().unwrap_or(name))))
}

/// Returns an access to this address with the memory of the allocator that contains it, if the
/// report has a line about the memory.
fn accessed(lines: &[&str], address: u64) -> Option<Access> {
    const START: &str = "  Location is heap block of size ";
    let location = lines.iter().find_map(|line| line.strip_prefix(START))?;
    let (size, rest) = location.split_once(" at 0x")?;
    let start = hexadecimal(rest.split(' ').next()?)?;
    let end = start.checked_add(size.parse().ok()?)?;
    (start..end).contains(&address).then_some(Access { address, start, end })
}

fn hexadecimal(digits: &str) -> Option<u64> {
    u64::from_str_radix(digits, 16).ok()
}

/// Returns the block and thread as text, and the kernel's symbol, for the thread that the report
/// calls `name`, such as `T68`.
fn named(lines: &[&str], name: &str) -> Option<(String, String)> {
    let start = format!("  Thread {name} 'block ");
    let of_thread = lines.iter().find_map(|line| line.strip_prefix(&*start))?;
    let (text, _) = of_thread.split_once('\'')?;
    let (place, kernel) = text.split_once(" of ")?;
    let (block, thread) = place.split_once(" thread ")?;
    let spaced = |index: &str| index.replace(',', ", ");
    Some((format!("block {}, thread {}", spaced(block), spaced(thread)), kernel.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_of_a_race() {
        let report = "\
WARNING: ThreadSanitizer: data race (pid=31517)
  Write of size 4 at 0x7b4000010204 by thread T68:
    #0 block_sum(int, float const*, float*) kernels/sum.cu:4 (offload-31517-8a.so+0x243f)
    #1 x::kernels::__call_0::invoke /x/placement.rs:172 (x-5+0xbe2a8)

  Previous read of size 4 at 0x7b4000010204 by thread T67:
    #0 block_sum(int, float const*, float*) kernels/sum.cu:8 (offload-31517-8a.so+0x2505)

  Location is heap block of size 256 at 0x7b4000010200 allocated by thread T67:
    #0 posix_memalign libsanitizer/tsan/tsan_interceptors_posix.cpp:839 (libtsan.so.2.0.0+0x3ef28)

  Thread T68 'block (0,0,0) thread (1,0,0) of block_sum' (tid=0, running) created by thread T2 at:
  Thread T67 'block (0,0,0) thread (0,0,0) of block_sum' (tid=0, running) created by thread T2 at:

SUMMARY: ThreadSanitizer: data race kernels/sum.cu:4 in block_sum(int, float const*, float*)
==================";
        let lines: Vec<&str> = report.lines().collect();
        let (finding, size) = read(&lines).unwrap();
        assert_eq!(
            (finding.kind.as_str(), finding.kernel.as_deref(), size),
            ("data race", Some("block_sum"), 15)
        );
        let place = |line: &str, what: &str, thread: u32| Place {
            line: line.into(),
            what: what.into(),
            thread: format!("block (0, 0, 0), thread ({thread}, 0, 0)"),
        };
        let sides = [
            place("kernels/sum.cu:4", "write of size 4", 1),
            place("kernels/sum.cu:8", "read of size 4", 0),
        ];
        assert_eq!(finding.places, sides);
        let access = Access { address: 0x7b4000010204, start: 0x7b4000010200, end: 0x7b4000010300 };
        assert_eq!(finding.access, Some(access));
    }
}
