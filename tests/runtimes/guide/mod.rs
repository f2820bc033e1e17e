//! Follows the guide, docs/guide, and the README's first screen line by line. The tests write a
//! page's files, run its commands, and compare their output with what the page shows.
//!
//! The tests read a page from top to bottom, and recognize these parts:
//!
//! * a line such as `` `build.rs`: `` before a block of code names a file of the reader's package,
//!   and the block is the file's text. In a `diff` block, lines that start with `-` do not belong
//!   to the file;
//! * if a line starts with a file name and also names a file of `examples`, the reader copies that
//!   file;
//! * a line that starts with "Start from" links to a different page; the reader starts with the
//!   files of that page;
//! * after a comment `<!-- GPU 9.0 -->` or `<!-- GPU gfx1100 -->`, all commands find such a GPU,
//!   simulated by a stand-in for the driver;
//! * the block of commands after a comment `<!-- without a GPU -->` is skipped on machines with a
//!   GPU;
//! * in a `console` block, a line that starts with `$ ` is a command, and the lines after it are
//!   the command's output. In the output on the page, a line `...` matches any number of lines, and
//!   `…` matches any text within a line. Any size matches any other size, and any line number in
//!   the kit's code matches any other. If a build script fails, the tests replace the lines that
//!   Cargo prints before the script's output with `...`.
//!
//! `dockerfile.rs` follows the Dockerfile in `ship.md`, and `arguments.rs` follows the table in
//! `reference/arguments.md`.
//!
//! `BLESS=1` writes the printed output into the pages.

mod arguments;
mod compare;
mod dockerfile;
pub mod page;
mod reader;

use compare::{is_shown, shortened};
use offload_tests::prelude::*;
use page::{Step, steps, text_of};
use reader::Reader;

tests!(pages());

/// Returns a test for each page.
fn pages() -> impl Iterator<Item = Test> {
    let name = |path: &str| {
        path.trim_start_matches("docs/guide/src/").trim_end_matches(".md").to_lowercase()
    };
    PAGES
        .iter()
        .map(move |page| Test::new(module_path!(), &name(page.path), page.needs, || follow(page)))
}

/// A page that a test follows.
struct Page {
    path: &'static str,
    needs: Needs,
    /// A tool that only the commands of this page can find.
    own_tool: Option<Tool>,
}

impl Page {
    const fn new(path: &'static str, needs: Needs) -> Self {
        Self { path, needs: needs.slow(), own_tool: None }
    }

    /// Marks a page that supports one of the README's claims.
    const fn claimed(self) -> Self {
        Self { needs: self.needs.claimed(), ..self }
    }

    const fn with(self, tool: Tool) -> Self {
        Self { own_tool: Some(tool), ..self }
    }
}

const COMPILERS_AND_MOUNTS: Needs = needs(&[Tool::Llvm22, Tool::Gcc, Tool::Cuda, Tool::OwnMounts]);
const NVCC: Needs = needs(&[Tool::Llvm22, Tool::Gcc, Tool::Cuda, Tool::Nvcc]);
const ROCM: Needs = needs(&[Tool::Llvm22, Tool::Gcc, Tool::Rocm, Tool::Hip5]);
const INTEL: Needs = needs(&[Tool::Llvm22, Tool::Gcc, Tool::IntelOpenCl]);
const CACHE: Needs = needs(&[Tool::Llvm22, Tool::Gcc, Tool::Cuda, Tool::Sccache]);

const PAGES: &[Page] = &[
    Page::new("README.md", COMPILERS),
    Page::new("docs/guide/src/first-result.md", CLANG).claimed(),
    Page::new("docs/guide/src/remote.md", COMPILERS),
    Page::new("docs/guide/src/build.md", COMPILERS),
    Page::new("docs/guide/src/targets.md", COMPILERS),
    Page::new("docs/guide/src/embed.md", COMPILERS),
    Page::new("docs/guide/src/select.md", COMPILERS),
    Page::new("docs/guide/src/load.md", COMPILERS),
    Page::new("docs/guide/src/structs.md", COMPILERS),
    Page::new("docs/guide/src/names.md", COMPILERS),
    Page::new("docs/guide/src/device-variables.md", COMPILERS),
    Page::new("docs/guide/src/test.md", CLANG).claimed(),
    Page::new("docs/guide/src/without-gpu.md", INTEL).with(Tool::IntelOpenCl),
    Page::new("docs/guide/src/modules.md", COMPILERS),
    Page::new("docs/guide/src/cuda.md", NVCC),
    Page::new("docs/guide/src/rocm.md", ROCM).with(Tool::Rocm),
    Page::new("docs/guide/src/launcher-library.md", NVCC),
    Page::new("docs/guide/src/optional-cuda.md", NVCC),
    Page::new("docs/guide/src/dependencies.md", CLANG),
    Page::new("docs/guide/src/ship.md", COMPILERS),
    Page::new("docs/guide/src/packagers.md", COMPILERS),
    Page::new("docs/guide/src/shrink.md", COMPILERS),
    Page::new("docs/guide/src/launchers.md", CACHE).with(Tool::Sccache),
    Page::new("docs/guide/src/debug.md", COMPILERS),
];

