//! Objects that compilers wrote: their sections and symbols, and what is edited in them.

pub mod elf_object;
pub mod retain;
