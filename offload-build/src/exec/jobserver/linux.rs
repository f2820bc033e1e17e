//! A jobserver of GNU make's protocol: each byte in a pipe is a token; it is read out, and written
//! back.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A token, which goes back when it is dropped.
#[derive(Debug)]
pub(crate) struct Token {
    byte: u8,
    write: Arc<File>,
}

impl Drop for Token {
    fn drop(&mut self) {
        // The pipe had room for it before. If the pipe is gone, no process needs the token.
        let _ = (&*self.write).write_all(&[self.byte]);
    }
}

/// The pipe that has the tokens.
#[derive(Debug)]
pub(crate) struct Jobserver {
    read: File,
    write: Arc<File>,
}

impl Jobserver {
    /// `auth` is the value of `--jobserver-auth=` in the environment: `fifo:PATH`, or the numbers
    /// of the two ends of a pipe.
    ///
    /// Returns `None` if there is no jobserver: it is switched off, or not inherited.
    pub(crate) fn open(auth: &str) -> Option<Self> {
        let (read, write) = match auth.strip_prefix("fifo:") {
            Some(path) => (PathBuf::from(path), PathBuf::from(path)),
            // A negative number switches it off.
            None => {
                let (read, write) = auth.split_once(',')?;
                let path = |number: &str| {
                    Some(Path::new("/proc/self/fd").join(number.parse::<u32>().ok()?.to_string()))
                };
                (path(read)?, path(write)?)
            }
        };
        // The pipe is opened anew, so that other processes with the inherited one do not see that
        // this end never blocks.
        let open = |path: &Path, options: &mut OpenOptions| {
            // A make that did not pass the pipe on leaves only its number, which may be that of
            // another file.
            let is_pipe = path.metadata().is_ok_and(|file| file.file_type().is_fifo());
            is_pipe.then(|| options.open(path).ok()).flatten()
        };
        let read = open(&read, OpenOptions::new().read(true).write(read == write))?;
        let write = open(&write, OpenOptions::new().write(true))?;
        Some(Self { read: without_waiting(read).ok()?, write: Arc::new(write) })
    }

    /// A token, if there is one now.
    pub(crate) fn take(&self) -> io::Result<Option<Token>> {
        let mut byte = [0];
        loop {
            match (&self.read).read(&mut byte) {
                Ok(1) => return Ok(Some(Token { byte: byte[0], write: Arc::clone(&self.write) })),
                Ok(_) => return Err(ErrorKind::UnexpectedEof.into()),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// The standard library has the call for this setting, which works for every kind of file, only for
/// sockets.
fn without_waiting(file: File) -> io::Result<File> {
    let stream = UnixStream::from(OwnedFd::from(file));
    stream.set_nonblocking(true)?;
    Ok(File::from(OwnedFd::from(stream)))
}
