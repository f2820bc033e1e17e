//! Reads a page as steps: files to write or copy, and commands.

use offload_tests::prelude::*;

/// A step of a page. Steps are in the order of the page.
pub enum Step {
    /// Writes a file with this text.
    File { path: String, text: String },
    /// Copies a file of this repository.
    Copy { path: String, from: PathBuf },
    /// Marks the end of the files that come from the page after "Start from". These files need not
    /// compile here, because that page has a test.
    Followed,
    /// Provides a fake GPU to all later commands. `capability` is a compute capability or an AMD
    /// target.
    On { capability: String },
    /// Runs a command, and compares its output with the page.
    Run { command: String, shown: String },
}

/// Returns the text of a page.
pub fn text_of(page: &Path) -> String {
    fs::read_to_string(page).unwrap_or_else(|error| panic!("{}: {error}", page.display()))
}

/// Returns the file name in backticks that a line starts with, if any.
fn file_name(line: &str) -> Option<&str> {
    let (name, _) = line.strip_prefix('`')?.split_once('`')?;
    (name.contains('.') && !name.contains([' ', '(', '"'])).then_some(name)
}

/// Returns the path of a line's first link, relative to the page's folder.
fn link(line: &str, page: &Path) -> Option<PathBuf> {
    let (target, _) = line.split_once("](")?.1.split_once(')')?;
    Some(page.parent()?.join(target))
}

/// Returns the steps of a page, from top to bottom.
pub fn steps(page: &Path) -> Vec<Step> {
    let text = text_of(page);
    let mut steps = Vec::new();
    let mut lines = text.lines();
    let mut file = None;
    while let Some(line) = lines.next() {
        if let Some(info) = line.strip_prefix("```") {
            let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            match (info, file.take()) {
                ("console", _) => {
                    let run = |(command, shown)| Step::Run { command, shown };
                    steps.extend(commands(&block).into_iter().map(run));
                }
                ("diff", Some(path)) => {
                    let kept = block.iter().filter(|line| !line.starts_with('-'));
                    let kept: Vec<&str> = kept.map(|line| line.get(1..).unwrap_or("")).collect();
                    steps.push(Step::File { path, text: kept.join("\n") + "\n" });
                }
                (_, Some(path)) => steps.push(Step::File { path, text: block.join("\n") + "\n" }),
                ("rust" | "c++" | "toml" | "diff", None) => {
                    panic!("{}: which file is this?\n{block:#?}", page.display())
                }
                (_, None) => {}
            }
        } else if let Some(capability) =
            line.strip_prefix("<!-- GPU ").and_then(|rest| rest.strip_suffix(" -->"))
        {
            steps.push(Step::On { capability: capability.to_owned() });
        } else if line == "<!-- without a GPU -->" {
            let has_none = Tool::NvidiaGpu.check().is_err() && Tool::NoAmdGpu.check().is_ok();
            if !has_none {
                lines
                    .by_ref()
                    .skip_while(|line| !line.starts_with("```"))
                    .skip(1)
                    .find(|line| *line == "```");
            }
        } else if line.starts_with("Start from") {
            let base = link(line, page).expect("it says from which page");
            steps.extend(first_files(&base));
            steps.push(Step::Followed);
        } else if let Some(path) = file_name(line) {
            match line.split('`').find(|word| word.starts_with("examples/")) {
                Some(from) => {
                    let from = scratch::workspace().join(from);
                    steps.push(Step::Copy { path: path.to_owned(), from });
                }
                None if line.ends_with(':') => file = Some(path.to_owned()),
                None => {}
            }
        } else if !line.is_empty() {
            file = None;
        }
    }
    steps
}

/// Returns the first version of each file that a page writes or copies.
fn first_files(page: &Path) -> Vec<Step> {
    let mut seen = BTreeSet::new();
    let is_first = |step: &Step| match step {
        Step::File { path, .. } | Step::Copy { path, .. } => seen.insert(path.clone()),
        Step::Followed | Step::On { .. } | Step::Run { .. } => false,
    };
    steps(page).into_iter().filter(is_first).collect()
}

/// Returns the commands of a `console` block, each with the output that the page shows.
pub fn commands(block: &[&str]) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for line in block {
        match (line.strip_prefix("$ "), found.last_mut()) {
            (Some(command), _) => found.push((command.to_owned(), String::new())),
            (None, Some((_, shown))) => *shown += &format!("{line}\n"),
            _ => panic!("'{line}' comes before a command"),
        }
    }
    found
}
