//! Build scripts as users write them, run by Cargo: when images are compiled, their contents, and
//! the messages.

mod folders;
mod images;
mod jobs;
mod messages;
mod rebuilds;
mod stale;
