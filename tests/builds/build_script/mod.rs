//! Build scripts as users write them, run by Cargo. Tests when images are compiled, what the images
//! contain, and what the build prints.

mod folders;
mod images;
mod jobs;
mod messages;
mod rebuilds;
mod stale;
