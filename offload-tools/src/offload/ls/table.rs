//! The table that `cargo offload ls` prints for people.

use super::kernels::KernelTable;
use super::size_text;
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

/// Options for how many details are shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Options {
    pub(super) kernels: bool,
    pub(super) bytes: bool,
    pub(super) max_size: u64,
}

/// Containers under one heading: one container, or several consecutive ones with one image each.
struct Group<'i, 'a> {
    /// The number of the first container.
    number: usize,
    containers: &'i [Container<'a>],
    images: &'i [Image<'a>],
}

/// The columns of an image's row.
#[derive(Debug, Clone)]
struct Row {
    target: String,
    offload_kind: String,
    kind: &'static str,
    size: String,
    stored: String,
    offset: String,
    module: String,
}

/// Prints the table of a file. Adds a text to `problems` for each image
/// whose kernels cannot be read.
pub(super) fn print(
    out: &mut dyn Write,
    file: &Visited<'_>,
    options: &Options,
    problems: &mut Vec<String>,
) -> io::Result<()> {
    let (name, inventory) = (text::escaped(file.name), &file.inventory);
    let all: Vec<Named<'_>> = inventory.images.iter().map(Named::new).collect();
    let images = all.iter().filter(|it| it.known_kind() != Some(ImageKind::Empty)).count();
    let size = size_text(file.input.size(), options.bytes);
    let summary = format!("{size}, {}", count(inventory, images));
    writeln!(out, "{}  {}", styled(HEADING, &name), styled(FAINT, &summary))?;
    let terminal = out::width();
    let rows: Vec<Row> = inventory
        .images
        .iter()
        .zip(&all)
        .map(|(image, named)| row(image, named, options))
        .collect();
    let mut widths = Widths::of(&rows, terminal);
    if options.kernels {
        // The kinds of compressed images are found only when their kernels are read, so the column
        // gets enough room for any kind.
        widths.kind = widths.kind.max(ImageKind::Unknown.name().len());
    }
    let mut images = Images::new(options.max_size);
    let mut kernels = KernelTable::new(options.bytes, terminal);
    let (mut place, mut headed) = (None, false);
    for group in groups(inventory) {
        let first = &group.containers[0];
        let here = (first.place.slice, first.place.member);
        if place != Some(here) {
            place = Some(here);
            where_in_archive(out, &first.place, terminal)?;
        }
        writeln!(out, "  {}", heading(&group, options, terminal))?;
        if !headed && !group.images.is_empty() {
            headed = true;
            writeln!(out, "    {}", widths.line(&Row::headings(), FAINT, FAINT))?;
        }
        let known = rows.iter().zip(&all).skip(first.images.start);
        for (image, (row, named)) in group.images.iter().zip(known) {
            let found = if options.kernels && row.kind != ImageKind::Empty.name() {
                read(image, named, &mut images)
            } else {
                Ok((row.kind, None))
            };
            let kind = found.as_ref().map_or(row.kind, |(kind, _)| kind);
            writeln!(
                out,
                "    {}",
                widths.line(&Row { kind, ..row.clone() }, TARGET, Style::new())
            )?;
            if let Some(words) = named.unknown_processor() {
                writeln!(out, "      {}", styled(FAINT, &words))?;
            }
            match found {
                Ok((_, Some(found))) => kernels.print(out, &found)?,
                Ok((_, None)) if options.kernels => {
                    let bytes = images.read(image).unwrap_or_default();
                    kernels.print_cpu(out, &bytes)?;
                }
                Ok((_, None)) => {}
                Err(error) => problems.push(problem_text(&inventory.problem_of(image, error))),
            }
        }
    }
    kernels.end(out)
}

/// Returns the name of an image's kind, and the image's kernels; `None` if images of this kind do
/// not list kernels.
fn read<'a>(
    image: &Image<'a>,
    named: &Named<'_>,
    images: &mut Images<'a>,
) -> offload_format::Result<(&'static str, Option<Vec<KernelRecord>>)> {
    let bytes = images.read(image)?;
    let header = named.header().or_else(|| ImageHeader::parse(&bytes).ok());
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

/// Shortens text to fit on a line of the terminal where other text uses `taken` columns.
fn fitting(text: &str, taken: usize, terminal: Option<usize>) -> Cow<'_, str> {
    match terminal {
        Some(columns) => text::shortened(text, columns.saturating_sub(taken).max(16)),
        None => Cow::Borrowed(text),
    }
}

fn groups<'i, 'a>(inventory: &'i Inventory<'a>) -> Vec<Group<'i, 'a>> {
    // Offload binaries of version 1, and fatbins of a program for one GPU, often occur in large
    // numbers. So consecutive uncompressed containers of one kind and place share a heading if each
    // has one image.
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

/// Returns the heading of a group as text: `[0] compressed bundle in .hip_fatbin, zstd, 1.2 KiB for
/// 9.0 KiB (13 %)`.
fn heading(group: &Group<'_, '_>, options: &Options, terminal: Option<usize>) -> String {
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
                (size_text(size, options.bytes), size_text(inflated, options.bytes));
            let _ = write!(
                facts,
                ", {method}, {size_text} for {inflated_text}{}",
                ratio(size, inflated)
            );
        }
        _ if first.kind != ContainerKind::Raw => {
            let _ = write!(facts, ", {}", size_text(size, options.bytes));
        }
        _ => {}
    }
    if options.bytes {
        let _ = write!(facts, ", at {}", first.place.offset);
    }
    line + &styled(FAINT, &facts)
}

