//! The same by the crate `jobserver`: a semaphore on Windows, and pipes where they cannot be opened anew.

use jobserver::{Acquired, Client, HelperThread};
use std::io;

/// A token, which goes back when it is dropped.
pub(crate) type Token = Acquired;

/// Asks for tokens, in a thread of its own.
#[derive(Debug)]
pub(crate) struct Requests(HelperThread);

impl Requests {
    /// Starts with none. `answer` gets a token, or an error, for each request. The crate reads the environment by itself.
    ///
    /// `None` if the jobserver is not to be had.
    pub(crate) fn start(_auth: &str, answer: impl Fn(io::Result<Token>) + Send + 'static) -> Option<Self> {
        // SAFETY: the descriptors that CARGO_MAKEFLAGS or MAKEFLAGS names were opened by the process that started this build
        // script, and were inherited; nothing in a build script closes descriptors that it did not open.
        #[allow(unsafe_code)]
        let client = unsafe { Client::from_env() };
        client?.into_helper_thread(answer).ok().map(Self)
    }

    pub(crate) fn send(&self) {
        self.0.request_token();
    }
}
