//! The summary printed after all passes.

use super::arguments::Asked;
use super::findings::{self, Finding};
use super::log::{Entries, Launch, Program};
use super::parameters::ParameterNames;
use super::passes::{Pass, PassKind};
use super::results::{Died, Results};
use super::runner::status_of;
use super::{INCOMPLETE, NOTHING_CHECKED};
use crate::text::{grouped, plural, shell_word};
use cpp_demangle::{DemangleOptions, Symbol};
use offload_pack::checks::{Check, variables};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::process::{ExitCode, ExitStatus};

/// The result of all passes.
#[derive(Debug, Default)]
pub struct Summary {
    /// The launched kernels, without duplicates.
    kernels: BTreeSet<String>,
    findings: Vec<PassFinding>,
    /// Why findings may be missing.
    failures: BTreeSet<String>,
    /// Kernels that were launched from images without checks.
    unchecked: BTreeSet<String>,
    /// The programs that ended before finishing their tests.
    died: Vec<Died>,
    /// Cargo's first exit status other than success.
    failed: Option<u8>,
    /// The commands of passes that launched no kernel on the CPU.
    without_kernels: Vec<String>,
}

/// A finding of a pass.
#[derive(Debug)]
struct PassFinding {
    finding: Finding,
    /// The tests that may have caused the finding, because they launched its kernel.
    tests: BTreeSet<String>,
    /// The command that reproduces the finding.
    again: String,
}

impl Summary {
    pub fn add(
        &mut self,
        pass: Pass,
        asked: &Asked,
        status: ExitStatus,
        entries: Entries,
        results: &Results,
        names: &ParameterNames,
    ) {
        if !status.success() {
            self.failed = self.failed.or(Some(status_of(status)));
        }
        self.died.extend(&results.died);
        let (checked, plain): (Vec<&Launch>, Vec<&Launch>) = entries
            .launched
            .iter()
            .partition(|launch| pass.kind == PassKind::Orders || launch.is_checked);
        if checked.is_empty() {
            self.without_kernels.push(pass.command(asked));
        }
        self.kernels.extend(checked.into_iter().map(|launch| launch.kernel.clone()));
        self.unchecked.extend(plain.into_iter().map(|launch| launch.kernel.clone()));
        let mut found: Vec<Finding> = Vec::new();
        for (process, file, text) in &entries.reports {
            let read = findings::read(*process, file, text);
            found.extend(read.findings);
            self.failures.extend(read.failure);
        }
        self.failures.extend(lost(&found, &entries));
        if pass.kind == PassKind::Check(Check::Undefined) {
            // The image also checks memory accesses. Drop its reports about them, because they name
            // no kernel.
            found.retain(|finding| finding.kernel.is_some());
        }
        let late = entries.endless.iter();
        found.extend(late.map(|(process, number, place)| endless(*process, *number, place)));
        for finding in &mut found {
            // ThreadSanitizer shortens names, so take the name from the launch. The first launch in
            // the list contains the later access.
            let first = finding.launches.first();
            let launch = entries
                .launched
                .iter()
                .find(|it| it.process == finding.process && Some(&it.number) == first);
            finding.kernel = launch.map(|it| it.kernel.clone()).or(finding.kernel.take());
            if let Some(note) = parameter(finding, &entries, names) {
                finding.notes = vec![note];
            }
        }
        for finding in found {
            let (tests, again) =
                (tests_of(&finding, &entries), again(pass, asked, &finding, &entries));
            let same = self.findings.iter_mut().find(|known| is_same(&known.finding, &finding));
            match same {
                Some(known) => known.tests.extend(tests),
                None => self.findings.push(PassFinding { finding, tests, again }),
            }
        }
        for (order, program) in &entries.orders {
            let mut order = format!("{}={order}", variables::ORDER);
            if let Some(lanes) = pass.lanes {
                order = format!("{}={lanes} {order}", variables::LANES);
            }
            self.findings.push(PassFinding {
                finding: Finding {
                    kind: format!("tests that fail with {order}"),
                    notes: vec![format!("the test program is {}", program.path.display())],
                    ..Finding::default()
                },
                tests: BTreeSet::new(),
                again: format!("{order} cargo test -p {}", shell_word(&program.package)),
            });
        }
    }

