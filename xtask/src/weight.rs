//! `weight`: measures how much code rustc compiles for README's package, in lines of LLVM IR.
//!
//! The lines are counted before any optimization. They depend neither on the machine nor on its
//! load, so CI compares them with a budget. `cargo xtask bench run cold` measures the seconds.

use crate::files;
use crate::run::{self, Failure, Result};
use crate::setup::Setup;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// Flags added to rustc's. With one codegen unit per crate, each crate is one file. With several
/// units, a generic function that several of them need would be counted several times.
const FLAGS: &str = "--emit=llvm-ir -Cno-prepopulate-passes -Ccodegen-units=1 -Cdebuginfo=0";

/// The number of generic functions to print.
const HEAVIEST: usize = 10;

/// The row for all crates that are not ours.
const OTHERS: &str = "dependencies";

/// The lines and copies of a function, or of all functions of a crate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Weight {
    lines: usize,
    copies: usize,
}

impl Weight {
    fn add(&mut self, lines: usize) {
        self.lines += lines;
        self.copies += 1;
    }
}

/// Runs `cargo xtask weight`: prints both tables, and compares the weights with the budgets.
pub fn command(setup: &Setup) -> Result {
    let folder = run::workspace().join("target/weight");
    let package = folder.join("package");
    // Remove the folder, because files from an earlier version or compiler would be counted, too.
    files::remove(&folder)?;
    for (path, text) in files::readme_package()? {
        files::write(&package.join(path), &text)?;
    }
    let mut cargo = setup.cargo();
    cargo.args(["build", "--quiet", "--offline"]).current_dir(&package);
    cargo.env("CARGO_TARGET_DIR", folder.join("target")).env("CARGO_INCREMENTAL", "0");
    cargo.env("RUSTFLAGS", FLAGS).env_remove("CARGO_ENCODED_RUSTFLAGS");
    eprintln!("xtask weight: RUSTFLAGS=\"{FLAGS}\" cargo build, in {}", package.display());
    run::check(&mut cargo)?;
    let debug = folder.join("target/debug");
    let mut all = files::list(&debug.join("deps"))?;
    for script in files::list(&debug.join("build"))? {
        all.extend(files::list(&script)?);
    }
    all.retain(|path| path.extension().is_some_and(|extension| extension == "ll"));
    let (mut crates, mut functions) = (BTreeMap::new(), BTreeMap::new());
    for file in all {
        count(&file, &mut crates, &mut functions)?;
    }
    print!("{}", heaviest(&functions));
    let (table, over) = compare(&crates);
    print!("\n{table}");
    if over.is_empty() {
        return Ok(());
    }
    Err(Failure::Failed(format!(
        "{} more lines of LLVM IR than CONTRIBUTING.md allows (\"Weight\"): write the code so that rustc compiles less of it, \
         or raise the budget there and say why in the commit",
        over.join(" and ")
    )))
}

/// Adds a crate's functions. A function consists of the lines from `define` to a line with `}`. The
/// comment before a function contains its path, which is the same for all copies of a generic
/// function.
fn count(
    file: &Path,
    crates: &mut BTreeMap<String, Weight>,
    functions: &mut BTreeMap<String, Weight>,
) -> Result {
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let name = name.rsplit_once('-').map_or(&*name, |(name, _hash)| name);
    let of_crate = crates.entry(name.to_owned()).or_default();
    let (mut path, mut lines) = ("", 0);
    let text = files::read(file)?;
    for line in text.lines() {
        let comment = line.strip_prefix("; ").filter(|it| !it.starts_with("Function Attrs"));
        if lines == 0
            && let Some(comment) = comment
        {
            path = comment;
        }
        if lines > 0 || line.starts_with("define ") {
            lines += 1;
        }
        if line == "}" && lines > 0 {
            of_crate.add(lines);
            functions.entry(path.to_owned()).or_default().add(lines);
            lines = 0;
        }
    }
    Ok(())
}

/// Returns a table of the largest generic functions. All copies of a function share a row.
fn heaviest(functions: &BTreeMap<String, Weight>) -> String {
    let mut all: Vec<_> = functions.iter().filter(|(_, weight)| weight.copies > 1).collect();
    all.sort_by_key(|(_, weight)| std::cmp::Reverse(weight.lines));
    let mut table = format!("{:>9} {:>7}  generic function\n", "lines", "copies");
    for (name, Weight { lines, copies }) in all.iter().take(HEAVIEST) {
        let _ = writeln!(table, "{lines:>9} {copies:>7}  {name}");
    }
    table
}

/// Returns the table of crates with their budgets, and which crates exceed them.
fn compare(crates: &BTreeMap<String, Weight>) -> (String, Vec<String>) {
    let mut rows: BTreeMap<&str, Weight> = BTreeMap::new();
    for (name, weight) in crates {
        let ours = budgets().map(|(name, _)| name).find(|own| own.replace('-', "_") == *name);
        let row = rows.entry(ours.unwrap_or(OTHERS)).or_default();
        row.lines += weight.lines;
        row.copies += weight.copies;
    }
    let mut table = format!("{:<20} {:>9} {:>9} {:>9}\n", "crate", "functions", "lines", "budget");
    let mut over = Vec::new();
    for (name, Weight { lines, copies }) in &rows {
        let budget = budgets().find(|(row, _)| row == name).map_or(0, |(_, lines)| lines);
        let mark = if *lines > budget { "  over its budget" } else { "" };
        let _ = writeln!(table, "{name:<20} {copies:>9} {lines:>9} {budget:>9}{mark}");
        if *lines > budget {
            over.push(format!("{name} has {}", lines - budget));
        }
    }
    let sum: usize = rows.values().map(|weight| weight.lines).sum();
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
        let weight = |lines| Weight { lines, copies: 1 };
        let (name, budget) = budgets().next().expect("CONTRIBUTING.md has the table");
        let crates = [(name.replace('-', "_"), weight(budget + 2))].into();
        let (table, over) = compare(&crates);
        assert!(table.contains("over its budget"), "{table}");
        assert_eq!(over, [format!("{name} has 2")]);
    }
}
