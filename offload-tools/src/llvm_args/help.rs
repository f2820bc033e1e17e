//! The text of `--help`.

use super::grammar::{GENERIC, dashes};
use super::{Grammar, Spec, Value};
use std::ffi::OsStr;
use std::fmt::Write;
use std::path::Path;

/// Whether an option appears only in the hidden help.
pub(super) fn is_hidden(option: &Spec) -> bool {
    matches!(
        option.name,
        "help-hidden" | "help-list-hidden" | "print-options" | "print-all-options"
    )
}

impl Grammar {
    /// Returns the help for `-h`, or for a tool without work to do: all options in one list.
    pub fn help_list(&self, program: &str) -> String {
        text(self, program, false, false)
    }
}

/// Returns a tool's help, in groups or in one list, with or without hidden options.
pub(super) fn text(grammar: &Grammar, program: &str, groups: bool, hidden: bool) -> String {
    let name = Path::new(program).file_name().map_or(program.into(), OsStr::to_string_lossy);
    let mut out = format!("OVERVIEW: {}\n\nUSAGE: {name} [options]", grammar.overview);
    if let Some(positional) = grammar.positional {
        write!(out, " {positional}").expect("writing to a String cannot fail");
    }
    out.push_str("\n\nOPTIONS:\n");
    let width =
        |options: &[&Spec]| options.iter().map(|option| spelled(option).len()).max().unwrap_or(0);
    let generic: Vec<&Spec> =
        GENERIC.iter().filter(|option| hidden || !is_hidden(option)).collect();
    let own: Vec<&Spec> = grammar.options.iter().collect();
    if groups {
        let width = width(&generic).max(width(&own));
        out.push_str("\nGeneric Options:\n\n");
        list(&mut out, generic, width);
        write!(out, "\n{} options:\n\n", grammar.name).expect("writing to a String cannot fail");
        list(&mut out, own, width);
    } else {
        let mut all = own;
        all.extend(
            generic.into_iter().filter(|option| hidden || !option.name.starts_with("help-")),
        );
        let width = width(&all);
        list(&mut out, all, width);
    }
    out
}

fn list(out: &mut String, mut options: Vec<&Spec>, width: usize) {
    options.sort_by_key(|option| option.name);
    for option in options {
        let mut lines = option.help.lines();
        let first = lines.next().unwrap_or_default();
        writeln!(out, "  {:width$} - {first}", spelled(option))
            .expect("writing to a String cannot fail");
        for line in lines {
            writeln!(out, "  {:width$}   {line}", "").expect("writing to a String cannot fail");
        }
    }
}

fn spelled(option: &Spec) -> String {
    let (dashes, name, value) = (dashes(option.name), option.name, option.placeholder);
    match (option.value, dashes) {
        (Value::Nothing | Value::Flag, _) => format!("{dashes}{name}"),
        (_, "-") => format!("{dashes}{name} <{value}>"),
        _ => format!("{dashes}{name}=<{value}>"),
    }
}
