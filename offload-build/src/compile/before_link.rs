//! Handles sources that the build generates from the objects just before linking them.

use offload_format::image::{GlobalSymbol, global_symbols};
use std::fs;
use std::path::PathBuf;

/// A source compiled as part of a link. The link command must be known before the objects exist, so
/// it names an argument file instead of the source.
pub(super) struct LateSource {
    pub(super) source: PathBuf,
    pub(super) arguments: PathBuf,
    /// The source's language, as passed to the compiler's `-x` option.
    pub(super) language: &'static str,
}

impl LateSource {
    /// Writes the source and the argument file. Without a text, leaves the argument file empty, so
    /// that the link has no such source. If writing fails, the linker reports the missing files.
    pub(super) fn write(&self, text: Option<String>) {
        let mut arguments = String::new();
        if let Some(text) = text {
            let _ = fs::write(&self.source, text);
            let path = self.source.display().to_string();
            let path = path.replace('\\', r"\\").replace('"', "\\\"");
            arguments = format!("-x {} \"{path}\" -x none\n", self.language);
        }
        let _ = fs::write(&self.arguments, arguments);
    }
}

/// Returns the bytes of each object. An unreadable object counts as empty, because the linker
/// reports it.
pub(super) fn read(objects: &[PathBuf]) -> Vec<Vec<u8>> {
    objects.iter().map(|object| fs::read(object).unwrap_or_default()).collect()
}

pub(super) fn symbols(objects: &[Vec<u8>]) -> Vec<GlobalSymbol<'_>> {
    let mut symbols = Vec::new();
    for object in objects {
        symbols.extend(global_symbols(object).unwrap_or_default());
    }
    symbols
}
