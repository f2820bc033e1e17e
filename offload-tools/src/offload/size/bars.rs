//! Draws sizes as bars in a terminal.

use super::tree::{Node, RowKind};
use crate::offload::out::{self, Out};
use crate::text::{self, FAINT, styled};
use anstyle::{AnsiColor, Style};
use std::io::{self, Write};

/// The layout of a file's tables.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    /// The size of the file, in bytes.
    pub(super) file: u64,
    /// The maximum number of rows on the first level; deeper levels have fewer.
    pub(super) top: usize,
    /// Whether to show decompressed sizes.
    pub(super) unpacked: bool,
    /// The length of the longest bar, in characters.
    bar: usize,
    /// The number of columns in a line; `None` if unlimited.
    width: Option<usize>,
}

/// The width of the columns before the bar.
const NUMBERS: usize = 18;
/// The width of the column with decompressed sizes.
const UNPACKED: usize = 12;

impl Look {
    /// Returns the layout for a file of this many bytes.
    pub(super) fn new(file: u64, top: usize, unpacked: bool) -> Self {
        let width = out::width();
        // Names are long, so a bar gets only a quarter of the line.
        let bar = (width.unwrap_or(80) / 4).clamp(8, 40);
        Self { file, top, unpacked, bar, width }
    }

    /// Prints the rows under `root`, at most `depth` levels deep.
    pub(super) fn print(
        &self,
        out: &mut Out,
        heading: &str,
        root: &Node<'_>,
        depth: usize,
    ) -> io::Result<()> {
        let unpacked =
            if self.unpacked { format!("{:>UNPACKED$}", "UNPACKED") } else { String::new() };
        let bar = self.bar;
        let line = self
            .with_name(format!("{:>10} {:>7} {:bar$}{unpacked}  ", "SIZE", "SHARE", ""), heading);
        writeln!(out, "{}", styled(FAINT, &line))?;
        let longest = root.children.first().map_or(0, |child| child.bytes);
        self.rows(out, root, longest, 0, depth, self.top)
    }

    fn rows(
        &self,
        out: &mut Out,
        parent: &Node<'_>,
        longest: u64,
        indent: usize,
        depth: usize,
        top: usize,
    ) -> io::Result<()> {
        let Some(deeper) = depth.checked_sub(1) else { return Ok(()) };
        // If only one row is left over, show it, because "and 1 more" would need as much space.
        let shown = if parent.children.len() <= top.saturating_add(1) {
            parent.children.len()
        } else {
            top
        };
        let (shown, left_out) = parent.children.split_at(shown);
        for node in shown {
            self.row(out, node, longest, indent)?;
            self.rows(out, node, longest, indent + 1, deeper, (top / 3).max(2))?;
        }
        if !left_out.is_empty() {
            let sum =
                |size: fn(&Node<'_>) -> u64| left_out.iter().map(size).fold(0, u64::saturating_add);
            let name = format!("and {} more", left_out.len());
            let line = self.line(sum(|it| it.bytes), sum(|it| it.size), "", &name, indent);
            writeln!(out, "{}", styled(FAINT, &line))?;
        }
        Ok(())
    }

    fn row(&self, out: &mut Out, node: &Node<'_>, longest: u64, indent: usize) -> io::Result<()> {
        let bar = bar(node.bytes, longest, self.bar);
        let line = self.line(node.bytes, node.size, &bar, &text::escaped_str(node.name), indent);
        let (before, rest) = line.split_at(NUMBERS + 1);
        let (bar, after) = rest.split_at(bar.len());
        writeln!(
            out,
            "{before}{}{}",
            styled(colour(node.kind), bar),
            styled(weight(node.kind), after)
        )
    }

    fn line(&self, bytes: u64, size: u64, bar: &str, name: &str, indent: usize) -> String {
        let share = bytes as f64 * 100.0 / (self.file.max(1)) as f64;
        let width = self.bar;
        let mut line = format!("{:>10} {share:>6.1}% {bar:width$}", text::size(bytes));
        if self.unpacked {
            let unpacked = if bytes == size { "".to_owned() } else { text::size(size) };
            line += &format!("{unpacked:>UNPACKED$}");
        }
        line += "  ";
        line += &"  ".repeat(indent);
        self.with_name(line, name)
    }

    /// Appends the name to a line, shortened to the remaining columns.
    fn with_name(&self, line: String, name: &str) -> String {
        let taken = line.chars().count();
        let room = self.width.map(|width| width.saturating_sub(taken).max(8));
        line + &room.map_or(name.into(), |room| text::shortened(name, room))
    }
}

/// Returns a bar of at most `cells` characters, drawn in eighths of a character. The bar is empty
/// only if `bytes` is 0.
fn bar(bytes: u64, longest: u64, cells: usize) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if bytes == 0 || longest == 0 {
        return String::new();
    }
    let eighths = (bytes as f64 / longest as f64 * (cells * 8) as f64).round() as usize;
    let eighths = eighths.clamp(1, cells * 8);
    "█".repeat(eighths / 8) + PARTS[eighths % 8]
}

fn colour(kind: RowKind) -> Style {
    match kind {
        RowKind::Target("amd") => AnsiColor::Red.on_default(),
        RowKind::Target("nvidia") => AnsiColor::Green.on_default(),
        RowKind::Target("intel") => AnsiColor::Blue.on_default(),
        RowKind::Target(_) => AnsiColor::Magenta.on_default(),
        RowKind::Module => AnsiColor::Cyan.on_default(),
        RowKind::Kernels | RowKind::Kernel => AnsiColor::Yellow.on_default(),
        RowKind::Section => AnsiColor::Blue.on_default(),
        RowKind::File | RowKind::Other | RowKind::Containers | RowKind::Rest => FAINT,
    }
}

fn weight(kind: RowKind) -> Style {
    match kind {
        RowKind::Target(_) => text::TARGET,
        RowKind::Other | RowKind::Containers | RowKind::Rest => FAINT,
        _ => Style::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars() {
        assert_eq!(bar(0, 100, 4), "");
        assert_eq!(bar(1, u64::MAX, 4), "▏");
        assert_eq!(bar(50, 100, 4), "██");
        assert_eq!(bar(53, 100, 4), "██▏");
        assert_eq!(bar(u64::MAX, u64::MAX, 4), "████");
    }
}
