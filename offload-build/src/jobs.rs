//! Runs steps in parallel, as many at a time as Cargo's jobserver allows.

use crate::error::{Error, ErrorKind};
use crate::launcher::Launcher;
use crate::outcome;
use jobserver::{Acquired, Client};
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// One run of a tool.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
    /// Positions of the steps that must have ended before.
    pub(crate) after: Vec<usize>,
}

impl Step {
    /// The file that it writes. Every tool that steps run is told by `-o`.
    pub(crate) fn output(&self) -> Option<&Path> {
        let at = self.args.iter().position(|arg| arg == "-o")?;
        self.args.get(at + 1).map(Path::new)
    }

    /// Whether it reads one source and writes one object.
    pub(crate) fn is_compilation(&self) -> bool {
        self.args.iter().any(|arg| arg == "-c")
    }

    /// The dependency file that is asked of clang's compiler proper, past its driver, and which arguments do so.
    pub(crate) fn compiler_proper_depfile(&self) -> Option<(Range<usize>, &OsString)> {
        let at = self.args.iter().position(|arg| arg == "-dependency-file")?;
        // Before each word stands -Xclang: -dependency-file, its path, -MT, the name.
        let place = at.checked_sub(1)?..at + 7;
        Some((place, self.args.get(at + 2)?))
    }

    /// Whether it reads a source, as clang and GCC take it.
    fn compiles(&self) -> bool {
        self.args.iter().any(|arg| arg == "-c" || arg == "-S")
    }
}

/// How steps are run, which makes no difference to what comes out.
#[derive(Debug)]
pub(crate) struct How {
    /// The most steps at a time, if that is less than what the jobserver allows.
    pub(crate) most: usize,
    /// Whether compilers colour their messages.
    pub(crate) colour: bool,
    /// What compilers are started through.
    pub(crate) launcher: Option<Launcher>,
}

/// The command line, to be copied into a shell.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+:,@".contains(c);
        for (index, word) in
            [self.program.as_os_str()].into_iter().chain(self.args.iter().map(|arg| &**arg)).enumerate()
        {
            let word = word.to_string_lossy();
            let space = if index > 0 { " " } else { "" };
            match word.chars().all(plain) && !word.is_empty() {
                true => write!(f, "{space}{word}")?,
                false => write!(f, "{space}'{}'", word.replace('\'', r"'\''"))?,
            }
        }
        Ok(())
    }
}

enum Event {
    Token(io::Result<Acquired>),
    Ended(usize, io::Result<Output>),
}

/// Runs all steps, each after those it names, and first those behind which most work waits; `work` says how much each of
/// them is, in any unit. After a failure no further step starts. Returns what the tools had to say although they
/// succeeded: warnings.
///
/// Returns an error with the command line and the tool's own text, whole, for the first step that fails.
pub(crate) fn run(steps: &[Step], work: &[u64], how: How) -> Result<Vec<String>, Error> {
    if let Some(launcher) = &how.launcher {
        launcher.check(steps.iter())?;
    }
    let (sender, events) = channel();
    let client = jobserver_client()?;
    let token_sender = sender.clone();
    let helper = client.into_helper_thread(move |token| {
        // The loop below may have ended with requests open.
        let _ = token_sender.send(Event::Token(token));
    });
    let helper =
        helper.map_err(|error| Error::new(ErrorKind::Io, format!("could not wait for the jobserver: {error}")))?;
    let mut state = State {
        steps,
        how,
        ahead: work_ahead(steps, work),
        ended: vec![false; steps.len()],
        waiting: (0..steps.len()).collect(),
        running: 0,
        tokens: Vec::new(),
        warnings: Vec::new(),
    };
    let mut asked = 0;
    let mut failure = None;
    loop {
        if failure.is_none() {
            state.start(&sender);
        }
        if state.running == 0 {
            break;
        }
        // One token for each step that could start now and has none.
        let room = state.how.most.saturating_sub(state.running);
        let ready = if failure.is_none() { state.ready().count().min(room) } else { 0 };
        while asked < ready {
            helper.request_token();
            asked += 1;
        }
        if let Err(error) = state.wait(&events, &mut asked) {
            failure.get_or_insert(error);
        }
    }
    failure.map_or(Ok(state.warnings), Err)
}

