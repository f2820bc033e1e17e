//! Descriptions of what [`offload_format::inventory`] finds: JSON records, facts for the rules of
//! selection, and texts of problems.

mod named;
mod problem;
mod record;
mod signature;

pub use named::Named;
pub use problem::{place_text, problem_text};
pub use record::{CpuKernelRecord, FileRecord, ImageRecord, KernelRecord, cpu_compiler};

#[cfg(test)]
mod tests;
