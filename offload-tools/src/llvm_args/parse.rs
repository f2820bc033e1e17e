//! Parses arguments into option values.

use super::grammar::{GENERIC, dashes, nearest};
use super::{Grammar, Spec, Value, help, number, response_file, split, split_once};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::path::Path;

/// The result of parsing a command line.
#[derive(Debug)]
pub enum Outcome {
    /// Run the tool with these values.
    Run(Parsed),
    /// Print these texts and exit.
    Exit {
        /// The text for standard output.
        stdout: String,
        /// The text for standard error.
        stderr: String,
        /// The exit status.
        status: u8,
    },
}

/// The values parsed from a command line.
#[derive(Debug, Default)]
pub struct Parsed {
    values: HashMap<&'static str, Vec<OsString>>,
    positional: Option<OsString>,
}

impl Parsed {
    /// Whether a flag is set; `None` if it is not on the command line.
    pub fn flag(&self, name: &str) -> Option<bool> {
        self.last(name).map(|value| truth(value) == Some(true))
    }

    /// Returns the last value of an option.
    pub fn last(&self, name: &str) -> Option<&OsStr> {
        self.all(name).last().map(OsString::as_os_str)
    }

    /// Returns the last value of an option whose values are numbers.
    pub fn number(&self, name: &str) -> Option<i64> {
        self.last(name).and_then(OsStr::to_str).and_then(number::parse)
    }

    /// Returns all values of an option, in order.
    pub fn all(&self, name: &str) -> &[OsString] {
        self.values.get(name).map_or(&[], Vec::as_slice)
    }

    /// Returns the argument that is not an option.
    pub fn positional(&self) -> Option<&OsStr> {
        self.positional.as_deref()
    }
}

impl Grammar {
    /// Parses a command line. `program` is the name by which the tool was called.
    pub fn parse(&self, program: &str, arguments: impl IntoIterator<Item = OsString>) -> Outcome {
        let mut run = Run {
            grammar: self,
            program,
            errors: String::new(),
            parsed: Parsed::default(),
            surplus: false,
        };
        if let Err(stdout) = run.arguments(response_file::expand(arguments)) {
            return Outcome::Exit { stdout, stderr: run.errors, status: 0 };
        }
        if run.surplus {
            run.error(&format!(
                "Too many positional arguments specified!\n\
                 Can specify at most 1 positional arguments: See: {program} --help"
            ));
        }
        for option in self.options.iter().filter(|option| option.required) {
            if run.parsed.all(option.name).is_empty() {
                run.value_error(option, "must be specified at least once!");
            }
        }
        if run.errors.is_empty() {
            Outcome::Run(run.parsed)
        } else {
            Outcome::Exit { stdout: String::new(), stderr: run.errors, status: 1 }
        }
    }
}

struct Run<'a> {
    grammar: &'a Grammar,
    program: &'a str,
    errors: String,
    parsed: Parsed,
    /// Whether there is more than one argument that is not an option.
    surplus: bool,
}

