//! Tests which targets this machine can build for, by building a small kernel for each with the
//! code that builds packs. A compiler's list of targets is no proof, because the driver accepts
//! some targets that the backend rejects or crashes on.

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

/// A build of small kernels with one of Cargo's profiles. Its files are in `OUT_DIR`, a temporary
/// folder that is removed when this value is dropped.
pub(crate) struct Trial<'a> {
    build: Build,
    output: OutDir,
    tools: &'a Tools<'a>,
}

impl<'a> Trial<'a> {
    /// Creates a trial, and writes the source of its kernel.
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
    /// Returns an error with the reason if a build would fail. If a tool is missing, the error
    /// reports only that fact.
    pub(crate) fn run(&self, target: &Target) -> Result<(), String> {
        let request = &self.build.request;
        let modules = plan::modules(request, NAME)
            .and_then(|modules| {
                plan::plan(
                    request,
                    Product::Pack(NAME),
                    &modules,
                    std::slice::from_ref(target),
                    self.tools.cargo,
                )
            })
            .map_err(|error| error.to_string())?;
        let run = Run::new(request, false, NAME, &self.output, self.tools);
        let made = modules.iter().try_for_each(|module| run.make_only_images(module));
        made.map_err(|why| match why {
            NotMade::MissingTool(missing) => missing.reason(),
            // Omit lines with the trial's paths, because these files no longer exist when a user
            // reads the message.
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
        // Ignore errors, because remaining files are small and in the system's temporary folder.
        let _ = fs::remove_dir_all(&self.tools.cargo.out_dir);
    }
}
