//! `--compile`: compiles PTX with ptxas, as drivers would when a program loads it.

use super::devices::Asked;
use super::gets::Known;
use crate::describe::Named;
use crate::offload::{Context, Error, Result};
use crate::text;
use offload_build::doctor::Assembler;
use offload_format::inventory::Images;
use offload_format::select::Candidate;
use offload_format::target::{ImageCode, NvidiaCode, NvidiaSuffix};
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The maximum number of lines of a message to show.
const LINES: usize = 3;

/// The result of ptxas for the PTX in a file.
#[derive(Debug, Serialize)]
pub(super) struct Compiled {
    /// The version line of ptxas's output.
    pub(super) ptxas: String,
    /// The GPUs for which ptxas compiled PTX.
    pub(super) devices: Vec<String>,
    /// The GPUs that get PTX but are not supported by this ptxas.
    pub(super) unknown: Vec<String>,
    /// The refused PTX, grouped by message.
    pub(super) refused: Vec<Refused>,
}

/// PTX that ptxas refuses.
#[derive(Debug, Serialize)]
pub(super) struct Refused {
    /// The GPUs for which ptxas printed this message.
    devices: Vec<String>,
    /// The image's name: `compute_80`.
    image: String,
    module: Option<String>,
    /// The message of ptxas.
    message: String,
}

/// A run of ptxas.
struct Job<'k> {
    device: &'k str,
    module: Option<&'k str>,
    image: &'k Named<'k>,
    /// Whether the machine code will be linked.
    is_linked: bool,
    source: PathBuf,
}

impl Compiled {
    /// Compiles the PTX that each of these GPUs gets, with one ptxas per CPU core at a time.
    ///
    /// Returns an error if an image cannot be read.
    pub(super) fn new<'k>(
        (ptxas, context): (&Assembler, &Context),
        known: &'k Known<'_>,
        asked: impl Iterator<Item = &'k Asked>,
    ) -> Result<Self> {
        let folder = tempfile::tempdir()
            .map_err(|error| Error::text(format!("could not make a temporary folder: {error}")))?;
        let (mut devices, mut unknown) = (Vec::new(), Vec::new());
        let (mut jobs, mut known_jobs, mut sources) = (Vec::new(), HashSet::new(), HashMap::new());
        let mut images = Images::new(context.max_size);
        for gpu in asked {
            let is_known = ptxas.processors.contains(&gpu.target);
            for (module, image, is_linked) in known.ptx(gpu) {
                let list = if is_known { &mut devices } else { &mut unknown };
                if !list.contains(&gpu.target) {
                    list.push(gpu.target.clone());
                }
                let address = std::ptr::from_ref(image);
                // Compile only once if the same GPU was requested twice.
                if !is_known || !known_jobs.insert((&gpu.target, address)) {
                    continue;
                }
                let number = sources.len();
                let source = match sources.get(&address) {
                    Some(source) => PathBuf::clone(source),
                    None => {
                        let path = folder.path().join(format!("{number}.ptx"));
                        write(&mut images, image, &path)?;
                        sources.insert(address, path.clone());
                        path
                    }
                };
                jobs.push(Job { device: &gpu.target, module, image, is_linked, source });
            }
        }
        let refused = run(ptxas, &jobs);
        Ok(Self { ptxas: ptxas.version.clone(), devices, unknown, refused })
    }

    /// Merges another file's result into this one.
    pub(super) fn and(mut self, other: Self) -> Self {
        let add = |all: &mut Vec<String>, more: Vec<String>| {
            for gpu in more {
                if !all.contains(&gpu) {
                    all.push(gpu);
                }
            }
        };
        add(&mut self.devices, other.devices);
        add(&mut self.unknown, other.unknown);
        self.refused.extend(other.refused);
        self
    }

    /// Returns a sentence for each PTX that ptxas refuses.
    pub(super) fn findings<'f>(&'f self, file: &'f str) -> impl Iterator<Item = String> + 'f {
        self.refused.iter().map(move |refused| {
            let Refused { devices, image, module, message } = refused;
            let devices = devices.join(", ");
            let of = module.as_deref().map(text::escaped_str);
            let of = of.map(|name| format!(" of the module {name}")).unwrap_or_default();
            let image = text::escaped_str(image);
            let message = text::escaped_str(message).replace("\\n", "\n  ");
            format!("{file}: {image}{of} does not compile for {devices}:\n  {message}")
        })
    }
}

/// Writes an image's text without the NULs at its end.
fn write<'i>(images: &mut Images<'i>, image: &Named<'i>, to: &Path) -> Result<()> {
    let bytes = images.read(image.image.expect("the image's file is open")).map_err(|error| {
        Error::text(format!("could not read {}: {error}", text::escaped_str(image.label())))
    })?;
    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    fs::write(to, &bytes[..end])
        .map_err(|error| Error::text(format!("could not write {}: {error}", to.display())))
}

/// Runs all jobs, and returns the refusals in the jobs' order.
fn run(ptxas: &Assembler, jobs: &[Job<'_>]) -> Vec<Refused> {
    let (next, refused) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(jobs.len());
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((number, job)) = {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    jobs.get(number).map(|job| (number, job))
                } {
                    if let Some(message) = job.refusal(ptxas) {
                        refused.lock().expect("no thread panics").push((number, message));
                    }
                }
            });
        }
    });
    let mut all = refused.into_inner().expect("no thread panics");
    all.sort_unstable();
    let mut refused: Vec<Refused> = Vec::new();
    for (number, message) in all {
        let Job { device, module, image, .. } = &jobs[number];
        let device = (*device).to_owned();
        let (image, module) = (image.label().to_owned(), module.map(str::to_owned));
        let is_same =
            |it: &&mut Refused| it.image == image && it.module == module && it.message == message;
        match refused.iter_mut().find(is_same) {
            Some(known) => known.devices.push(device),
            None => refused.push(Refused { devices: vec![device], image, module, message }),
        }
    }
    refused
}

impl Job<'_> {
    /// Compiles the PTX. If that fails, returns the message of ptxas.
    fn refusal(&self, ptxas: &Assembler) -> Option<String> {
        let output = self.source.with_extension(format!("{}.cubin", self.device));
        // PTX for a single GPU, such as `compute_90a`, is compiled for the GPU name with the
        // letter: `sm_90a`.
        let arch = match self.image.code() {
            ImageCode::Ptx { arch, .. } if arch.suffix == Some(NvidiaSuffix::ArchSpecific) => {
                arch.with_code(NvidiaCode::Cubin).to_string()
            }
            _ => self.device.to_owned(),
        };
        let ran = Command::new(&ptxas.path)
            .arg(format!("-arch={arch}"))
            .args(self.is_linked.then_some("--compile-only"))
            .arg(&self.source)
            .arg("-o")
            .arg(&output)
            .output();
        // Remove the machine code, because a library may have thousands of images.
        let _ = fs::remove_file(&output);
        match ran {
            Ok(ran) if ran.status.success() => None,
            Ok(ran) => {
                let printed = String::from_utf8_lossy(&ran.stderr);
                let printed = printed.replace(&*self.source.to_string_lossy(), self.image.label());
                let lines = printed.lines().filter(|line| !line.contains("assembly aborted"));
                let lines: Vec<&str> = lines.take(LINES).map(str::trim_end).collect();
                Some(match &lines[..] {
                    [] => format!("ptxas ended with {}", ran.status),
                    lines => lines.join("\n"),
                })
            }
            Err(error) => Some(format!("could not start {}: {error}", ptxas.path.display())),
        }
    }
}
