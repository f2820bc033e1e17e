//! Data that an expansion with `register` passes to HIP's runtime, laid out as in clang's objects.

use core::ffi::c_void;
use offload_format::section::HIP_WRAPPER_MAGIC;

/// The wrapper through which HIP's runtime finds one bundle. The section `.hipFatBinSegment` has a
/// wrapper for each bundle.
#[derive(Debug)]
#[repr(C)]
pub struct Wrapper {
    magic: u32,
    version: u32,
    bundle: &'static u8,
    unused: Option<&'static u8>,
}

impl Wrapper {
    /// Creates the wrapper of the bundle that starts with this byte.
    pub const fn new(bundle: &'static u8) -> Self {
        Self { magic: HIP_WRAPPER_MAGIC, version: 1, bundle, unused: None }
    }
}

/// A module's kernels for HIP's runtime, which identifies each kernel by the address of a byte in
/// this program.
#[derive(Debug, Clone, Copy)]
pub struct Kernels {
    /// The names of the kernels.
    pub names: &'static [&'static str],
    /// A byte for each kernel, whose address identifies the kernel.
    pub addresses: &'static [u8],
}

impl Kernels {
    /// Returns the address that identifies the kernel with this name.
    #[inline]
    pub(super) fn address(&self, name: &str) -> Option<*const c_void> {
        let at = self.names.iter().position(|known| *known == name)?;
        Some((self.addresses.get(at)? as *const u8).cast())
    }
}
