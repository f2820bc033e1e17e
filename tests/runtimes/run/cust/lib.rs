//! Re-exports the published crate, so that a build links it as its users do.

pub use cust;
