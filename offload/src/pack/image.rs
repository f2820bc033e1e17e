//! An image of a pack.

use super::{ImageRecord, StreamRecord};
use core::ffi::c_void;
use core::fmt;
use offload_format::pack_index::{Origin, PackImageKind};
use offload_format::select::{Candidate, Code};

/// One image of a pack.
#[derive(Clone, Copy)]
pub struct PackImage {
    pub(super) pack: &'static [u8],
    pub(super) record: &'static ImageRecord,
    /// What it is to be had from, if the pack is compressed.
    pub(super) stream: Option<&'static StreamRecord>,
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

    /// Offset in bytes from the start of the pack; of a compressed one, in what comes out of the module's stream.
    pub fn offset(&self) -> usize {
        self.record.offset
    }

    /// The image.
    ///
    /// # Panics
    /// If the pack is compressed: then [`PackImage::decompress`] has it.
    pub fn bytes(&self) -> &'static [u8] {
        self.assert_plain();
        // `KernelPack::new` has checked the range.
        &self.pack[self.record.offset..][..self.record.size]
    }

    /// Where the image starts, fit for `cuModuleLoadData` and `hipModuleLoadData`: PTX is followed by a NUL, code objects
    /// are aligned to at least 8 bytes.
    ///
    /// # Panics
    /// If the pack is compressed: then [`PackImage::decompress`] has it.
    pub fn as_ptr(&self) -> *const c_void {
        self.assert_plain();
        // Of the pack, not of the image: the NUL behind PTX is outside the image's slice.
        self.pack.as_ptr().wrapping_add(self.record.offset).cast()
    }
}

impl PackImage {
    #[track_caller]
    fn assert_plain(&self) {
        assert!(
            self.stream.is_none(),
            "the image for {} is compressed, as build.rs asks for with .compress(): decompress() has its bytes",
            self.record.target
        );
    }
}

impl fmt::Debug for PackImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.record.fmt(f)
    }
}

impl Candidate for PackImage {
    fn code(&self) -> Code<'_> {
        self.record.code
    }

    fn label(&self) -> &str {
        self.record.target
    }
}
