//! A jobserver of GNU make's protocol: each byte in a pipe is a token; it is read out, and written back.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Between two looks into an empty pipe. Nothing next to the run of a compiler.
const PAUSE: Duration = Duration::from_millis(5);

/// A token, which goes back when it is dropped.
#[derive(Debug)]
pub(crate) struct Token {
    byte: u8,
    pipe: Arc<Pipe>,
}

impl Drop for Token {
    fn drop(&mut self) {
        // The pipe had room for it before. If it is gone, so is who would use the token.
        let _ = (&self.pipe.write).write_all(&[self.byte]);
    }
}

/// Asks for tokens, in a thread of its own.
#[derive(Debug)]
pub(crate) struct Requests {
    desk: Arc<Desk>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread is told. A channel would do, and is much more to compile.
#[derive(Debug, Default)]
struct Desk {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Requests that have no answer yet.
    open: usize,
    ended: bool,
}

impl Requests {
    /// Starts with none. `auth` is what stands behind `--jobserver-auth=` in the environment: `fifo:PATH`, or the numbers of
    /// the two ends of a pipe. `answer` gets a token for each request, or one error, behind which comes nothing.
    ///
    /// `None` if the jobserver is not to be had: switched off, or not inherited.
    pub(crate) fn start(auth: &str, answer: impl Fn(io::Result<Token>) + Send + 'static) -> Option<Self> {
        let pipe = Arc::new(Pipe::open(auth)?);
        let desk = Arc::<Desk>::default();
        let inside = Arc::clone(&desk);
        let thread = thread::spawn(move || {
            while inside.waits_for_token() {
                match pipe.take() {
                    Ok(Some(byte)) => {
                        inside.change(|state| state.open -= 1);
                        answer(Ok(Token { byte, pipe: Arc::clone(&pipe) }));
                    }
                    Ok(None) => inside.pause(),
                    Err(error) => return answer(Err(error)),
                }
            }
        });
        Some(Self { desk, thread: Some(thread) })
    }

    pub(crate) fn send(&self) {
        self.desk.change(|state| state.open += 1);
    }
}

impl Drop for Requests {
    /// Waits for the thread: a token that it took as the build script ends would be lost to everybody.
    fn drop(&mut self) {
        self.desk.change(|state| state.ended = true);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Desk {
    fn change(&self, change: impl Fn(&mut State)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_one();
    }

    /// Returns once a request is open, or with `false` in the end.
    fn waits_for_token(&self) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.open == 0 && !state.ended {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        !state.ended
    }

    /// Returns after a while, or in the end.
    fn pause(&self) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.ended {
            drop(self.changed.wait_timeout(state, PAUSE));
        }
    }
}

#[derive(Debug)]
struct Pipe {
    read: File,
    write: File,
}

impl Pipe {
    fn open(auth: &str) -> Option<Self> {
        let (read, write) = match auth.strip_prefix("fifo:") {
            Some(path) => (PathBuf::from(path), PathBuf::from(path)),
            // A negative number switches it off.
            None => {
                let (read, write) = auth.split_once(',')?;
                let path =
                    |number: &str| Some(Path::new("/proc/self/fd").join(number.parse::<u32>().ok()?.to_string()));
                (path(read)?, path(write)?)
            }
        };
        // Opened anew, not inherited: who else has the pipe does not notice that here nobody waits for it.
        let open = |path: &Path, options: &mut OpenOptions| {
            // Of a make that did not pass it on only the number is known, which may be that of another file.
            let is_pipe = path.metadata().is_ok_and(|file| file.file_type().is_fifo());
            is_pipe.then(|| options.open(path).ok()).flatten()
        };
        let read = open(&read, OpenOptions::new().read(true).write(read == write))?;
        let write = open(&write, OpenOptions::new().write(true))?;
        Some(Self { read: without_waiting(read).ok()?, write })
    }

    /// A token, if there is one.
    fn take(&self) -> io::Result<Option<u8>> {
        let mut byte = [0];
        loop {
            match (&self.read).read(&mut byte) {
                Ok(1) => return Ok(Some(byte[0])),
                Ok(_) => return Err(ErrorKind::UnexpectedEof.into()),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// The standard library has the call that sets this, which is the same for every kind of file, with sockets only.
fn without_waiting(file: File) -> io::Result<File> {
    let stream = UnixStream::from(OwnedFd::from(file));
    stream.set_nonblocking(true)?;
    Ok(File::from(OwnedFd::from(stream)))
}
