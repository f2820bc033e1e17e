//! `weight`: measures how much code rustc compiles for README's package, in lines of LLVM IR.
//!
//! The lines are counted before any optimization. They depend neither on the machine nor on its
//! load, so CI compares them with a budget. `cargo xtask bench run cold` measures the seconds.

use crate::files;
use crate::run::{self, Result, fail};
use crate::setup::Setup;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Flags added to rustc's. With one codegen unit, each crate produces one file. With several, a
/// generic function used in several units would be counted several times.
const FLAGS: &str = "--emit=llvm-ir -Cno-prepopulate-passes -Ccodegen-units=1 -Cdebuginfo=0";

/// The line counts of a crate's functions, or of a generic function's copies, under its name.
type Lines<T> = BTreeMap<T, Vec<usize>>;

/// Runs `cargo xtask weight`: prints both tables, and compares the weights with the budgets.
pub fn command(setup: &Setup) -> Result {
    let folder = run::workspace().join("target/weight");
    let package = folder.join("package");
    // Remove the folder, because files from an earlier version or compiler would be counted, too.
    files::remove(&folder)?;
    files::write_readme_package(&package, "saxpy")?;
    let mut cargo = setup.cargo("build --quiet --offline");
    cargo.env("CARGO_TARGET_DIR", folder.join("target")).env("CARGO_INCREMENTAL", "0");
    cargo.env("RUSTFLAGS", FLAGS).env_remove("CARGO_ENCODED_RUSTFLAGS").current_dir(&package);
    eprintln!("xtask weight: RUSTFLAGS=\"{FLAGS}\" cargo build, in {}", package.display());
    run::check(&mut cargo)?;
    let debug = folder.join("target/debug");
    let mut all = files::list(&debug.join("deps"))?;
    for script in files::list(&debug.join("build"))? {
        all.extend(files::list(&script)?);
    }
    all.retain(|path| path.extension().is_some_and(|extension| extension == "ll"));
    let (mut crates, mut functions) = (Lines::new(), Lines::new());
    for file in all {
        let of_crate = crates.entry(row(&files::name(&file))).or_default();
        for (path, lines) in functions_in(&files::read(&file)?) {
            of_crate.push(lines);
            functions.entry(path).or_default().push(lines);
        }
    }
    print!("{}", heaviest(&functions));
    let (table, over) = compare(&crates);
    print!("\n{table}");
    if over.is_empty() {
        return Ok(());
    }
    fail(format!(
        "{} more lines of LLVM IR than CONTRIBUTING.md allows (\"Weight\"): write the code so that rustc compiles less of it, \
         or raise the budget there and say why in the commit",
        over.join(" and ")
    ))
}

/// Returns the row of a crate. Crates of other projects share a row. `file` is named after the
/// crate and a hash.
fn row(file: &str) -> &'static str {
    let name = file.rsplit_once('-').map_or(file, |(name, _hash)| name);
    budgets()
        .map(|(row, _)| row)
        .find(|row| row.replace('-', "_") == name)
        .unwrap_or("dependencies")
}

/// Returns functions' paths with their line counts: from `define` to a line with `}`. The comment
/// before a function contains its path, which is the same for all copies of a generic function.
fn functions_in(text: &str) -> Vec<(String, usize)> {
    let (mut functions, mut path, mut lines) = (Vec::new(), "", 0);
    for line in text.lines() {
        if lines > 0 || line.starts_with("define ") {
            lines += 1;
        } else if let Some(comment) = line.strip_prefix("; ")
            && !comment.starts_with("Function Attrs")
        {
            path = comment;
        }
        if line == "}" && lines > 0 {
            functions.push((path.to_owned(), lines));
            lines = 0;
        }
    }
    functions
}

/// Returns a table of the ten largest generic functions. All copies of a function share a row.
fn heaviest(functions: &Lines<String>) -> String {
    let mut all: Vec<_> = functions.iter().filter(|(_, lines)| lines.len() > 1).collect();
    all.sort_by_key(|(_, lines)| std::cmp::Reverse(lines.iter().sum::<usize>()));
    let mut table = format!("{:>9} {:>7}  generic function\n", "lines", "copies");
    for (name, lines) in all.iter().take(10) {
        let sum: usize = lines.iter().sum();
        let _ = writeln!(table, "{sum:>9} {:>7}  {name}", lines.len());
    }
    table
}

/// Returns the table of crates with their budgets, and which crates exceed them.
fn compare(crates: &Lines<&str>) -> (String, Vec<String>) {
    let mut table = format!("{:<20} {:>9} {:>9} {:>9}\n", "crate", "functions", "lines", "budget");
    let mut over = Vec::new();
    for (name, lines) in crates {
        let (functions, lines) = (lines.len(), lines.iter().sum::<usize>());
        let budget = budgets().find(|(row, _)| row == name).map_or(0, |(_, lines)| lines);
        let mark = if lines > budget { "  over its budget" } else { "" };
        let _ = writeln!(table, "{name:<20} {functions:>9} {lines:>9} {budget:>9}{mark}");
        if lines > budget {
            over.push(format!("{name} has {}", lines - budget));
        }
    }
    let sum: usize = crates.values().flatten().sum();
    let _ = writeln!(table, "{:<20} {:>9} {sum:>9}", "all", "");
    (table, over)
}

/// Returns the rows of the table "Weight" in CONTRIBUTING.md: each crate with its lines.
fn budgets() -> impl Iterator<Item = (&'static str, usize)> {
    crate::budget::section("## Weight")
        .filter_map(|(name, lines)| Some((name, lines.replace(',', "").parse().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_lines_are_said() {
        let (name, budget) = budgets().next().expect("CONTRIBUTING.md has the table");
        let file = format!("{}-1a2b.ll", name.replace('-', "_"));
        let crates = [(row(&file), vec![budget, 2])].into();
        let (table, over) = compare(&crates);
        assert!(table.contains("over its budget"), "{table}");
        assert_eq!(over, [format!("{name} has 2")]);
    }
}
