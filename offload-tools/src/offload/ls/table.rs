//! The human-readable table of `cargo offload ls`.

use super::kernels::KernelTable;
use super::{Args, size_text};
use crate::describe::{KernelRecord, Named, problem_text};
use crate::offload::out;
use crate::offload::walk::Visited;
use crate::text::{self, FAINT, HEADING, TARGET, plural, styled};
use anstyle::Style;
use offload_format::image::ImageHeader;
use offload_format::inventory::{
    Container, ContainerKind, Image, ImageKind, Images, Inventory, Place,
};
use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

/// Containers under one heading: a single container, or consecutive containers with one image each.
struct Group<'i, 'a> {
    /// The number of the first container.
    number: usize,
    containers: &'i [Container<'a>],
    images: &'i [Image<'a>],
}

/// The cells of an image's row, one per column.
type Row = [String; COLUMNS.len()];

/// The column headings. `true` marks numbers, which are right-aligned.
const COLUMNS: [(&str, bool); 7] = [
    ("TARGET", false),
    ("OFFLOAD", false),
    ("IMAGE", false),
    ("SIZE", true),
    ("STORED", true),
    ("OFFSET", true),
    ("MODULE", false),
];
const TARGETS: usize = 0;
const OFFLOAD_KINDS: usize = 1;
const KINDS: usize = 2;
const MODULES: usize = 6;

/// Prints a file's table. Adds a message to `problems` for each image with unreadable kernels.
pub(super) fn print(
    out: &mut dyn Write,
    file: &Visited<'_>,
    args: &Args,
    limit: u64,
    problems: &mut Vec<String>,
) -> io::Result<()> {
    let (name, inventory) = (text::escaped(file.name), &file.inventory);
    let all: Vec<Named<'_>> = inventory.images.iter().map(Named::new).collect();
    let images = all.iter().filter(|it| it.known_kind != Some(ImageKind::Empty)).count();
    let size = size_text(file.input.size(), args.bytes);
    let summary = format!("{size}, {}", count(inventory, images));
    writeln!(out, "{}  {}", styled(HEADING, &name), styled(FAINT, &summary))?;
    let terminal = out::width();
    let rows = inventory.images.iter().zip(&all);
    let rows: Vec<Row> = rows.map(|(image, named)| row(image, named, args)).collect();
    let mut widths = widths(&rows, terminal);
    if args.kernels {
        // The kind of a compressed image is known only after its kernels are read, so leave room
        // for any kind.
        widths[KINDS] = widths[KINDS].max(ImageKind::Unknown.name().len());
    }
    let line = |row: &Row, target, others| line(row, &widths, terminal.is_some(), target, others);
    let mut images = Images::new(limit);
    let mut kernels = KernelTable::new(args.bytes, terminal);
    let (mut place, mut headed) = (None, false);
    for group in groups(inventory) {
        let first = &group.containers[0];
        let here = (first.place.slice, first.place.member);
        if place != Some(here) {
            place = Some(here);
            where_in_archive(out, &first.place, terminal)?;
        }
        writeln!(out, "  {}", heading(&group, args, terminal))?;
        if !headed && !group.images.is_empty() {
            headed = true;
            let headings = COLUMNS.map(|(heading, _)| heading.to_owned());
            writeln!(out, "    {}", line(&headings, FAINT, FAINT))?;
        }
        let known = rows.iter().zip(&all).skip(first.images.start);
        for (image, (row, named)) in group.images.iter().zip(known) {
            let (mut row, mut found) = (row.clone(), Ok(None));
            if args.kernels && row[KINDS] != ImageKind::Empty.name() {
                found = read(image, named, &mut images).map(|(kind, kernels)| {
                    row[KINDS] = kind.to_owned();
                    kernels
                });
            }
            writeln!(out, "    {}", line(&row, TARGET, Style::new()))?;
            if let Some(words) = named.unknown_processor() {
                writeln!(out, "      {}", styled(FAINT, &words))?;
            }
            match found {
                Ok(Some(found)) => kernels.print(out, &found)?,
                Ok(None) if args.kernels => {
                    let bytes = images.read(image).unwrap_or_default();
                    kernels.print_cpu(out, &bytes)?;
                }
                Ok(None) => {}
                Err(error) => problems.push(problem_text(&inventory.problem_of(image, error))),
            }
        }
    }
    kernels.end(out)
}

