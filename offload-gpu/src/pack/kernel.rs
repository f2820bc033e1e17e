//! A kernel of a pack, whose name the compiler has checked.

use super::{Form, Module, Plain};
use core::ffi::c_void;
use core::fmt;

/// A kernel of a module, from [`KernelPack::kernel`](super::KernelPack::kernel). At least one image
/// of the module has the kernel; [`PackImage::has_kernel`](super::PackImage::has_kernel) returns
/// whether a device's image has it.
#[derive(Clone, Copy)]
pub struct Kernel<'pack, F: Form = Plain> {
    pub(super) module: Module<'pack, F>,
    pub(super) name: &'pack str,
}

/// Returns the kernel with this name, which is in the pack's index. Only macro expansions use it.
pub const fn kernel<F: Form>(module: Module<'static, F>, name: &'static str) -> Kernel<'static, F> {
    Kernel { module, name }
}

impl<'pack, F: Form> Kernel<'pack, F> {
    /// Returns the kernel's name in the images.
    pub const fn name(&self) -> &'pack str {
        self.name
    }

    /// Returns the module that contains the kernel.
    pub const fn module(&self) -> Module<'pack, F> {
        self.module
    }

    /// Returns the kernel's address for HIP runtime calls such as `hipLaunchKernel`, if the pack is
    /// embedded with `register`.
    pub fn host_function(&self) -> Option<*const c_void> {
        self.module.record.registered?.address(self.name)
    }
}

impl<F: Form> fmt::Debug for Kernel<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernel")
            .field("module", &self.module.name())
            .field("name", &self.name)
            .finish()
    }
}
