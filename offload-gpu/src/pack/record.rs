//! Tables of modules and images, which the macro writes at compile time. The record of an image
//! contains everything that the rules of selection compare, so that selection need not parse
//! anything.

use super::names::position;
use super::registered;
use offload_format::target::ImageCode;
#[cfg(feature = "run")]
use offload_format::target::Vendor;
use offload_pack::pack_index::{IndexStream, Limits, Origin, PackImageKind};

/// The compile-time record of one module. The macro writes it; programs use
/// [`Module`](super::Module).
#[derive(Debug, Clone, Copy)]
pub struct ModuleRecord {
    /// The module's name.
    pub name: &'static str,
    /// The module's images, in file order.
    pub images: &'static [ImageRecord],
    /// The stream that contains the images, if the pack is compressed.
    pub stream: Option<IndexStream>,
    /// The module's kernels for HIP's runtime, if the program registers them.
    pub registered: Option<&'static registered::Kernels>,
}

impl ModuleRecord {
    /// Creates the record of a module in an uncompressed pack.
    #[inline]
    pub const fn new(name: &'static str, images: &'static [ImageRecord]) -> Self {
        Self { name, images, stream: None, registered: None }
    }

    /// Returns the module's first fault in a pack of `size` bytes, if there is any.
    #[inline]
    const fn problem(&self, size: usize) -> Option<&'static str> {
        let size = size as u64;
        let inside = match self.stream {
            Some(stream) if stream.offset > size => {
                return Some("a stream starts past the end of its pack");
            }
            Some(stream) if stream.size > size - stream.offset => {
                return Some("a stream ends past the end of its pack");
            }
            Some(stream) => stream.inflated_size,
            None => size,
        };
        let mut i = 0;
        while i < self.images.len() {
            if let Some(problem) = self.images[i].problem(inside, self.stream.is_some()) {
                return Some(problem);
            }
            i += 1;
        }
        None
    }
}

/// Returns the first fault of the modules in a pack of `size` bytes, if there is any.
/// `may_be_compressed` states whether the pack's type allows streams.
#[inline]
pub(super) const fn problem(
    modules: &[ModuleRecord],
    size: usize,
    may_be_compressed: bool,
) -> Option<&'static str> {
    let (mut i, mut plain, mut compressed) = (0, false, false);
    while i < modules.len() {
        let module = &modules[i];
        if let Some(problem) = module.problem(size) {
            return Some(problem);
        }
        compressed |= module.stream.is_some();
        plain |= module.stream.is_none() && !module.images.is_empty();
        i += 1;
    }
    if compressed && !may_be_compressed {
        Some("the pack has compressed streams, but its type is for uncompressed packs")
    } else if compressed && plain {
        Some("only some modules of the pack are compressed")
    } else {
        None
    }
}

/// Returns the kernel's recorded name, if one of the images has the kernel.
#[inline]
pub(super) const fn find(images: &[ImageRecord], name: &str) -> Option<&'static str> {
    let mut i = 0;
    while i < images.len() {
        if let Some(kernels) = images[i].kernels
            && let Some(at) = position(kernels, name)
        {
            return Some(kernels[at]);
        }
        i += 1;
    }
    None
}

/// Whether one of the modules has an image of this vendor. This function has no type parameters, so
/// that it is compiled only once.
#[cfg(feature = "run")]
pub(super) fn have_images_of(modules: &[ModuleRecord], vendor: Vendor) -> bool {
    let is_of = |image: &ImageRecord| image.kind.vendor() == vendor;
    modules.iter().any(|module| module.images.iter().any(is_of))
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
    /// The names of the image's kernels in alphabetical order; C++ names are mangled. `None` if the
    /// names are unknown, as in images for the CPU.
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

    /// Returns the record of an image of 8 bytes at the start of a pack, whose kernels are unknown.
    #[cfg(test)]
    pub(crate) const fn of(target: &'static str, kind: PackImageKind) -> Self {
        let (origin, code) = (Origin::Compiled, Self::code(target, kind));
        Self { target, kind, offset: 0, size: 8, origin, kernels: None, limits: &[], code }
    }

    /// Returns what is wrong with the image's offset or size in a pack or stream of `whole` bytes,
    /// if anything.
    #[inline]
    const fn problem(&self, whole: u64, is_compressed: bool) -> Option<&'static str> {
        let (offset, size) = (self.offset as u64, self.size as u64);
        if offset > whole {
            return Some("an image starts past the end of its pack or stream");
        }
        if size > whole - offset {
            return Some("an image ends past the end of its pack or stream");
        }
        // Check what `PackImage::as_ptr` guarantees to drivers.
        match self.kind.is_ptx() {
            _ if is_compressed => None,
            true if size == whole - offset => {
                Some("PTX at the end of its pack is not followed by a NUL")
            }
            false if !offset.is_multiple_of(8) => Some("an image is not aligned in its pack"),
            _ => None,
        }
    }
}
