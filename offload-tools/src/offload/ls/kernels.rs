//! Kernels, under the image that has them.

use super::table::size_text;
use crate::inventory::KernelRecord;
use crate::offload::out::{self, Out};
use crate::offload::text::{self, FAINT, styled};
use std::fmt::Write as _;
use std::io::{self, Write};

/// The rows of kernels. The columns are as wide as usual numbers are, and the name comes last: so the tables of all images
/// of a file line up.
pub(super) struct KernelTable {
    bytes: bool,
    headed: bool,
}

/// Widths of the columns before the name.
const WIDTHS: [usize; 6] = [9, 10, 9, 9, 9, 6];
const HEADINGS: [&str; 6] = ["CODE", "ARGUMENTS", "REGISTERS", "SHARED", "SCRATCH", "SPILLS"];

impl KernelTable {
    pub(super) fn new(bytes: bool) -> Self {
        Self { bytes, headed: false }
    }

    pub(super) fn print(&mut self, out: &mut Out, kernels: &[KernelRecord]) -> io::Result<()> {
        if kernels.is_empty() {
            return writeln!(out, "      {}", styled(FAINT, "(no kernels)"));
        }
        if !self.headed {
            self.headed = true;
            writeln!(out, "      {}", styled(FAINT, &line(&HEADINGS.map(str::to_owned), "KERNEL")))?;
        }
        for kernel in kernels {
            writeln!(out, "      {}", line(&self.cells(kernel), &text::escaped_str(&kernel.name)))?;
        }
        Ok(())
    }

    fn cells(&self, kernel: &KernelRecord) -> [String; 6] {
        let size = |size: Option<u64>| match size {
            Some(0) => "0".to_owned(),
            Some(size) => size_text(size, self.bytes),
            None => "-".to_owned(),
        };
        [
            size(kernel.code_size),
            match kernel.arguments_size.filter(|_| kernel.arguments > 0) {
                Some(bytes) => format!("{} ({})", kernel.arguments, size_text(bytes, self.bytes)),
                None => kernel.arguments.to_string(),
            },
            match kernel.registers {
                Some(registers) => registers.to_string(),
                None => letters([(kernel.vgprs, 'v'), (kernel.sgprs, 's'), (kernel.agprs.filter(|it| *it > 0), 'a')]),
            },
            size(kernel.shared_memory),
            size(kernel.private_memory),
            match (kernel.vgpr_spills, kernel.sgpr_spills) {
                (Some(0), Some(0)) => "0".to_owned(),
                (vgprs, sgprs) => letters([(vgprs, 'v'), (sgprs, 's'), (None, ' ')]),
            },
        ]
    }
}

/// `12v 18s`; `-` where nothing is known.
fn letters(counts: [(Option<u64>, char); 3]) -> String {
    let mut text = String::new();
    for (count, letter) in counts {
        if let Some(count) = count {
            let _ = write!(text, "{}{count}{letter}", if text.is_empty() { "" } else { " " });
        }
    }
    if text.is_empty() { "-".to_owned() } else { text }
}

fn line(cells: &[String; 6], name: &str) -> String {
    let mut line = String::new();
    for (cell, width) in cells.iter().zip(WIDTHS) {
        let _ = write!(line, "{cell:>width$} ");
    }
    line.push(' ');
    let room = out::width().map(|width| width.saturating_sub(line.len() + 6).max(16));
    line.push_str(&room.map_or(name.into(), |room| text::shortened(name, room)));
    line
}
