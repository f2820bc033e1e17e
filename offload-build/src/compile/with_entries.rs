//! Copies the CPU image's sources, and appends an entry for each kernel.
//!
//! The entries need the kernels' names, so a compiler first describes the source. The image's
//! compiler then reads a copy of the source with the entries after its last line. A `#line`
//! directive keeps the source's name and line numbers in messages, `__FILE__` and debug
//! information.

use super::signatures;
use std::fs;
use std::path::{Path, PathBuf};

/// A source, the description of its kernels, and the copy with the kernels' entries.
#[derive(Debug, Clone)]
pub(super) struct WithEntries {
    pub(super) source: PathBuf,
    /// The file in which the compiler describes the source. If the compiler rejects the source,
    /// this file does not exist. The compiler then also rejects the copy, and reports the errors.
    pub(super) description: PathBuf,
    pub(super) copy: PathBuf,
}

impl WithEntries {
    /// Writes the copy. If writing fails, the compiler reports the missing file.
    pub(super) fn write(&self) {
        let Ok(source) = fs::read(&self.source) else { return };
        let source = source.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&source);
        let mut text = format!("#line 1 {:?}\n", self.source.display().to_string()).into_bytes();
        text.extend_from_slice(source);
        if let Ok(description) = fs::read(&self.description) {
            let description = String::from_utf8_lossy(&description);
            text.push(b'\n');
            text.extend(signatures::entries(&description, is_assembly(&self.description)).bytes());
        }
        let _ = fs::write(&self.copy, text);
    }
}

/// Whether a description is assembly from g++, not LLVM IR from clang.
pub(crate) fn is_assembly(description: &Path) -> bool {
    description.extension().is_some_and(|it| it == "s")
}
