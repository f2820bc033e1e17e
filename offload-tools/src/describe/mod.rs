//! Describes the findings of [`offload_format::inventory`]: JSON records, facts for the selection
//! rules, and texts about problems.

mod named;
mod problem;
mod record;
mod signature;

pub use named::Named;
pub use problem::{place_text, problem_text};
pub use record::{CpuKernelRecord, FileRecord, ImageRecord, KernelRecord, cpu_compiler};

#[cfg(test)]
mod tests;
