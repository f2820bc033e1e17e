//! Images for the CPU: blocks run as in C++ kernels. `offload/rust.cpp` in offload-build defines
//! the functions.

use super::Index;
use core::fmt::{self, Write};
use core::panic::{Location, PanicInfo};

/// A text, in C.
#[repr(C)]
struct Text {
    start: *const u8,
    size: usize,
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self { start: text.as_ptr(), size: text.len() }
    }
}

/// A place in a source, in C.
#[repr(C)]
struct Place {
    file: Text,
    line: u32,
}

impl Place {
    /// Returns the place from which a public function was called: all public functions have
    /// `track_caller`.
    #[track_caller]
    fn of_caller() -> Self {
        Location::caller().into()
    }
}

impl From<&Location<'_>> for Place {
    fn from(location: &Location<'_>) -> Self {
        Self { file: location.file().into(), line: location.line() }
    }
}

unsafe extern "C" {
    safe fn offload_kernel_thread_index() -> Index;
    safe fn offload_kernel_block_index() -> Index;
    safe fn offload_kernel_block_size() -> Index;
    safe fn offload_kernel_grid_size() -> Index;
    safe fn offload_kernel_warp_size() -> u32;
    safe fn offload_kernel_lane() -> u32;
    safe fn offload_kernel_barrier(place: &Place);
    safe fn offload_kernel_shared(size: &mut usize) -> *mut u8;
    safe fn offload_kernel_sync_warp(place: &Place);
    safe fn offload_kernel_ballot(condition: bool, place: &Place) -> u64;
    safe fn offload_kernel_shuffle(value: u64, source: u32, place: &Place) -> u64;
    safe fn offload_kernel_panic(message: Text, place: &Place) -> !;
}

pub(crate) fn thread_index() -> Index {
    offload_kernel_thread_index()
}

pub(crate) fn block_index() -> Index {
    offload_kernel_block_index()
}

pub(crate) fn block_size() -> Index {
    offload_kernel_block_size()
}

pub(crate) fn grid_size() -> Index {
    offload_kernel_grid_size()
}

#[track_caller]
pub(crate) fn barrier() {
    offload_kernel_barrier(&Place::of_caller());
}

pub(crate) fn shared() -> (*mut u8, usize) {
    let mut size = 0;
    (offload_kernel_shared(&mut size), size)
}

pub(crate) fn warp_size() -> u32 {
    offload_kernel_warp_size()
}

pub(crate) fn lane() -> u32 {
    offload_kernel_lane()
}

#[track_caller]
pub(crate) fn sync_warp() {
    offload_kernel_sync_warp(&Place::of_caller());
}

#[track_caller]
pub(crate) fn ballot(condition: bool) -> u64 {
    offload_kernel_ballot(condition, &Place::of_caller())
}

#[track_caller]
pub(crate) fn shuffle(word: u32, source: u32) -> u32 {
    offload_kernel_shuffle(u64::from(word), source, &Place::of_caller()) as u32
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    let mut message = Message { bytes: [0; 512], size: 0 };
    // Omit text that does not fit.
    let _ = write!(message, "{}", info.message());
    let text = Text { start: message.bytes.as_ptr(), size: message.size };
    let place = info.location().map_or(Place { file: "".into(), line: 0 }, Place::from);
    offload_kernel_panic(text, &place)
}

/// The message of a panic, in an array because there is no allocator.
struct Message {
    bytes: [u8; 512],
    size: usize,
}

impl Write for Message {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            *self.bytes.get_mut(self.size).ok_or(fmt::Error)? = byte;
            self.size += 1;
        }
        Ok(())
    }
}