/// Pages that these tests do not follow. `run::foreign` compiles the code in `foreign.md`. The
/// files in `rust.md` resemble those of examples/rust-kernels, which the module `examples` builds.
const TEXT: &[&str] = &["foreign.md", "rust.md"];

/// The folder of pages with tables, which `tests/tidy/reference.rs` compares with the code.
const REFERENCE: &str = "reference";

/// The package's name in the pages. In tests, each page's package has a different name, because all
/// packages are built in one folder.
const NAME: &str = "saxpy";

/// This repository's folder in the pages.
const KIT: &str = "/home/you/offload";

/// Writes a page's files, runs its commands, and compares their output with the page.
fn follow(page: &Page) {
    let path = scratch::workspace().join(page.path);
    let mut reader = Reader::new(page);
    let page = page.path;
    let mut text = text_of(&path);
    let (mut from, mut ran) = (0, 0);
    let mut unbuilt = BTreeSet::new();
    for step in steps(&path) {
        match step {
            Step::File { path, text } => {
                if !unbuilt.insert(path.clone()) {
                    // This step replaces a file from an earlier step. The earlier files must
                    // compile before they are replaced.
                    reader.scenario.check().arg("--quiet").passes();
                    unbuilt = BTreeSet::from([path.clone()]);
                }
                reader.write(&path, &text);
            }
            Step::Followed => unbuilt.clear(),
            Step::Copy { path, from } if path == "Cargo.toml" => {
                reader.write(&path, &text_of(&from))
            }
            Step::Copy { path, from } => {
                reader.scenario.write(&path, data::read(&from));
            }
            Step::On { capability } => reader.pretend(&capability),
            Step::Run { command, shown } => {
                let printed = reader.run(&command);
                ran += 1;
                unbuilt.clear();
                let (shown_lines, lines): (Vec<&str>, Vec<&str>) =
                    (shown.lines().collect(), printed.lines().collect());
                let same = is_shown(&shown_lines, &lines);
                let block = format!("$ {command}\n{shown}");
                from += text[from..].find(&block).expect("the command stands in the page");
                if same {
                    from += block.len();
                } else if data::blesses() {
                    let new = format!("$ {command}\n{}", shortened(&printed));
                    text.replace_range(from..from + block.len(), &new);
                    from += new.len();
                    fs::write(&path, &text).expect("the page can be written");
                    continue;
                }
                assert!(same, "{page}: $ {command}\nshown:\n{shown}\nprinted:\n{printed}");
            }
        }
    }
    assert!(ran > 0, "{page} has no commands");
    assert!(unbuilt.is_empty(), "{page} shows files, and no command that builds them: {unbuilt:?}");
}

#[test]
fn every_page_is_in_the_summary_and_followed() {
    let folder = scratch::workspace().join("docs/guide/src");
    let summary = text_of(&scratch::workspace().join("docs/SUMMARY.md"));
    let names = |folder: &Path| -> Vec<String> {
        let entries = fs::read_dir(folder).expect("the folder can be read").flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    };
    for name in names(&folder) {
        if name == REFERENCE {
            continue;
        }
        assert!(summary.contains(&format!("](guide/src/{name})")), "{name} is not in SUMMARY.md");
        let followed = PAGES.iter().any(|page| page.path.ends_with(&format!("/{name}")));
        assert!(followed != TEXT.contains(&&*name), "{name} is not followed");
    }
    let pages = names(&folder.join(REFERENCE));
    assert!(pages.len() > 5, "the reference was found: {pages:?}");
    for name in pages {
        let link = format!("](guide/src/{REFERENCE}/{name})");
        assert!(summary.contains(&link), "{name} is not in SUMMARY.md");
        let text = text_of(&folder.join(REFERENCE).join(&name));
        let has_commands = text.contains("```console");
        assert!(!has_commands, "{name} has commands: that is for a page of the guide");
    }
}
