//! Build scripts as a user writes them, run by Cargo. Tests when images are compiled, their
//! contents, and the messages.

mod folders;
mod images;
mod jobs;
mod messages;
mod rebuilds;
mod stale;