impl Run<'_> {
    /// Processes all arguments. If an option such as `--help` ends the tool, returns the text to
    /// print as `Err`.
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
            let (name, value) = parts(text);
            match self.grammar.find(&name) {
                Some(option) => self.option(option, value, &mut arguments)?,
                None => self.group(&argument, text, &mut arguments)?,
            }
        }
        Ok(())
    }

    /// Processes one-letter options joined after one dash. The last option may have a value.
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
            self.value_error(
                option,
                &format!("does not allow a value! '{}' specified.", value.display()),
            );
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
        let number = number::parse(&shown);
        let wrong = match option.value {
            Value::Flag if truth(&value).is_none() => {
                Some(format!("'{shown}' is invalid value for boolean argument! Try 0 or 1"))
            }
            Value::Integer if number.and_then(|it| i32::try_from(it).ok()).is_none() => {
                Some(format!("'{shown}' value invalid for integer argument!"))
            }
            Value::Unsigned if number.and_then(|it| u32::try_from(it).ok()).is_none() => {
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
            Value::CommaList => values.extend(split(&value)),
            _ => values.push(value),
        }
        Ok(())
    }

    /// Returns the output of a generic option that ends the tool, such as `--version`. Returns
    /// `None` for other options.
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

    /// Reports an unknown option. `text` is the rest of the argument after any joined options that
    /// were recognized.
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
        self.error(&format!(
            "Unknown command line argument '{argument}'.  Try: '{program} --help'"
        ));
    }

    fn value_error(&mut self, option: &Spec, what: &str) {
        self.error(&format!("for the {}{} option: {what}", dashes(option.name), option.name));
    }

    /// Adds an error line to `errors`. The line starts with the program's file name, without the
    /// path.
    fn error(&mut self, what: &str) {
        let name =
            Path::new(self.program).file_name().map_or(self.program.into(), OsStr::to_string_lossy);
        writeln!(self.errors, "{name}: {what}").expect("writing to a String cannot fail");
    }
}

/// Splits an option into name and value.
fn parts(text: &OsStr) -> (Cow<'_, str>, Option<OsString>) {
    match split_once(text, b'=') {
        Some((name, value)) => (name.to_string_lossy(), Some(value.to_owned())),
        None => (text.to_string_lossy(), None),
    }
}

/// Returns the text after an option's dashes. Returns an empty text for the `--` that ends the
/// options, and `None` if the argument is not an option.
fn option_text(argument: &OsStr) -> Option<&OsStr> {
    let (before, rest) = split_once(argument, b'-')?;
    if !before.is_empty() || rest.is_empty() {
        return None;
    }
    match split_once(rest, b'-') {
        Some((before, rest)) if before.is_empty() => Some(rest),
        _ => Some(rest),
    }
}

