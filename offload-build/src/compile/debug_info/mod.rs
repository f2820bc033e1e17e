//! The text that compilers print of a source: definitions and debug information, in LLVM IR and in
//! assembly; orders of atomic operations, in LLVM IR and in PTX.

pub mod assembly;
pub mod ir;
pub mod kernels;
pub mod metadata;
pub mod orders;
