//! The manifest line that enables a feature, for messages.

/// The version to write in a manifest.
const VERSION: &str =
    concat!(env!("CARGO_PKG_VERSION_MAJOR"), ".", env!("CARGO_PKG_VERSION_MINOR"));

/// Returns the line for `Cargo.toml` that enables a feature of the crate `offload-gpu`.
pub(crate) fn line(feature: &str) -> String {
    format!("offload-gpu = {{ version = \"{VERSION}\", features = [\"{feature}\"] }}")
}