fn truth(value: &OsStr) -> Option<bool> {
    match value.to_str()? {
        "" | "true" | "TRUE" | "True" | "1" => Some(true),
        "false" | "FALSE" | "False" | "0" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: &[Spec] = &[
        option("o", Value::Text),
        option("image", Value::List),
        option("targets", Value::CommaList),
        option("align", Value::Unsigned),
        option("level", Value::Integer),
        option("list", Value::Flag),
    ];
    const WITHOUT_POSITIONAL: Grammar = Grammar {
        name: "tool",
        overview: "Does it.",
        version: "1\n",
        options: OPTIONS,
        positional: None,
    };
    const GRAMMAR: Grammar = Grammar { positional: Some("<file>"), ..WITHOUT_POSITIONAL };
    const REQUIRED: Grammar = Grammar {
        options: &[
            Spec { required: true, ..option("type", Value::Text) },
            option("list", Value::Flag),
        ],
        ..WITHOUT_POSITIONAL
    };

    const fn option(name: &'static str, value: Value) -> Spec {
        Spec { name, value, placeholder: "x", help: "Says it.", required: false }
    }

    fn outcome(grammar: &Grammar, arguments: &[&str]) -> Outcome {
        grammar.parse("bin/tool", arguments.iter().map(OsString::from))
    }

    fn parsed(arguments: &[&str]) -> Parsed {
        match outcome(&GRAMMAR, arguments) {
            Outcome::Run(parsed) => parsed,
            exit @ Outcome::Exit { .. } => panic!("{arguments:?}: {exit:?}"),
        }
    }

    /// Returns what a tool prints to stderr if it exits with status 1 because of these arguments.
    fn errors(grammar: &Grammar, arguments: &[&str]) -> String {
        match outcome(grammar, arguments) {
            Outcome::Exit { stdout, stderr, status: 1 } if stdout.is_empty() => stderr,
            other => panic!("{arguments:?}: {other:?}"),
        }
    }

    /// Returns the standard output of a command line that makes the tool exit with status 0.
    fn printed(arguments: &[&str]) -> String {
        match outcome(&GRAMMAR, arguments) {
            Outcome::Exit { stdout, status: 0, .. } => stdout,
            other => panic!("{arguments:?}: {other:?}"),
        }
    }

    #[test]
    fn dashes_and_values() {
        for arguments in [
            ["-o", "a"].as_slice(),
            &["--o", "a"],
            &["-o=a"],
            &["--o=a"],
            &["-o", "b", "-o", "a"],
            &["-o=", "-o=a"],
        ] {
            assert_eq!(parsed(arguments).last("o"), Some(OsStr::new("a")), "{arguments:?}");
        }
        // A value may look like an option.
        assert_eq!(parsed(&["-o", "--list"]).last("o"), Some(OsStr::new("--list")));
        assert_eq!(parsed(&["-o=a=b"]).last("o"), Some(OsStr::new("a=b")));
        assert_eq!(parsed(&[]).last("o"), None);
    }

    #[test]
    fn lists() {
        assert_eq!(parsed(&["--image=a,b", "--image", "c"]).all("image"), ["a,b", "c"]);
        assert_eq!(
            parsed(&["--targets=a,b", "-targets", "c,,d"]).all("targets"),
            ["a", "b", "c", "", "d"]
        );
        assert!(parsed(&[]).all("image").is_empty());
    }

    #[test]
    fn flags() {
        for (argument, value) in [
            ("--list", true),
            ("-list=1", true),
            ("--list=TRUE", true),
            ("--list=", true),
            ("--list=0", false),
            ("-list=False", false),
        ] {
            assert_eq!(parsed(&[argument]).flag("list"), Some(value), "{argument}");
        }
        assert_eq!(parsed(&["--list", "--list=0"]).flag("list"), Some(false));
        assert_eq!(parsed(&[]).flag("list"), None);
        // An argument after a flag is not the flag's value.
        assert_eq!(parsed(&["--list", "0"]).positional(), Some(OsStr::new("0")));
        let message = "tool: for the --list option: 'yes' is invalid value for boolean argument! Try 0 or 1\n";
        assert_eq!(errors(&GRAMMAR, &["--list=yes"]), message);
    }

    #[test]
    fn numbers() {
        assert_eq!(parsed(&["--align=0x10", "--level", "-3"]).number("align"), Some(16));
        assert_eq!(parsed(&["--align=0x10", "--level", "-3"]).number("level"), Some(-3));
        let cases = [
            ("--align=-1", "align", "uint"),
            ("--align=4294967296", "align", "uint"),
            ("--level=x", "level", "integer"),
        ];
        for (argument, name, kind) in cases {
            let value = argument.split_once('=').unwrap().1;
            let message = format!(
                "tool: for the --{name} option: '{value}' value invalid for {kind} argument!\n"
            );
            assert_eq!(errors(&GRAMMAR, &[argument]), message);
        }
    }

    #[test]
    fn arguments_that_are_no_options() {
        assert_eq!(parsed(&["a", "--list"]).positional(), Some(OsStr::new("a")));
        assert_eq!(parsed(&["-"]).positional(), Some(OsStr::new("-")));
        assert_eq!(parsed(&["--", "--list"]).positional(), Some(OsStr::new("--list")));
        assert_eq!(parsed(&[""]).positional(), Some(OsStr::new("")));
        let surplus = "tool: Too many positional arguments specified!\n\
            Can specify at most 1 positional arguments: See: bin/tool --help\n";
        assert_eq!(errors(&GRAMMAR, &["a", "b", "c"]), surplus);
        let unknown = "tool: Unknown command line argument 'a'.  Try: 'bin/tool --help'\n";
        assert_eq!(errors(&WITHOUT_POSITIONAL, &["a"]), unknown);
    }

    #[test]
    fn what_is_missing() {
        assert_eq!(errors(&GRAMMAR, &["-o"]), "tool: for the -o option: requires a value!\n");
        assert_eq!(
            errors(&REQUIRED, &["--list"]),
            "tool: for the --type option: must be specified at least once!\n"
        );
        assert!(matches!(outcome(&REQUIRED, &["--type=x"]), Outcome::Run(_)));
        // All errors are reported, not only the first.
        let errors = errors(&REQUIRED, &["--list=x", "--bogus", "--type"]);
        assert_eq!(errors.lines().count(), 5, "{errors}");
    }

    #[test]
    fn unknown_options_and_what_may_be_meant() {
        for (argument, meant) in [
            ("--lost", "--list"),
            ("-lst=1", "--list=1"),
            ("--imag=a=b", "--image=a=b"),
            ("--x", "-o"),
            ("--x=1", "--o=1"),
            ("--versio=3", "--version"),
            ("--help-hid", "--help-hidden"),
            ("--print-option=0", "--print-options=0"),
            ("--imge=", "--image"),
            // The first letter was parsed as the `-h` flag, so the suggestion replaces only the
            // rest, which is `el=3`.
            ("--hel=3", "--o=3"),
        ] {
            let expected = format!(
                "tool: Unknown command line argument '{argument}'.  Try: 'bin/tool --help'\ntool: Did you mean '{meant}'?\n"
            );
            assert_eq!(errors(&GRAMMAR, &[argument]), expected);
        }
    }

    #[test]
    fn options_of_one_letter_stand_together() {
        assert_eq!(parsed(&["-h"]).flag("h"), Some(true));
        let both = parsed(&["-hho", "a"]);
        assert_eq!((both.flag("h"), both.last("o")), (Some(true), Some(OsStr::new("a"))));
        assert_eq!(parsed(&["-ho=a"]).last("o"), Some(OsStr::new("a")));
        assert_eq!(parsed(&["-hh=0"]).flag("h"), Some(false));
        let group = "tool: for the -o option: may not occur within a group!\n\
            tool: Unknown command line argument '-oname'.  Try: 'bin/tool --help'\n\
            tool: Did you mean '-o'?\n";
        assert_eq!(errors(&GRAMMAR, &["-oname"]), group);
    }

    #[test]
    fn what_ends_the_tool_at_once() {
        assert_eq!(printed(&["--version"]), "1\n");
        assert_eq!(printed(&["--bogus", "--version", "--align=x"]), "1\n");
        let help = printed(&["--help"]);
        assert!(help.starts_with(
            "OVERVIEW: Does it.\n\nUSAGE: tool [options] <file>\n\nOPTIONS:\n\nGeneric Options:\n"
        ));
        assert!(help.contains("  -o <x>        - Says it.\n"), "{help}");
        assert!(printed(&["--help-hidden"]).contains("--print-options"));
        assert!(!printed(&["--help-list"]).contains("Generic Options"));
        let message = "tool: for the --help option: does not allow a value! '1' specified.\n";
        assert_eq!(errors(&GRAMMAR, &["--help=1"]), message);
    }

    #[test]
    fn files_of_arguments() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path();
        let file = |name: &str, text: &str| {
            std::fs::write(folder.join(name), text).unwrap();
            format!("@{}", folder.join(name).display())
        };
        let inner = file("inner", "--targets=c");
        let outer = file("outer", &format!("-o \"a b\" --targets=b {inner} d"));
        let all = parsed(&["--targets=a", &outer]);
        assert_eq!(
            (all.last("o"), all.positional()),
            (Some(OsStr::new("a b")), Some(OsStr::new("d")))
        );
        assert_eq!(all.all("targets"), ["a", "b", "c"]);
        // A file that includes itself must not be read forever.
        let own = folder.join("own");
        let own = file("own", &format!("@{}", own.display()));
        assert_eq!(parsed(&[&own]).positional(), Some(OsStr::new(&own)));
        assert_eq!(parsed(&["@nothing"]).positional(), Some(OsStr::new("@nothing")));
    }
}
