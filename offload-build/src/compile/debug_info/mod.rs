//! Text that compilers print about a source: definitions and debug information, in LLVM IR and
//! assembly; orders of atomic operations, in LLVM IR and PTX.

pub mod assembly;
pub mod ir;
pub mod kernels;
pub mod metadata;
pub mod orders;
