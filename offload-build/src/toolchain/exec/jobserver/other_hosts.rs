//! Accesses the jobserver through the crate `jobserver`, on systems other than Linux. The jobserver
//! is a semaphore on Windows, and on the other systems an anonymous pipe, which cannot be reopened.

use jobserver::{Acquired, Client, HelperThread};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// A token, which is returned to the jobserver when dropped.
pub type Token = Acquired;

/// A jobserver, with a thread that waits for tokens, because some systems cannot poll for a token.
pub struct Jobserver {
    // This field must be dropped first, because its thread may be about to put a token into the
    // inbox.
    thread: HelperThread,
    inbox: Arc<Mutex<Inbox>>,
}

#[derive(Debug, Default)]
struct Inbox {
    is_open: bool,
    came: Option<io::Result<Token>>,
}

impl Jobserver {
    /// Opens the jobserver. The crate `jobserver` reads the environment itself, so `_auth` is
    /// unused.
    ///
    /// Returns `None` if there is no jobserver.
    pub fn open(_auth: &str) -> Option<Self> {
        // SAFETY: the process that started this build script opened the descriptors that
        // CARGO_MAKEFLAGS or MAKEFLAGS names, and the script inherited them. Nothing in a build
        // script closes descriptors that it did not open.
        #[allow(unsafe_code)]
        let client = unsafe { Client::from_env() };
        let inbox = Arc::<Mutex<Inbox>>::default();
        let inside = Arc::clone(&inbox);
        let answer =
            move |token| inside.lock().unwrap_or_else(PoisonError::into_inner).came = Some(token);
        Some(Self { thread: client?.into_helper_thread(answer).ok()?, inbox })
    }

    /// Returns a token if one is available now. Otherwise requests a token, which a later call may
    /// return.
    pub fn take(&self) -> io::Result<Option<Token>> {
        let mut inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(token) = inbox.came.take() {
            inbox.is_open = false;
            return token.map(Some);
        }
        if !inbox.is_open {
            inbox.is_open = true;
            self.thread.request_token();
        }
        Ok(None)
    }
}
