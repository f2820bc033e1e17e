//! The guide, docs/guide, and the README's first screen, followed line by line: files are written as a page says, its commands
//! are run, and what they print is compared with what the page shows.
//!
//! What is read in a page, from top to bottom:
//!
//! * a line such as `` `build.rs`: `` before a block of code is a file of the reader's package; a block that is a `diff` leaves
//!   its lines without those that start with `-`;
//! * a line that starts with a file's name and links into `examples` says from where the reader copies that file;
//! * a line that links to another page and starts with "Start from" stands for that page's files;
//! * a comment `<!-- GPU 9.0 -->` lets the commands behind it find such a GPU, which a stand-in for the driver pretends;
//! * commands behind a comment `<!-- without a GPU -->` are run on machines where nothing has to be hidden;
//! * a `console` block has commands behind `$ `, and what they print. A line `...` stands for any lines, `…` for anything in a
//!   line, and a size for any other size. What Cargo prints around the words of a failed build script is such a `...`.
//!
//! `BLESS=1` writes what was printed into the pages.

// Each test file uses its part of it.
#[allow(dead_code)]
mod stand_ins;

use offload_tests::package::Package;
use offload_tests::tools::{Tool, cuda, llvm_bin, rocm, sccache, stderr, stdout, succeed};
use offload_tests::{data, own, scratch, test};
use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let name = |page: &str| page.trim_start_matches("docs/guide/src/").trim_end_matches(".md").to_lowercase();
    let mut tests: Vec<_> =
        PAGES.iter().map(|&(page, needs)| test(&name(page), needs, move || follow(page, needs))).collect();
    tests.push(test("every_page_is_in_the_summary_and_followed", &[], summary));
    offload_tests::run(tests)
}

const CLANG: &[Tool] = &[Tool::Llvm22, Tool::Gcc];
const ALL: &[Tool] = &[Tool::Llvm22, Tool::Gcc, Tool::Cuda];
const NVCC: &[Tool] = &[Tool::Llvm22, Tool::Gcc, Tool::Cuda, Tool::Nvcc];
const ROCM: &[Tool] = &[Tool::Llvm22, Tool::Gcc, Tool::Rocm, Tool::Hip5];
const CACHE: &[Tool] = &[Tool::Llvm22, Tool::Gcc, Tool::Cuda, Tool::Sccache];

/// What is followed, and what that needs.
const PAGES: &[(&str, &[Tool])] = &[
    ("README.md", ALL),
    ("docs/guide/src/targets.md", ALL),
    ("docs/guide/src/build.md", ALL),
    ("docs/guide/src/embed.md", ALL),
    ("docs/guide/src/select.md", ALL),
    ("docs/guide/src/load.md", ALL),
    ("docs/guide/src/modules.md", ALL),
    ("docs/guide/src/cuda.md", NVCC),
    ("docs/guide/src/rocm.md", ROCM),
    ("docs/guide/src/dependencies.md", CLANG),
    ("docs/guide/src/ship.md", ALL),
    ("docs/guide/src/shrink.md", ALL),
    ("docs/guide/src/launchers.md", CACHE),
    ("docs/guide/src/debug.md", ALL),
];

/// Pages without a package.
const TEXT: &[&str] = &["introduction.md"];

/// How the pages call the package; in tests each has another name, since all are built in one folder.
const NAME: &str = "saxpy";

/// What a page has, in its order.
enum Step {
    /// A file is written.
    File { path: String, text: String },
    /// A file of this repository is copied.
    Copy { path: String, from: PathBuf },
    /// The files up to here are another page's, which has its own test.
    Followed,
    /// From here on, there is this NVIDIA GPU.
    On { capability: String },
    /// A command, and what the page shows of what it prints.
    Run { command: String, shown: String },
}

fn text_of(page: &Path) -> String {
    fs::read_to_string(page).unwrap_or_else(|error| panic!("{}: {error}", page.display()))
}