/// Returns the name of an image's kind, and its kernels; `None` if images of this kind list no
/// kernels.
fn read<'a>(
    image: &Image<'a>,
    named: &Named<'_>,
    images: &mut Images<'a>,
) -> offload_format::Result<(&'static str, Option<Vec<KernelRecord>>)> {
    let bytes = images.read(image)?;
    let header = named.header.or_else(|| ImageHeader::parse(&bytes).ok());
    let kind = image.kind(&bytes, header);
    Ok((kind.name(), KernelRecord::all_of(&bytes, header)?))
}

/// Returns the numbers of images and containers as text: `9 images in 2 containers`.
fn count(inventory: &Inventory<'_>, images: usize) -> String {
    let containers = inventory.containers.iter().filter(|it| it.kind != ContainerKind::Raw).count();
    match (inventory.containers.len(), containers) {
        (0, _) if !inventory.problems.is_empty() => "nothing that can be read".to_owned(),
        (0, _) if !inventory.references.is_empty() => {
            "its device code is in kernel packs".to_owned()
        }
        (0, _) => "no device code".to_owned(),
        (_, 0) => plural(images, "image"),
        (_, containers) => {
            format!("{} in {}", plural(images, "image"), plural(containers, "container"))
        }
    }
}

fn where_in_archive(
    out: &mut dyn Write,
    place: &Place<'_>,
    terminal: Option<usize>,
) -> io::Result<()> {
    let mut line = String::new();
    if let Some(slice) = place.slice {
        let _ = write!(line, "slice for processor {slice:#x}");
    }
    if let Some(member) = place.member {
        let separator = if line.is_empty() { "" } else { ", " };
        let _ = write!(line, "{separator}member {}", fitting(&text::escaped(member), 10, terminal));
    }
    if line.is_empty() { Ok(()) } else { writeln!(out, "  {}", styled(HEADING, &line)) }
}

/// Shortens text to fit on a line of the terminal after the first `taken` columns.
fn fitting(text: &str, taken: usize, terminal: Option<usize>) -> Cow<'_, str> {
    match terminal {
        Some(columns) => text::shortened(text, columns.saturating_sub(taken).max(16)),
        None => Cow::Borrowed(text),
    }
}

fn groups<'i, 'a>(inventory: &'i Inventory<'a>) -> Vec<Group<'i, 'a>> {
    // Version 1 offload binaries, and fatbins of programs for one GPU, often occur in large
    // numbers, so consecutive uncompressed containers share a heading if each has one image and
    // they have the same kind and place.
    let alike = |a: &Container<'_>, b: &Container<'_>| {
        let single = |it: &Container<'_>| it.images.len() == 1 && it.method.is_none();
        single(a)
            && single(b)
            && (a.kind, a.place.slice, a.place.member, a.place.section)
                == (b.kind, b.place.slice, b.place.member, b.place.section)
    };
    let mut number = 0;
    let group = |containers: &'i [Container<'a>]| {
        let (first, last) = (&containers[0].images, &containers[containers.len() - 1].images);
        let group = Group { number, containers, images: &inventory.images[first.start..last.end] };
        number += containers.len();
        group
    };
    inventory.containers.chunk_by(alike).map(group).collect()
}

