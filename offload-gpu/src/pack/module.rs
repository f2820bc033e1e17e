//! A module of a pack. The type borrows the pack, so that a `const` with a module refers to a
//! `static` of the program instead of the linked bytes.

use super::message::Message;
use super::record::find;
use super::{Content, Form, Kernel, KernelPack, ModuleRecord, PackImage, Plain};
use core::fmt;
use core::marker::PhantomData;
use core::slice;
use offload_format::select::{Choice, DeviceInfo, SelectError, select};

/// A module of a pack: a device program with an image for each of its targets. Each module is
/// loaded separately.
///
/// `cuModuleLoadData` and `hipModuleLoadData` load a module from one image.
#[derive(Clone, Copy)]
pub struct Module<'pack, F: Form = Plain> {
    pub(super) pack: &'pack KernelPack<F>,
    pub(super) record: &'static ModuleRecord,
}

/// Returns the module with this number. Only macro expansions use it.
pub const fn module<F: Form>(pack: &'static KernelPack<F>, number: usize) -> Module<'static, F> {
    Module { pack, record: &pack.modules[number] }
}

/// The message if the pack on disk no longer has the module.
const GONE: &str =
    "the pack on disk no longer contains a module with this name: build the program again";

impl<'pack, F: Form> Module<'pack, F> {
    /// Returns the module's name from the build script, or the pack's name if the module has none.
    pub const fn name(&self) -> &'static str {
        self.record.name
    }

    /// Whether images for the CPU may be loaded.
    #[cfg(feature = "run")]
    pub(crate) fn is_trusted(&self) -> bool {
        self.pack.is_trusted
    }

    /// Returns the images, in file order.
    pub fn images(&self) -> impl ExactSizeIterator<Item = PackImage<F>> + Clone + use<F> {
        let now = self.now();
        let pack = now.map_or(&[][..], |module| module.pack.bytes);
        let stream = now.and_then(|module| module.record.stream.as_ref());
        now.map_or(&[][..], |module| module.record.images).iter().map(move |record| PackImage {
            pack,
            record,
            stream,
            form: PhantomData,
        })
    }

    /// Returns the module with this name in the pack that was read from disk, or this module if the
    /// pack is in the program.
    fn now(&self) -> Option<Self> {
        let pack = self.pack.now();
        match self.pack.content {
            Content::OnDisk { .. } => pack.find_module(self.record.name),
            Content::Linked | Content::NotBuilt(_) | Content::Opaque(_) => Some(*self),
        }
    }

    /// Returns a key that is unique in the program: the address of the pack's bytes, and the
    /// module's name. The address of the record would not do, since a constant with a module may
    /// refer to a copy of the record. Returns `None` for a module without images, because the bytes
    /// of an empty pack have no unique address.
    #[cfg(feature = "run")]
    pub(crate) fn key(&self) -> Option<(usize, &'static str)> {
        let Module { pack, record } =
            self.now().filter(|module| !module.record.images.is_empty())?;
        Some((pack.bytes.as_ptr().addr(), record.name))
    }

    /// Returns the kernel with this name, by the rules of [`KernelPack::kernel`]. At least one
    /// image of the module must have the kernel.
    ///
    /// # Panics
    /// Panics if there is no such kernel; the message lists the kernels.
    pub const fn kernel(&self, name: &'pack str) -> Kernel<'pack, F> {
        if let Some(recorded) = self.find(name) {
            return Kernel { module: *self, name: recorded };
        }
        if !self.knows_kernels() {
            return Kernel { module: *self, name };
        }
        let message = Message::new()
            .add("the module \"")
            .add(self.record.name)
            .add("\" has no kernel \"")
            .add(name);
        panic!(
            "{}",
            message
                .add("\"; it has ")
                .list_kernels(slice::from_ref(self.record))
                .or_none()
                .as_str()
        )
    }

    /// Whether any image lists its kernels.
    pub(super) const fn knows_kernels(&self) -> bool {
        let images = self.record.images;
        let mut i = 0;
        while i < images.len() {
            if images[i].kernels.is_some() {
                return true;
            }
            i += 1;
        }
        false
    }

    pub(crate) fn pack_name(&self) -> &'static str {
        self.pack.name()
    }

    /// Returns the name of a different module in the pack whose images have this kernel, if there
    /// is one.
    pub(crate) fn other_with(&self, kernel: &str) -> Option<&'static str> {
        let other = self.pack.modules().find(|module| module.find(kernel).is_some());
        other.map(|module| module.name())
    }

    /// Returns the kernel's recorded name, if any image has the kernel.
    pub(crate) const fn find(&self, name: &str) -> Option<&'static str> {
        find(self.record.images, name)
    }

    /// Returns the best image for a device, by the rules of [`mod@crate::select`].
    ///
    /// If no image fits, returns an error that lists every image with the reason why it does not
    /// fit.
    pub fn select(
        &self,
        device: &DeviceInfo,
    ) -> Result<Choice<PackImage<F>>, SelectError<PackImage<F>>> {
        let why = match (self.pack.now().why_no_images(), self.now()) {
            (Some(why), _) => why,
            (None, None) => GONE.into(),
            (None, Some(now)) if now.record.images.is_empty() => alloc::format!(
                "the module \"{}\" has no images: build.rs lists no target that the module \
                 supports, and calls .allow_empty()",
                self.record.name
            ),
            (None, Some(_)) => return select(self.images(), device),
        };
        Err(SelectError::no_images(device, why))
    }
}

impl<F: Form> fmt::Debug for Module<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let images: alloc::vec::Vec<PackImage<F>> = self.images().collect();
        f.debug_struct("Module").field("name", &self.record.name).field("images", &images).finish()
    }
}
