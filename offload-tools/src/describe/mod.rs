//! Descriptions of what [`offload_format::inventory`] finds: JSON records, facts for the rules of
//! selection, and texts of problems.

mod named;
mod problem;
mod record;
mod signature;
mod stated_kind;

pub use named::{Named, by_name};
pub use problem::problem_text;
pub use record::{FileRecord, ImageRecord, KernelRecord};
pub use stated_kind::stated_kind;

#[cfg(test)]
mod tests;
