//! Files of an archive that are described together.

use super::compile::Compiled;
use super::gets::Known;

/// A file, or several files that belong together: a library with its packs, packs that no library
/// names, or alternatives.
#[derive(Default)]
pub(super) struct Joined {
    /// The paths of the files.
    pub(super) name: String,
    pub(super) known: Known<'static>,
    /// Descriptions of problems.
    pub(super) problems: Vec<String>,
    /// The result of ptxas.
    pub(super) compiled: Option<Compiled>,
}
