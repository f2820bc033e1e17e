//! The command line of `cargo offload`.

use super::{Error, Result};
use super::{bundle, completions, doctor, extract, ls, out, pack, reach, select, size, verify};
use crate::cargo_offload;
use crate::files::Input;
use clap::builder::Styles;
use clap::{ColorChoice, CommandFactory, Parser, Subcommand};
use offload_format::inventory::Inventory;
use std::cell::RefCell;
use std::env;
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

const STYLES: Styles = Styles::styled()
    .header(crate::text::HEADING)
    .usage(crate::text::HEADING)
    .literal(crate::text::TARGET)
    .error(crate::text::BAD)
    .invalid(crate::text::WARNING)
    .valid(crate::text::GOOD);

/// Shows and creates files that contain GPU code, and tests kernels on the CPU
#[derive(Debug, Parser)]
#[command(name = "cargo-offload", bin_name = "cargo offload", version)]
#[command(styles = STYLES, max_term_width = 80)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,

    #[command(flatten)]
    global: Global,
}

#[derive(Debug, clap::Args)]
struct Global {
    /// When to use colour: auto, always, never [default: auto]
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    #[arg(hide_possible_values = true, hide_default_value = true)]
    color: ColorChoice,

    /// Maximum size to decompress at once, or to unpack from an archive: 512M, 4G
    #[arg(long, global = true, value_name = "SIZE", value_parser = parse_size)]
    max_size: Option<u64>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the device code in files
    Ls(ls::Args),
    /// Write images to files
    Extract(extract::Args),
    /// Make an offload binary
    Pack(pack::Args),
    /// Make a bundle
    Bundle(bundle::Args),
    /// Show which image a device gets, and explain the choice
    Select(select::Args),
    /// Show which GPUs get an image, and how they run it
    Reach(reach::Args),
    /// Check files for errors
    Verify(verify::Args),
    /// Show how large each part of a file is
    Size(size::Args),
    /// Show what this machine can build, and with which compilers
    Doctor(doctor::Args),
    /// Run tests on the CPU, and check the kernels that they launch
    #[command(override_help = cargo_offload::arguments::HELP)]
    Test {
        /// Options, and arguments of `cargo test`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
    /// Print completions for a shell
    Completions(completions::Args),
}

/// Settings for all commands, and the files that could not be read.
#[derive(Debug)]
pub struct Context {
    /// The maximum number of bytes to decompress at once.
    pub max_size: u64,
    /// Whether `max_size` comes from the command line.
    pub is_max_size_given: bool,
    /// The files that could not be read completely, as messages name them. A file may occur again.
    pub unread: RefCell<Vec<String>>,
}

/// The maximum number of bytes to decompress at once without `--max-size`. This is more than any
/// known device code needs, but little enough that a current machine stays usable.
pub const MAX_SIZE: u64 = if usize::BITS < 64 { 1 << 30 } else { 1 << 36 };

impl Context {
    /// Opens a file to read from; `-` is standard input.
    pub fn open(&self, path: &Path) -> Result<Input> {
        Input::named(path.as_os_str()).map_err(|error| Error::read(path, &error))
    }

    /// Opens one of several files. If the file cannot be opened, prints the error and returns
    /// `None`, so that the command continues with the other files.
    pub fn open_or_report(&self, path: &Path, out: &mut out::Out) -> Result<Option<Input>> {
        match self.open(path) {
            Ok(input) => Ok(Some(input)),
            Err(error) => {
                out.flush()?;
                out::error(&error.to_string());
                self.add_unread(&path.to_string_lossy());
                Ok(None)
            }
        }
    }

    /// Returns the inventory of a file's device code.
    pub fn inventory<'a>(&self, input: &'a Input) -> Inventory<'a> {
        Inventory::of(input.bytes(), self.max_size)
    }

    /// Warns on standard error that a part of a file could not be read, so the command will exit
    /// with status 1. `file` is the file's name in messages: `x.whl: lib/libx.so`.
    pub fn warn(&self, file: &str, problem: impl std::fmt::Display) {
        out::warn(&format!("{file}: {problem}"));
        self.add_unread(file);
    }

    /// Records that a file could not be read completely.
    pub fn add_unread(&self, file: &str) {
        self.unread.borrow_mut().push(file.to_owned());
    }
}

/// Runs `cargo offload` with the arguments of this process.
pub fn main() -> ExitCode {
    let mut words: Vec<OsString> = env::args_os().collect();
    // Cargo passes the name of the subcommand as the first argument.
    if words.get(1).is_some_and(|word| word == "offload") {
        words.remove(1);
    }
    // After `test`, `--color` is an option for `cargo test`, so handle `test` before clap, which
    // would parse that option itself.
    if words.get(1).and_then(|word| word.to_str()).is_some_and(cargo_offload::has) {
        return cargo_offload::run(words.split_off(1));
    }
    let cli = Cli::parse_from(words);
    match cli.global.color {
        ColorChoice::Auto => {}
        ColorChoice::Always => anstream::ColorChoice::Always.write_global(),
        ColorChoice::Never => anstream::ColorChoice::Never.write_global(),
    }
    match cli.run() {
        Ok(status) => status,
        // On a broken pipe, exit without a message, as after a signal, because nothing reads the
        // output.
        Err(error) if error.is_broken_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            out::error(&error.to_string());
            ExitCode::FAILURE
        }
    }
}

impl Cli {
    fn run(self) -> Result {
        let given = self.global.max_size;
        let context = Context {
            max_size: given.unwrap_or(MAX_SIZE),
            is_max_size_given: given.is_some(),
            unread: RefCell::default(),
        };
        let status = match self.command {
            Command::Ls(args) => ls::run(&args, &context),
            Command::Extract(args) => extract::run(&args, &context),
            Command::Pack(args) => pack::run(&args, &context),
            Command::Bundle(args) => bundle::run(&args, &context),
            Command::Select(args) => select::run(&args, &context),
            Command::Reach(args) => reach::run(&args, &context),
            Command::Verify(args) => verify::run(&args, &context),
            Command::Size(args) => size::run(&args, &context),
            Command::Doctor(args) => doctor::run(&args),
            Command::Test { words } => {
                let command = OsString::from("test");
                Ok(cargo_offload::run([command].into_iter().chain(words).collect()))
            }
            Command::Completions(args) => completions::run(&args, Cli::command()),
        }?;
        let is_read = context.unread.borrow().is_empty();
        Ok(if is_read { status } else { ExitCode::FAILURE })
    }
}

/// Parses `1000`, `64K`, `512M`, `4G`, `1T`, with or without `iB` after the letter.
fn parse_size(text: &str) -> std::result::Result<u64, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let wrong = || "expected a number of bytes such as 4096, 512M or 4G".to_owned();
    let shift = match unit.to_ascii_uppercase().trim_end_matches("IB") {
        "" | "B" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return Err(wrong()),
    };
    let number = number.parse().ok().and_then(|number: u64| number.checked_mul(1 << shift));
    number.ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn sizes_have_units() {
        for (text, size) in [
            ("0", 0),
            ("4096", 4096),
            ("64K", 65536),
            ("1kib", 1024),
            ("3G", 3 << 30),
            ("2TiB", 2 << 40),
        ] {
            assert_eq!(parse_size(text), Ok(size), "{text}");
        }
        for text in ["", "G", "-1", "1.5G", "1Q", "99999999T", "1 G"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }
}
