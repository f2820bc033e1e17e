//! Files that come in and go out.
//!
//! Inputs are mapped, and the kernel copies bytes from file to file. On Windows inputs are read: no
//! file can replace a mapped one, and an output may be an input. Outputs appear whole or not at
//! all: they are written beside their place, and renamed. An error or a signal removes unfinished
//! files; SIGKILL leaves them beside the old file.
//!
//! Nothing waits until a file is on the disk: after a power cut, or a crash of the system, an
//! output of the last seconds may be empty. ARCHITECTURE.md has the cost of waiting.

mod buffer;
mod input;
mod interrupt;
mod name;
mod output;

pub use buffer::Buffer;
pub use input::Input;
pub use name::name_in_folder;
pub use output::{Output, Source, read_layout};

use std::io;

/// The message of the operating system alone, as `strerror` has it: Rust adds the error's number.
pub fn os_message(error: &io::Error) -> String {
    let text = error.to_string();
    match text.rfind(" (os error ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

/// Bytes that may be allocated for the content of a compressed file. A file that claims more is
/// refused before anything is allocated; one that claims less is believed, for memory that is not
/// written to costs nothing.
pub const MEMORY_LIMIT: u64 = 1 << 36;
