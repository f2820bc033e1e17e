//! The files that the programs of a pass (one run of `cargo test`) write into one folder.
//!
//! | file | written by | contains |
//! |---|---|---|
//! | `kernels` | `offload_gpu::run` (`OFFLOAD_CPU_LOG`) | a line for each launched kernel; see below |
//! | `kernels-HASH.so` | `offload_gpu::run` | each image that checks its kernels |
//! | `programs` | the runner | process, package and path of each test program, separated by TABs |
//! | `report-A.PID`, `report-T.PID`, `report-U.PID` | sanitizers (`log_path`) | reports |
//! | `orders` | the runner | order, process, package and path of each test program that fails in an order, separated by TABs |
//!
//! `offload-gpu/src/run/cpu/log.rs` describes the lines in `kernels`. They include the name of the
//! thread that launched the kernel, because Rust's test harness names each test's thread after the
//! test.

use super::symbols;
use offload_pack::checks::Order;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The folder with the files of a pass.
#[derive(Debug)]
pub struct Log {
    pub folder: PathBuf,
}

/// All entries in the files of a pass.
#[derive(Debug, Default)]
pub struct Entries {
    /// The first launch of each kernel by each thread.
    pub launched: Vec<Launch>,
    /// The launches in which programs counted findings.
    pub found: Vec<LaunchFindings>,
    /// Kernels that exceeded the time limit: the process, the number of the launch, and the last
    /// known place in the source.
    pub endless: Vec<(u32, usize, String)>,
    /// The programs that ran.
    pub programs: Vec<Program>,
    /// The sanitizers' reports: process, file and text.
    pub reports: Vec<(u32, PathBuf, String)>,
    /// The orders in which programs failed, each with its program.
    pub orders: Vec<(String, Program)>,
}

/// A launch of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// The number of the process that launched the kernel.
    pub process: u32,
    /// The number that the process assigned to this pair of kernel and thread.
    pub number: usize,
    /// Whether the image checks the kernel.
    pub is_checked: bool,
    /// The kernel's symbol.
    pub kernel: String,
    /// The name of the thread that launched the kernel.
    pub thread: String,
}

/// A launch with findings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchFindings {
    /// The number of the process.
    pub process: u32,
    /// The number of the launch, as in [`Launch`].
    pub number: usize,
    /// The number of findings.
    pub findings: usize,
    /// The arguments that are addresses, each with its parameter's number, counted from 1.
    pub addresses: Vec<(usize, u64)>,
}

/// A test program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The number of the program's process; 0 in the file `orders`.
    pub process: u32,
    /// The package of the program.
    pub package: String,
    /// The path of the program's file.
    pub path: PathBuf,
}

impl Log {
    /// Creates the folder, after removing an existing one.
    ///
    /// Returns a message if the folder cannot be written.
    pub fn new(folder: &Path) -> Result<Self, String> {
        let failed = |error| format!("cannot write {}: {error}", folder.display());
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(failed(error));
            }
            _ => fs::create_dir_all(folder).map_err(failed)?,
        }
        Ok(Self { folder: folder.to_owned() })
    }

    /// Returns the path of the file in which `offload_gpu::run` logs each launched kernel.
    pub fn kernels(&self) -> PathBuf {
        self.folder.join("kernels")
    }

    /// Returns the common prefix of the paths of a sanitizer's reports. `sanitizer` is its letter:
    /// `A`, `T` or `U`.
    pub fn reports(&self, sanitizer: &str) -> PathBuf {
        self.folder.join(format!("report-{sanitizer}"))
    }

    /// Logs that the program runs in this process or, if `order` is set, that it failed in that
    /// order.
    ///
    /// Returns a message if the folder cannot be written.
    pub fn add(&self, order: Option<Order>, program: &Program) -> Result<(), String> {
        let file = self.folder.join(if order.is_some() { "orders" } else { "programs" });
        let start = order.map_or_else(String::new, |order| format!("{order}\t"));
        let line = format!(
            "{start}{}\t{}\t{}\n",
            program.process,
            program.package,
            program.path.display()
        );
        let opened = OpenOptions::new().create(true).append(true).open(&file);
        let written = opened.and_then(|mut file| file.write_all(line.as_bytes()));
        written.map_err(|error| format!("cannot write {}: {error}", file.display()))
    }

    /// Reads all entries of the files, ignoring incomplete lines.
    ///
    /// Returns a message if the folder cannot be read.
    pub fn read(&self) -> Result<Entries, String> {
        let mut entries = Entries::default();
        for line in self.lines("kernels") {
            let _ = entries.add(&line);
        }
        entries.programs =
            self.lines("programs").iter().filter_map(|line| Program::read(line)).collect();
        let orders = self.lines("orders");
        let orders = orders.iter().filter_map(|line| line.split_once('\t'));
        entries.orders = orders
            .filter_map(|(order, rest)| Some((order.to_owned(), Program::read(rest)?)))
            .collect();
        let failed = |error| format!("cannot read {}: {error}", self.folder.display());
        for entry in fs::read_dir(&self.folder).map_err(failed)?.flatten() {
            let path = entry.path();
            let process = path.extension().and_then(|number| number.to_str()?.parse().ok());
            if let (Some(process), Ok(bytes)) = (process, fs::read(&path)) {
                entries.reports.push((process, path, String::from_utf8_lossy(&bytes).into_owned()));
            }
        }
        entries.reports.sort();
        let before = entries.reports.clone();
        symbols::resolve(&self.folder, entries.reports.iter_mut().map(|(_, _, text)| text));
        for ((_, path, text), (_, _, old)) in entries.reports.iter().zip(before) {
            if *text != old {
                fs::write(path, text).map_err(failed)?;
            }
        }
        Ok(entries)
    }

    /// Returns the lines of a file; none if the file does not exist.
    fn lines(&self, name: &str) -> Vec<String> {
        let bytes = fs::read(self.folder.join(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect()
    }
}

impl Entries {
    /// Adds the entry in a line of the file `kernels`. Returns `None` if the line is incomplete.
    fn add(&mut self, line: &str) -> Option<()> {
        let words: Vec<&str> = line.split('\t').collect();
        match *words {
            ["launched", process, number, image, kernel, thread] => self.launched.push(Launch {
                process: process.parse().ok()?,
                number: number.parse().ok()?,
                is_checked: image == "checked",
                kernel: kernel.to_owned(),
                thread: thread.to_owned(),
            }),
            ["found", process, number, findings, addresses] => {
                let address = |word: &str| {
                    let (number, address) = word.split_once('=')?;
                    Some((number.parse().ok()?, u64::from_str_radix(address, 16).ok()?))
                };
                self.found.push(LaunchFindings {
                    process: process.parse().ok()?,
                    number: number.parse().ok()?,
                    findings: findings.parse().ok()?,
                    addresses: addresses.split(' ').filter_map(address).collect(),
                });
            }
            ["endless", process, number, place] => {
                self.endless.push((process.parse().ok()?, number.parse().ok()?, place.to_owned()))
            }
            _ => {}
        }
        Some(())
    }
}

impl Program {
    fn read(line: &str) -> Option<Self> {
        let mut words = line.splitn(3, '\t');
        let process = words.next()?.parse().ok()?;
        Some(Self { process, package: words.next()?.to_owned(), path: words.next()?.into() })
    }
}
