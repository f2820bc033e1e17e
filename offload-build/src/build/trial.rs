//! Tests whether targets can be built on this machine: the code that builds packs builds a small
//! kernel for each target. A compiler's list of targets does not prove this: its driver accepts
//! targets that its backend refuses, or crashes for.

use super::missing_tool::NotMade;
use super::run::Run;
use super::{Build, plan};
use crate::output::{OutDir, write_if_changed};
use crate::targets::{Product, Target};
use crate::toolchain::Error;
use crate::toolchain::compilers::Tools;
use std::fs;

const NAME: &str = "trial";

const KERNEL: &str = "extern \"C\" __global__ void trial(float *x) { x[threadIdx.x] = 1.0f; }\n";

/// A build of small kernels with one of Cargo's profiles. The files of the build are in `OUT_DIR`,
/// a temporary folder, which is removed when this value is dropped.
#[derive(Debug)]
pub(crate) struct Trial<'a> {
    build: Build,
    output: OutDir,
    tools: &'a Tools<'a>,
}

impl<'a> Trial<'a> {
    /// Makes a trial, and writes the source of its kernel.
    pub(crate) fn new(tools: &'a Tools<'a>) -> Result<Self, Error> {
        let cargo = tools.cargo;
        let output = OutDir::create(cargo, NAME)?;
        let source = cargo.out_dir.join("trial.cu");
        write_if_changed(&source, KERNEL.as_bytes())?;
        let mut build = Build::new();
        build.file(source.display().to_string());
        Ok(Self { build, output, tools })
    }

    /// Builds the kernel for a target.
    ///
    /// Returns an error with the reason if a build would fail. For a missing tool, the error says
    /// only that it is missing.
    pub(crate) fn run(&self, target: &Target) -> Result<(), String> {
        let request = &self.build.request;
        let modules = plan::modules(request, NAME)
            .and_then(|modules| {
                plan::plan(
                    request,
                    Product::Pack(NAME),
                    modules,
                    std::slice::from_ref(target),
                    self.tools.cargo,
                )
            })
            .map_err(|error| error.to_string())?;
        let run = Run::new(request, false, NAME, &self.output, self.tools);
        let made = modules.iter().try_for_each(|module| run.make_only_images(module));
        made.map_err(|why| match why {
            NotMade::MissingTool(missing) => missing.reason(),
            // Leave out lines with paths of the trial, since these files no longer exist when a
            // user reads the message.
            NotMade::Fatal(error) => self.without_paths(&error.to_string()),
        })
    }

    fn without_paths(&self, text: &str) -> String {
        let folder = self.tools.cargo.out_dir.display().to_string();
        text.lines().filter(|line| !line.contains(&folder)).collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Trial<'_> {
    fn drop(&mut self) {
        // Ignore an error: files that remain are small, and in the system's folder for temporary
        // files.
        let _ = fs::remove_dir_all(&self.tools.cargo.out_dir);
    }
}
