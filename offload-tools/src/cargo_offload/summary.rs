//! The summary after all passes have run.

use super::NOTHING_CHECKED;
use super::arguments::Asked;
use super::findings::{self, Finding};
use super::log::{Entries, Launch, Program};
use super::passes::Pass;
use cpp_demangle::{DemangleOptions, Symbol};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::process::{ExitCode, ExitStatus};

/// The result of all passes.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The launched kernels, without duplicates.
    kernels: BTreeSet<String>,
    findings: Vec<Found>,
    /// The reasons why sanitizers did not work.
    failures: BTreeSet<String>,
    /// The first exit status of Cargo that is not success.
    failed: Option<u8>,
    /// The commands of passes that launched no kernel on the CPU.
    without_kernels: Vec<String>,
}

/// A finding of a pass.
#[derive(Debug)]
struct Found {
    finding: Finding,
    /// The tests that may have caused the finding, because they launched its kernel.
    tests: BTreeSet<String>,
    /// The command that reproduces the finding.
    again: String,
}

impl Outcome {
    /// Adds the result of a pass.
    pub fn add(&mut self, pass: Pass, asked: &Asked, status: ExitStatus, entries: Entries) {
        if !status.success() {
            self.failed = self
                .failed
                .or(Some(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)));
        }
        if entries.launched.is_empty() {
            self.without_kernels.push(pass.command(asked));
        }
        self.kernels.extend(entries.launched.iter().map(|launch| launch.kernel.clone()));
        let mut found: Vec<Finding> = Vec::new();
        for (process, file, text) in &entries.reports {
            let read = findings::read(*process, file, text);
            found.extend(read.findings);
            self.failures.extend(read.failure);
        }
        found.extend(entries.endless.iter().map(|(launch, place)| endless(launch, place)));
        for finding in found {
            let (tests, again) =
                (tests_of(&finding, &entries), again(pass, asked, &finding, &entries));
            let same = self.findings.iter_mut().find(|known| is_same(&known.finding, &finding));
            match same {
                Some(known) => known.tests.extend(tests),
                None => self.findings.push(Found { finding, tests, again }),
            }
        }
        for (order, program) in &entries.orders {
            self.findings.push(Found {
                finding: Finding {
                    kind: format!("tests that fail with OFFLOAD_CPU_ORDER={order}"),
                    notes: vec![format!("the program is {}", program.path.display())],
                    ..Finding::default()
                },
                tests: BTreeSet::new(),
                again: format!("OFFLOAD_CPU_ORDER={order} cargo test -p {}", program.package),
            });
        }
    }

    /// Returns the exit status, which [`HELP`](super::arguments::HELP) describes.
    pub fn exit_code(&self) -> ExitCode {
        match (self.findings.is_empty() && self.failures.is_empty(), self.failed) {
            (false, _) => ExitCode::FAILURE,
            (true, Some(code)) => ExitCode::from(code),
            (true, None) if !self.without_kernels.is_empty() => ExitCode::from(NOTHING_CHECKED),
            (true, None) => ExitCode::SUCCESS,
        }
    }

    /// Prints the findings, the failures of sanitizers, the totals, and the passes that checked
    /// nothing.
    pub fn print(&self) {
        anstream::print!("{}", self.text());
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (at, found) in self.findings.iter().enumerate() {
            let _ = writeln!(text, "\n{}. {}", at + 1, found.text().trim_end());
        }
        for failure in &self.failures {
            let _ = writeln!(text, "\nerror: {failure}");
        }
        let count = |count: usize, what: &str| {
            format!("{count} {what}{}", if count == 1 { "" } else { "s" })
        };
        let _ = writeln!(
            text,
            "\n{} in {} launched on the CPU",
            count(self.findings.len(), "finding"),
            count(self.kernels.len(), "kernel")
        );
        for options in &self.without_kernels {
            let _ = writeln!(
                text,
                "error: `{options}` checked nothing: no kernel was launched on the CPU. The pack needs \
                 the target \"cpu\", and a test has to launch a kernel on the device that offload_gpu::run gives it."
            );
        }
        text
    }
}

