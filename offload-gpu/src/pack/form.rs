//! Types for plain and compressed packs. They let the compiler reject calls to `bytes` on images
//! that must be decompressed first. If build.rs starts to compress a pack, the compiler reports a
//! type error at each `static` that embeds the pack.

use core::fmt::Debug;

/// How the images of a [`KernelPack`](super::KernelPack) are stored in the program: [`Plain`] or
/// [`Compressed`].
pub trait Form: private::Sealed + Copy + Debug + Send + Sync + 'static {
    /// Whether packs of this form can be compressed.
    #[doc(hidden)]
    const IS_COMPRESSED: bool;
}

/// Images are stored uncompressed: [`PackImage::bytes`](super::PackImage::bytes) and
/// [`PackImage::as_ptr`](super::PackImage::as_ptr) return them.
#[derive(Debug, Clone, Copy)]
pub struct Plain;

/// The pack is compressed, because build.rs calls `.compress()`:
/// [`PackImage::decompress`](super::PackImage::decompress) returns its images. If build.rs
/// compresses only in some builds, use `include_offload!("saxpy", compressed)`, which has this type
/// in all builds.
///
/// ```
/// # use offload_gpu::__expansion::{ModuleRecord, not_built};
/// # macro_rules! include_offload { ($name:literal) => { not_built($name, "this is an example", {
/// #     const MODULES: &[ModuleRecord] = &[ModuleRecord::new("saxpy", &[])];
/// #     MODULES
/// # }) } }
/// use offload_gpu::{Compressed, DeviceInfo, KernelPack};
///
/// static SAXPY: KernelPack<Compressed> = include_offload!("saxpy");
///
/// fn image() -> Result<offload_gpu::Decompressed, Box<dyn std::error::Error>> {
///     Ok(SAXPY.select(&DeviceInfo::cpu())?.decompress()?)
/// }
/// ```
///
/// The program does not contain the decompressed bytes of such an image, so the following function
/// does not compile:
///
/// ```compile_fail,E0599
/// # use offload_gpu::{Compressed, PackImage};
/// fn first_byte(image: PackImage<Compressed>) -> u8 {
///     image.bytes()[0]
/// }
/// ```
///
/// Source of the format: `offload_format::compressed` and `offload_format::offload_binary`.
#[derive(Debug, Clone, Copy)]
pub struct Compressed;

impl Form for Plain {
    const IS_COMPRESSED: bool = false;
}

impl Form for Compressed {
    const IS_COMPRESSED: bool = true;
}

mod private {
    pub trait Sealed {}
    impl Sealed for super::Plain {}
    impl Sealed for super::Compressed {}
}
