//! From arguments to values.

use super::grammar::GENERIC;
use super::nearest::nearest;
use super::{Grammar, Spec, Value, help, number, response_file, split_once};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::path::Path;

/// What a command line comes to.
#[derive(Debug)]
pub enum Outcome {
    /// The tool does its work.
    Run(Parsed),
    /// It ends.
    Exit {
        /// For standard output.
        stdout: String,
        /// For standard error.
        stderr: String,
        /// The exit status.
        status: u8,
    },
}

/// The values of a command line.
#[derive(Debug, Default)]
pub struct Parsed {
    values: HashMap<&'static str, Vec<OsString>>,
    positional: Option<OsString>,
}

impl Parsed {
    /// Whether a flag stands; `None` if it is not there at all.
    pub fn flag(&self, name: &str) -> Option<bool> {
        self.last(name).map(|value| truth(value) == Some(true))
    }

    /// The last value of an option.
    pub fn last(&self, name: &str) -> Option<&OsStr> {
        self.all(name).last().map(OsString::as_os_str)
    }

    /// The last value of an option that takes a number.
    pub fn number(&self, name: &str) -> Option<i64> {
        self.last(name).and_then(OsStr::to_str).and_then(number::parse)
    }

    /// All values of an option, in order.
    pub fn all(&self, name: &str) -> &[OsString] {
        self.values.get(name).map_or(&[], Vec::as_slice)
    }

    /// The argument that is no option.
    pub fn positional(&self) -> Option<&OsStr> {
        self.positional.as_deref()
    }
}

pub(super) fn parse(grammar: &Grammar, program: &str, arguments: impl IntoIterator<Item = OsString>) -> Outcome {
    let mut run = Run { grammar, program, errors: String::new(), parsed: Parsed::default(), surplus: false };
    if let Err(stdout) = run.arguments(response_file::expand(arguments)) {
        return Outcome::Exit { stdout, stderr: run.errors, status: 0 };
    }
    if run.surplus {
        run.error(&format!(
            "Too many positional arguments specified!\n\
             Can specify at most 1 positional arguments: See: {program} --help"
        ));
    }
    for option in grammar.options.iter().filter(|option| option.required) {
        if run.parsed.all(option.name).is_empty() {
            run.value_error(option, "must be specified at least once!");
        }
    }
    match run.errors.is_empty() {
        true => Outcome::Run(run.parsed),
        false => Outcome::Exit { stdout: String::new(), stderr: run.errors, status: 1 },
    }
}

struct Run<'a> {
    grammar: &'a Grammar,
    program: &'a str,
    errors: String,
    parsed: Parsed,
    /// Whether there is more than one argument that is no option.
    surplus: bool,
}

