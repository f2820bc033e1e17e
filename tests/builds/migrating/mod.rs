//! Tests `docs/migrating.md`. The calls in its tables must compile, and the programs in its diffs
//! are built and run. rustc, nvcc, the linker, `cuobjdump` and `nm` check the results.

mod diffs;
mod tables;

use offload_tests::prelude::*;

/// A row of a table.
struct Row {
    /// The row's line number in the document, counted from 1.
    line: usize,
    /// The texts in backticks in the last column, which shows this kit's equivalents.
    ours: Vec<String>,
}

fn text() -> String {
    fs::read_to_string(workspace().join("docs/migrating.md")).expect("the document can be read")
}

/// Returns the rows of all tables, without their headers.
fn rows() -> Vec<Row> {
    let text = text();
    let lines: Vec<&str> = text.lines().collect();
    let is_header =
        |index: usize| lines.get(index + 1).is_some_and(|next| next.starts_with("|---"));
    let mut rows = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if !line.starts_with("| ") || is_header(index) {
            continue;
        }
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").collect();
        let ours = cells.last().expect("a row has cells").split('`').skip(1).step_by(2);
        rows.push(Row { line: index + 1, ours: ours.map(str::to_owned).collect() });
    }
    rows
}

/// Returns each `diff` block without its removed lines.
fn diffs() -> Vec<String> {
    let text = text();
    let blocks =
        text.split("```diff\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default());
    let left = |block: &str| {
        let kept = block.lines().filter(|line| !line.starts_with('-'));
        kept.map(|line| line.get(1..).unwrap_or_default().to_owned() + "\n").collect()
    };
    blocks.map(left).collect()
}
