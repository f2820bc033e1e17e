//! A pack of images inside this program, described at compile time.
//!
//! Nothing is parsed when the program starts. The macro's expansion passes two things: the bytes,
//! which the linker puts into a section of the program, and the table of modules with their images,
//! from the pack's index. `linked` checks at compile time that the table fits the bytes.

mod decompressed;
pub(crate) mod disk;
mod form;
mod image;
mod kernel;
#[allow(unsafe_code)]
mod linked;
pub(crate) mod message;
mod module;
mod names;
mod record;
pub(crate) mod registered;

pub use decompressed::Decompressed;
pub use form::{Compressed, Form, Plain};
pub use image::PackImage;
pub use kernel::{Kernel, kernel};
pub use linked::{LinkedPack, linked_packs};
pub use module::{Module, module};
pub use record::{ImageRecord, ModuleRecord};

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;
use message::Message;
pub(crate) use names::is_same;
use offload_format::section::DeviceSection;
use offload_format::select::{Choice, DeviceInfo, SelectError};
#[cfg(feature = "run")]
use offload_format::target::Vendor;

/// A pack: modules, each compiled for several targets.
///
/// A pack of one module can be used like the module, for example with [`KernelPack::select`]. In a
/// pack of several modules, each module has a name, which the compiler checks:
///
/// ```
/// # use offload_gpu::{KernelPack, Module, __expansion::{ModuleRecord, not_built}};
/// # static SAXPY: KernelPack = not_built("saxpy", "", &[ModuleRecord::new("affine", &[])]);
/// const AFFINE: Module = SAXPY.module("affine");
/// ```
///
/// ```compile_fail
/// # use offload_gpu::{KernelPack, Module, __expansion::{ModuleRecord, not_built}};
/// # static SAXPY: KernelPack = not_built("saxpy", "", &[ModuleRecord::new("affine", &[])]);
/// const AFFINE: Module = SAXPY.module("afine");
/// ```
///
/// A pack that build.rs compresses is a `KernelPack<Compressed>`; [`PackImage::decompress`] returns
/// the bytes of its images. See [`Compressed`].
#[derive(Clone, Copy)]
pub struct KernelPack<F: Form = Plain> {
    name: &'static str,
    section: &'static str,
    /// The bytes in the program; empty if there are none.
    bytes: &'static [u8],
    modules: &'static [ModuleRecord],
    content: Content<F>,
    /// Whether images for the CPU may be loaded: this build made the pack, or the program uses
    /// `unsafe(cpu)`.
    #[cfg_attr(
        not(feature = "run"),
        expect(dead_code, reason = "only loading images for the CPU reads it")
    )]
    is_trusted: bool,
    form: PhantomData<F>,
}

