//! Kernel rows, printed below their image's row.

use super::size_text;
use crate::describe::{CpuKernelRecord, KernelRecord, cpu_compiler};
use crate::text::{self, FAINT, styled};
use anstyle::Style;
use std::fmt::Write as _;
use std::io::{self, Write};

/// Prints the kernels of each image as rows of a table. The column widths are fixed and fit the
/// usual numbers, so the tables of a file's images line up. The kernel's name follows the numbers.
/// If the terminal is too narrow for it, the signature, which contains the name, is printed on a
/// line before the numbers.
pub(super) struct KernelTable {
    bytes: bool,
    terminal: Option<usize>,
    headed: bool,
    /// Whether any register count was printed with a letter.
    lettered: bool,
}

/// The minimum width of a terminal to print names after the numbers.
const ROOMY: usize = 140;
const NOT_RECORDED: &str = "not compared: types behind pointers, and types that are not listed";
const LETTERS: &str = "registers: v for vectors, s for scalars, a for accumulators";
const INDENT: &str = "      ";
/// Widths of the columns before the name.
const WIDTHS: [usize; 6] = [9, 10, 9, 9, 9, 6];
const HEADINGS: [&str; 6] = ["CODE", "ARGUMENTS", "REGISTERS", "SHARED", "SCRATCH", "SPILLS"];

impl KernelTable {
    pub(super) fn new(bytes: bool, terminal: Option<usize>) -> Self {
        Self { bytes, terminal, headed: false, lettered: false }
    }

    pub(super) fn print(
        &mut self,
        out: &mut dyn Write,
        kernels: &[KernelRecord],
    ) -> io::Result<()> {
        if kernels.is_empty() {
            return writeln!(out, "{INDENT}{}", styled(FAINT, "(no kernels)"));
        }
        if !self.headed {
            self.headed = true;
            self.row(out, &HEADINGS.map(str::to_owned), "KERNEL", FAINT)?;
        }
        self.lettered |= kernels.iter().any(|kernel| kernel.vgprs.is_some());
        for kernel in kernels {
            let name = text::escaped_str(&kernel.name);
            if self.is_narrow() {
                self.signature(out, &name, kernel, "")?;
                self.row(out, &self.cells(kernel), "", Style::new())?;
            } else {
                self.row(out, &self.cells(kernel), &name, Style::new())?;
                self.signature(out, &name, kernel, "  ")?;
            }
        }
        Ok(())
    }

    /// Prints the compiler of a CPU image, and how the threads of each kernel wait.
    pub(super) fn print_cpu(&self, out: &mut dyn Write, image: &[u8]) -> io::Result<()> {
        let compiler = cpu_compiler(image).map(|it| format!("compiled by {it}"));
        let kernel = |it: CpuKernelRecord| format!("{}  {}", it.name, it.how());
        let kernels = CpuKernelRecord::all_of(image).into_iter().map(kernel);
        let room = self.terminal.map_or(usize::MAX, |columns| columns - INDENT.len());
        for line in compiler.into_iter().chain(kernels) {
            writeln!(out, "{INDENT}{}", text::shortened(&text::escaped_str(&line), room))?;
        }
        Ok(())
    }

    /// Below all tables of a file, explains the letters and what signatures leave out.
    pub(super) fn end(&self, out: &mut dyn Write) -> io::Result<()> {
        for (is_shown, line) in [(self.lettered, LETTERS), (self.headed, NOT_RECORDED)] {
            if is_shown {
                writeln!(out, "    {}", styled(FAINT, line))?;
            }
        }
        Ok(())
    }

    fn is_narrow(&self) -> bool {
        self.terminal.is_some_and(|columns| columns < ROOMY)
    }

    /// Prints a kernel's signature, `saxpy(4 bytes, 4 bytes, pointer, pointer)`, on two lines if
    /// the terminal is too narrow for one.
    fn signature(
        &self,
        out: &mut dyn Write,
        name: &str,
        kernel: &KernelRecord,
        indent: &str,
    ) -> io::Result<()> {
        let signature = kernel.signature();
        let room = self.terminal.map(|columns| columns - INDENT.len() - indent.len());
        match room.filter(|room| name.chars().count() + signature.chars().count() > *room) {
            None => writeln!(out, "{INDENT}{indent}{name}{signature}"),
            Some(room) => {
                writeln!(out, "{INDENT}{indent}{}", text::shortened(name, room))?;
                writeln!(out, "{INDENT}{indent}  {}", text::shortened(&signature, room - 2))
            }
        }
    }

    fn row(
        &self,
        out: &mut dyn Write,
        cells: &[String; 6],
        name: &str,
        style: Style,
    ) -> io::Result<()> {
        let mut line = String::new();
        for (cell, width) in cells.iter().zip(WIDTHS) {
            let _ = write!(line, "{cell:>width$} ");
        }
        match self.terminal {
            Some(_) if self.is_narrow() => {
                if !name.is_empty() {
                    writeln!(out, "{INDENT}{}", styled(style, name))?;
                }
            }
            Some(columns) => {
                line.push(' ');
                line.push_str(&text::shortened(
                    name,
                    columns.saturating_sub(INDENT.len() + line.len()),
                ));
            }
            None => {
                line.push(' ');
                line.push_str(name);
            }
        }
        writeln!(out, "{INDENT}{}", styled(style, line.trim_end()))
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
                None => letters([
                    (kernel.vgprs, 'v'),
                    (kernel.sgprs, 's'),
                    (kernel.agprs.filter(|it| *it > 0), 'a'),
                ]),
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

/// Formats register counts with the letters of their kinds, `12v 18s`; `-` if none is known.
fn letters(counts: [(Option<u64>, char); 3]) -> String {
    let mut text = String::new();
    for (count, letter) in counts {
        if let Some(count) = count {
            let _ = write!(text, "{}{count}{letter}", if text.is_empty() { "" } else { " " });
        }
    }
    if text.is_empty() { "-".to_owned() } else { text }
}
