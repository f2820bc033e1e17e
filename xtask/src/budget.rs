//! CI's time budget: how many minutes each step may take according to CONTRIBUTING.md, and how many
//! it took.

use std::fmt::Write;
use std::time::Duration;

/// The document with the table, "CI's budget".
const CONTRIBUTING: &str = include_str!("../../CONTRIBUTING.md");

/// CI's time limit for a run, in minutes.
const LIMIT: f64 = 90.0;

/// The maximum total time of all steps on 2 cores, in minutes.
const ALL: f64 = 75.0;

/// Returns the rows of the table in order: each step, and the minutes that it may take on 2 cores.
/// The table may also have steps that do not exist yet.
fn rows() -> impl Iterator<Item = (&'static str, f64)> {
    section("## CI's budget").filter_map(|(step, minutes)| Some((step, minutes.parse().ok()?)))
}

/// Returns how many minutes a step may take.
fn minutes(step: &str) -> Option<f64> {
    rows().find(|(name, _)| *name == step).map(|(_, minutes)| minutes)
}

/// Whether a step that starts now ends before CI's time limit, even if it takes twice its budget,
/// as on slow machines. `spent` is the time since CI's start.
pub fn fits(step: &str, spent: Duration) -> bool {
    spent.as_secs_f64() / 60.0 + 2.0 * minutes(step).unwrap_or_default() <= LIMIT
}

/// Returns the first two columns of a table in a section of CONTRIBUTING.md: a name in code font,
/// and its value.
pub fn section(heading: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let after = CONTRIBUTING.split_once(heading).map_or("", |(_, after)| after);
    let section = after.split("\n## ").next().unwrap_or("");
    section.lines().filter_map(|line| {
        let (name, rest) = line.strip_prefix("| `")?.split_once("` | ")?;
        Some((name, rest.split(" |").next()?))
    })
}

/// Formats a run's steps as a table: how long each took, and how long it may take. `measured`
/// contains the steps that ran.
pub fn table(measured: &[(&str, Duration)]) -> String {
    let taken = |time: &Duration| time.as_secs_f64() / 60.0;
    let mut table = format!("{:<20} {:>8} {:>8}\n", "step", "minutes", "budget");
    for (step, time) in measured {
        let (budget, is_over) = match minutes(step) {
            Some(budget) => (budget.to_string(), budget < taken(time)),
            None => ("none".to_owned(), false),
        };
        let over = if is_over { "  over its budget" } else { "" };
        let _ = writeln!(table, "{step:<20} {:>8.1} {budget:>8}{over}", taken(time));
    }
    let all: Duration = measured.iter().map(|(_, time)| *time).sum();
    let _ = writeln!(table, "{:<20} {:>8.1} {ALL:>8}", "all", taken(&all));
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_steps_together_stay_within_ci() {
        let sum: f64 = rows().map(|(_, minutes)| minutes).sum();
        assert!(sum > 20.0, "the table of CONTRIBUTING.md is read");
        assert!(sum <= ALL, "{sum} minutes");
    }

    #[test]
    fn every_step_has_a_budget() {
        for step in ["setup"].into_iter().chain(crate::ci::STEPS.map(|(name, _)| name)) {
            assert!(minutes(step).is_some(), "{step} has no row in CONTRIBUTING.md");
        }
    }

    #[test]
    fn a_step_fits_if_twice_its_budget_is_left() {
        let left = |minutes: f64| Duration::from_secs_f64(60.0 * (LIMIT - minutes));
        let budget = minutes("elsewhere").unwrap();
        assert!(fits("elsewhere", left(2.0 * budget + 0.1)));
        assert!(!fits("elsewhere", left(2.0 * budget - 0.1)));
    }

    #[test]
    fn what_takes_too_long_is_marked() {
        let table =
            table(&[("fmt", Duration::from_secs(30)), ("fmt", Duration::from_secs(36_000))]);
        let lines: Vec<&str> = table.lines().collect();
        assert!(lines[1].starts_with("fmt"), "{table}");
        assert!(lines[1].contains(" 0.5 "), "{table}");
        assert!(!lines[1].contains("over"), "{table}");
        assert!(lines[2].ends_with("over its budget"), "{table}");
        assert!(lines[3].starts_with("all "), "{table}");
    }
}
