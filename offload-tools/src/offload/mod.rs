//! The commands of `cargo offload`. Each command has a file with its arguments and `run`.
//!
//! A command prints to [`out::stdout`], which removes colour if the output is not a terminal. A
//! command returns its exit status: 0, or 1 for findings, unreadable parts of a file and errors
//! ([`Error`]). For wrong arguments, clap exits with status 2.

pub mod bundle;
pub mod cli;
pub mod completions;
pub mod doctor;
mod error;
pub mod extract;
mod grouped;
mod kernel_packs;
pub mod ls;
pub mod out;
pub mod pack;
mod parts;
pub mod progress;
pub mod reach;
pub mod select;
pub mod size;
pub mod verify;
mod walk;

pub use cli::{Context, main};
pub use error::{Error, Result};
