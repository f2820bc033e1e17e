//! Limits that an image sets for launches of a kernel.

use super::{Form, Kernel};
use offload_format::Result;
use offload_format::image::Kernels;

/// Limits of a kernel's launches, as far as an image records them.
///
/// Source: the records that [`offload_format::image`] reads, whose page names the formats.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The most threads that a block may have (`__launch_bounds__`, `.maxntid`).
    pub max_threads: Option<u64>,
    /// The block that a launch must have, by dimension (`reqd_work_group_size`, `.reqntid`).
    pub required_block: Option<[u64; 3]>,
    /// Bytes that the threads of a block share (`__shared__`), without those that a launch adds.
    pub shared_memory: Option<u64>,
    /// Threads of a wavefront, for AMD. NVIDIA's warps have 32, which no image says.
    pub wavefront_size: Option<u64>,
}

impl<F: Form> Kernel<'_, F> {
    /// Returns the limits of the kernel in an image with these bytes: those of
    /// [`PackImage::bytes`](crate::PackImage::bytes), or the decompressed ones. `None` if the image
    /// has no such kernel.
    ///
    /// ```
    /// # #![deny(warnings)]
    /// use offload::{DeviceInfo, KernelPack};
    ///
    /// static SAXPY: KernelPack =
    ///     offload::include_offload!(path = "$CARGO_MANIFEST_DIR/corpus/saxpy.gfx90a.hsaco");
    /// let image = SAXPY.select(&DeviceInfo::parse("gfx90a").unwrap()).unwrap();
    /// let limits = SAXPY.kernel("saxpy").limits(image.bytes()).unwrap().unwrap();
    /// assert_eq!((limits.max_threads, limits.wavefront_size), (Some(1024), Some(64)));
    /// ```
    ///
    /// Each call reads the image. Returns an error if the image is damaged, or of a kind without
    /// such records, as one for the CPU.
    pub fn limits(&self, image: &[u8]) -> Result<Option<Limits>> {
        Ok(Kernels::parse(image)?
            .find(|kernel| kernel.name == self.name())
            .map(|kernel| Limits::of(&kernel)))
    }
}

impl Limits {
    fn of(kernel: &offload_format::image::Kernel<'_>) -> Self {
        Self {
            max_threads: kernel.max_threads,
            required_block: kernel.required_block,
            shared_memory: kernel.shared_memory,
            wavefront_size: kernel.wavefront_size,
        }
    }

    /// Returns the limits of all kernels of an image, by their names.
    #[cfg(feature = "run")]
    pub(crate) fn of_image<All: FromIterator<(alloc::string::String, Self)>>(
        image: &[u8],
    ) -> Result<All> {
        Ok(Kernels::parse(image)?.map(|kernel| (kernel.name.into(), Self::of(&kernel))).collect())
    }
}
