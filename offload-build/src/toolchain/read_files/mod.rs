//! Finds the files that a compiler reads in addition to its source, and the folders in which it
//! searches for them. Dependency files, flags and the sources themselves name these files.

pub mod depfile;
pub mod lookup;
mod mentions;
pub mod named_files;
pub mod of_cargo;
pub mod seen;
