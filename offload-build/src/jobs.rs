//! Runs steps in parallel, as many at a time as Cargo's jobserver allows.

use crate::error::{Error, ErrorKind};
use crate::jobserver::{Requests, Token};
use crate::outcome;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
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

    /// Whether it reads a source, as clang and GCC take it.
    fn compiles(&self) -> bool {
        self.args.iter().any(|arg| arg == "-c" || arg == "-S")
    }
}

/// How steps are run, which makes no difference to what comes out.
#[derive(Debug, Clone)]
pub(crate) struct How {
    /// The most steps at a time, if that is less than what the jobserver allows.
    pub(crate) most: usize,
    /// How to reach the jobserver, in the words of the environment. Without one, processors count.
    pub(crate) jobserver: Option<String>,
    /// Whether compilers colour their messages.
    pub(crate) colour: bool,
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
    Token(io::Result<Token>),
    Ended(usize, io::Result<Output>),
}

/// Events in the order in which they came. A channel would do, and is much more to compile.
#[derive(Default)]
struct Events {
    waiting: Mutex<Vec<Event>>,
    came: Condvar,
}

impl Events {
    fn add(&self, event: Event) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push(event);
        self.came.notify_one();
    }

    /// Waits for the next.
    fn next(&self) -> Event {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        while waiting.is_empty() {
            waiting = self.came.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        waiting.remove(0)
    }
}

/// Runs all steps, each after those it names, and first those behind which most work waits; `work` says how much each of
/// them is, in any unit. After a failure no further step starts. Returns what the tools had to say although they
/// succeeded: warnings.
///
/// Returns an error with the command line and the tool's own text, whole, for the first step that fails.
pub(crate) fn run(steps: &[Step], work: &[u64], how: &How) -> Result<Vec<String>, Error> {
    let events = Arc::<Events>::default();
    let inbox = Arc::clone(&events);
    let answer = move |token| inbox.add(Event::Token(token));
    let requests = how.jobserver.as_ref().map(|auth| Requests::start(auth, answer));
    let most = match requests {
        Some(Some(_)) => usize::MAX,
        // As make does that is not let at the jobserver of the one around it.
        Some(None) => 1,
        None => thread::available_parallelism().map_or(1, usize::from),
    };
    let requests = requests.flatten();
    let mut state = State {
        steps,
        colour: how.colour,
        most: how.most.min(most),
        needs_tokens: requests.is_some(),
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
            state.start(&events);
        }
        if state.running == 0 {
            break;
        }
        // One token for each step that could start now and has none.
        let room = state.most.saturating_sub(state.running);
        let ready = if failure.is_none() { state.ready().count().min(room) } else { 0 };
        while let Some(requests) = &requests
            && asked < ready
        {
            requests.send();
            asked += 1;
        }
        if let Err(error) = state.wait(&events, &mut asked) {
            failure.get_or_insert(error);
        }
    }
    // Tokens that came too late go back here: the threads of the last steps, who have the list too, may not live to see it.
    drop(requests);
    events.waiting.lock().unwrap_or_else(PoisonError::into_inner).clear();
    failure.map_or(Ok(state.warnings), Err)
}

struct State<'a> {
    steps: &'a [Step],
    colour: bool,
    most: usize,
    needs_tokens: bool,
    /// The work of each step and of the longest chain of steps behind it.
    ahead: Vec<u64>,
    ended: Vec<bool>,
    waiting: Vec<usize>,
    running: usize,
    /// Tokens beside the one that every process started by a jobserver has from the beginning.
    tokens: Vec<Token>,
    warnings: Vec<String>,
}

impl State<'_> {
    fn ready(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        self.waiting.iter().copied().filter(|&step| self.steps[step].after.iter().all(|&before| self.ended[before]))
    }

    fn start(&mut self, events: &Arc<Events>) {
        let allowed = if self.needs_tokens { 1 + self.tokens.len() } else { usize::MAX };
        while self.running < self.most.clamp(1, allowed) {
            // Of several with as much the first.
            let Some(index) = self.ready().rev().max_by_key(|&step| self.ahead[step]) else { break };
            self.waiting.retain(|&step| step != index);
            self.running += 1;
            let step = self.steps[index].clone();
            let events = Arc::clone(events);
            let colour = self.colour && step.compiles();
            thread::spawn(move || {
                // What an earlier run left would pass for this one's.
                let _ = step.output().map(fs::remove_file);
                let mut command = Command::new(&step.program);
                command.args(&step.args).envs(step.env.clone()).stdin(Stdio::null());
                // The pipe is no terminal, so a compiler has to be told.
                command.args(colour.then_some("-fdiagnostics-color=always"));
                events.add(Event::Ended(index, command.output()));
            });
        }
        // What is not used goes back at once: other build scripts wait for it.
        self.tokens.truncate(self.running.saturating_sub(1));
    }

    fn wait(&mut self, events: &Events, asked: &mut usize) -> Result<(), Error> {
        match events.next() {
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
                let text = outcome::judge(&self.steps[index], output)?;
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
