//! Archives (`ar`).

mod write;

pub use write::write_library;
