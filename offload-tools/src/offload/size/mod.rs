//! `cargo offload size`: shows how much space each part of a file needs.

mod account;
mod archive;
mod bars;
mod claims;
mod contents;
mod divide;
mod page;
mod part;
mod tree;

use super::ls::print_json;
use super::{Context, Error, Result, out};
use crate::describe::problem_text;
use crate::files::{Input, Output};
use crate::text::{self, FAINT, HEADING, styled};
use crate::unpack::Archive;
use account::Account;
use bars::Look;
use serde::Serialize;
use std::borrow::Cow;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use tree::{By, Node, RowKind};

/// Arguments of `cargo offload size`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Every byte is counted once. Compressed content, even inside archives, is \
    counted at its compressed size, which its parts share in proportion to their decompressed \
    sizes. Bytes that images share are counted for the first of them. Only headers and tables are \
    read; images are decompressed only with --kernels or --html. The exit status is 1 if something \
    cannot be read; its bytes still count.")]
pub struct Args {
    /// A file of any kind
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Show one tree: by target, module, kernel or section
    #[arg(long, value_name = "WHAT", hide_possible_values = true)]
    by: Option<By>,
    /// Show at most this many rows; fewer on deeper levels of a tree
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 10)]
    top: usize,
    /// Decompress images to see their kernels
    #[arg(short, long)]
    kernels: bool,
    /// Write a page with a treemap, for any browser
    #[arg(long, value_name = "OUT")]
    html: Option<PathBuf>,
    /// Print JSON
    #[arg(long, conflicts_with_all = ["by", "top"])]
    json: bool,
}

/// Shows how much space each part of a file needs.
pub fn run(args: &Args, context: &Context) -> Result {
    let input = context.open(&args.file)?;
    // Open the page's file first, so that an error appears before the work.
    let page = match args.html.as_deref() {
        Some(path) => {
            Some((path, Output::create(path).map_err(|error| Error::write(path, &error))?))
        }
        None => None,
    };
    let account = account(args, context, &input)?;

    let mut out = out::stdout();
    if args.json {
        let file = args.file.to_string_lossy();
        print_json(&mut out, &FileRecord { file, account: &account })?
    } else {
        print(&mut out, args, &account)?
    }
    out.flush()?;
    if let Some((path, mut output)) = page {
        let written = page::write(&mut output, &args.file, &account).and_then(|()| output.commit());
        written.map_err(|error| Error::write(path, &error))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The JSON record of a file.
#[derive(Serialize)]
struct FileRecord<'a> {
    file: Cow<'a, str>,
    #[serde(flatten)]
    account: &'a Account,
}

/// Creates the account of a FILE. Reports unreadable parts on standard error.
fn account(args: &Args, context: &Context, input: &Input) -> Result<Account> {
    let decompresses = args.kernels || args.html.is_some();
    let (archive, mut files) = (Archive::of(input.bytes()), Vec::new());
    let summary = context.walk(&args.file, input, archive.as_ref(), false, |file| {
        let mut problems = file.inventory.problems.iter().map(problem_text).collect();
        let limit = context.max_size;
        let mut account =
            Account::of(file.input.bytes(), &file.inventory, decompresses, limit, &mut problems);
        problems.iter().for_each(|problem| file.warn(context, problem));
        file.elsewhere("counted").iter().for_each(|note| out::note(note));
        file.beside.warn(context, &file.shown);
        file.beside.note(&file.shown);
        if file.is_inside {
            account.belongs_to(&String::from_utf8_lossy(file.name));
        }
        files.push((account, file.stored));
        Ok(())
    })?;
    summary.report(context, &args.file);
    Ok(archive::together(input.size(), summary.unpacked, files))
}

/// Whether rows of a kind belong in a list.
type Belongs = fn(RowKind) -> bool;

fn print(out: &mut out::Out, args: &Args, account: &Account) -> Result<()> {
    let (device, unpacked) = account.device();
    let mut summary = text::size(account.size);
    if account.parts.is_empty() {
        summary += ", no device code"
    } else {
        summary += &format!(", {} of it in images", text::size(device))
    }
    if account.is_compressed {
        summary += &format!(", {} once decompressed", text::size(unpacked));
    }
    writeln!(
        out,
        "{}  {}",
        styled(HEADING, &text::escaped_path(&args.file)),
        styled(FAINT, &summary)
    )?;
    let look = Look::new(account.size, args.top, account.is_compressed);
    match args.by {
        Some(by) => {
            let heading = match by {
                By::Target => "TARGET, MODULE, SECTION, KERNEL",
                By::Module => "MODULE, TARGET, SECTION, KERNEL",
                By::Kernel => "KERNEL, TARGET",
                By::Section => "SECTION, TARGET",
            };
            writeln!(out)?;
            look.print(out, heading, &Node::of(account, by), 4)?;
        }
        None => {
            let lists: [(By, &str, Belongs); 4] = [
                (By::Target, "TARGET", |_| true),
                (By::Module, "MODULE", |kind| kind == RowKind::Module),
                (By::Section, "SECTION", |kind| {
                    matches!(kind, RowKind::Kernels | RowKind::Section | RowKind::Other)
                }),
                (By::Kernel, "KERNEL", |kind| kind == RowKind::Kernel),
            ];
            for (by, heading, belongs) in lists {
                let mut list = Node::of(account, by);
                list.children.retain(|row| belongs(row.kind));
                // Omit a list whose rows are all unnamed.
                if list
                    .children
                    .iter()
                    .any(|row| row.kind != RowKind::Other && row.name != tree::NO_MODULE)
                {
                    writeln!(out)?;
                    look.print(out, heading, &list, 1)?;
                }
            }
        }
    }
    if account.unread > 0 {
        let what = text::plural(account.unread, "compressed image");
        let hint = format!("Kernels in {what} are shown only with --kernels.");
        writeln!(out, "\n{}", styled(FAINT, &hint))?;
    }
    Ok(())
}
