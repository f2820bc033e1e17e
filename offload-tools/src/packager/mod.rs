//! `llvm-offload-binary`, also called `clang-offload-packager`. Packs images for devices, with
//! their strings, into a file of offload binaries, and extracts images from such files.
//!
//! | module | does |
//! |---|---|
//! | `arguments` | parses the argument of `--image` |
//! | `pack` | writes offload binaries from files |
//! | `images` | reads images from offload binaries, or from files that contain them |
//! | `extract` | extracts images, also from offload binaries inside images |
//!
//! Several output files are not written as a unit. After an error, the files written earlier
//! remain, as with LLVM's tool.

mod arguments;
mod extract;
mod images;
mod pack;

use crate::files::{self, Output};
use crate::llvm_args::{Grammar, Outcome, Parsed, Value, flag, option};
use anstyle::{AnsiColor, Style};
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

const GRAMMAR: Grammar = Grammar {
    name: "llvm-offload-binary",
    // LLVM's text, because users' scripts search for it.
    overview: "A utility for bundling several object files into a single binary.\n\
        The output binary can then be embedded into the host section table\n\
        to create a fatbinary containing offloading code.",
    version: concat!(
        "offload-tools LLVM version 22.1.8\n  offload-tools ",
        env!("CARGO_PKG_VERSION"),
        ".\n"
    ),
    options: &[
        option("o", Value::Text, "file", "Write output to <file>."),
        flag("archive", "Write extracted files to a static archive"),
        flag(
            "compress",
            "Write one compressed offload binary of version 3, which LLVM 24 and later read",
        ),
        option("compression-format", Value::Text, "string", "zlib or zstd; the default is zstd"),
        option("compression-level", Value::Integer, "int", "Compression level of the format"),
        option(
            "image",
            Value::List,
            "<key>=<value>,...",
            "List of key and value arguments. Required keywords are 'file' and 'triple'.",
        ),
    ],
    positional: Some("Extract from <file>."),
};

/// The tool's former name in LLVM.
const OLD_NAME: &str = "clang-offload-packager";

/// Runs the tool; the first of the `arguments` is the program's name.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut arguments = arguments.into_iter();
    let program = arguments.next().unwrap_or_default().to_string_lossy().into_owned();
    let parsed = match GRAMMAR.parse(&program, arguments) {
        Outcome::Run(parsed) => parsed,
        Outcome::Exit { stdout, stderr, status } => {
            print(&stdout);
            eprint!("{stderr}");
            return status.into();
        }
    };
    let stem = Path::new(&program).file_stem().unwrap_or_default().to_string_lossy();
    if stem.ends_with(OLD_NAME) {
        let warning = label("warning", AnsiColor::Magenta);
        anstream::eprintln!(
            "{warning} '{OLD_NAME}' is deprecated. Use 'llvm-offload-binary' instead."
        );
    }
    match work(&program, &parsed) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            anstream::eprintln!("{program}: {} {message}", label("error", AnsiColor::Red));
            ExitCode::FAILURE
        }
    }
}

fn work(program: &str, parsed: &Parsed) -> Result<(), String> {
    if parsed.flag("h") == Some(true) {
        print(&GRAMMAR.help_list(program));
        return Ok(());
    }
    // Treat an empty name as missing.
    let input = parsed.positional().filter(|input| !input.is_empty());
    let output = parsed.last("o").filter(|output| !output.is_empty());
    let images = parsed.all("image");
    match (input, output) {
        (None, None) => {
            print(&GRAMMAR.help_list(program));
            Ok(())
        }
        (Some(_), Some(_)) => Err(
            "Packaging to an output file and extracting from an input file are mutually exclusive."
                .to_owned(),
        ),
        (None, Some(output)) => pack::pack(images, output, pack::Compression::of(parsed)?),
        (Some(input), None) => {
            extract::extract(program, input, images, parsed.flag("archive") == Some(true))
        }
    }
}

fn warn(program: &str, what: &str) {
    anstream::eprintln!("{program}: {} {what}", label("warning", AnsiColor::Magenta));
}

/// Returns a label such as `error:`, in colour if the terminal supports it.
fn label(text: &str, color: AnsiColor) -> String {
    let style = Style::new().bold().fg_color(Some(color.into()));
    format!("{style}{text}:{style:#}")
}

/// Writes to standard output. A closed pipe is not an error.
fn print(text: &str) {
    let _ = io::stdout().write_all(text.as_bytes());
}

/// Writes a file, or standard output for `-`.
fn write(path: &OsStr, fill: impl FnOnce(&mut Output) -> io::Result<()>) -> Result<(), String> {
    write_to(Output::named(path), path, fill)
}

/// Writes the contents of an open output.
fn write_to(
    output: io::Result<Output>,
    path: &OsStr,
    fill: impl FnOnce(&mut Output) -> io::Result<()>,
) -> Result<(), String> {
    let mut output = output.map_err(|error| files::os_message(&error))?;
    fill(&mut output)
        .and_then(|()| output.commit())
        .map_err(|error| format!("'{}': {}", path.display(), files::os_message(&error)))
}
