//! Re-exports the published crate, so that builds link it as its users' builds would.

pub use cust;
