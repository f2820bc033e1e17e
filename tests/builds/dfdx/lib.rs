//! Links the published crate, as its users do.

pub use dfdx;
