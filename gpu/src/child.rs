//! Runs the checks' child processes, each with a time limit.

use crate::system;
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// How a process ended, and what it printed.
#[derive(Debug)]
pub struct Ended {
    pub how: How,
    pub stdout: String,
    pub stderr: String,
    pub time: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    Status(i32),
    Signal(i32),
    /// The process exceeded this time limit.
    TooLong(Duration),
    /// The process could not be started.
    NotStarted,
}

impl How {
    fn of(status: ExitStatus) -> Self {
        match status.code() {
            Some(code) => Self::Status(code),
            None => Self::Signal(status.signal().unwrap_or_default()),
        }
    }

    /// Describes how the process ended.
    pub fn words(self) -> String {
        match self {
            Self::Status(code) => format!("ended with status {code}"),
            Self::Signal(signal) => format!("died by signal {signal}{}", signal_name(signal)),
            Self::TooLong(limit) => format!("took longer than {} s", limit.as_secs()),
            Self::NotStarted => "did not start".to_owned(),
        }
    }
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        4 => " (SIGILL)",
        6 => " (SIGABRT)",
        7 => " (SIGBUS)",
        8 => " (SIGFPE)",
        9 => " (SIGKILL)",
        11 => " (SIGSEGV)",
        13 => " (SIGPIPE)",
        15 => " (SIGTERM)",
        _ => "",
    }
}

/// Runs a process. After `limit`, kills the process and its group. If the process has started this
/// program again, [`system::end_with_parent`] ends those processes, too.
pub fn run(command: &mut Command, limit: Duration) -> Ended {
    let start = Instant::now();
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A separate group, which can be ended as a whole.
        .process_group(0)
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => {
            let stderr = format!("{}: {error}", command.get_program().to_string_lossy());
            let (how, time) = (How::NotStarted, start.elapsed());
            return Ended { how, stdout: String::new(), stderr, time };
        }
    };
    let stdout = reader(child.stdout.take());
    let stderr = reader(child.stderr.take());
    let how = loop {
        match child.try_wait() {
            Ok(Some(status)) => break How::of(status),
            _ if start.elapsed() >= limit => {
                let group = i32::try_from(child.id()).map_or(0, |id| -id);
                system::kill(group, system::KILL);
                // A process that a driver holds in the operating system's kernel cannot be ended,
                // so do not wait long for it.
                for _ in 0..200 {
                    if !matches!(child.try_wait(), Ok(None)) {
                        break;
                    }
                    thread::sleep(Duration::from_millis(10));
                }
                break How::TooLong(limit);
            }
            _ => thread::sleep(Duration::from_millis(5)),
        }
    };
    let time = start.elapsed();
    // A process that the child left behind may keep a pipe open, so wait only briefly for the text.
    let text = |from: mpsc::Receiver<String>| {
        from.recv_timeout(Duration::from_secs(2)).unwrap_or_default()
    };
    Ended { how, stdout: text(stdout), stderr: text(stderr), time }
}

fn reader(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<String> {
    let (to, from) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        let _ = to.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    from
}

/// Returns the end of a text, for messages.
pub fn tail(text: &str) -> String {
    let text = text.trim();
    let start = text.len().saturating_sub(600);
    let start = (start..=text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    text[start..].to_owned()
}
