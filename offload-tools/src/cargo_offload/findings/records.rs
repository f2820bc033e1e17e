//! Reads the records that checked images write about their own findings, and about the sanitizer's
//! report that precedes the record. `offload/check_reports.h` describes the TAB-separated fields.

use super::{Finding, Place};

const START: &str = "offload-finding\t";

/// If the line is a record, adds its facts to the findings. Returns whether it is one.
pub(super) fn read(line: &str, findings: &mut Vec<Finding>) -> bool {
    let Some(fields) = line.strip_prefix(START) else { return false };
    for (name, value) in fields.split('\t').filter_map(|field| field.split_once('=')) {
        let value = value.to_owned();
        if name == "kind" {
            findings.push(Finding { kind: value, is_counted: true, ..Finding::default() });
            continue;
        }
        let Some(finding) = findings.last_mut() else { break };
        match (name, finding.places.last_mut()) {
            ("kernel", _) => finding.set_kernel(Some(value)),
            ("what", _) => finding.places.push(Place { what: value, ..Place::default() }),
            ("line", Some(place)) => place.line = value,
            ("thread", Some(place)) => place.thread = value,
            ("note", _) => finding.notes.push(value),
            _ => {}
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_of_an_image() {
        let mut findings = Vec::new();
        let record = "offload-finding\tkind=a barrier that not all threads reach\tkernel=#3 diverge\t\
                      what=8 wait at the barrier\tline=sum.cu:24\tthread=block (0, 0, 0), thread (0, 0, 0)\t\
                      what=56 returned\tline=\tthread=block (0, 0, 0), thread (8, 0, 0)";
        assert!(read(record, &mut findings));
        let place = |what: &str, line: &str, thread: u32| Place {
            line: line.into(),
            what: what.into(),
            thread: format!("block (0, 0, 0), thread ({thread}, 0, 0)"),
        };
        let expected = Finding {
            kind: "a barrier that not all threads reach".into(),
            kernel: Some("diverge".into()),
            launches: vec![3],
            places: vec![
                place("8 wait at the barrier", "sum.cu:24", 0),
                place("56 returned", "", 8),
            ],
            is_counted: true,
            ..Finding::default()
        };
        assert_eq!(findings, [expected]);
    }

    #[test]
    fn facts_about_the_report_before() {
        let place = Place { line: "sum.cu:15".into(), ..Place::default() };
        let mut findings = vec![Finding { places: vec![place], ..Finding::default() }];
        let record = "offload-finding\tkernel=scale\tthread=block (1, 0, 0), thread (36, 0, 0)\t\
                      note=the shared memory there is part, 256 bytes";
        assert!(read(record, &mut findings));
        assert!(!read("offload: the finding above is of the kernel scale", &mut findings));
        let [finding] = &*findings else { panic!("{findings:?}") };
        assert_eq!(finding.kernel.as_deref(), Some("scale"));
        assert_eq!(finding.places[0].line, "sum.cu:15");
        assert_eq!(finding.places[0].thread, "block (1, 0, 0), thread (36, 0, 0)");
        assert_eq!(finding.notes, ["the shared memory there is part, 256 bytes"]);
    }
}
