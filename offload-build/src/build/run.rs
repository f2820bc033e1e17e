//! Runs the steps of one build, and holds the state that the build's parts share.

use super::portable::Setting;
use super::prebuilt;
use crate::compile::Compilation;
use crate::compile::cache;
use crate::output::OutDir;
use crate::plan::PlannedModule;
use crate::request::Request;
use crate::toolchain::compilers::Tools;
use crate::toolchain::exec::{self, How, Launcher, Printed, Sorted, StepKind};
use crate::toolchain::{Cargo, Error, Seen};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// One build of a pack or a static library.
pub(crate) struct Run<'a> {
    pub(crate) request: &'a Request,
    /// Whether the list of targets depends on this machine or its variables, as with `native` and
    /// `CUDAARCHS`.
    pub(super) is_of_this_machine: bool,
    pub(super) name: &'a str,
    pub(crate) cargo: &'a Cargo,
    pub(crate) output: &'a OutDir,
    pub(crate) tools: &'a Tools<'a>,
    /// The state of files before the compilation.
    pub(super) seen: Seen,
    /// Probe results shared by all modules.
    probed: RefCell<Vec<(String, Option<String>)>>,
    /// Compilers' messages about sources that they could not describe, each with the output file
    /// that is missing as a result.
    pub(super) undescribed: RefCell<Vec<(Option<PathBuf>, String)>>,
}

impl<'a> Run<'a> {
    pub(crate) fn new(
        request: &'a Request,
        is_of_this_machine: bool,
        name: &'a str,
        output: &'a OutDir,
        tools: &'a Tools<'a>,
    ) -> Self {
        Self {
            request,
            is_of_this_machine,
            name,
            cargo: tools.cargo,
            output,
            tools,
            seen: Seen::default(),
            probed: RefCell::default(),
            undescribed: RefCell::default(),
        }
    }

    /// Returns the start of a module's file names in the prebuilt set.
    pub(crate) fn prebuilt_stem(&self, module: &PlannedModule) -> String {
        prebuilt::stem(self.name, &module.prefix)
    }

    /// Returns the values that a module's prebuilt set must match.
    pub(crate) fn prebuilt_setting(&self, module: &PlannedModule) -> Setting<'a> {
        let version = self.request.code_object_version;
        let version =
            version.map(|version| format!(" -mcode-object-version={version}")).unwrap_or_default();
        let mut folders = module.options.includes.clone();
        for source in &module.sources {
            folders.extend_from_slice(&source.options.includes);
        }
        // Watch these folders, as compilations do, because a new header in them can make the set
        // stale.
        folders.iter().for_each(|folder| self.cargo.watch_folder(folder));
        folders
            .retain(|folder| folder.is_absolute() && !folder.starts_with(&self.cargo.manifest_dir));
        Setting {
            options: format!("{module}{version}"),
            folders,
            output: self.output,
            cargo: self.cargo,
        }
    }

    /// Runs a probe and returns its result, or reuses that of an earlier probe with the same
    /// question.
    pub(crate) fn ask(
        &self,
        question: String,
        answer: impl FnOnce() -> Option<String>,
    ) -> Option<String> {
        let mut probed = self.probed.borrow_mut();
        if let Some((_, known)) = probed.iter().find(|(asked, _)| *asked == question) {
            return known.clone();
        }
        let answer = answer();
        probed.push((question, answer.clone()));
        answer
    }

    /// Runs the steps of these compilations, and returns their start time, or `None` if there are
    /// no steps.
    pub(crate) fn run_steps(
        &self,
        compilations: &[&Compilation],
    ) -> Result<Option<SystemTime>, Error> {
        let mut steps = Vec::new();
        let mut work = Vec::new();
        let mut modules: Vec<&str> = Vec::new();
        for compilation in compilations {
            cache::forget(compilation, self.output)?;
            let first = steps.len();
            let known = modules.iter().position(|module| *module == compilation.module);
            let module = known.unwrap_or(modules.len());
            if known.is_none() {
                modules.push(&compilation.module);
            }
            work.resize(first + compilation.steps.len(), compilation.source_bytes);
            for step in &compilation.steps {
                let mut step = step.clone();
                for before in &mut step.after {
                    *before += first;
                }
                step.module = module;
                // The errors for one target per module suffice, because other targets mostly repeat
                // them.
                step.goes_on = known.is_none() && step.kind.reads_sources();
                steps.push(step);
            }
        }
        let mut compilations = Vec::new();
        for (number, step) in steps.iter().enumerate() {
            if matches!(step.kind, StepKind::Compile | StepKind::Cargo) {
                compilations.push(number);
            }
        }
        for step in &mut steps {
            // A describing step that must not fail waits for all compilations, so that the compiler
            // reports the source's errors first.
            if step.kind == (StepKind::Describe { may_fail: false }) {
                step.after.extend_from_slice(&compilations);
            }
        }
        if steps.is_empty() {
            // Without steps, ignore the settings for running compilers, even if they are invalid.
            return Ok(None);
        }
        let start = cache::file_time(self.output)?;
        self.pass_on(&exec::run(&steps, &work, &self.how()?)?);
        Ok(Some(start))
    }

    pub(super) fn how(&self) -> Result<How, Error> {
        let most = match self.cargo.untracked_var("OFFLOAD_JOBS") {
            None => self.request.max_parallel.unwrap_or(usize::MAX),
            Some(text) => text.parse().ok().filter(|most| *most > 0).ok_or_else(|| {
                Error::config(format!(
                    "OFFLOAD_JOBS is '{text}', but must be the number of compilers that may run at \
                     once, at least 1"
                ))
            })?,
        };
        let colour =
            self.cargo.untracked_var("CARGO_TERM_COLOR").is_some_and(|when| when == "always");
        Ok(How {
            most,
            jobserver: self.cargo.jobserver(),
            colour,
            launcher: Launcher::from_env(self.cargo)?,
        })
    }

    /// Shows each compiler warning once.
    ///
    /// Compilers repeat most warnings for every target, every source that includes a header, and
    /// every template instance. `cargo build -vv` shows the rest of the output.
    fn pass_on(&self, printed: &[Printed]) {
        let mut shown: Vec<String> = Vec::new();
        for Printed { output, text, failed } in printed {
            if *failed {
                let message = text.lines().find(|line| line.contains("error: "));
                let message = message.or(text.lines().next()).unwrap_or_default();
                self.undescribed.borrow_mut().push((output.clone(), message.to_owned()));
                continue;
            }
            let Sorted { warnings, remarks } = exec::sort(text);
            for warning in warnings {
                let message = exec::message(&warning);
                if !shown.contains(&message) {
                    warning.iter().for_each(|line| self.cargo.warn(line));
                    shown.push(message);
                }
            }
            if remarks.iter().any(|line| !line.trim().is_empty()) {
                let file = output.as_deref().unwrap_or(Path::new(self.name));
                let file = file.strip_prefix(&self.output.root).unwrap_or(file).display();
                self.cargo.note(&format!("offload-build: compiler output for {file}"));
                // The prefix `| ` prevents Cargo from reading a line as an instruction.
                remarks.iter().for_each(|line| self.cargo.note(&format!("| {line}")));
            }
        }
    }
}
