//! Runs steps in parallel, as many at a time as Cargo's jobserver and the user allow.

use super::jobserver::{Jobserver, Token};
use super::launcher::Launcher;
use super::status;
use super::step::{Step, StepKind};
use super::variables::WITHHELD;
use crate::toolchain::error::{Error, ErrorKind};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Settings for running steps. They do not affect the output.
pub struct How {
    /// The maximum number of steps that run at a time. The jobserver may allow fewer.
    pub most: usize,
    /// The jobserver, as the environment describes it. Without a jobserver, the limit is the number
    /// of processors.
    pub jobserver: Option<String>,
    /// Whether compilers colour their messages.
    pub colour: bool,
    /// The program that starts compilers, if any.
    pub launcher: Option<Launcher>,
}

/// The output of a step that succeeded, or the error of a step that was allowed to fail.
pub struct Printed {
    /// The step's output file.
    pub output: Option<PathBuf>,
    pub text: String,
    /// Whether the step failed. If so, `text` is the error.
    pub failed: bool,
}

/// The index of a step that has ended, and the step's output.
type Ended = (usize, io::Result<Output>);

/// The steps that have ended, in order. A channel would also work, but takes much longer to
/// compile.
#[derive(Default)]
struct Events {
    waiting: Mutex<Vec<Ended>>,
    came: Condvar,
}

impl Events {
    fn add(&self, ended: Ended) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push(ended);
        self.came.notify_one();
    }

    /// Waits at most this long for the next step to end.
    fn next(&self, at_most: Option<Duration>) -> Option<Ended> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        while waiting.is_empty() {
            waiting = match at_most {
                None => self.came.wait(waiting).unwrap_or_else(PoisonError::into_inner),
                Some(pause) => {
                    let (waiting, result) = self
                        .came
                        .wait_timeout(waiting, pause)
                        .unwrap_or_else(PoisonError::into_inner);
                    if result.timed_out() && waiting.is_empty() {
                        return None;
                    }
                    waiting
                }
            };
        }
        Some(waiting.remove(0))
    }
}

/// The pause between checks for a jobserver token, negligible compared to a compiler's run time.
const PAUSE: Duration = Duration::from_millis(5);

/// Runs all steps, each after the steps in its `after`. Returns what the tools printed.
///
/// If several steps can start, the one with the longest chain of waiting steps starts first. `work`
/// is the amount of work in each step, in any unit. After a failure, only steps of other modules
/// start, and only those with `goes_on`.
///
/// Returns an error with the command line and the complete output of each failed tool, at most one
/// per module.
pub fn run(steps: &[Step], work: &[u64], how: &How) -> Result<Vec<Printed>, Error> {
    if let Some(launcher) = &how.launcher {
        launcher.check(steps)?;
    }
    let jobserver = how.jobserver.as_ref().map(|auth| Jobserver::open(auth));
    let most = match jobserver {
        Some(Some(_)) => usize::MAX,
        // Run one job, like a nested make that cannot reach its parent's jobserver.
        Some(None) => 1,
        None => thread::available_parallelism().map_or(1, usize::from),
    };
    let mut state = State {
        steps,
        how,
        most: how.most.clamp(1, most),
        jobserver: jobserver.flatten(),
        ahead: work_ahead(steps, work),
        ended: vec![false; steps.len()],
        waiting: (0..steps.len()).collect(),
        running: 0,
        tokens: Vec::new(),
        printed: Vec::new(),
        failed: Vec::new(),
        failure: None,
    };
    let events = Arc::<Events>::default();
    loop {
        let needs_token = state.start(&events).unwrap_or_else(|error| {
            state.most = 0;
            state.fail(usize::MAX, error);
            false
        });
        if state.running == 0 {
            break;
        }
        if let Some((index, output)) = events.next(needs_token.then_some(PAUSE))
            && let Err(error) = state.end(index, output)
        {
            state.fail(steps[index].module, error);
        }
    }
    state.failure.map_or(Ok(state.printed), Err)
}

struct State<'a> {
    steps: &'a [Step],
    how: &'a How,
    /// The maximum number of steps that run at a time.
    most: usize,
    jobserver: Option<Jobserver>,
    /// For each step, its work plus that of the longest chain of steps that wait for it.
    ahead: Vec<u64>,
    ended: Vec<bool>,
    waiting: Vec<usize>,
    running: usize,
    /// Tokens from the jobserver, for all running steps except one. A process under a jobserver may
    /// run one job without a token.
    tokens: Vec<Token>,
    printed: Vec<Printed>,
    /// The numbers of the modules that failed.
    failed: Vec<usize>,
    /// The first error of each failed module.
    failure: Option<Error>,
}

