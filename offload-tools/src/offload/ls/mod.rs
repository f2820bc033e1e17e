//! `offload ls`: what is in files.

mod kernels;
mod table;

use super::progress::Progress;
use super::{Context, Result, out};
use crate::describe::{FileRecord, ImageRecord, problem_text};
use crate::files::Input;
use crate::text;
use offload_format::inventory::{Images, Inventory};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Arguments of `offload ls`.
#[derive(Debug, clap::Args)]
#[command(after_help = "With --json, one FILE is an object with 'file', 'size' and 'images'; of several, an array of \
    those is printed. The exit status is 1 if something in a file cannot be read; what can be is listed.")]
pub struct Args {
    /// Executables, libraries, objects, archives, bundles, fatbins, code objects
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Show the kernels of each image, too, and what the image records of their parameters
    #[arg(short, long)]
    kernels: bool,
    /// Show sizes and offsets in bytes
    #[arg(short, long)]
    bytes: bool,
    /// Print JSON, with everything there is to know
    #[arg(long, conflicts_with_all = ["kernels", "bytes"])]
    json: bool,
}

/// Lists what is in files.
pub fn run(args: &Args, context: &Context) -> Result {
    let mut out = out::stdout();
    let mut records = Vec::new();
    let mut all_read = true;
    for (number, path) in args.files.iter().enumerate() {
        // The other files are listed all the same.
        let input = match context.open(path) {
            Ok(input) => input,
            Err(error) => {
                out.flush()?;
                out::error(&error.to_string());
                all_read = false;
                continue;
            }
        };
        let inventory = context.inventory(&input);
        let mut problems: Vec<String> = inventory.problems.iter().map(problem_text).collect();
        if args.json {
            records.push(record(path, &input, &inventory, context, &mut problems));
        } else {
            if number > 0 {
                writeln!(out)?;
            }
            let options = table::Options { kernels: args.kernels, bytes: args.bytes, max_size: context.max_size };
            table::print(&mut out, path, &input, &inventory, &options, &mut problems)?;
        }
        // What is said on standard error comes behind the file that it is about.
        out.flush()?;
        all_read &= problems.is_empty();
        problems.iter().for_each(|problem| context.warn_of(path, problem));
        for member in &inventory.elsewhere {
            out::note(&format!("{}: not listed, as it is in a file of its own", text::escaped(member)));
        }
    }
    if args.json {
        match &records[..] {
            [] if args.files.len() == 1 => {}
            [record] if args.files.len() == 1 => print_json(&mut out, record)?,
            records => print_json(&mut out, &records)?,
        }
    }
    out.flush()?;
    Ok(if all_read { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What JSON says of a file. What could not be read is added to `problems`.
fn record(
    path: &Path,
    input: &Input,
    inventory: &Inventory<'_>,
    context: &Context,
    problems: &mut Vec<String>,
) -> FileRecord {
    let mut images = Images::new(context.max_size);
    let total = inventory.images.iter().map(|image| image.size).fold(0, u64::saturating_add);
    let mut progress = Progress::new("reading images", total);
    let mut records = Vec::new();
    for image in &inventory.images {
        let (record, error) = ImageRecord::new(inventory, image, &mut images);
        problems.extend(error.map(|error| problem_text(&inventory.problem_of(image, error))));
        records.push(record);
        progress.add(image.size);
    }
    FileRecord { file: path.to_string_lossy().into_owned(), size: input.size(), images: records }
}

/// Prints JSON that a terminal can show.
pub(super) fn print_json(out: &mut out::Out, value: &impl serde::Serialize) -> Result<()> {
    let document = serde_json::to_string_pretty(value).map_err(std::io::Error::from)?;
    // Only strings have such characters: what a terminal may obey or not show is escaped in them, too.
    let mut rest = document.as_str();
    while let Some((at, c)) = rest.char_indices().find(|(_, c)| text::is_invisible(*c)) {
        out.write_all(&rest.as_bytes()[..at])?;
        c.encode_utf16(&mut [0; 2]).iter().try_for_each(|unit| write!(out, "\\u{unit:04x}"))?;
        rest = &rest[at + c.len_utf8()..];
    }
    out.write_all(rest.as_bytes())?;
    writeln!(out)?;
    Ok(())
}

fn size_text(size: u64, bytes: bool) -> String {
    if bytes { size.to_string() } else { text::size(size) }
}
