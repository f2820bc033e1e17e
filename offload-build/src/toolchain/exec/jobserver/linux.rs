//! A client for GNU make's jobserver protocol. Each byte in a pipe is a token, which a process
//! reads to acquire it and writes back to release it.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A token, which is returned to the jobserver when dropped.
pub struct Token {
    byte: u8,
    write: Arc<File>,
}

impl Drop for Token {
    fn drop(&mut self) {
        // The pipe has space for the byte, because the byte came from the pipe. If the write fails
        // because the pipe is closed, no process needs the token.
        let _ = (&*self.write).write_all(&[self.byte]);
    }
}

/// The pipe that contains the tokens.
pub struct Jobserver {
    read: File,
    write: Arc<File>,
}

impl Jobserver {
    /// Opens the jobserver given by `auth`, the value of `--jobserver-auth=` in the environment:
    /// `fifo:PATH`, or the file descriptors of a pipe's two ends.
    ///
    /// Returns `None` if the jobserver is disabled, or if this process did not inherit it.
    pub fn open(auth: &str) -> Option<Self> {
        let (read, write) = match auth.strip_prefix("fifo:") {
            Some(path) => (PathBuf::from(path), PathBuf::from(path)),
            // A negative number disables the jobserver.
            None => {
                let (read, write) = auth.split_once(',')?;
                let path = |number: &str| {
                    Some(Path::new("/proc/self/fd").join(number.parse::<u32>().ok()?.to_string()))
                };
                (path(read)?, path(write)?)
            }
        };
        // Reopen the pipe to make this end non-blocking. On the inherited pipe, the setting would
        // also affect other processes.
        let open = |path: &Path, options: &mut OpenOptions| {
            // If make did not pass on the pipe, the descriptor may belong to a different file.
            let is_pipe = path.metadata().is_ok_and(|file| file.file_type().is_fifo());
            is_pipe.then(|| options.open(path).ok()).flatten()
        };
        let read = open(&read, OpenOptions::new().read(true).write(read == write))?;
        let write = open(&write, OpenOptions::new().write(true))?;
        Some(Self { read: without_waiting(read).ok()?, write: Arc::new(write) })
    }

    /// Returns a token if one is available now.
    pub fn take(&self) -> io::Result<Option<Token>> {
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

/// Makes reads non-blocking. The system call works for every kind of file, but the standard library
/// offers it only for sockets, so treat the file as a socket.
fn without_waiting(file: File) -> io::Result<File> {
    let stream = UnixStream::from(OwnedFd::from(file));
    stream.set_nonblocking(true)?;
    Ok(File::from(OwnedFd::from(stream)))
}
