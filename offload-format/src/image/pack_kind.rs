//! The check of an image that was made for a target.

use super::{CodeObjectHeader, CubinHeader, Image, PtxHeader};
use crate::Error;
use crate::target::{NvidiaCode, OffloadArch, PackImageKind};
use alloc::format;
use alloc::string::{String, ToString};

/// Returns the kind of an image that was made for `target`, from its first bytes. `triple` is the
/// target triple of the host, for an image for the CPU.
///
/// Returns an error in words if the image is for another target, or if its header cannot be read.
pub fn pack_kind_for(
    target: &OffloadArch<'_>,
    head: &[u8],
    triple: String,
) -> Result<PackImageKind<String>, String> {
    let in_words = |error: Error| error.to_string();
    let expect = |found: String| {
        if found == target.to_canonical() { Ok(()) } else { Err(format!("it is for {found}")) }
    };
    Ok(match target {
        OffloadArch::Amdgpu(_) => {
            let header = CodeObjectHeader::parse(head).map_err(in_words)?;
            // Unknown processors cannot be checked: trust the compiler.
            header.target_id().map_or(Ok(()), |id| expect(id.to_string()))?;
            PackImageKind::CodeObject { version: header.version() }
        }
        OffloadArch::Nvidia(arch) if arch.code == NvidiaCode::Cubin => {
            let header = CubinHeader::parse(head).map_err(in_words)?;
            if header.number() != arch.number() {
                return Err(format!("it is for sm_{}", header.number()));
            }
            PackImageKind::Cubin
        }
        OffloadArch::Nvidia(_) => {
            let header = PtxHeader::parse(head).map_err(in_words)?;
            expect(header.arch().to_string())?;
            PackImageKind::Ptx { version: header.version() }
        }
        OffloadArch::Intel(_) => match Image::parse(head).map_err(in_words)? {
            Image::SpirV(version) => PackImageKind::SpirV { version },
            other => return Err(format!("it is {}", other.kind().words())),
        },
        OffloadArch::Cpu => PackImageKind::SharedObject { triple },
    })
}
