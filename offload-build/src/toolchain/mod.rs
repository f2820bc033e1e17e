//! Finds and starts compilers, determines which files they read, hashes and writes files, and
//! communicates with Cargo. This module does not depend on packs.

pub mod cargo;
pub mod compilers;
pub mod error;
pub mod exec;
pub mod files;
pub mod hash;
pub mod read_files;

pub use cargo::{Cargo, with_folder_named};
pub use error::{Error, ErrorKind};
pub use hash::{ContentHash, Parts};
pub use read_files::seen::Seen;