impl State<'_> {
    /// Returns the step to run. Its command runs through the compiler launcher, if there is one.
    fn step(&self, index: usize) -> Step {
        let step = &self.steps[index];
        self.how.launcher.as_ref().map_or_else(|| step.clone(), |launcher| launcher.launch(step))
    }

    /// Returns the step to start next: of the steps that need not wait, the one with the most work
    /// ahead. In a tie, the first step wins.
    fn next(&self) -> Option<usize> {
        let mut next: Option<usize> = None;
        for &step in &self.waiting {
            let Step { after, module, goes_on, .. } = &self.steps[step];
            let is_wanted = self.failed.is_empty() || *goes_on && !self.failed.contains(module);
            // The list may be long, so it comes last.
            if is_wanted
                && next.is_none_or(|next| self.ahead[step] > self.ahead[next])
                && after.iter().all(|&before| self.ended[before])
            {
                next = Some(step);
            }
        }
        next
    }

    fn fail(&mut self, module: usize, error: Error) {
        if !self.failed.contains(&module) {
            self.failed.push(module);
            self.failure = Some(match self.failure.take() {
                Some(earlier) => earlier.and(error),
                None => error,
            });
        }
    }

    /// Starts the steps that may start now. Returns whether another step could start if the
    /// jobserver had a token.
    fn start(&mut self, events: &Arc<Events>) -> Result<bool, Error> {
        let mut needs_token = false;
        while self.running < self.most {
            let Some(index) = self.next() else { break };
            if let Some(jobserver) = &self.jobserver
                && self.running > self.tokens.len()
            {
                match jobserver.take() {
                    Ok(Some(token)) => self.tokens.push(token),
                    Ok(None) => {
                        needs_token = true;
                        break;
                    }
                    Err(error) => {
                        let what = format!("could not acquire a token from the jobserver: {error}");
                        return Err(Error::new(ErrorKind::Io, what));
                    }
                }
            }
            self.waiting.retain(|&step| step != index);
            self.running += 1;
            let step = self.step(index);
            let events = Arc::clone(events);
            let colour =
                self.how.colour && matches!(step.kind, StepKind::Compile | StepKind::Generate);
            thread::spawn(move || {
                // Remove an earlier run's output, so that it is not mistaken for this step's
                // output.
                if let Some(output) = &step.output {
                    let _ = fs::remove_file(output);
                    let _ = fs::remove_file(status::crash_report(output));
                }
                if let Some(prepare) = &step.prepare {
                    prepare();
                }
                let mut command = Command::new(&step.program);
                command.args(step.passed_args()).stdin(Stdio::null());
                for name in &step.removed_env {
                    command.env_remove(name);
                }
                command.envs(step.env.clone());
                if let Some(folder) = &step.folder {
                    command.current_dir(folder);
                }
                for name in WITHHELD {
                    command.env_remove(name);
                }
                // By default, clang writes crash reports to the system's temporary folder. Use the
                // output's folder instead.
                if let Some(folder) = step.output.as_deref().and_then(Path::parent) {
                    command.env("CLANG_CRASH_DIAGNOSTICS_DIR", folder);
                }
                // Compilers write to a pipe, not a terminal, so they need an option for colours.
                // The rebuild key omits this option, so that colours cause no recompilation.
                command.args(colour.then_some("-fdiagnostics-color=always"));
                let mut output = command.output();
                if let Some(option) = step.otherwise
                    && output.as_ref().is_ok_and(|output| !output.status.success())
                {
                    output = command.arg(option).output();
                }
                events.add((index, output));
            });
        }
        // Return unused tokens immediately, because other build scripts wait for them.
        self.tokens.truncate(self.running.saturating_sub(1));
        Ok(needs_token)
    }

    fn end(&mut self, index: usize, output: io::Result<Output>) -> Result<(), Error> {
        self.running -= 1;
        self.ended[index] = true;
        let step = &self.steps[index];
        let ended = status::check_exit_status(&self.step(index), output);
        let (text, failed) = match (step.kind, ended) {
            (StepKind::Describe { may_fail: true }, Err(error)) => (error.to_string(), true),
            (_, ended) => (ended?, false),
        };
        let is_new =
            failed || !(text.trim().is_empty() || matches!(step.kind, StepKind::Describe { .. }));
        let output = step.output.clone();
        self.printed.extend(is_new.then_some(Printed { output, text, failed }));
        Ok(())
    }
}

/// Returns, for each step, its work plus that of the longest chain of steps that wait for it. In
/// `steps`, each step comes after the steps that it waits for.
fn work_ahead(steps: &[Step], work: &[u64]) -> Vec<u64> {
    let mut ahead = work.to_vec();
    for (index, step) in steps.iter().enumerate().rev() {
        for &before in &step.after {
            ahead[before] = ahead[before].max(work[before] + ahead[index]);
        }
    }
    ahead
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_chain_counts() {
        let step = |after: &[usize]| Step {
            after: after.to_vec(),
            ..Step::new(StepKind::Link, Path::new("ld"), Vec::new())
        };
        let steps = [step(&[]), step(&[0]), step(&[]), step(&[2]), step(&[3]), step(&[0, 1])];
        assert_eq!(work_ahead(&steps, &[5, 5, 1, 1, 1, 5]), [15, 10, 3, 2, 1, 5]);
    }
}