/// The location of a pack's contents.
#[derive(Clone, Copy)]
enum Content<F: Form> {
    /// The pack is in the program.
    Linked,
    /// The pack was not built, so its modules have no images; the string is the reason.
    NotBuilt(&'static str),
    /// The pack's images are unknown; the string is the reason.
    Opaque(&'static str),
    /// The pack is read from disk on first use. The table of modules is from the program's
    /// compilation.
    OnDisk(fn() -> &'static KernelPack<F>),
}

/// Creates a pack from its bytes and its table. The modules of a compressed pack have streams.
///
/// # Panics
/// Panics if an image or a stream is outside the bytes, or if a `Plain` pack has streams. The
/// expansion is evaluated at compile time, so the panic is a compile error.
pub const fn linked<F: Form>(
    name: &'static str,
    section: &'static str,
    bytes: &'static [u8],
    modules: &'static [ModuleRecord],
) -> KernelPack<F> {
    if let Some(problem) = record::problem(modules, bytes.len(), F::IS_COMPRESSED) {
        panic!("{}", problem);
    }
    KernelPack::of(name, section, bytes, modules, Content::Linked).with_trust()
}

/// Creates a pack like `linked`, but from a file of unknown origin. Images for the CPU in such a
/// pack are not loaded.
#[inline]
pub const fn file(
    name: &'static str,
    section: &'static str,
    bytes: &'static [u8],
    modules: &'static [ModuleRecord],
) -> KernelPack<Plain> {
    KernelPack { is_trusted: false, ..linked(name, section, bytes, modules) }
}

/// Creates a pack that `load` reads from disk on first use, for development. The table of modules
/// comes from the macro's expansion.
pub const fn on_disk<F: Form>(
    name: &'static str,
    section: &'static str,
    modules: &'static [ModuleRecord],
    load: fn() -> &'static KernelPack<F>,
) -> KernelPack<F> {
    KernelPack::of(name, section, &[], modules, Content::OnDisk(load)).with_trust()
}

/// Creates a pack that was not built: its modules have no images, and every `select` reports the
/// reason.
pub const fn not_built<F: Form>(
    name: &'static str,
    why: &'static str,
    modules: &'static [ModuleRecord],
) -> KernelPack<F> {
    let section = DeviceSection::LlvmOffloading.elf_name();
    KernelPack::of(name, section, &[], modules, Content::NotBuilt(why))
}

/// Creates a pack from a file whose images are unknown. Every `select` reports the reason.
pub const fn opaque<F: Form>(
    name: &'static str,
    section: &'static str,
    bytes: &'static [u8],
    why: &'static str,
    modules: &'static [ModuleRecord],
) -> KernelPack<F> {
    KernelPack::of(name, section, bytes, modules, Content::Opaque(why))
}

impl<F: Form> KernelPack<F> {
    #[inline]
    const fn of(
        name: &'static str,
        section: &'static str,
        bytes: &'static [u8],
        modules: &'static [ModuleRecord],
        content: Content<F>,
    ) -> Self {
        Self { name, section, bytes, modules, content, is_trusted: false, form: PhantomData }
    }

    /// Allows images for the CPU to be loaded.
    pub(crate) const fn with_trust(self) -> Self {
        Self { is_trusted: true, ..self }
    }

    /// Returns the name from the build script. For a file embedded by its path, returns the file's
    /// name without its extension.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the name of the section that contains the pack in ELF programs. The section is
    /// `.rodata` for an image that is embedded by its path and is not in a container.
    pub const fn section(&self) -> &'static str {
        self.section
    }

    /// Returns the bytes of the whole pack. Depending on how it was embedded, these are the offload
    /// bundles in `.hip_fatbin`, the offload binaries in `.llvm.offloading`, or the contents of the
    /// embedded file.
    pub fn bytes(&self) -> &'static [u8] {
        self.now().bytes
    }

    /// Returns the pack that was read from disk, or this pack if it is in the program.
    fn now(&self) -> &Self {
        match self.content {
            Content::OnDisk(load) => load(),
            Content::Linked | Content::NotBuilt(_) | Content::Opaque(_) => self,
        }
    }

    /// Returns the reason why `select` has no images to select from.
    fn why_no_images(&self) -> Option<String> {
        match self.content {
            Content::NotBuilt(why) => Some(alloc::format!("the pack was not built: {why}")),
            Content::Opaque(why) => Some(why.into()),
            Content::Linked | Content::OnDisk(_) => None,
        }
    }

    /// Returns a sentence with the reason why the pack supports no device, if it has no images.
    pub(crate) fn unsupported(&self) -> Option<String> {
        let name = self.name;
        match self.now().content {
            Content::NotBuilt(why) => {
                Some(alloc::format!("the pack \"{name}\" was not built: {why}"))
            }
            Content::Opaque(why) => {
                Some(alloc::format!("the images of the pack \"{name}\" are not known: {why}"))
            }
            Content::Linked | Content::OnDisk(_) => None,
        }
    }

    /// Returns the reason why the pack's images are unknown, or `None` if they are known. They are
    /// unknown if the pack was not built (`OFFLOAD_SKIP=1`, docs.rs), or if it could not be read
    /// from disk (`OFFLOAD_FROM_DISK=1`). They are also unknown for a compressed file or a fatbin
    /// that was embedded by its path.
    pub fn absent(&self) -> Option<&'static str> {
        match self.now().content {
            Content::NotBuilt(why) | Content::Opaque(why) => Some(why),
            Content::Linked | Content::OnDisk(_) => None,
        }
    }

