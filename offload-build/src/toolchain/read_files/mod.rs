//! The files that a compiler reads besides its source: as dependency files, flags and texts name
//! them, and where it looked for them.

pub mod depfile;
pub mod lookup;
mod mentions;
pub mod named_files;
pub mod of_cargo;
pub mod seen;