/// The name between backticks that a line starts with, if it is one of a file.
fn file_name(line: &str) -> Option<&str> {
    let (name, _) = line.strip_prefix('`')?.split_once('`')?;
    (name.contains('.') && !name.contains([' ', '(', '"'])).then_some(name)
}

/// Where the first link of a line leads, from the page's folder.
fn link(line: &str, page: &Path) -> Option<PathBuf> {
    let (target, _) = line.split_once("](")?.1.split_once(')')?;
    Some(page.parent()?.join(target))
}

fn steps(page: &Path) -> Vec<Step> {
    let text = text_of(page);
    let mut steps = Vec::new();
    let mut lines = text.lines();
    let mut file = None;
    while let Some(line) = lines.next() {
        if let Some(info) = line.strip_prefix("```") {
            let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            match (info, file.take()) {
                ("console", _) => steps.extend(commands(&block)),
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
        } else if let Some(capability) = line.strip_prefix("<!-- GPU ").and_then(|rest| rest.strip_suffix(" -->")) {
            steps.push(Step::On { capability: capability.to_owned() });
        } else if line == "<!-- without a GPU -->" {
            let has_none = Tool::NvidiaGpu.check().is_err() && Tool::NoAmdGpu.check().is_ok();
            if !has_none {
                lines.by_ref().skip_while(|line| !line.starts_with("```")).skip(1).find(|line| *line == "```");
            }
        } else if line.starts_with("Start from") {
            let base = link(line, page).expect("it says from which page");
            steps.extend(first_files(&base));
            steps.push(Step::Followed);
        } else if let Some(path) = file_name(line) {
            match link(line, page).filter(|from| from.components().any(|part| part.as_os_str() == "examples")) {
                Some(from) => steps.push(Step::Copy { path: path.to_owned(), from }),
                None if line.ends_with(':') => file = Some(path.to_owned()),
                None => {}
            }
        } else if !line.is_empty() {
            file = None;
        }
    }
    steps
}

/// The files with which a page starts, without those that take their places.
fn first_files(page: &Path) -> Vec<Step> {
    let mut seen = BTreeSet::new();
    let is_first = |step: &Step| match step {
        Step::File { path, .. } | Step::Copy { path, .. } => seen.insert(path.clone()),
        Step::Followed | Step::On { .. } | Step::Run { .. } => false,
    };
    steps(page).into_iter().filter(is_first).collect()
}

/// The commands of a block.
fn commands(block: &[&str]) -> Vec<Step> {
    let mut found: Vec<Step> = Vec::new();
    for line in block {
        match (line.strip_prefix("$ "), found.last_mut()) {
            (Some(command), _) => found.push(Step::Run { command: command.to_owned(), shown: String::new() }),
            (None, Some(Step::Run { shown, .. })) => *shown += &format!("{line}\n"),
            _ => panic!("'{line}' comes before a command"),
        }
    }
    found
}

/// The reader's package.
struct Reader {
    package: Package,
    /// Its name, in place of [`NAME`].
    name: String,
    /// The variables by which programs find a pretended GPU.
    gpu: Vec<(&'static str, String)>,
    /// What the page needs: other tools are not offered to it.
    needs: &'static [Tool],
}

impl Reader {
    fn new(page: &str, needs: &'static [Tool]) -> Self {
        let stem = Path::new(page).file_stem().expect("a page is a file").to_string_lossy();
        let name = format!("guide-{}", stem.to_lowercase());
        let package = Package::empty(&name);
        // Where the pages' commands expect it.
        std::os::unix::fs::symlink(&package.target, package.folder.join("target")).expect("the folder can be written");
        Self { package, name, gpu: Vec::new(), needs }
    }

    fn write(&self, path: &str, text: &str) {
        match path.strip_suffix("Cargo.toml") {
            Some(folder) => {
                self.package
                    .write(path, text.replacen(&format!("name = \"{NAME}\""), &format!("name = \"{}\"", self.name), 1));
                if folder.is_empty() {
                    self.package.patched();
                }
            }
            None => {
                self.package.write(path, text);
            }
        }
    }

    /// What a command prints, as the pages show it.
    fn run(&self, line: &str) -> String {
        let line = line.replace(&format!("target/debug/{NAME}"), &format!("target/debug/{}", self.name));
        let line = line.replace(&format!("target/release/{NAME}"), &format!("target/release/{}", self.name));
        let line = line.replace(&format!("-p {NAME}"), &format!("-p {}", self.name));
        let mut words: Vec<&str> = line.split(' ').collect();
        let mut variables = Vec::new();
        while let Some((name, value)) = words[0].split_once('=') {
            variables.push((name, value.trim_matches('"')));
            words.remove(0);
        }
        let mut command = match words[..] {
            // The manifest of a packaged crate has no patches.
            ["cargo", "package", ref rest @ ..] => {
                let mut command = self.package.cargo(&["package", "--allow-dirty"]);
                for name in ["offload-format", "offload-embed-macro", "offload-build"] {
                    let path = scratch::workspace().join(name);
                    command
                        .arg("--config")
                        .arg(format!("patch.crates-io.{name}.path={:?}", path.display().to_string()));
                }
                command.args(rest);
                command
            }
            ["cargo", ref rest @ ..] => self.package.cargo(rest),
            ["offload", ref rest @ ..] => {
                let mut command = Command::new(own::tool("offload"));
                command.args(rest);
                command
            }
            [program, ref rest @ ..] => {
                let mut command = Command::new(program);
                command.args(rest);
                command
            }
            [] => panic!("an empty command"),
        };
        for name in [
            "RUST_BACKTRACE",
            "CUDA_PATH",
            "CUDA_ROOT",
            "CUDA_TOOLKIT_ROOT_DIR",
            "NVCC",
            "CUDACXX",
            "HIPCC",
            "ROCM_PATH",
            "HIP_PATH",
        ] {
            command.env_remove(name);
        }
        let path = env::var_os("PATH").unwrap_or_default();
        let folders = [llvm_bin()].into_iter().chain(env::split_paths(&path));
        command
            .current_dir(&self.package.folder)
            .env("PATH", env::join_paths(folders).expect("the folders came out of PATH"))
            .env("OFFLOAD_CLANG", llvm_bin().join("clang"))
            // GPUs of this machine are hidden.
            .env("CUDA_VISIBLE_DEVICES", "")
            .env("HIP_VISIBLE_DEVICES", "-1")
            .envs(self.gpu.iter().map(|(name, value)| (name, value)))
            .envs(variables);
        if !self.gpu.is_empty() {
            command.env_remove("CUDA_VISIBLE_DEVICES");
        }
        self.offer(&mut command);
        if env::var_os("CUDA_HOME").is_some() {
            command.env("OFFLOAD_PTXAS", cuda("ptxas").get_program());
        }
        let output = command.output().unwrap_or_else(|error| panic!("{line}: {error}"));
        // What Cargo says of its own doing starts with a word that ends in this column.
        let is_status = |line: &&str| {
            line.len() > 12
                && line[..12].trim_start().starts_with(char::is_uppercase)
                && line.get(12..13) == Some(" ")
                && line.starts_with("  ")
        };
        let errors = stderr(&output);
        let errors = errors.lines().filter(|line| words[0] != "cargo" || !is_status(line));
        let mut text = errors.map(|line| format!("{line}\n")).collect::<String>() + &stdout(&output);
        let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let cuda_home = env::var_os("CUDA_HOME").map_or_else(|| "/no/cuda".into(), PathBuf::from);
        for (path, shown) in [
            (self.package.target.as_path(), "/home/you/saxpy/target"),
            (&real(&self.package.target), "/home/you/saxpy/target"),
            (self.package.folder.as_path(), "/home/you/saxpy"),
            // Before the checkout, in which set-up may have put it.
            (&cuda_home, "/usr/local/cuda"),
            (scratch::workspace(), "/home/you/offload"),
            (&llvm_bin(), "/usr/lib/llvm-22/bin"),
        ] {
            text = text.replace(&path.to_string_lossy().into_owned(), shown);
        }
        text = text.replace(&self.name, NAME).replace(&self.name.replace('-', "_"), NAME);
        text = text.replace("Fake GPU 9.0", "NVIDIA H100 80GB HBM3");
        // Where there is a driver, and its GPUs are hidden.
        let no_driver = "no CUDA driver: its library (libcuda.so.1, nvcuda.dll) was not found";
        text = text.replace("no NVIDIA GPU: the CUDA driver finds none", no_driver);
        let mut lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        // What Cargo says around a build script's own words.
        if let Some(start) = lines.iter().position(|line| *line == "  --- stderr") {
            let before = lines[..start].iter().position(|line| line.starts_with("error: failed to run custom build"));
            lines.splice(before.unwrap_or(0)..=start + 1, ["..."]);
        }
        while lines.last().is_some_and(|line| line.is_empty()) {
            lines.pop();
        }
        lines.join("\n") + if lines.is_empty() { "" } else { "\n" }
    }

    /// Tools that few pages need.
    fn offer(&self, command: &mut Command) {
        if self.needs.contains(&Tool::Rocm) {
            command.env("ROCM_PATH", rocm());
        }
        if self.needs.contains(&Tool::Sccache) {
            let path = command.get_envs().find(|(name, _)| *name == "PATH").and_then(|(_, value)| value);
            let path = path.map(ToOwned::to_owned).unwrap_or_default();
            let folder = sccache().parent().expect("a program lies in a folder").to_owned();
            let folders = env::split_paths(&path).chain([folder]);
            // A socket's path has at most 107 bytes.
            let socket = env::temp_dir().join(format!("{}-{}", self.name, std::process::id()));
            command
                .env("PATH", env::join_paths(folders).expect("the folders came out of PATH"))
                .env("SCCACHE_DIR", self.package.folder.join("cache"))
                .env("SCCACHE_SERVER_UDS", socket);
        }
    }

    /// A GPU of this compute capability, pretended.
    fn pretend(&mut self, capability: &str) {
        let folder = scratch::folder(&format!("{}-driver", self.name));
        stand_ins::compile(
            "cuda_driver.c",
            &["-shared", "-fPIC", "-Wl,-soname,libcuda.so.1"],
            &folder.join("libcuda.so.1"),
        );
        self.gpu = vec![
            ("LD_LIBRARY_PATH", folder.display().to_string()),
            ("FAKE_GPU", capability.to_owned()),
            ("FAKE_LOG", folder.join("log").display().to_string()),
        ];
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if self.needs.contains(&Tool::Sccache) {
            let mut stop = Command::new(sccache());
            self.offer(&mut stop);
            let _ = stop.arg("--stop-server").output();
        }
    }
}

/// What is shown of what was printed: commands of compilers are longer than a page is wide.
fn shortened(printed: &str) -> String {
    let lines = printed.lines().map(|line| match line.char_indices().nth(110) {
        Some((at, _)) if line.starts_with("    /") => {
            format!("{} …\n", line[..at].rsplit_once(' ').map_or(line, |(start, _)| start))
        }
        _ => format!("{line}\n"),
    });
    // The folders of build scripts have a hash.
    let start = format!("build/{NAME}-");
    let text = lines.collect::<String>();
    let mut parts = text.split(&start);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + &start + "…" + part.find('/').map_or("", |end| &part[end..]))
}

/// Whether what was printed is what is shown, where the latter may leave out lines, parts of lines, and the value of sizes.
fn is_shown(shown: &[&str], printed: &[&str]) -> bool {
    match (shown, printed) {
        ([], []) => true,
        (["...", rest @ ..], _) => (0..=printed.len()).any(|skipped| is_shown(rest, &printed[skipped..])),
        ([line, rest @ ..], [other, others @ ..]) => is_line(line, other) && is_shown(rest, others),
        _ => false,
    }
}

fn is_line(shown: &str, printed: &str) -> bool {
    let (shown, printed) = (without_sizes(shown), without_sizes(printed));
    let mut rest = printed.as_str();
    let parts: Vec<&str> = shown.split('…').collect();
    let Some((first, others)) = parts.split_first() else { return false };
    let Some(after) = rest.strip_prefix(first) else { return false };
    rest = after;
    match others.split_last() {
        None => rest.is_empty(),
        Some((last, middle)) => {
            for part in middle {
                match rest.find(part) {
                    Some(at) => rest = &rest[at + part.len()..],
                    None => return false,
                }
            }
            rest.ends_with(last)
        }
    }
}

/// Numbers of bytes and shares become `N`, bars are left out, and columns are one space wide: compilers of other versions make other images.
fn without_sizes(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_bar = |word: &str| word.chars().all(|c| ('\u{2580}'..='\u{259f}').contains(&c));
    let words: Vec<&str> = words.into_iter().filter(|word| !is_bar(word)).collect();
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') && !word.is_empty();
    let is_share = |word: &str| word.strip_suffix('%').is_some_and(is_number);
    let is_unit = |word: &str| matches!(word.trim_end_matches([',', '.', ';', ')']), "bytes" | "B" | "KiB" | "MiB");
    let sizes = words.iter().enumerate().map(|(index, word)| {
        match is_share(word) || is_number(word) && words.get(index + 1).is_some_and(|next| is_unit(next)) {
            true => "N",
            false => *word,
        }
    });
    sizes.collect::<Vec<_>>().join(" ").replace("N B", "N KiB")
}

fn follow(page: &str, needs: &'static [Tool]) {
    let path = scratch::workspace().join(page);
    let mut reader = Reader::new(page, needs);
    let mut text = text_of(&path);
    let (mut from, mut ran) = (0, 0);
    let mut unbuilt = BTreeSet::new();
    for step in steps(&path) {
        match step {
            Step::File { path, text } => {
                if !unbuilt.insert(path.clone()) {
                    // What takes its place was not all that the page shows.
                    succeed(&mut reader.package.cargo(&["check", "--quiet"]));
                    unbuilt = BTreeSet::from([path.clone()]);
                }
                reader.write(&path, &text);
            }
            Step::Followed => unbuilt.clear(),
            Step::Copy { path, from } => {
                reader.package.write(&path, data::read(&from));
            }
            Step::On { capability } => reader.pretend(&capability),
            Step::Run { command, shown } => {
                let printed = reader.run(&command);
                ran += 1;
                unbuilt.clear();
                let (shown_lines, lines): (Vec<&str>, Vec<&str>) = (shown.lines().collect(), printed.lines().collect());
                let same = is_shown(&shown_lines, &lines);
                let block = format!("$ {command}\n{shown}");
                from += text[from..].find(&block).expect("the command stands in the page");
                if same {
                    from += block.len();
                } else if env::var_os("BLESS").is_some() {
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

fn summary() {
    let folder = scratch::workspace().join("docs/guide/src");
    let summary = text_of(&folder.join("SUMMARY.md"));
    for entry in fs::read_dir(&folder).expect("the folder can be read").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name == "SUMMARY.md" {
            continue;
        }
        assert!(summary.contains(&format!("]({name})")), "{name} is not in SUMMARY.md");
        let followed = PAGES.iter().any(|(page, _)| page.ends_with(&format!("/{name}")));
        assert!(followed != TEXT.contains(&&*name), "{name} is not followed");
    }
}
