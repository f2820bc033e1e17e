//! Reports that checked images print themselves, and their lines about a preceding finding:
//!
//! ```text
//! offload: the finding above is of the kernel scale, block (1, 0, 0), thread (36, 0, 0)
//! offload: the shared memory there is part, 256 bytes
//! offload: a barrier that not all threads reach, in the kernel diverge, block (0, 0, 0): of 64 threads
//!   8 wait at the barrier at kernels/sum.cu:24: the first is thread (0, 0, 0)
//!   56 returned, after kernels/sum.cu:23 and kernels/sum.cu:25: the first is thread (8, 0, 0)
//! offload: the kernel spin takes longer than OFFLOAD_CPU_TIME_LIMIT=2 allows: it is in block (0, 0, 0), thread (0, 0, 0), at kernels/spin.cu:3
//! ```

use super::{Finding, Place};

const START: &str = "offload: ";
const ABOVE: &str = "offload: the finding above is of the kernel ";

/// Reads a report at the start of `lines`. Also returns the number of its lines.
pub(super) fn read(lines: &[&str]) -> Option<(Finding, usize)> {
    let first = lines.first()?.strip_prefix(START)?;
    if let Some(finding) = endless(first) {
        return Some((finding, 1));
    }
    let (kind, rest) = first.split_once(", in the kernel ")?;
    let (kernel, rest) = rest.split_once(", block ")?;
    let (block, _) = rest.split_once("):")?;
    let groups: Vec<&str> = lines[1..].iter().map_while(|line| line.strip_prefix("  ")).collect();
    let place = |group: &&str| {
        let (what, thread) = group.split_once(": the first is ").unwrap_or((group, ""));
        let (what, line) =
            what.rsplit_once(" at ").filter(|(_, line)| line.contains(':')).unwrap_or((what, ""));
        Place {
            line: line.to_owned(),
            what: what.to_owned(),
            thread: format!("block {block}), {thread}"),
        }
    };
    let finding = Finding {
        kind: kind.to_owned(),
        kernel: Some(kernel.to_owned()),
        places: groups.iter().map(place).collect(),
        is_counted: true,
        ..Finding::default()
    };
    Some((finding, 1 + groups.len()))
}

/// Returns the finding for a kernel that took too long.
fn endless(line: &str) -> Option<Finding> {
    let (kernel, rest) = line
        .strip_prefix("the kernel ")?
        .split_once(" takes longer than OFFLOAD_CPU_TIME_LIMIT=")?;
    let (limit, rest) = rest.split_once(" allows: it is in ")?;
    let (thread, line) = rest.split_once(", at ")?;
    Some(Finding {
        kind: format!("a kernel that does not end within {limit} s"),
        kernel: Some(kernel.to_owned()),
        places: vec![Place {
            line: line.to_owned(),
            what: String::new(),
            thread: thread.to_owned(),
        }],
        ..Finding::default()
    })
}

/// Adds the facts in a line of a checked image to the finding before this line.
pub(super) fn add_to(finding: &mut Finding, line: &str) {
    if let Some((kernel, place)) =
        line.strip_prefix(ABOVE).and_then(|rest| rest.split_once(", block "))
    {
        finding.set_kernel(Some(kernel.to_owned()));
        if let Some(first) = finding.places.first_mut() {
            first.thread = format!("block {place}");
        }
    } else if let Some(note) = line.strip_prefix(START) {
        finding.notes.push(note.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_barrier_for_some() {
        let lines = [
            "offload: a barrier that not all threads reach, in the kernel diverge, block (0, 0, 0): of 64 threads",
            "  8 wait at the barrier at kernels/sum.cu:24: the first is thread (0, 0, 0)",
            "  56 returned, after kernels/sum.cu:23 and kernels/sum.cu:25: the first is thread (8, 0, 0)",
            "==================",
        ];
        let (finding, size) = read(&lines).unwrap();
        assert_eq!((finding.kind.as_str(), size), ("a barrier that not all threads reach", 3));
        assert_eq!(finding.kernel.as_deref(), Some("diverge"));
        let [wait, returned] = &*finding.places else { panic!("{finding:?}") };
        assert_eq!(
            (wait.line.as_str(), wait.what.as_str()),
            ("kernels/sum.cu:24", "8 wait at the barrier")
        );
        assert_eq!(wait.thread, "block (0, 0, 0), thread (0, 0, 0)");
        assert_eq!(returned.what, "56 returned, after kernels/sum.cu:23 and kernels/sum.cu:25");
    }

    #[test]
    fn a_kernel_that_does_not_end() {
        let line = "offload: the kernel spin takes longer than OFFLOAD_CPU_TIME_LIMIT=2 allows: it is in block (0, 0, 0), \
                    thread (7, 0, 0), at kernels/spin.cu:3";
        let (finding, _) = read(&[line]).unwrap();
        assert_eq!(finding.kind, "a kernel that does not end within 2 s");
        assert_eq!(
            (finding.kernel.as_deref(), &*finding.places[0].line),
            (Some("spin"), "kernels/spin.cu:3")
        );
        assert_eq!(finding.places[0].thread, "block (0, 0, 0), thread (7, 0, 0)");
    }

    #[test]
    fn whose_the_finding_above_is() {
        let mut finding = Finding { places: vec![Place::default()], ..Finding::default() };
        add_to(
            &mut finding,
            "offload: the finding above is of the kernel scale, block (1, 0, 0), thread (36, 0, 0)",
        );
        add_to(&mut finding, "offload: the shared memory there is part, 256 bytes");
        add_to(&mut finding, "Shadow bytes around the buggy address:");
        assert_eq!(finding.kernel.as_deref(), Some("scale"));
        assert_eq!(finding.places[0].thread, "block (1, 0, 0), thread (36, 0, 0)");
        assert_eq!(finding.notes, ["the shared memory there is part, 256 bytes"]);
    }
}