    /// Returns the module with this name. In a `const` or `static`, an unknown name is a compile
    /// error.
    ///
    /// # Panics
    /// Panics if there is no such module; the message lists the modules. Use
    /// [`KernelPack::find_module`] for names that are known only at run time.
    pub const fn module(&self, name: &str) -> Module<'_, F> {
        let mut i = 0;
        while i < self.modules.len() {
            if is_same(self.modules[i].name, name) {
                return Module { pack: self, record: &self.modules[i] };
            }
            i += 1;
        }
        let message = Message::new()
            .add("the pack \"")
            .add(self.name)
            .add("\" has no module \"")
            .add(name)
            .add("\"; it has ");
        panic!("{}", message.list_modules(self.modules).or_none().as_str())
    }

    /// Returns the kernel with this name. At least one image of the pack must have the kernel; if
    /// the pack has several modules, exactly one of them must. In a `const` or `static`, an unknown
    /// name is a compile error that lists the kernels:
    ///
    /// ```
    /// # use offload_gpu::{Kernel, KernelPack, Origin, PackImageKind, __expansion::{ImageRecord, ModuleRecord}};
    /// # static SAXPY: KernelPack = {
    /// #     const KERNELS: &[&str] = &["saxpy"];
    /// #     const IMAGES: &[ImageRecord] = &[ImageRecord { target: "sm_80", kind: PackImageKind::Cubin, offset: 0, size: 8,
    /// #         origin: Origin::Compiled, code: ImageRecord::code("sm_80", PackImageKind::Cubin), kernels: Some(KERNELS), limits: &[] }];
    /// #     offload_gpu::__expansion::linked("saxpy", "", &[0; 8], &[ModuleRecord::new("saxpy", IMAGES)])
    /// # };
    /// const SAXPY_KERNEL: Kernel = SAXPY.kernel("saxpy");
    /// assert_eq!(SAXPY_KERNEL.name(), "saxpy");
    /// ```
    ///
    /// ```compile_fail
    /// # use offload_gpu::{Kernel, KernelPack, Origin, PackImageKind, __expansion::{ImageRecord, ModuleRecord}};
    /// # static SAXPY: KernelPack = {
    /// #     const KERNELS: &[&str] = &["saxpy"];
    /// #     const IMAGES: &[ImageRecord] = &[ImageRecord { target: "sm_80", kind: PackImageKind::Cubin, offset: 0, size: 8,
    /// #         origin: Origin::Compiled, code: ImageRecord::code("sm_80", PackImageKind::Cubin), kernels: Some(KERNELS), limits: &[] }];
    /// #     offload_gpu::__expansion::linked("saxpy", "", &[0; 8], &[ModuleRecord::new("saxpy", IMAGES)])
    /// # };
    /// const SAXPY_KERNEL: Kernel = SAXPY.kernel("saxpi");
    /// ```
    ///
    /// Use the name in the images: for C++ kernels that are not `extern "C"`, the mangled name.
    /// Images for the CPU do not list their kernels, so a name that no image lists is accepted as a
    /// kernel of the first module whose images list no kernels. Without such a module, the kernel
    /// belongs to the first module without images, as in a pack that was not built.
    /// [`Module::kernel`] returns a kernel of one module.
    ///
    /// # Panics
    /// Panics if no module has the kernel, or if several modules have it.
    pub const fn kernel<'pack>(&'pack self, name: &'pack str) -> Kernel<'pack, F> {
        let (mut found, mut unknown, mut i) = (None, None, 0);
        while i < self.modules.len() {
            let record = &self.modules[i];
            let module = Module { pack: self, record };
            if let Some(recorded) = module.find(name) {
                if let Some(Kernel { module: other, .. }) = found {
                    let message = Message::new()
                        .add("\"")
                        .add(name)
                        .add("\" is a kernel of several modules of the pack \"");
                    let message = message
                        .add(self.name)
                        .add("\": ")
                        .list(other.record.name)
                        .list(module.record.name);
                    panic!(
                        "{}",
                        message
                            .add(". Name the module, as in PACK.module(\"affine\").kernel(...)")
                            .as_str()
                    )
                }
                found = Some(Kernel { module, name: recorded });
            }
            let is_better = match unknown {
                None => true,
                Some(Module { record: other, .. }) => {
                    other.images.is_empty() && !record.images.is_empty()
                }
            };
            if is_better && !module.knows_kernels() {
                unknown = Some(module);
            }
            i += 1;
        }
        match (found, unknown, self.modules) {
            (Some(kernel), ..) => kernel,
            (None, Some(module), _) => Kernel { module, name },
            (None, None, [record]) => Module { pack: self, record }.kernel(name),
            (None, None, _) => {
                let message = Message::new()
                    .add("the pack \"")
                    .add(self.name)
                    .add("\" has no kernel \"")
                    .add(name);
                let message = message.add("\"; it has ").list_kernels(self.modules);
                panic!("{}", message.or_none().as_str())
            }
        }
    }

    /// Returns the module with this name, if there is one.
    pub fn find_module(&self, name: &str) -> Option<Module<'_, F>> {
        self.modules().find(|module| module.name() == name)
    }

    /// Returns the modules, in file order.
    pub fn modules(&self) -> impl ExactSizeIterator<Item = Module<'_, F>> + Clone {
        self.modules.iter().map(move |record| Module { pack: self, record })
    }

    /// Returns the images of all modules, in file order. Allocates a list of them.
    pub fn images(&self) -> impl ExactSizeIterator<Item = PackImage<F>> + Clone + use<F> {
        let images: Vec<_> = self.now().modules().flat_map(|module| module.images()).collect();
        images.into_iter()
    }

    /// Whether the pack has images of this vendor.
    #[cfg(feature = "run")]
    pub(crate) fn has_images_of(&self, vendor: Vendor) -> bool {
        record::have_images_of(self.now().modules, vendor)
    }

    /// Selects the best image for a device from a pack of one module, by the rules of
    /// [`mod@crate::select`].
    ///
    /// If no image fits, returns an error that lists every image with the reason why it does not
    /// fit. If the pack has several modules, returns an error that names them.
    pub fn select(
        &self,
        device: &DeviceInfo,
    ) -> Result<Choice<PackImage<F>>, SelectError<PackImage<F>>> {
        match self.modules {
            [record] => Module { pack: self, record }.select(device),
            modules => Err(SelectError::several_modules(
                device,
                modules.iter().map(|module| module.name).collect(),
            )),
        }
    }
}

impl<F: Form> fmt::Debug for KernelPack<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KernelPack")
            .field("name", &self.name)
            .field("section", &self.section())
            .field("size", &self.bytes().len())
            .field("modules", &self.now().modules)
            .finish()
    }
}

#[cfg(test)]
mod tests;
