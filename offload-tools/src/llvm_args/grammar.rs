//! The grammar of a tool's command line.

/// A tool's command line.
#[derive(Debug)]
pub struct Grammar {
    /// The tool's purpose, for its help: lines.
    pub overview: &'static str,
    /// The text that prints the version.
    pub version: &'static str,
    /// The tool's options. Where a misspelled one resembles several alike, the first of them is
    /// proposed.
    pub options: &'static [Spec],
    /// The description of the one argument that is no option, for the help; `None` if none is
    /// allowed.
    pub positional: Option<&'static str>,
}

/// An option.
#[derive(Debug)]
pub struct Spec {
    /// Its name without dashes.
    pub name: &'static str,
    /// The kind of its value.
    pub value: Value,
    /// The placeholder of its value in the help.
    pub placeholder: &'static str,
    /// The description for the help: lines.
    pub help: &'static str,
    /// Whether the tool refuses to run without it.
    pub required: bool,
}

/// The value of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// Nothing: what ends the tool, like `--help`.
    Nothing,
    /// Nothing, or a truth value behind `=`.
    Flag,
    /// Any text; the last one counts.
    Text,
    /// Any text, each time one more of a list.
    List,
    /// Texts separated by commas, each time more of a list.
    CommaList,
    /// An integer of 32 bits with a sign.
    Integer,
    /// An integer of 32 bits without one.
    Unsigned,
}

impl Grammar {
    /// The option of that name.
    pub(super) fn find(&self, name: &str) -> Option<&'static Spec> {
        self.options.iter().chain(GENERIC).chain([&SHORT_HELP]).find(|option| option.name == name)
    }
}

/// The options that every tool has, but for [`SHORT_HELP`].
pub(super) const GENERIC: &[Spec] = &[
    generic("help", Value::Nothing, "Display available options (--help-hidden for more)"),
    generic("help-hidden", Value::Nothing, "Display all available options"),
    generic(
        "help-list",
        Value::Nothing,
        "Display list of available options (--help-list-hidden for more)",
    ),
    generic("help-list-hidden", Value::Nothing, "Display list of all available options"),
    generic("print-all-options", Value::Flag, "Accepted, and of no effect"),
    generic("print-options", Value::Flag, "Accepted, and of no effect"),
    generic("version", Value::Nothing, "Display the version of this program"),
];

/// `-h`, a flag that no list shows and no message proposes. It is for the tool to act on, when all
/// else is right.
static SHORT_HELP: Spec = generic("h", Value::Flag, "");

const fn generic(name: &'static str, value: Value, help: &'static str) -> Spec {
    Spec { name, value, placeholder: "", help, required: false }
}

/// The dashes before a name: one before a single letter.
pub(super) fn dashes(name: &str) -> &'static str {
    if name.len() == 1 { "-" } else { "--" }
}
