//! A kernel of a pack, whose name the compiler has checked.

use super::Module;
use core::ffi::c_void;
use core::fmt;

/// A kernel of a module, by its name: [`KernelPack::kernel`](super::KernelPack::kernel). That some image of the module has
/// it was checked while the program was compiled; whether the one that a device gets does,
/// [`PackImage::has_kernel`](super::PackImage::has_kernel) says.
#[derive(Clone, Copy)]
pub struct Kernel<'pack> {
    pub(super) module: Module<'pack>,
    pub(super) name: &'pack str,
}

impl<'pack> Kernel<'pack> {
    /// Its name, as images have it.
    pub const fn name(&self) -> &'pack str {
        self.name
    }

    /// The module that has it.
    pub const fn module(&self) -> Module<'pack> {
        self.module
    }

    /// What stands for it in calls of HIP's runtime such as `hipLaunchKernel`, if the pack is embedded with `register`.
    pub fn host_function(&self) -> Option<*const c_void> {
        self.module.record.registered?.address(self.name)
    }
}

impl fmt::Debug for Kernel<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernel").field("module", &self.module.name()).field("name", &self.name).finish()
    }
}
