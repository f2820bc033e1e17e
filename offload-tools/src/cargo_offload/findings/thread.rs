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

use super::{Access, Finding, Place, StackFrame, frame, of_kernel, up_to_summary};

/// Reads a report at the start of `lines`. Also returns how many lines the report has.
pub(super) fn read(lines: &[&str]) -> Option<(Finding, usize)> {
    let (_, kind) = lines.first()?.split_once("WARNING: ThreadSanitizer: ")?;
    let kind = kind.split(" (pid=").next().unwrap_or(kind);
    let lines = up_to_summary(lines);
    let mut finding = Finding { kind: kind.to_owned(), ..Finding::default() };
    let mut sides = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some((access, address, thread)) = access(line) else { continue };
        if finding.access.is_none() {
            finding.access = address.and_then(|address| accessed(lines, address));
        }
        let of_kernel = of_kernel(lines[at + 1..].iter().copied());
        let (thread, kernel) = thread.and_then(|name| named(lines, name)).unwrap_or_default();
        // Both accesses of a race are in the same kernel, unless launches overlap.
        let first = finding.kernel.take();
        finding.set_kernel((!kernel.is_empty()).then_some(kernel));
        finding.kernel = first.or(finding.kernel);
        let line = of_kernel.as_ref().map_or(String::new(), |frame| frame.line.to_owned());
        let stack = lines[at + 1..].iter().map_while(|line| frame(line));
        let mut inside = stack.take_while(StackFrame::is_inside);
        sides.push((
            access.clone(),
            inside.any(|it| it.function.contains("atomicCAS<")),
            of_kernel,
        ));
        finding.places.push(Place { line, what: access, thread });
    }
    finding.is_harmless = is_guess(&sides);
    Some((finding, lines.len()))
}

/// Whether a race is between a plain read and a later `atomicCAS` in the same function. The
/// `atomicCAS` loops in CUDA's guide start with such a read, which may return a wrong value. For
/// each access, `sides` contains its kind, whether it is an `atomicCAS`, and its place.
fn is_guess(sides: &[(String, bool, Option<StackFrame<'_>>)]) -> bool {
    let [(one, one_exchanges, Some(first)), (other, other_exchanges, Some(second))] = sides else {
        return false;
    };
    let (read, exchange) = match (one_exchanges, other_exchanges) {
        (false, true) if one.starts_with("read of ") => (first, second),
        (true, false) if other.starts_with("read of ") => (second, first),
        _ => return false,
    };
    let place = |frame: &StackFrame<'_>| {
        let (file, line) = frame.line.rsplit_once(':')?;
        Some((file.to_owned(), line.parse::<u32>().ok()?))
    };
    let is_before = match (place(read), place(exchange)) {
        (Some((file, line)), Some((other_file, other_line))) => {
            file == other_file && line <= other_line
        }
        _ => false,
    };
    read.function == exchange.function && is_before
}

/// Reads the line above a stack. Returns the access (`write of size 4`), its address, and the
/// thread's name.
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

/// Returns an access to this address, with the bounds of the allocation around it. Returns `None`
/// if no line of the report describes that allocation.
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
        assert!(!finding.is_harmless);
    }

    #[test]
    fn the_first_read_before_a_loop_of_exchanges_is_no_mistake() {
        let report = |access: &str, line: u32| {
            format!(
                "\
WARNING: ThreadSanitizer: data race (pid=31517)
  {access} of size 8 at 0x7b5000010000 by thread T3:
    #0 0x7f64a680bff4 in add(double*, double) kernels/sum.cu:{line} (kernels-1-2.so+0xaff3)

  Previous atomic write of size 8 at 0x7b5000010000 by thread T2:
    #0 0x7f64a680c086 in bool offload_atomic::replace<int>(int*) OUT_DIR/offload/include/offload/atomics.h:84 (kernels-1-2.so+0xb085)
    #0 0x7f64a680c086 in int atomicCAS<int>(int*, int) OUT_DIR/offload/include/offload/atomics.h:173 (kernels-1-2.so+0xb085)
    #0 0x7f64a680c086 in add(double*, double) kernels/sum.cu:9 (kernels-1-2.so+0xb085)

SUMMARY: ThreadSanitizer: data race kernels/sum.cu:4 in add(double*, double)"
            )
        };
        let is_harmless = |access: &str, line: u32| {
            let report = report(access, line);
            read(&report.lines().collect::<Vec<_>>()).unwrap().0.is_harmless
        };
        assert!(is_harmless("Read", 6));
        assert!(!is_harmless("Read", 12));
        assert!(!is_harmless("Write", 6));
    }
}
