//! Reads what compilers write about a source: definitions and debug information in LLVM IR and
//! assembly, and the orders of atomic operations in LLVM IR and PTX.

pub mod assembly;
pub mod ir;
pub mod kernels;
pub mod metadata;
pub mod orders;
