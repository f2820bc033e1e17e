//! Tables of modules and images, which the macro writes at compile time. The record of an image
//! contains everything that the rules of selection compare, so that selection need not parse
//! anything.

use super::registered;
use offload_format::target::ImageCode;
use offload_pack::pack_index::{Limits, Origin, PackImageKind};

/// The compile-time record of one module. The macro writes it; programs use
/// [`Module`](super::Module).
#[derive(Debug, Clone, Copy)]
pub struct ModuleRecord {
    /// The module's name.
    pub name: &'static str,
    /// The index of the module's first image, among the images of all modules in file order.
    pub first: usize,
    /// The number of the module's images.
    pub count: usize,
    /// The module's kernels for HIP's runtime, if the program registers them.
    pub registered: Option<&'static registered::Kernels>,
}

/// The compile-time record of one image. The macro writes it; programs use
/// [`PackImage`](super::PackImage).
#[derive(Debug, Clone, Copy)]
pub struct ImageRecord {
    /// The target: `gfx90a:xnack-`, `sm_80`, `compute_80`, `cpu`.
    pub target: &'static str,
    /// The kind of the image.
    pub kind: PackImageKind,
    /// The offset in bytes from the start of the pack; in a compressed pack, from the start of the
    /// module's decompressed stream.
    pub offset: usize,
    /// The size in bytes.
    pub size: usize,
    /// The origin of the image: compiled, prebuilt, or supplied.
    pub origin: Origin,
    /// The names of its kernels in alphabetical order; names of C++ kernels are mangled. `None` if
    /// they are unknown, as in images for the CPU.
    pub kernels: Option<&'static [&'static str]>,
    /// The launch limits of the kernels, in the order of `kernels`; empty if they are unknown.
    pub limits: &'static [Limits],
    /// The code that the rules of selection compare: [`ImageRecord::code`] of `target` and `kind`.
    pub code: ImageCode<'static>,
}

impl ImageRecord {
    /// Returns the code that the rules of selection compare.
    ///
    /// # Panics
    /// Panics if the target is malformed, which ends the compilation.
    #[inline]
    pub const fn code(target: &'static str, kind: PackImageKind) -> ImageCode<'static> {
        match ImageCode::of_pack_image(target, kind) {
            Some(code) => code,
            None => panic!("a target in the pack is malformed: build the pack again"),
        }
    }

    /// Returns what is wrong with the image's offset or size in a pack of `size` bytes, if
    /// anything.
    #[inline]
    pub(crate) const fn problem(&self, size: usize) -> Option<&'static str> {
        if self.offset > size {
            return Some("an image starts past the end of its pack");
        }
        if self.size > size - self.offset {
            return Some("an image ends past the end of its pack");
        }
        // Check what `PackImage::as_ptr` guarantees to drivers.
        match self.kind.is_ptx() {
            true if self.size == size - self.offset => {
                Some("PTX at the end of its pack is not followed by a NUL")
            }
            false if !self.offset.is_multiple_of(8) => Some("an image is not aligned in its pack"),
            _ => None,
        }
    }
}
