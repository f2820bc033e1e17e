//! Readers for the reports of sanitizers and of checked images.
//!
//! | module | reads |
//! |---|---|
//! | `address` | AddressSanitizer's reports |
//! | `thread` | ThreadSanitizer's reports |
//! | `undefined` | UndefinedBehaviorSanitizer's reports |
//! | `records` | checked images' records: barriers that some threads miss, launches with reports |
//!
//! The readers expect the text that the runtimes of GCC 12 and LLVM 22 print.

mod address;
mod records;
mod thread;
mod undefined;

use std::path::{Path, PathBuf};

/// An error in a kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Finding {
    /// The kind, such as `data race` or `heap-buffer-overflow`.
    pub kind: String,
    /// The kernel's name in the report.
    pub kernel: Option<String>,
    /// The numbers of the launches in the kernel log. A race has one for each of its two accesses.
    pub launches: Vec<usize>,
    /// The access, if the error is in memory from the allocator. For a race, the later access.
    pub access: Option<Access>,
    /// Whether the program also counted this report as a finding of the launch; never for races.
    pub is_counted: bool,
    /// Whether the report is harmless and therefore dropped.
    pub is_harmless: bool,
    /// The places of the error in the source. A race has one for each of its two accesses.
    pub places: Vec<Place>,
    /// More facts for the user, one per line.
    pub notes: Vec<String>,
    /// The process in which the error was found.
    pub process: u32,
    /// The file with the whole report.
    pub report: PathBuf,
}

/// An access to or near memory from the allocator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// The address of the access.
    pub address: u64,
    /// The start of the allocated memory.
    pub start: u64,
    /// The end of the allocated memory.
    pub end: u64,
}

/// A place in a source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// The file and the line, such as `kernels/sum.cu:12`; empty if unknown.
    pub line: String,
    /// The event at this place, such as `write of size 4`; may be empty.
    pub what: String,
    /// The block and the thread, such as `block (0, 0, 0), thread (3, 0, 0)`; may be empty.
    pub thread: String,
}

/// The findings in a file of reports.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// The errors, one for each report.
    pub findings: Vec<Finding>,
    /// Why the sanitizer failed.
    pub failure: Option<String>,
}

/// Reads a file with reports of one process.
pub fn read(process: u32, report: &Path, text: &str) -> Read {
    let mut read = Read::default();
    let lines: Vec<&str> = text.lines().collect();
    let mut at = 0;
    while at < lines.len() {
        let rest = &lines[at..];
        let found =
            address::read(rest).or_else(|| thread::read(rest)).or_else(|| undefined::read(rest));
        if let Some((finding, size)) = found {
            read.findings.push(finding);
            at += size;
            continue;
        }
        if !records::read(lines[at], &mut read.findings)
            && let Some(failure) = failure(lines[at])
        {
            read.failure = Some(failure);
        }
        at += 1;
    }
    read.findings.retain(|finding| !finding.is_harmless);
    for finding in &mut read.findings {
        finding.process = process;
        finding.report = report.to_owned();
    }
    read
}

impl Finding {
    /// Sets the kernel from its name in a report. The name begins with the launch's number in the
    /// kernel log: `#3 scale`.
    fn set_kernel(&mut self, in_report: Option<String>) {
        let numbered = in_report.as_deref().and_then(|text| {
            let (number, name) = text.strip_prefix('#')?.split_once(' ')?;
            Some((number.parse().ok()?, name.to_owned()))
        });
        self.kernel = match numbered {
            Some((number, name)) => {
                if !self.launches.contains(&number) {
                    self.launches.push(number);
                }
                Some(name)
            }
            None => in_report,
        };
    }
}

/// Returns the message with which a sanitizer gave up, if the line contains one.
fn failure(line: &str) -> Option<String> {
    // `FATAL: ThreadSanitizer: …`, or `==123==ThreadSanitizer: … Dying.` without an error's name.
    // `AddressSanitizer: CHECK failed: …` is an internal error of the sanitizer.
    let at = line
        .find("FATAL: ")
        .or_else(|| line.find("Sanitizer: CHECK failed: "))
        .or_else(|| line.find("ThreadSanitizer: ").filter(|_| line.ends_with("Dying.")))?;
    let message = &line[at..];
    Some(if message.contains("unexpected memory mapping") {
        format!(
            "{message}\nThe system loaded the program at addresses that ThreadSanitizer needs for \
             itself. Start the tests with `setarch -R cargo offload test`. Or make addresses less \
             random, until the next reboot, with `sudo sysctl vm.mmap_rnd_bits=28`."
        )
    } else {
        message.to_owned()
    })
}

