//! Input files and output files.
//!
//! Inputs are mapped, and the operating system's kernel copies bytes from file to file. On Windows,
//! inputs are read, because an output may replace an input, which is impossible while the input is
//! mapped. Outputs appear complete or not at all: they are written next to their final path, and
//! renamed when they are complete. An error or a signal removes unfinished files; after SIGKILL
//! they remain next to the old file.
//!
//! The program does not wait until a file is on the disk. After a power failure or a system crash,
//! an output may be empty if it was written only seconds earlier. Running the same command again
//! restores the output. Waiting would nearly double the time of `cargo offload pack` (ext4 on a
//! virtual disk):
//!
//! | output | without waiting | waiting adds |
//! |---|---|---|
//! | 1 MB | 9 ms | 6 ms |
//! | 500 MB | 0.29 s | 0.24 s |

mod input;
mod interrupt;
mod name;
mod output;

pub use input::{Input, part};
pub use name::name_in_folder;
pub use output::{Output, PayloadSource, read_layout};

use memmap2::MmapMut;
use std::io;

/// Returns the operating system's message, like `strerror`, without the error number that Rust
/// adds.
pub fn os_message(error: &io::Error) -> String {
    let text = error.to_string();
    match text.rfind(" (os error ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

/// The maximum number of bytes to allocate for the uncompressed data of a compressed file. A file
/// that states a larger size is refused. A smaller size is allocated even if it is wrong, because
/// memory that is never written costs nothing.
pub const MEMORY_LIMIT: u64 = 1 << 36;

/// Returns a zeroed buffer of any size, in the system's largest memory pages, because requesting a
/// small page takes longer than filling it.
pub fn buffer(size: usize) -> io::Result<MmapMut> {
    let map = MmapMut::map_anon(size)?;
    // If the system refuses large pages, small pages work, too.
    #[cfg(target_os = "linux")]
    let _ = map.advise(memmap2::Advice::HugePage);
    Ok(map)
}
