//! The output of `cargo offload reach` for people.

use super::compile::Compiled;
use super::gets::{Gets, How};
use super::{Reach, Row};
use crate::offload::{Result, out};
use crate::text::{self, BAD, FAINT, GOOD, HEADING, TARGET, plural, some, styled};
use std::io::Write;

/// The number of GPUs without an image in one line.
const IN_LINE: usize = 10;

/// Prints a table for each file.
pub(super) fn print(out: &mut out::Out, all: &[Reach]) -> Result<()> {
    for (number, reach) in all.iter().enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        let Reach { file, modules, devices, .. } = reach;
        if devices.is_empty() {
            writeln!(out, "{file}: {}", styled(BAD, "there are no images for GPUs"))?;
            continue;
        }
        let of = if *modules > 1 { format!(", {modules} modules") } else { String::new() };
        writeln!(out, "{}", styled(HEADING, &format!("{file}{of}")))?;
        let (served, others): (Vec<&Row>, Vec<&Row>) =
            devices.iter().partition(|row| row.gets.iter().any(|gets| gets.how != How::Nothing));
        let width = |part: &dyn Fn(&Row) -> usize| served.iter().map(|row| part(row)).max();
        let of_device = width(&|row| row.device.len()).unwrap_or(0);
        let of_words =
            width(&|row| row.gets.iter().map(|gets| words(row, gets).len()).max().unwrap_or(0));
        for row in served {
            print_row(out, row, *modules, of_device, of_words.unwrap_or(0))?;
        }
        let others: Vec<&str> = others.iter().map(|row| row.device.as_str()).collect();
        for (number, names) in others.chunks(IN_LINE).enumerate() {
            let start = if number == 0 { "nothing for" } else { "           " };
            writeln!(out, "  {} {}", styled(BAD, start), names.join(", "))?;
        }
        if let Some(compiled) = &reach.compiled {
            print_compiled(out, compiled)?;
        }
    }
    Ok(())
}

fn print_compiled(out: &mut out::Out, compiled: &Compiled) -> Result<()> {
    let Compiled { ptxas, devices, unknown, refused } = compiled;
    let verdict = if refused.is_empty() {
        styled(GOOD, "ptxas compiles it")
    } else {
        styled(BAD, "ptxas does not compile all of it")
    };
    if !devices.is_empty() {
        writeln!(out, "  the PTX for {}: {verdict}", devices.join(", "))?;
        writeln!(out, "  {}", styled(FAINT, &text::escaped_str(ptxas)))?;
    }
    if !unknown.is_empty() {
        writeln!(
            out,
            "  the PTX for {}: not compiled, as this ptxas does not know them",
            unknown.join(", ")
        )?;
    }
    Ok(())
}

fn print_row(
    out: &mut out::Out,
    row: &Row,
    modules: usize,
    of_device: usize,
    of_words: usize,
) -> Result<()> {
    // Images for one mode and for all modes are in several entries, but people read the same.
    for (number, equal) in row.gets.chunk_by(|a, b| words(row, a) == words(row, b)).enumerate() {
        let style = if equal[0].how == How::Nothing { BAD } else { GOOD };
        let device = if number == 0 { row.device.as_str() } else { "" };
        let count: usize = equal.iter().map(|gets| gets.modules).sum();
        let beside = if count < modules {
            format!("in {}{}", plural(count, "module"), names(equal))
        } else {
            some(row.products.iter().copied())
        };
        let of_words = if beside.is_empty() { 0 } else { of_words };
        let words = styled(style, &format!("{:of_words$}", words(row, &equal[0])));
        write!(out, "  {}  {words}", styled(TARGET, &format!("{device:of_device$}")))?;
        if !beside.is_empty() {
            write!(out, "  {}", styled(FAINT, &beside))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Returns what a GPU gets, in words: `machine code of sm_80`.
fn words(row: &Row, gets: &Gets) -> String {
    let image = text::escaped_str(gets.image.as_deref().unwrap_or_default());
    match (gets.how, &gets.driver) {
        (How::MachineCode, _)
            if row.device == image || row.device.split(':').next() == Some(&*image) =>
        {
            "machine code".to_owned()
        }
        (How::MachineCode | How::Compatible, _) => format!("machine code of {image}"),
        (How::Compiled, Some(driver)) => format!("{image}, compiled by a driver of CUDA {driver}"),
        (How::Compiled, None) => format!("{image}, compiled by the driver"),
        (How::Nothing, _) => "nothing".to_owned(),
    }
}

/// Returns the names of modules after a colon; nothing for modules without names.
pub(super) fn names(gets: &[Gets]) -> String {
    let names = some(gets.iter().flat_map(|gets| &gets.names).map(|name| text::escaped_str(name)));
    if names.is_empty() { names } else { format!(": {names}") }
}