    /// Returns the exit status, which [`HELP`](super::arguments::HELP) describes.
    pub fn exit_code(&self) -> ExitCode {
        match (self.findings.is_empty(), self.failed) {
            _ if self.is_incomplete() => ExitCode::from(INCOMPLETE),
            (false, _) => ExitCode::FAILURE,
            (true, Some(code)) => ExitCode::from(code),
            (true, None) if !self.without_kernels.is_empty() => ExitCode::from(NOTHING_CHECKED),
            (true, None) => ExitCode::SUCCESS,
        }
    }

    /// Whether findings may be missing. Programs that ended early count only if there are no
    /// findings.
    fn is_incomplete(&self) -> bool {
        !self.failures.is_empty() || (self.findings.is_empty() && !self.died.is_empty())
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
        for Died { tests, ended } in &self.died {
            let _ = writeln!(
                text,
                "\nerror: a test program ended early: {} of {} have no result",
                tests.saturating_sub(*ended),
                plural(*tests, "test")
            );
        }
        if !self.unchecked.is_empty() {
            let _ = writeln!(
                text,
                "\nwarning: these kernels were launched from images without checks: {}. \
                 To check them, compile them in a build script",
                self.unchecked.iter().map(|name| readable(name)).collect::<Vec<_>>().join(", ")
            );
        }
        let _ = writeln!(
            text,
            "\n{} in {} launched on the CPU{}",
            plural(self.findings.len(), "finding"),
            plural(self.kernels.len(), "kernel"),
            if self.is_incomplete() {
                "; because of the errors above, there may be more findings"
            } else {
                ""
            }
        );
        for options in &self.without_kernels {
            let _ = writeln!(
                text,
                "error: `{options}` checked nothing, because no kernel was launched on the CPU. \
                 Add the target \"cpu\" to the pack, and let a test launch a kernel on the device \
                 that Device::best_for returns."
            );
        }
        text
    }
}

impl PassFinding {
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
            let _ = writeln!(text, "   full report: {}", report.display());
        }
        let _ = writeln!(text, "   to repeat: {}", self.again);
        text
    }
}

/// Demangles a kernel's symbol.
fn readable(symbol: &str) -> String {
    let options = DemangleOptions::new().no_params().no_return_type();
    let demangled =
        Symbol::new(symbol).ok().and_then(|symbol| symbol.demangle_with_options(&options).ok());
    demangled.unwrap_or_else(|| symbol.to_owned())
}

/// Whether two findings describe the same error: the same kind in the same kernel at the same
/// lines, in whichever threads.
fn is_same(one: &Finding, other: &Finding) -> bool {
    let lines = |finding: &Finding| {
        finding.places.iter().map(|place| place.line.clone()).collect::<BTreeSet<_>>()
    };
    one.kernel == other.kernel && one.kind == other.kind && lines(one) == lines(other)
}

fn endless(process: u32, number: usize, place: &str) -> Finding {
    Finding {
        kind: "a kernel that does not end within the time limit".to_owned(),
        launches: vec![number],
        notes: vec![format!("the kernel was in {place}")],
        process,
        ..Finding::default()
    }
}

/// Describes the parameter that points to the accessed memory: `parameter 2, x, of 4,000 bytes:
/// read at offset 4,000`. If several parameters of one or several launches point to that memory,
/// lists them all.
fn parameter(finding: &Finding, entries: &Entries, names: &ParameterNames) -> Option<String> {
    let access = finding.access?;
    let launches = entries.found.iter().filter(|launch| {
        launch.process == finding.process && finding.launches.contains(&launch.number)
    });
    let is_inside = |(_, start): &&(usize, u64)| (access.start..access.end).contains(start);
    let parameters: BTreeMap<usize, u64> =
        launches.flat_map(|launch| &launch.addresses).filter(is_inside).copied().collect();
    let (_, start) = parameters.first_key_value()?;
    let kernel = finding.kernel.as_deref()?;
    let named = |number: &usize| match names.get(kernel, *number) {
        Some(name) => format!("{number}, `{name}`,"),
        None => format!("{number},"),
    };
    let named: Vec<String> = parameters.keys().map(named).collect();
    let was_freed = if finding.kind.contains("use-after-free") { ", which were freed" } else { "" };
    let kind = finding.places.first().and_then(|place| place.what.split(" of size").next());
    let sign = if access.address < *start { "-" } else { "" };
    Some(format!(
        "parameter {} of {} bytes{was_freed}: {} at offset {sign}{}",
        named.join(" or "),
        grouped(access.end - access.start),
        kind.unwrap_or("accessed"),
        grouped(access.address.abs_diff(*start))
    ))
}