struct State<'a> {
    steps: &'a [Step],
    how: How,
    /// The work of each step and of the longest chain of steps behind it.
    ahead: Vec<u64>,
    ended: Vec<bool>,
    waiting: Vec<usize>,
    running: usize,
    /// Tokens beside the one that every process started by a jobserver has from the beginning.
    tokens: Vec<Acquired>,
    warnings: Vec<String>,
}

impl State<'_> {
    /// A step as it is run.
    fn step(&self, index: usize) -> Step {
        let step = &self.steps[index];
        self.how.launcher.as_ref().map_or_else(|| step.clone(), |launcher| launcher.launch(step))
    }

    fn ready(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        self.waiting.iter().copied().filter(|&step| self.steps[step].after.iter().all(|&before| self.ended[before]))
    }

    fn start(&mut self, sender: &Sender<Event>) {
        while self.running < self.how.most.clamp(1, 1 + self.tokens.len()) {
            // Of several with as much the first.
            let Some(index) = self.ready().rev().max_by_key(|&step| self.ahead[step]) else { break };
            self.waiting.retain(|&step| step != index);
            self.running += 1;
            let step = self.step(index);
            let sender = sender.clone();
            let colour = self.how.colour && step.compiles();
            thread::spawn(move || {
                // What an earlier run left would pass for this one's.
                let _ = step.output().map(fs::remove_file);
                let mut command = Command::new(&step.program);
                command.args(&step.args).envs(step.env.clone()).stdin(Stdio::null());
                // The pipe is no terminal, so a compiler has to be told.
                command.args(colour.then_some("-fdiagnostics-color=always"));
                let _ = sender.send(Event::Ended(index, command.output()));
            });
        }
        // What is not used goes back at once: other build scripts wait for it.
        self.tokens.truncate(self.running.saturating_sub(1));
    }

    fn wait(&mut self, events: &Receiver<Event>, asked: &mut usize) -> Result<(), Error> {
        match events.recv().expect("this function's caller holds a sender") {
            Event::Token(token) => {
                *asked -= 1;
                let token = token.map_err(|error| {
                    Error::new(ErrorKind::Io, format!("could not take a token from the jobserver: {error}"))
                })?;
                self.tokens.push(token);
                Ok(())
            }
            Event::Ended(index, output) => {
                self.running -= 1;
                self.ended[index] = true;
                let text = outcome::judge(&self.step(index), output)?;
                self.warnings.extend((!text.trim().is_empty()).then_some(text));
                Ok(())
            }
        }
    }
}

/// The work of each step and of the longest chain of steps behind it. Steps come after those that they wait for.
fn work_ahead(steps: &[Step], work: &[u64]) -> Vec<u64> {
    let mut ahead = work.to_vec();
    for (index, step) in steps.iter().enumerate().rev() {
        for &before in &step.after {
            ahead[before] = ahead[before].max(work[before] + ahead[index]);
        }
    }
    ahead
}

fn jobserver_client() -> Result<Client, Error> {
    // SAFETY: the descriptors that CARGO_MAKEFLAGS or MAKEFLAGS names were opened by the process that started this build
    // script, and were inherited; nothing in a build script closes descriptors that it did not open.
    #[allow(unsafe_code)]
    let inherited = unsafe { Client::from_env() };
    match inherited {
        Some(client) => Ok(client),
        None => {
            let jobs = thread::available_parallelism().map_or(1, usize::from);
            Client::new(jobs - 1)
                .map_err(|error| Error::new(ErrorKind::Io, format!("could not make a jobserver: {error}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_chain_counts() {
        let step = |after: &[usize]| Step { program: "".into(), args: vec![], env: vec![], after: after.to_vec() };
        let steps = [step(&[]), step(&[0]), step(&[]), step(&[2]), step(&[3]), step(&[0, 1])];
        assert_eq!(work_ahead(&steps, &[5, 5, 1, 1, 1, 5]), [15, 10, 3, 2, 1, 5]);
    }
}
