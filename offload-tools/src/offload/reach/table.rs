//! Prints the tables of `cargo offload reach`.

use super::compile::Compiled;
use super::gets::{Gets, How};
use super::{Reach, Row};
use crate::offload::grouped::grouped;
use crate::offload::{Result, out};
use crate::text::{self, BAD, FAINT, GOOD, HEADING, TARGET, plural, some, styled};
use std::io::Write;

/// The maximum number of GPUs on each line of GPUs without an image.
const IN_LINE: usize = 10;

/// Prints a table per file. Files with equal tables share one table, because packages may have
/// thousands of files.
pub(super) fn print(out: &mut out::Out, all: &[Reach]) -> Result<()> {
    let content = |reach: &&Reach| {
        let count = match (reach.alternatives, reach.modules) {
            (true, _) => ", alternatives".to_owned(),
            (false, 0..=1) => String::new(),
            (false, modules) => format!(", {modules} modules"),
        };
        (count, table(reach))
    };
    for (number, ((count, lines), files)) in grouped(all.iter(), content).iter().enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        let each = if files.len() > 1 { ", each" } else { "" };
        let files = some(files.iter().map(|reach| &*reach.file));
        if lines.is_empty() {
            writeln!(out, "{files}: {}", styled(BAD, "there are no images for GPUs"))?;
        } else {
            writeln!(out, "{}\n{lines}", styled(HEADING, &format!("{files}{count}{each}")))?;
        }
    }
    Ok(())
}

/// Returns a file's table without the heading. Returns an empty text if the file has no images for
/// GPUs.
fn table(reach: &Reach) -> String {
    let Reach { alternatives, devices, .. } = reach;
    let mut lines = Vec::new();
    if devices.is_empty() {
        return String::new();
    }
    let (served, others): (Vec<&Row>, Vec<&Row>) =
        devices.iter().partition(|row| row.gets.iter().any(|gets| gets.how != How::Nothing));
    let width = |part: &dyn Fn(&Row) -> usize| served.iter().map(|row| part(row)).max();
    let of_device = width(&|row| row.device.len()).unwrap_or(0);
    let of_words =
        width(&|row| row.gets.iter().map(|gets| description(row, gets).len()).max().unwrap_or(0));
    for row in served {
        add_row(&mut lines, row, *alternatives, of_device, of_words.unwrap_or(0));
    }
    let others: Vec<&str> = others.iter().map(|row| row.device.as_str()).collect();
    for (number, names) in others.chunks(IN_LINE).enumerate() {
        let start = if number == 0 { "nothing for" } else { "           " };
        lines.push(format!("  {} {}", styled(BAD, start), names.join(", ")));
    }
    if let Some(compiled) = &reach.compiled {
        add_compiled(&mut lines, compiled);
    }
    lines.join("\n")
}

fn add_compiled(lines: &mut Vec<String>, compiled: &Compiled) {
    let Compiled { ptxas, devices, unknown, refused } = compiled;
    let verdict = if refused.is_empty() {
        styled(GOOD, "ptxas compiles it")
    } else {
        styled(BAD, "ptxas does not compile all of it")
    };
    if !devices.is_empty() {
        lines.push(format!("  the PTX for {}: {verdict}", devices.join(", ")));
        lines.push(format!("  {}", styled(FAINT, &text::escaped_str(ptxas))));
    }
    if !unknown.is_empty() {
        lines.push(format!(
            "  the PTX for {}: not compiled, because this ptxas does not support these GPUs",
            unknown.join(", ")
        ));
    }
}

fn add_row(
    lines: &mut Vec<String>,
    row: &Row,
    alternatives: bool,
    of_device: usize,
    of_words: usize,
) {
    // An image for one mode and one for all modes are separate entries. Print entries with equal
    // descriptions on one line.
    for (number, equal) in
        row.gets.chunk_by(|a, b| description(row, a) == description(row, b)).enumerate()
    {
        let style = if equal[0].how == How::Nothing { BAD } else { GOOD };
        let device = if number == 0 { row.device.as_str() } else { "" };
        let count: usize = equal.iter().map(|gets| gets.modules).sum();
        let beside = if alternatives || count < row.modules {
            format!("in {}{}", plural(count, "module"), names(equal))
        } else {
            some(row.products.iter().copied())
        };
        let of_words = if beside.is_empty() { 0 } else { of_words };
        let words = styled(style, &format!("{:of_words$}", description(row, &equal[0])));
        let mut line = format!("  {}  {words}", styled(TARGET, &format!("{device:of_device$}")));
        if !beside.is_empty() {
            let room = out::width()
                .map_or(usize::MAX, |all| all.saturating_sub(of_device + of_words + 6).max(12));
            line += &format!("  {}", styled(FAINT, &text::shortened(&beside, room)));
        }
        lines.push(line);
    }
}

/// Describes what a GPU gets: `machine code of sm_80`.
fn description(row: &Row, gets: &Gets) -> String {
    let image = text::escaped_str(gets.image.as_deref().unwrap_or_default());
    match (gets.how, &gets.driver) {
        (How::MachineCode, _)
            if row.device == image || row.device.split(':').next() == Some(&*image) =>
        {
            "machine code".to_owned()
        }
        (How::MachineCode | How::Compatible, _) => format!("machine code for {image}"),
        (How::Compiled, Some(version)) if row.device.starts_with("gfx") => {
            format!("{image}, compiled by ROCm {version} or later")
        }
        (How::Compiled, Some(driver)) => format!("{image}, compiled by a CUDA {driver} driver"),
        (How::Linked, Some(driver)) => format!("{image}, linked by a CUDA {driver} driver"),
        (How::Linked, None) => format!("{image}, linked by the driver"),
        (How::Compiled, None) => format!("{image}, compiled by the driver"),
        (How::Nothing, _) => "nothing".to_owned(),
    }
}

/// Returns the modules' names after a colon; an empty text if they have no names.
pub(super) fn names(gets: &[Gets]) -> String {
    let names = some(gets.iter().flat_map(|gets| &gets.names).map(|name| text::escaped_str(name)));
    if names.is_empty() { names } else { format!(": {names}") }
}