/// Returns the names of the threads that launched the finding's kernel. The test harness names each
/// test's thread after the test.
fn tests_of(finding: &Finding, entries: &Entries) -> BTreeSet<String> {
    let launches = entries.launched.iter().filter(|launch| {
        launch.process == finding.process && finding.launches.contains(&launch.number)
    });
    let names = launches.map(|launch| launch.thread.clone());
    names.filter(|name| !name.is_empty() && name != "main").collect()
}

/// Returns a message for each kernel whose process counted more findings than its reports contain.
fn lost(found: &[Finding], entries: &Entries) -> Vec<String> {
    let mut counted: BTreeMap<(u32, usize), usize> = BTreeMap::new();
    for launch in &entries.found {
        *counted.entry((launch.process, launch.number)).or_default() += launch.findings;
    }
    let mut messages = Vec::new();
    for ((process, number), counted) in counted {
        let is_read = |finding: &&Finding| {
            finding.is_counted && finding.process == process && finding.launches.contains(&number)
        };
        let read = found.iter().filter(is_read).count();
        if read < counted {
            let launch =
                entries.launched.iter().find(|it| (it.process, it.number) == (process, number));
            let (kernel, thread) = launch.map_or(("?", "?"), |it| (&*it.kernel, &*it.thread));
            messages.push(format!(
                "reports are missing: {thread} launched the kernel {} in process {process}, which \
                 counted {counted} findings but reported only {read}. To get all reports, run the \
                 tests one at a time: add -- --test-threads=1",
                readable(kernel)
            ));
        }
    }
    messages
}

/// Returns a command that reproduces the finding. If it is known which tests may have caused the
/// finding, the command runs only one of them.
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
        let _ = write!(command, " -p {}", shell_word(&program.package));
    }
    if let Some(test) = tests_of(finding, entries).first() {
        let _ = write!(command, " -- --exact {}", shell_word(test));
    }
    command
}

#[cfg(test)]
mod tests {
    use super::super::findings::{Access, Place};
    use super::super::log::LaunchFindings;
    use super::*;

    fn entries() -> Entries {
        let launch = |number: usize, thread: &str| Launch {
            process: 7,
            number,
            is_checked: true,
            kernel: "scale".into(),
            thread: thread.into(),
        };
        let launched = vec![launch(0, "tests::sums"), launch(1, "src/lib.rs - scale (line 12)")];
        let program = Program { process: 7, package: "sums".into(), path: "sums".into() };
        Entries { launched, programs: vec![program], ..Entries::default() }
    }

    #[test]
    fn a_race_names_the_parameters_that_lead_to_its_memory() {
        let found = |number: usize, addresses: &[(usize, u64)]| LaunchFindings {
            process: 7,
            number,
            findings: 0,
            addresses: addresses.to_vec(),
        };
        let found = vec![
            found(0, &[(1, 0x1000), (2, 0x2000)]),
            found(0, &[(1, 0x2000), (2, 0x1000)]),
            found(1, &[(1, 0x2000), (2, 0x3000)]),
        ];
        let entries = Entries { found, ..entries() };
        let note = |number: usize| {
            let finding = Finding {
                kernel: Some("scale".into()),
                launches: vec![number],
                access: Some(Access { address: 0x2004, start: 0x2000, end: 0x3000 }),
                places: vec![Place { what: "write of size 4".into(), ..Place::default() }],
                process: 7,
                ..Finding::default()
            };
            parameter(&finding, &entries, &ParameterNames::default()).unwrap()
        };
        assert_eq!(note(0), "parameter 1, or 2, of 4,096 bytes: write at offset 4");
        assert_eq!(note(1), "parameter 1, of 4,096 bytes: write at offset 4");
    }

    #[test]
    fn a_shell_reads_the_command_that_repeats_a_finding() {
        let asked = Asked {
            checks: vec![Check::Memory],
            lanes: vec![64],
            cargo: vec!["--features=a b".into()],
            ..Asked::default()
        };
        let again = |number: usize| {
            let finding = Finding { process: 7, launches: vec![number], ..Finding::default() };
            let pass = Pass { kind: PassKind::Check(Check::Memory), lanes: Some(64) };
            again(pass, &asked, &finding, &entries())
        };
        let start =
            "cargo offload test --check memory --lanes 64 '--features=a b' -p sums -- --exact";
        assert_eq!(again(0), format!("{start} tests::sums"));
        // The name of an example in the documentation.
        assert_eq!(again(1), format!("{start} 'src/lib.rs - scale (line 12)'"));
    }
}
