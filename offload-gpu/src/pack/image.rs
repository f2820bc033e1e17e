//! An image of a pack.

#[cfg(feature = "run")]
use super::Compressed;
use super::{Form, ImageRecord, Plain};
use core::ffi::c_void;
use core::fmt;
use core::marker::PhantomData;
use offload_format::select::Candidate;
use offload_format::target::ImageCode;
use offload_pack::pack_index::{IndexStream, Limits, Origin, PackImageKind};
use offload_pack::signature::place_of;

/// One image of a pack.
#[derive(Clone, Copy)]
pub struct PackImage<F: Form = Plain> {
    pub(super) pack: &'static [u8],
    pub(super) record: &'static ImageRecord,
    /// The stream that contains this image, if the pack is compressed.
    pub(super) stream: Option<&'static IndexStream>,
    pub(super) form: PhantomData<F>,
}

impl<F: Form> PackImage<F> {
    /// Returns the target in canonical form: `gfx90a:xnack-`, `sm_80`, `compute_80`, `cpu`.
    pub fn target(&self) -> &'static str {
        self.record.target
    }

    /// Returns the kind of this image: code object, cubin, PTX, and so on.
    pub fn kind(&self) -> PackImageKind {
        self.record.kind
    }

    /// Returns the origin of the image: compiled, prebuilt, or supplied.
    pub fn origin(&self) -> Origin {
        self.record.origin
    }

    /// Returns the names of the image's kernels in alphabetical order; names of C++ kernels are
    /// mangled. Returns `None` for an image for the CPU, or if the build could not read the names.
    pub fn kernels(&self) -> Option<&'static [&'static str]> {
        self.record.kernels
    }

    /// Returns whether the image has this kernel, or `None` if its kernels are unknown.
    pub fn has_kernel(&self, name: &str) -> Option<bool> {
        self.record.kernels.map(|kernels| place(kernels, name).is_some())
    }

    /// Returns the symbol of a kernel in this image, or the kernel's name if the image does not
    /// list the kernel. The symbol of a `static` kernel depends on the kind of target.
    #[cfg(feature = "run")]
    pub(crate) fn symbol<'a>(&self, kernel: &'a str) -> &'a str {
        let kernels = self.record.kernels.unwrap_or_default();
        place(kernels, kernel).map_or(kernel, |at| kernels[at])
    }

    /// Returns the image's limits for launches of this kernel. Returns `None` if the image has no
    /// such kernel or contains no limits, like images for the CPU.
    ///
    #[cfg_attr(feature = "files", doc = "```")]
    #[cfg_attr(not(feature = "files"), doc = "```ignore")]
    /// # #![deny(warnings)]
    /// use offload_gpu::{DeviceInfo, KernelPack};
    ///
    /// static SAXPY: KernelPack =
    ///     offload_gpu::include_offload!(path = "$CARGO_MANIFEST_DIR/corpus/saxpy.gfx90a.hsaco");
    /// let image = SAXPY.select(&DeviceInfo::parse("gfx90a").unwrap()).unwrap();
    /// let limits = image.limits("saxpy").unwrap();
    /// assert_eq!((limits.max_threads, limits.wavefront_size), (Some(1024), Some(64)));
    /// ```
    pub fn limits(&self, kernel: &str) -> Option<Limits> {
        self.record.limits.get(place(self.record.kernels?, kernel)?).copied()
    }

    /// Returns the offset in bytes from the start of the pack, or, in a compressed pack, from the
    /// start of the module's decompressed stream.
    pub fn offset(&self) -> usize {
        self.record.offset
    }

    /// Returns this image with a type that does not depend on the pack's form.
    /// [`PackImage::decompress`] works for every form.
    #[cfg(feature = "run")]
    pub(crate) fn as_compressed(self) -> PackImage<Compressed> {
        PackImage { pack: self.pack, record: self.record, stream: self.stream, form: PhantomData }
    }

    /// Returns the image's bytes in the pack, which must not be compressed.
    pub(super) fn in_pack(&self) -> &'static [u8] {
        // `ModuleRecord::problem` has checked the range.
        &self.pack[self.record.offset..][..self.record.size]
    }
}

/// Methods for images of plain packs. For compressed packs, use [`PackImage::decompress`].
impl PackImage<Plain> {
    /// Returns the image's bytes.
    pub fn bytes(&self) -> &'static [u8] {
        self.in_pack()
    }

    /// Returns the start of the image, for `cuModuleLoadData` and `hipModuleLoadData`. PTX is
    /// NUL-terminated, and code objects are aligned to at least 8 bytes.
    pub fn as_ptr(&self) -> *const c_void {
        // The pointer is derived from the pack, not from the image's slice, because the NUL after
        // PTX is outside that slice.
        self.pack.as_ptr().wrapping_add(self.record.offset).cast()
    }
}

/// Returns the index of a kernel. This function has no type parameters, so that it is compiled only
/// once.
fn place(kernels: &[&str], kernel: &str) -> Option<usize> {
    place_of(kernels, |it| it, kernel)
}

impl<F: Form> fmt::Debug for PackImage<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.record.fmt(f)
    }
}

impl<F: Form> Candidate for PackImage<F> {
    fn code(&self) -> ImageCode<'_> {
        self.record.code
    }

    fn label(&self) -> &str {
        self.record.target
    }
}
