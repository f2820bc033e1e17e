//! Acquires tokens from the jobserver of Cargo or a surrounding `make`. A process may run one more
//! job than it holds tokens.
//!
//! On Linux, the standard library suffices. Only other systems use the crate `jobserver`, because
//! compiling it and `libc` takes 1.15 s of processor time.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(any(not(target_os = "linux"), test))]
mod other_hosts;

#[cfg(target_os = "linux")]
pub use linux::{Jobserver, Token};
#[cfg(not(target_os = "linux"))]
pub use other_hosts::{Jobserver, Token};

#[cfg(all(test, target_os = "linux"))]
mod tests;