impl Run<'_> {
    /// Takes all arguments; an error is the text of an option that ends the tool at once.
    fn arguments(&mut self, arguments: Vec<OsString>) -> Result<(), String> {
        let mut arguments = arguments.into_iter();
        let mut options_end = false;
        while let Some(argument) = arguments.next() {
            let Some(text) = option_text(&argument).filter(|_| !options_end) else {
                self.positional(argument);
                continue;
            };
            if text.is_empty() {
                options_end = true;
                continue;
            }
            let (name, value) = parts(&text);
            match self.grammar.find(&name) {
                Some(option) => self.option(option, value, &mut arguments)?,
                None => self.group(&argument, &text, &mut arguments)?,
            }
        }
        Ok(())
    }

    /// Options of one letter may stand together behind one dash, and the last of them may have a value.
    fn group(
        &mut self,
        argument: &OsStr,
        text: &OsStr,
        rest: &mut impl Iterator<Item = OsString>,
    ) -> Result<(), String> {
        let mut text = text.to_string_lossy().into_owned();
        while let Some(letter) = text.chars().next() {
            let Some(option) = self.grammar.find(letter.encode_utf8(&mut [0; 4])) else { break };
            let behind = text.split_off(letter.len_utf8());
            if behind.is_empty() || behind.starts_with('=') {
                return self.option(option, behind.strip_prefix('=').map(OsString::from), rest);
            }
            if option.value != Value::Flag {
                self.value_error(option, "may not occur within a group!");
                break;
            }
            self.option(option, None, rest)?;
            text = behind;
        }
        self.unknown(argument, &text);
        Ok(())
    }

    fn positional(&mut self, argument: OsString) {
        match self.grammar.positional {
            None => self.unknown_argument(&argument),
            Some(_) if self.parsed.positional.is_none() => self.parsed.positional = Some(argument),
            Some(_) => self.surplus = true,
        }
    }

    fn option(
        &mut self,
        option: &'static Spec,
        value: Option<OsString>,
        rest: &mut impl Iterator<Item = OsString>,
    ) -> Result<(), String> {
        if let (Value::Nothing, Some(value)) = (option.value, &value) {
            self.value_error(option, &format!("does not allow a value! '{}' specified.", value.display()));
            return Ok(());
        }
        let value = match option.value {
            Value::Nothing | Value::Flag => Some(value.unwrap_or_default()),
            _ => value.or_else(|| rest.next()),
        };
        let Some(value) = value else {
            self.value_error(option, "requires a value!");
            return Ok(());
        };
        let shown = value.to_string_lossy().into_owned();
        let wrong = match option.value {
            Value::Flag if truth(&value).is_none() => {
                Some(format!("'{shown}' is invalid value for boolean argument! Try 0 or 1"))
            }
            Value::Integer if number::parse(&shown).and_then(|number| i32::try_from(number).ok()).is_none() => {
                Some(format!("'{shown}' value invalid for integer argument!"))
            }
            Value::Unsigned if number::parse(&shown).and_then(|number| u32::try_from(number).ok()).is_none() => {
                Some(format!("'{shown}' value invalid for uint argument!"))
            }
            _ => None,
        };
        if let Some(wrong) = wrong {
            self.value_error(option, &wrong);
            return Ok(());
        }
        if let Some(text) = self.generic(option) {
            return Err(text);
        }
        let values = self.parsed.values.entry(option.name).or_default();
        match option.value {
            Value::CommaList => {
                let mut rest = value;
                while let Some((item, behind)) = split_once(&rest, b',') {
                    values.push(item);
                    rest = behind;
                }
                values.push(rest);
            }
            _ => values.push(value),
        }
        Ok(())
    }

    /// What an option that all tools have prints before it ends them.
    fn generic(&self, option: &Spec) -> Option<String> {
        if option.value != Value::Nothing {
            return None;
        }
        match option.name {
            "version" => Some(self.grammar.version.to_owned()),
            "help" => Some(help::text(self.grammar, self.program, true, false)),
            "help-hidden" => Some(help::text(self.grammar, self.program, true, true)),
            "help-list" => Some(help::text(self.grammar, self.program, false, false)),
            "help-list-hidden" => Some(help::text(self.grammar, self.program, false, true)),
            _ => None,
        }
    }

    /// An argument that is no option. `text` is what is left of it, behind the options that could stand together.
    fn unknown(&mut self, argument: &OsStr, text: &str) {
        self.unknown_argument(argument);
        let options = GENERIC.iter().chain(self.grammar.options);
        if let Some(meant) = nearest(text, options) {
            self.error(&format!("Did you mean '{}{meant}'?", dashes(&meant)));
        }
    }

    fn unknown_argument(&mut self, argument: &OsStr) {
        let program = self.program;
        let argument = argument.to_string_lossy();
        self.error(&format!("Unknown command line argument '{argument}'.  Try: '{program} --help'"));
    }

    fn value_error(&mut self, option: &Spec, what: &str) {
        self.error(&format!("for the {}{} option: {what}", dashes(option.name), option.name));
    }

    /// These messages begin with the name of the file that runs, not with how it was called.
    fn error(&mut self, what: &str) {
        let name = Path::new(self.program).file_name().map_or(self.program.into(), OsStr::to_string_lossy);
        writeln!(self.errors, "{name}: {what}").expect("a String takes all");
    }
}

/// The name of an option, and its value.
fn parts(text: &OsStr) -> (Cow<'_, str>, Option<OsString>) {
    match split_once(text, b'=') {
        Some((name, value)) => (name.to_string_lossy().into_owned().into(), Some(value)),
        None => (text.to_string_lossy(), None),
    }
}

/// What stands behind the dashes of an option; `None` for what is none, empty for the `--` that ends them.
fn option_text(argument: &OsStr) -> Option<OsString> {
    let (before, rest) = split_once(argument, b'-')?;
    if !before.is_empty() || rest.is_empty() {
        return None;
    }
    match split_once(&rest, b'-') {
        Some((before, rest)) if before.is_empty() => Some(rest),
        _ => Some(rest),
    }
}

/// The dashes before a name: one before a single letter.
pub(super) fn dashes(name: &str) -> &'static str {
    if name.len() == 1 { "-" } else { "--" }
}

fn truth(value: &OsStr) -> Option<bool> {
    match value.to_str()? {
        "" | "true" | "TRUE" | "True" | "1" => Some(true),
        "false" | "FALSE" | "False" | "0" => Some(false),
        _ => None,
    }
}
