//! Tokens of the jobserver that Cargo, or the `make` around it, passes on. A process that holds
//! tokens may run one job more than it has tokens.
//!
//! On Linux, the standard library is enough to take tokens. On other systems, the crate `jobserver`
//! takes tokens. The crate `jobserver` is not used on Linux: with `libc`, it takes 1.15 s of
//! processor time to compile.

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
