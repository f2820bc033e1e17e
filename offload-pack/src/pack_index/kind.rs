//! The kind of an image in a line of the index: a word, followed by a detail.

use super::PackImageKind;
use alloc::string::{String, ToString};
#[cfg(feature = "expansion")]
use core::fmt;
use offload_format::target::{PtxVersion, SpirvFeatures, SpirvVersion};

#[cfg(feature = "expansion")]
pub(super) fn write(f: &mut fmt::Formatter<'_>, kind: &PackImageKind<String>) -> fmt::Result {
    match kind {
        PackImageKind::CodeObject { version } => write!(f, "code-object {version}"),
        PackImageKind::Cubin => f.write_str("cubin"),
        PackImageKind::Ptx { version } => write!(f, "ptx {version}"),
        PackImageKind::SpirV { version, needs } => write!(f, "spirv {version}:{:x}", needs.0),
        PackImageKind::SharedObject { triple } => write!(f, "shared-object {triple}"),
    }
}

#[inline]
pub(super) fn parse(word: &str, fact: Option<&str>) -> Option<PackImageKind<String>> {
    Some(match (word, fact) {
        ("code-object", Some(version)) => {
            PackImageKind::CodeObject { version: version.parse().ok()? }
        }
        ("cubin", None) => PackImageKind::Cubin,
        ("ptx", Some(version)) => {
            let (major, minor) = version.split_once('.')?;
            let version = PtxVersion { major: major.parse().ok()?, minor: minor.parse().ok()? };
            PackImageKind::Ptx { version }
        }
        ("spirv", Some(version)) => {
            let (version, needs) = version.split_once(':')?;
            let needs = SpirvFeatures(u16::from_str_radix(needs, 16).ok()?);
            PackImageKind::SpirV { version: SpirvVersion::parse(version)?, needs }
        }
        ("shared-object", Some(triple)) => {
            PackImageKind::SharedObject { triple: triple.to_string() }
        }
        _ => return None,
    })
}