/// Returns the lines of the first report, up to and including its summary.
fn up_to_summary<'l, 'a>(lines: &'l [&'a str]) -> &'l [&'a str] {
    let summary = lines.iter().position(|line| line.starts_with("SUMMARY: "));
    &lines[..summary.map_or(lines.len(), |at| at + 1)]
}

/// A stack frame: `#0 0x7f… in scale(float*, float) kernels/scale.cu:15:4`, with or without the
/// address.
#[derive(Debug, PartialEq, Eq)]
struct StackFrame<'a> {
    function: &'a str,
    /// The file and the line, without the column.
    line: &'a str,
}

impl StackFrame<'_> {
    /// Whether the frame is inside a sanitizer, the run time, its headers or Rust's standard
    /// library.
    fn is_inside(&self) -> bool {
        let inside = ["/libsanitizer/", "compiler-rt", "/include/offload/", "/rustc/"];
        self.line.starts_with('(') || inside.iter().any(|part| self.line.contains(part))
    }
}

fn frame(line: &str) -> Option<StackFrame<'_>> {
    let rest = line.trim_start().strip_prefix('#')?;
    let (_, rest) = rest.split_once(' ')?;
    let rest = match rest.strip_prefix("0x") {
        Some(rest) => rest.split_once(" in ")?.1,
        None => rest,
    };
    // Remove the library, which is in parentheses. LLVM's runtimes add a build ID after it. If the
    // source line is unknown, they also add a build ID after a library's name.
    let rest = without_build(rest);
    let rest = match rest.rsplit_once(" (") {
        Some((before, library)) if library.contains("+0x") => without_build(before),
        _ => rest,
    };
    let (function, place) = rest.rsplit_once(' ')?;
    Some(StackFrame { function, line: without_column(place) })
}

/// Returns the text before ` (BuildId: fe80d6d9411b3a96)`.
fn without_build(text: &str) -> &str {
    text.rsplit_once(" (BuildId: ").map_or(text, |(before, _)| before)
}

/// Returns a place without its column: `kernels/scale.cu:15` for `kernels/scale.cu:15:4`.
fn without_column(place: &str) -> &str {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match place.rsplit_once(':') {
        Some((before, column)) if is_number(column) => match before.rsplit_once(':') {
            Some((_, line)) if is_number(line) => before,
            _ => place,
        },
        _ => place,
    }
}

/// Returns the first frame in a kernel's source: outside of sanitizers, the run time and its
/// headers.
fn of_kernel<'a>(frames: impl Iterator<Item = &'a str>) -> Option<StackFrame<'a>> {
    frames.map_while(frame).find(|frame| !frame.is_inside())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_both_runtimes() {
        for line in [
            "    #0 0x7f0792d9f83d in scale(float*, float) kernels/sum.cu:15",
            "    #0 scale(float*, float) kernels/sum.cu:15 (offload-1-2.so+0x243f)",
            "    #0 scale(float*, float) kernels/sum.cu:15:4 (offload-1-2.so+0x243f)",
            "    #0 0x7f0792d9f83d in scale(float*, float) kernels/sum.cu:15:4",
            "    #0 0x7f0792d9f83d in scale(float*, float) kernels/sum.cu:15:4 (kernels-1-2.so+0x43f) (BuildId: fe80)",
        ] {
            assert_eq!(
                frame(line),
                Some(StackFrame { function: "scale(float*, float)", line: "kernels/sum.cu:15" }),
                "{line}"
            );
        }
        assert_eq!(frame("0x617000000290 is located 0 bytes to the right"), None);
        let without_a_line =
            "    #0 0x7f8d in memcpy (/lib/asan.so+0x1) (BuildId: 25) (asan.so+0x1) (BuildId: 25)";
        let expected = StackFrame { function: "memcpy", line: "(/lib/asan.so+0x1)" };
        assert_eq!(frame(without_a_line), Some(expected));
    }

    #[test]
    fn a_failure_has_its_cure() {
        let text = "FATAL: ThreadSanitizer: unexpected memory mapping 0x7b0-0x7c0\n";
        let read = super::read(7, Path::new("report.7"), text);
        assert!(read.findings.is_empty());
        assert!(read.failure.unwrap().contains("vm.mmap_rnd_bits=28"));
        let text = "==300==ThreadSanitizer: Thread limit (8128 threads) exceeded. Dying.\n";
        assert!(super::read(7, Path::new("report.7"), text).failure.unwrap().contains("8128"));
        let text = "AddressSanitizer: CHECK failed: asan_interceptors.cpp:320 \"(0) != (0)\"\n";
        assert!(super::read(7, Path::new("report.7"), text).failure.unwrap().contains(":320"));
    }
}
