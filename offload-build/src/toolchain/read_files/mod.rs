//! The files that a compiler reads besides its source, according to dependency files, flags and
//! texts, and the places where it searched for them.

pub mod depfile;
pub mod lookup;
mod mentions;
pub mod named_files;
pub mod of_cargo;
pub mod seen;
