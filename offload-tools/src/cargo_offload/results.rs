//! Reads the results of tests from the output of Rust's test harness.

use crate::text::plural;

/// The results of all test programs of a pass.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Results {
    passed: usize,
    failed: usize,
    ignored: usize,
    /// The programs that ended before finishing their tests.
    pub died: Vec<Died>,
    /// Whether any output was recognized as that of a test program.
    pub is_known: bool,
}

/// A program that ended before finishing its tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Died {
    /// How many tests the program has.
    pub tests: usize,
    /// How many tests have a result.
    pub ended: usize,
}

impl Results {
    /// Reads the output of test programs that ran one after another.
    pub fn read(output: &str) -> Self {
        let mut results = Self::default();
        let mut running: Option<Died> = None;
        for line in output.lines() {
            let started = line
                .strip_prefix("running ")
                .and_then(|rest| rest.strip_suffix(" tests").or_else(|| rest.strip_suffix(" test")))
                .and_then(|count| count.parse().ok());
            if let Some(tests) = started {
                results.died.extend(running.replace(Died { tests, ended: 0 }));
                results.is_known = true;
            } else if let Some(counts) = line.strip_prefix("test result: ") {
                running = None;
                let count = |what: &str| {
                    let mut parts = counts.split([';', '.']);
                    parts.find_map(|part| part.trim().strip_suffix(what)?.trim().parse().ok())
                };
                results.passed += count("passed").unwrap_or(0);
                results.failed += count("failed").unwrap_or(0);
                results.ignored += count("ignored").unwrap_or(0);
            } else if let Some(program) = &mut running {
                program.ended += ended(line);
            }
        }
        results.died.extend(running);
        results
    }

    /// Returns the results in words: `53 tests passed, 1 ignored`.
    pub fn text(&self) -> String {
        let mut text = format!("{} passed", plural(self.passed, "test"));
        for (count, what) in [(self.failed, "failed"), (self.ignored, "ignored")] {
            if count > 0 {
                text += &format!(", {count} {what}");
            }
        }
        text
    }
}

/// Returns how many tests have a result in this line, which is `test sums ... ok` or, with
/// `--quiet`, has one letter per test.
fn ended(line: &str) -> usize {
    if let Some((_, result)) = line.strip_prefix("test ").and_then(|test| test.rsplit_once(" ... "))
    {
        return usize::from(["ok", "FAILED", "ignored"].iter().any(|it| result.starts_with(it)));
    }
    let letters = line.split(' ').next().unwrap_or_default();
    if letters.bytes().all(|letter| b".Fi".contains(&letter)) { letters.len() } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_added_up() {
        let output = "\nrunning 2 tests\ntest a ... ok\ntest b ... ignored, slow\n\n\
            test result: ok. 1 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n\
            running 1 test\n.\n\
            test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
        let results = Results::read(output);
        assert_eq!(
            (results.text().as_str(), &*results.died),
            ("2 tests passed, 1 ignored", &[][..])
        );
    }

    #[test]
    fn a_program_that_died_has_tests_without_a_result() {
        for output in [
            "\nrunning 5 tests\ntest a ... ok\ntest b ... FAILED\n",
            "\nrunning 5 tests\n.F",
            "\nrunning 5 tests\ntest a ... ok\ntest b ... ok\n\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed\n",
        ] {
            assert_eq!(Results::read(output).died, [Died { tests: 5, ended: 2 }], "{output}");
        }
        assert!(!Results::read("").is_known);
    }
}
