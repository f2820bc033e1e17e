//! `weight`: measures how much code the README's package makes rustc compile, in lines of LLVM IR.
//!
//! The lines are counted before any optimization. They neither depend on the machine nor on its
//! load, so CI compares them with a budget. `cargo xtask bench run cold` measures the seconds.

use crate::readme;
use crate::run::{self, Failure, Result};
use crate::setup::{self, Scope, Setup};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Flags that are added to rustc's. One unit for each crate, so that each crate is one file; a
/// generic function that several units need would be counted several times.
const FLAGS: &str = "--emit=llvm-ir -Cno-prepopulate-passes -Ccodegen-units=1 -Cdebuginfo=0";

/// The number of generic functions that are printed.
const HEAVIEST: usize = 10;

/// The row of all crates that are not ours.
const OTHERS: &str = "dependencies";

/// The lines and the number of copies of a function, or of all functions of a crate.
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

/// Runs `cargo xtask weight`.
pub fn command(args: &[String]) -> Result {
    if let Some(arg) = args.first() {
        return Err(Failure::Usage(format!("`weight` does not know `{arg}`")));
    }
    in_ci(&setup::prepare(Scope::All)?)
}

/// Prints both tables, and compares the weights with the budgets.
pub fn in_ci(setup: &Setup) -> Result {
    let folder = run::workspace().join("target/weight");
    let package = folder.join("package");
    // Files of an earlier version or compiler would be counted, too.
    let _ = fs::remove_dir_all(folder.join("target"));
    write_package(&package)?;
    let mut cargo = setup.cargo();
    cargo.args(["build", "--quiet", "--offline"]).current_dir(&package);
    cargo.env("CARGO_TARGET_DIR", folder.join("target")).env("CARGO_INCREMENTAL", "0");
    cargo.env("RUSTFLAGS", FLAGS).env_remove("CARGO_ENCODED_RUSTFLAGS");
    eprintln!("xtask weight: RUSTFLAGS=\"{FLAGS}\" cargo build, in {}", package.display());
    run::check(&mut cargo)?;
    let (mut crates, mut functions) = (BTreeMap::new(), BTreeMap::new());
    for file in files(&folder.join("target/debug"))? {
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

/// Writes the package of the README.
fn write_package(package: &Path) -> Result {
    let files = readme::package(&run::workspace())
        .map_err(|error| failed("read", &run::workspace().join("README.md"), &error))?;
    // A package of an earlier run may have other files.
    let _ = fs::remove_dir_all(package);
    files.iter().try_for_each(|(path, text)| write(&package.join(path), text))
}

/// Returns the files with LLVM IR that a build left in a profile's folder.
fn files(profile: &Path) -> Result<Vec<PathBuf>> {
    let list = |folder: &Path| -> Result<Vec<PathBuf>> {
        let entries = fs::read_dir(folder).map_err(|error| failed("list", folder, &error))?;
        Ok(entries.flatten().map(|entry| entry.path()).collect())
    };
    let mut all = list(&profile.join("deps"))?;
    for script in list(&profile.join("build"))? {
        all.extend(list(&script)?);
    }
    all.retain(|path| path.extension().is_some_and(|extension| extension == "ll"));
    Ok(all)
}

/// Adds the functions of a crate: each is the lines from `define` up to a line with `}`.
fn count(
    file: &Path,
    crates: &mut BTreeMap<String, Weight>,
    functions: &mut BTreeMap<String, Weight>,
) -> Result {
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let name = name.rsplit_once('-').map_or(&*name, |(name, _hash)| name);
    let of_crate = crates.entry(name.to_owned()).or_default();
    let mut current: Option<(&str, usize)> = None;
    let text = read(file)?;
    for line in text.lines() {
        if let Some(definition) = line.strip_prefix("define ") {
            let symbol = definition.split_once('@').map_or("", |(_, rest)| rest);
            current = Some((symbol.split(['(', '"']).find(|it| !it.is_empty()).unwrap_or(""), 0));
        }
        let Some((symbol, lines)) = &mut current else { continue };
        *lines += 1;
        if line == "}" {
            of_crate.add(*lines);
            functions.entry(path(symbol)).or_default().add(*lines);
            current = None;
        }
    }
    Ok(())
}

/// Returns a table of the functions with most lines; all copies of a generic function are one row.
fn heaviest(functions: &BTreeMap<String, Weight>) -> String {
    let mut all: Vec<_> = functions.iter().filter(|(_, weight)| weight.copies > 1).collect();
    all.sort_by_key(|(_, weight)| std::cmp::Reverse(weight.lines));
    let mut table = format!("{:>9} {:>7}  generic function\n", "lines", "copies");
    for (name, Weight { lines, copies }) in all.iter().take(HEAVIEST) {
        let _ = writeln!(table, "{lines:>9} {copies:>7}  {name}");
    }
    table
}

/// Returns the path of a function, without the hash that tells copies of a generic function apart.
/// Symbols of another scheme than rustc's `legacy` stay as they are.
fn path(symbol: &str) -> String {
    let mut parts = Vec::new();
    let mut rest = symbol.strip_prefix("_ZN").unwrap_or("");
    while let Some(digits) = rest.find(|c: char| !c.is_ascii_digit()).filter(|digits| *digits > 0) {
        let (size, name) = rest.split_at(digits);
        let size = size.parse().unwrap_or(usize::MAX);
        let (Some(part), Some(after)) = (name.get(..size), name.get(size..)) else { break };
        parts.push(part.strip_prefix('_').filter(|part| part.starts_with('$')).unwrap_or(part));
        rest = after;
    }
    // The last part is the hash.
    let (Some(_), false) = (parts.pop(), parts.is_empty()) else { return symbol.to_owned() };
    let mut path = parts.join("::");
    for (escape, sign) in ESCAPES {
        path = path.replace(escape, sign);
    }
    path
}

/// The signs of Rust's paths as they are in symbols.
const ESCAPES: [(&str, &str); 10] = [
    ("..", "::"),
    ("$LT$", "<"),
    ("$GT$", ">"),
    ("$RF$", "&"),
    ("$BP$", "*"),
    ("$C$", ","),
    ("$u20$", " "),
    ("$u5b$", "["),
    ("$u5d$", "]"),
    ("$u7b$$u7b$closure$u7d$$u7d$", "{closure}"),
];

/// Returns the table of crates beside their budgets, and what each crate has too much.
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

/// Returns the rows of the table "Weight" in CONTRIBUTING.md: a crate and its lines.
fn budgets() -> impl Iterator<Item = (&'static str, usize)> {
    crate::budget::section("## Weight")
        .filter_map(|(name, lines)| Some((name, lines.replace(',', "").parse().ok()?)))
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|error| failed("read", path, &error))
}

fn write(path: &Path, text: &str) -> Result {
    let folder = path.parent().expect("the path has a folder");
    fs::create_dir_all(folder).map_err(|error| failed("create", folder, &error))?;
    fs::write(path, text).map_err(|error| failed("write", path, &error))
}

fn failed(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::Failed(format!("cannot {what} {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_a_generic_function_have_one_name() {
        for (symbol, function) in [
            ("_ZN4core3ptr9drop_glue17h0123456789abcdefE", "core::ptr::drop_glue"),
            (
                "_ZN49_$LT$$u5b$T$u5d$$u20$as$u20$core..slice..Sort$GT$4sort17h0123456789abcdefE",
                "<[T] as core::slice::Sort>::sort",
            ),
            ("_RNvC3a1b", "_RNvC3a1b"),
            ("main", "main"),
        ] {
            assert_eq!(path(symbol), function);
        }
    }

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