impl Found {
    fn text(&self) -> String {
        let Finding { kind, kernel, places, notes, report, .. } = &self.finding;
        let mut text = kind.clone();
        if let Some(kernel) = kernel {
            let _ = write!(text, ", in the kernel {}", readable(kernel));
        }
        text.push('\n');
        let width = places.iter().map(|place| place.line.len()).max().unwrap_or(0);
        let what_width = places.iter().map(|place| place.what.len()).max().unwrap_or(0);
        for place in places {
            let line =
                format!("   {:width$}  {:what_width$}  {}", place.line, place.what, place.thread);
            let _ = writeln!(text, "{}", line.trim_end());
        }
        for note in notes {
            let _ = writeln!(text, "   {note}");
        }
        if !self.tests.is_empty() {
            let _ = writeln!(
                text,
                "   launched by {}",
                self.tests.iter().cloned().collect::<Vec<_>>().join(", ")
            );
        }
        if !report.as_os_str().is_empty() {
            let _ = writeln!(text, "   the whole report: {}", report.display());
        }
        let _ = writeln!(text, "   again: {}", self.again);
        text
    }
}

/// Returns a symbol's name in the source.
fn readable(symbol: &str) -> String {
    let options = DemangleOptions::new().no_params().no_return_type();
    let demangled =
        Symbol::new(symbol).ok().and_then(|symbol| symbol.demangle_with_options(&options).ok());
    demangled.unwrap_or_else(|| symbol.to_owned())
}

/// Returns whether two findings are the same error: the same kind of fault in the same kernel at
/// the same lines, in any threads.
fn is_same(one: &Finding, other: &Finding) -> bool {
    let lines = |finding: &Finding| {
        finding.places.iter().map(|place| place.line.clone()).collect::<BTreeSet<_>>()
    };
    one.kernel == other.kernel && one.kind == other.kind && lines(one) == lines(other)
}

fn endless(launch: &Launch, place: &str) -> Finding {
    Finding {
        kind: "a kernel that does not end in time".to_owned(),
        kernel: Some(launch.kernel.clone()),
        notes: vec![format!("it was in {place}")],
        process: launch.process,
        ..Finding::default()
    }
}

/// Returns the tests that launched the finding's kernel in the process with the finding. If some of
/// these launches failed, returns only the tests with a failed launch. A race does not make a
/// launch fail, so all tests that launched the kernel may be returned for it.
fn tests_of(finding: &Finding, entries: &Entries) -> BTreeSet<String> {
    let names = |launches: &[Launch]| -> BTreeSet<String> {
        let of_process = launches.iter().filter(|launch| launch.process == finding.process);
        let of_kernel = of_process
            .filter(|launch| finding.kernel.as_ref().is_none_or(|kernel| *kernel == launch.kernel));
        of_kernel
            .map(|launch| launch.thread.clone())
            .filter(|name| !name.is_empty() && name != "main")
            .collect()
    };
    let failed = names(&entries.found);
    if failed.is_empty() { names(&entries.launched) } else { failed }
}

/// Returns a command that repeats the finding. If the tests that may have caused it are known, the
/// command runs only one of them.
fn again(pass: Pass, asked: &Asked, finding: &Finding, entries: &Entries) -> String {
    let mut command = pass.command(asked);
    let of_process = |program: &&Program| program.process == finding.process;
    let names_package = asked
        .cargo
        .iter()
        .any(|word| word == "-p" || word.to_string_lossy().starts_with("--package"));
    if let Some(program) = entries.programs.iter().find(of_process).filter(|_| !names_package)
        && !program.package.is_empty()
    {
        let _ = write!(command, " -p {}", program.package);
    }
    if let Some(test) = tests_of(finding, entries).first() {
        let _ = write!(command, " -- --exact {test}");
    }
    command
}
