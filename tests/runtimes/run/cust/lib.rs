//! Re-exports the published crate, so a build links it as its users would.

pub use cust;