/// Returns a group's heading: `[0] compressed bundle in .hip_fatbin, zstd, 1.2 KiB for 9.0 KiB (13
/// %)`.
fn heading(group: &Group<'_, '_>, args: &Args, terminal: Option<usize>) -> String {
    let first = &group.containers[0];
    let count = group.containers.len();
    let mut line = match count {
        1 => format!("[{}] ", group.number),
        _ => format!("[{}-{}] {count} ", group.number, group.number + count - 1),
    };
    line.push_str(match first.kind {
        ContainerKind::Raw if first.place.member.is_some() => "the member itself",
        ContainerKind::Raw => "the file itself",
        ContainerKind::OffloadBinary if first.method.is_some() => "compressed offload binary",
        kind => kind.words(count),
    });
    if let Some(section) = first.place.section {
        let _ = write!(line, " in {}", fitting(&text::escaped(section), 60, terminal));
    }
    let size = group.containers.iter().map(|it| it.size).fold(0, u64::saturating_add);
    let mut facts = String::new();
    match (&first.method, first.inflated_size) {
        (Some(method), Some(inflated)) => {
            let (size_text, inflated_text) =
                (size_text(size, args.bytes), size_text(inflated, args.bytes));
            let _ = write!(
                facts,
                ", {method}, {size_text} for {inflated_text}{}",
                ratio(size, inflated)
            );
        }
        _ if first.kind != ContainerKind::Raw => {
            let _ = write!(facts, ", {}", size_text(size, args.bytes));
        }
        _ => {}
    }
    if args.bytes {
        let _ = write!(facts, ", at {}", first.place.offset);
    }
    line + &styled(FAINT, &facts)
}

/// Returns the compression ratio as text: ` (13 %)`.
fn ratio(size: u64, inflated: u64) -> String {
    match inflated {
        0 => String::new(),
        _ => format!(" ({:.0} %)", size as f64 * 100.0 / inflated as f64),
    }
}

fn row(image: &Image<'_>, named: &Named<'_>, args: &Args) -> Row {
    let text = |text: &Option<Cow<'_, str>>| text.as_deref().map(text::escaped_str);
    let is_named = image.target_id.is_some() || image.triple.is_some() || image.entry_id.is_some();
    let offset = image.offset.map_or("-".to_owned(), |offset| offset.to_string());
    [
        if is_named { text::escaped_str(image.label()) } else { "-".to_owned() },
        text(&image.offload_kind).unwrap_or("-".to_owned()),
        // The cell is empty if the kind is unknown without decompression.
        named.known_kind.map_or("", ImageKind::name).to_owned(),
        size_text(image.size, args.bytes),
        image.stored_size.map(|size| size_text(size, args.bytes)).unwrap_or_default(),
        if args.bytes { offset } else { String::new() },
        text(&image.module).unwrap_or_default(),
    ]
}

/// The maximum width of a column for very long names.
const WIDEST: usize = 64;

/// Returns the column widths; 0 hides a column whose cells are all empty.
fn widths(rows: &[Row], terminal: Option<usize>) -> [usize; COLUMNS.len()] {
    let mut widths = std::array::from_fn(|column| {
        let widest = rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        if widest == 0 { 0 } else { widest.clamp(COLUMNS[column].0.len(), WIDEST) }
    });
    if let Some(terminal) = terminal {
        // The columns with names share the remaining width: first the target, then the module.
        widths[OFFLOAD_KINDS] = widths[OFFLOAD_KINDS].min(12);
        let gap = |width: usize| if width == 0 { 0 } else { width + 2 };
        let others = widths[OFFLOAD_KINDS..MODULES].iter().map(|width| gap(*width));
        let free = terminal.saturating_sub(4 + others.sum::<usize>());
        let module = widths[MODULES].min(12);
        widths[TARGETS] = widths[TARGETS].min(free.saturating_sub(gap(module)).max(12));
        let left = free.saturating_sub(widths[TARGETS] + 2);
        widths[MODULES] = widths[MODULES].min(left.max(module));
    }
    widths
}

/// Returns a row as text, with the style `target` for the first column and `others` for the rest.
/// On a terminal, text that is too wide is shortened; otherwise the row is as long as needed.
fn line(
    row: &Row,
    widths: &[usize; COLUMNS.len()],
    shorten: bool,
    target: Style,
    others: Style,
) -> String {
    let mut cells = Vec::new();
    for ((cell, &width), (_, is_number)) in row.iter().zip(widths).zip(COLUMNS) {
        if is_number {
            cells.push(format!("{cell:>width$}"));
        } else {
            let text = if shorten { text::shortened(cell, width) } else { cell.into() };
            cells.push(format!("{text:width$}"));
        }
    }
    let shown = cells.iter().zip(widths).skip(1).filter(|(_, width)| **width > 0);
    let rest: String = shown.map(|(cell, _)| format!("  {cell}")).collect();
    styled(target, &cells[TARGETS]) + &styled(others, rest.trim_end())
}
