//! Descriptions of tools' command lines.

use strsim::levenshtein;

/// A description of a tool's command line.
#[derive(Debug)]
pub struct Grammar {
    /// The tool's name in the heading of its options, whatever name it is called by.
    pub name: &'static str,
    /// The lines about the tool's purpose in its help.
    pub overview: &'static str,
    /// The output of `--version`.
    pub version: &'static str,
    /// The tool's options. If a misspelled option is equally similar to several options, the first
    /// is suggested.
    pub options: &'static [Spec],
    /// The help text for the positional argument, of which there is at most one; `None` if none is
    /// allowed.
    pub positional: Option<&'static str>,
}

/// An option.
#[derive(Debug)]
pub struct Spec {
    /// The option's name without dashes.
    pub name: &'static str,
    /// The kind of the option's value.
    pub value: Value,
    /// The placeholder for the option's value in the help.
    pub placeholder: &'static str,
    /// The lines of the description in the help.
    pub help: &'static str,
    /// Whether the option is required.
    pub required: bool,
}

/// The value of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// No value, for options that end the tool, like `--help`.
    Nothing,
    /// No value, or a boolean after `=`.
    Flag,
    /// Any text; the last value wins.
    Text,
    /// Any text; each value is added to a list.
    List,
    /// Texts separated by commas; each is added to a list.
    CommaList,
    /// A signed integer of 32 bits.
    Integer,
    /// An unsigned integer of 32 bits.
    Unsigned,
}

impl Grammar {
    pub(super) fn find(&self, name: &str) -> Option<&'static Spec> {
        self.options.iter().chain(GENERIC).chain([&SHORT_HELP]).find(|option| option.name == name)
    }
}

/// The options of all tools, except for [`SHORT_HELP`].
pub(super) const GENERIC: &[Spec] = &[
    ending("help", "Display available options (--help-hidden for more)"),
    ending("help-hidden", "Display all available options"),
    ending("help-list", "Display list of available options (--help-list-hidden for more)"),
    ending("help-list-hidden", "Display list of all available options"),
    flag("print-all-options", "Accepted, but ignored"),
    flag("print-options", "Accepted, but ignored"),
    ending("version", "Display the version of this program"),
];

/// The `-h` flag, which is neither listed nor suggested. It takes effect after all arguments are
/// accepted.
static SHORT_HELP: Spec = flag("h", "");

/// Returns an option that makes the tool exit, such as `--help`.
const fn ending(name: &'static str, help: &'static str) -> Spec {
    option(name, Value::Nothing, "", help)
}

/// Returns an option without a required value.
pub const fn flag(name: &'static str, help: &'static str) -> Spec {
    option(name, Value::Flag, "", help)
}

/// Returns an option that is not required.
pub const fn option(
    name: &'static str,
    value: Value,
    placeholder: &'static str,
    help: &'static str,
) -> Spec {
    Spec { name, value, placeholder, help, required: false }
}

/// Returns the dashes before a name: one before a single letter, otherwise two.
pub(super) fn dashes(name: &str) -> &'static str {
    if name.len() == 1 { "-" } else { "--" }
}

/// Returns `text` with the name in it replaced by that of the most similar option. If several
/// options are equally similar, uses the first. Compares an option without a value with the whole
/// text, and any other option with the part before `=`.
pub(super) fn nearest(text: &str, options: impl Iterator<Item = &'static Spec>) -> Option<String> {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    let changes = |option: &&Spec| {
        levenshtein(if option.value == Value::Nothing { text } else { name }, option.name)
    };
    let option = options.min_by_key(changes)?;
    Some(match value {
        _ if option.value == Value::Nothing => option.name.to_owned(),
        "" => option.name.to_owned(),
        _ => format!("{}={value}", option.name),
    })
}
