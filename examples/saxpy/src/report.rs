//! Prints the tables of images and devices.

use std::io::{self, Write};

use offload_gpu::run::Devices;
use offload_gpu::select::{Choice, judge};
use offload_gpu::{DeviceInfo, KernelPack, PackImage};

/// Prints the embedded images.
pub fn images(out: &mut impl Write, pack: &KernelPack) -> io::Result<()> {
    if let Some(why) = pack.absent() {
        return writeln!(out, "The images of {} were not built: {why}\n", pack.name());
    }
    let images = pack.images();
    let count = images.len();
    writeln!(
        out,
        "{count} images of {} are in this program, in section {}:",
        pack.name(),
        pack.section()
    )?;
    let mut table = Table::new(["target", "kind", "bytes", "origin"]);
    for image in images {
        table.row([
            image.target().to_owned(),
            image.kind().to_string(),
            image.bytes().len().to_string(),
            image.origin().to_string(),
        ]);
    }
    table.print(out)
}

/// Prints the devices of this machine, and which image each of them gets.
pub fn devices(out: &mut impl Write, pack: &KernelPack, found: &Devices) -> io::Result<()> {
    writeln!(out, "Devices in this machine:")?;
    let mut table = Table::new(["device", "product", "target", "image", "reason"]);
    for device in found.list() {
        let (image, because) = match pack.select(device.info()) {
            Ok(choice) => {
                (format!("{} {}", choice.target(), choice.kind()), choice.fit().to_string())
            }
            Err(_) => {
                ("none".to_owned(), format!("none fits; --device {} tells why", device.name()))
            }
        };
        table.row([
            device.name(),
            device.product().to_owned(),
            device.info().to_string(),
            image,
            because,
        ]);
    }
    for absent in found.absent() {
        table.note(&absent.why);
    }
    table.print(out)
}

/// Prints why `device` gets `choice`, and why it does not get the other images.
pub fn explain(
    out: &mut impl Write,
    pack: &KernelPack,
    device: &DeviceInfo,
    choice: &Choice<PackImage>,
) -> io::Result<()> {
    writeln!(out, "{device} gets the {} {} ({}).", choice.target(), choice.kind(), choice.fit())?;
    // A `PackImage` only refers to the pack's bytes, so two with the same address are the same
    // image.
    let others = pack.images().filter(|image| image.as_ptr() != choice.as_ptr());
    let mut table = Table::new(["not chosen", "kind", "reason"]);
    for image in others {
        let because = match judge(&image, device) {
            Ok(fit) => format!("fits too ({fit}), but {} was preferred", choice.target()),
            Err(refusal) => refusal.to_string(),
        };
        table.row([image.target().to_owned(), image.kind().to_string(), because]);
    }
    table.print(out)
}

/// Rows of text under a header. Each column is as wide as its widest cell. Numbers are
/// right-aligned.
struct Table<const COLUMNS: usize> {
    rows: Vec<[String; COLUMNS]>,
    notes: Vec<String>,
}

impl<const COLUMNS: usize> Table<COLUMNS> {
    fn new(header: [&str; COLUMNS]) -> Self {
        Self { rows: vec![header.map(str::to_owned)], notes: Vec::new() }
    }

    fn row(&mut self, cells: [String; COLUMNS]) {
        self.rows.push(cells);
    }

    /// Adds a line of text, without columns, below the rows.
    fn note(&mut self, text: &str) {
        self.notes.push(text.to_owned());
    }

    /// Prints the table and its notes, or only the notes if there are no rows. An empty line
    /// follows.
    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let (header, cells) = self.rows.split_first().expect("`new` makes the header");
        if !cells.is_empty() {
            let numbers: [bool; COLUMNS] = std::array::from_fn(|column| {
                cells.iter().all(|row| row[column].bytes().all(|byte| byte.is_ascii_digit()))
            });
            let widths: [usize; COLUMNS] = std::array::from_fn(|column| {
                self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
            });
            for row in std::iter::once(header).chain(cells) {
                let mut line = String::new();
                for ((cell, width), number) in row.iter().zip(widths).zip(numbers) {
                    line += &if number {
                        format!("  {cell:>width$}")
                    } else {
                        format!("  {cell:width$}")
                    };
                }
                writeln!(out, "{}", line.trim_end())?;
            }
        }
        for note in &self.notes {
            writeln!(out, "  {note}")?;
        }
        writeln!(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed<const COLUMNS: usize>(table: &Table<COLUMNS>) -> String {
        let mut out = Vec::new();
        table.print(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn columns_are_as_wide_as_their_content() {
        let mut table = Table::new(["target", "bytes", "kind"]);
        table.row(["cpu".to_owned(), "15552".to_owned(), "shared object".to_owned()]);
        table.row(["compute_90".to_owned(), "943".to_owned(), "PTX".to_owned()]);
        table.note("and a note");
        assert_eq!(
            printed(&table),
            concat!(
                "  target      bytes  kind\n",
                "  cpu         15552  shared object\n",
                "  compute_90    943  PTX\n",
                "  and a note\n",
                "\n",
            )
        );
    }

    #[test]
    fn without_rows_there_is_no_header() {
        assert_eq!(printed(&Table::new(["target"])), "\n");
    }
}