/// Returns the ratio as text: ` (13 %)`.
fn ratio(size: u64, inflated: u64) -> String {
    match inflated {
        0 => String::new(),
        _ => format!(" ({:.0} %)", size as f64 * 100.0 / inflated as f64),
    }
}

fn row(image: &Image<'_>, named: &Named<'_>, options: &Options) -> Row {
    Row {
        target: match &image.target_id {
            None if image.triple.is_none() && image.entry_id.is_none() => "-".to_owned(),
            _ => text::escaped_str(image.label()),
        },
        offload_kind: text::escaped_str(image.offload_kind.as_deref().unwrap_or("-")),
        // The kind stays empty if it is unknown without decompression.
        kind: named.known_kind().map_or("", ImageKind::name),
        size: size_text(image.size, options.bytes),
        stored: image.stored_size.map_or(String::new(), |size| size_text(size, options.bytes)),
        offset: if options.bytes {
            image.offset.map_or("-".to_owned(), |offset| offset.to_string())
        } else {
            String::new()
        },
        module: image.module.as_deref().map_or(String::new(), text::escaped_str),
    }
}

impl Row {
    fn headings() -> Self {
        Self {
            target: "TARGET".to_owned(),
            offload_kind: "OFFLOAD".to_owned(),
            kind: "IMAGE",
            size: "SIZE".to_owned(),
            stored: "STORED".to_owned(),
            offset: "OFFSET".to_owned(),
            module: "MODULE".to_owned(),
        }
    }
}

/// The maximum width of a column; very long names do not widen it further.
const WIDEST: usize = 64;

/// The width of each column; 0 for a hidden column.
struct Widths {
    /// Whether wider text is shortened, as on a terminal. Elsewhere the text stays whole, and the
    /// row is as long as needed.
    shorten: bool,
    target: usize,
    offload_kind: usize,
    kind: usize,
    size: usize,
    stored: usize,
    offset: usize,
    module: usize,
}

impl Widths {
    fn of(rows: &[Row], terminal: Option<usize>) -> Self {
        let headings = Row::headings();
        let column = |cell: fn(&Row) -> &str| {
            let widest = rows.iter().map(|row| cell(row).chars().count()).max().unwrap_or(0);
            if widest == 0 { 0 } else { widest.clamp(cell(&headings).len(), WIDEST) }
        };
        let mut widths = Self {
            shorten: terminal.is_some(),
            target: column(|row| &row.target),
            offload_kind: column(|row| &row.offload_kind),
            kind: column(|row| row.kind),
            size: column(|row| &row.size),
            stored: column(|row| &row.stored),
            offset: column(|row| &row.offset),
            module: column(|row| &row.module),
        };
        if let Some(terminal) = terminal {
            // Columns with names get the width that the other columns leave: first the target, then
            // the module.
            widths.offload_kind = widths.offload_kind.min(12);
            let gap = |width: usize| if width == 0 { 0 } else { width + 2 };
            let others =
                [widths.offload_kind, widths.kind, widths.size, widths.stored, widths.offset];
            let free = terminal.saturating_sub(4 + others.into_iter().map(gap).sum::<usize>());
            let module = widths.module.min(12);
            widths.target = widths.target.min(free.saturating_sub(gap(module)).max(12));
            widths.module = widths.module.min(free.saturating_sub(widths.target + 2).max(module));
        }
        widths
    }

    /// Returns the row as text, with the style `target` for its first column and the style `others`
    /// for the rest.
    fn line(&self, row: &Row, target: Style, others: Style) -> String {
        let mut line = String::new();
        for (width, cell) in [(self.offload_kind, row.offload_kind.as_str()), (self.kind, row.kind)]
        {
            if width > 0 {
                let _ = write!(line, "  {:width$}", self.cell(cell, width));
            }
        }
        for (width, cell) in
            [(self.size, &row.size), (self.stored, &row.stored), (self.offset, &row.offset)]
        {
            if width > 0 {
                let _ = write!(line, "  {cell:>width$}");
            }
        }
        if self.module > 0 {
            let _ = write!(line, "  {}", self.cell(&row.module, self.module));
        }
        let first = format!("{:1$}", self.cell(&row.target, self.target), self.target);
        styled(target, &first) + &styled(others, line.trim_end())
    }

    fn cell<'text>(&self, text: &'text str, width: usize) -> Cow<'text, str> {
        if self.shorten { text::shortened(text, width) } else { Cow::Borrowed(text) }
    }
}
