//! Heterogeneous device archives, and the device-specific archives taken from them.

mod symbols;

pub use symbols::member_symbols;
