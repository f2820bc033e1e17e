//! An image of a pack.

use super::{ImageRecord, Origin, PackImageKind};
use crate::select::{Candidate, Code};
use crate::target::{NvidiaArch, TargetId, TargetTriple};
use core::ffi::c_void;
use core::fmt;

/// One image of a pack.
#[derive(Clone, Copy)]
pub struct PackImage {
    pub(super) pack: &'static [u8],
    pub(super) record: &'static ImageRecord,
}

impl PackImage {
    /// What it was made for, in canonical form: `gfx90a:xnack-`, `sm_80`, `compute_80`, `cpu`.
    pub fn target(&self) -> &'static str {
        self.record.target
    }

    /// What it is.
    pub fn kind(&self) -> PackImageKind {
        self.record.kind
    }

    /// Where it came from.
    pub fn origin(&self) -> Origin {
        self.record.origin
    }

    /// The names of its kernels in alphabetical order, as it has them: those of C++ mangled. `None` if they are not
    /// known: those of an image for the CPU, and of one whose own list the build could not read.
    pub fn kernels(&self) -> Option<&'static [&'static str]> {
        self.record.kernels
    }

    /// Whether it has this kernel; `None` if its kernels are not known.
    pub fn has_kernel(&self, name: &str) -> Option<bool> {
        self.record.kernels.map(|kernels| kernels.contains(&name))
    }

    /// Offset in bytes from the start of the pack.
    pub fn offset(&self) -> usize {
        self.record.offset
    }

    /// The image.
    pub fn bytes(&self) -> &'static [u8] {
        // `KernelPack::new` has checked the range.
        &self.pack[self.record.offset..][..self.record.size]
    }

    /// Where the image starts, fit for `cuModuleLoadData` and `hipModuleLoadData`: PTX is followed by a NUL, code objects
    /// are aligned to at least 8 bytes.
    pub fn as_ptr(&self) -> *const c_void {
        // Of the pack, not of the image: the NUL behind PTX is outside the image's slice.
        self.pack.as_ptr().wrapping_add(self.record.offset).cast()
    }
}

impl fmt::Debug for PackImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.record.fmt(f)
    }
}

impl Candidate for PackImage {
    fn code(&self) -> Code<'_> {
        let code = || {
            Some(match self.record.kind {
                PackImageKind::CodeObject { version } => {
                    Code::Amdgpu { id: TargetId::parse(self.record.target).ok()?, version: Some(version) }
                }
                PackImageKind::Cubin => Code::Cubin(NvidiaArch::parse(self.record.target).ok()?),
                PackImageKind::Ptx { version } => {
                    Code::Ptx { arch: NvidiaArch::parse(self.record.target).ok()?, version: Some(version) }
                }
                PackImageKind::SharedObject { triple } => Code::Cpu(TargetTriple::parse(triple).ok()?),
            })
        };
        code().unwrap_or(Code::Other)
    }

    fn label(&self) -> &str {
        self.record.target
    }
}
