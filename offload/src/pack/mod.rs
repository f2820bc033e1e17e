//! A pack of images inside this program, described while it is compiled.
//!
//! Nothing is parsed when the program starts. The expansion passes the bytes, which the linker put
//! into the section, and the table of images, which the macro took from the pack's index;
//! `linked` compares the two at compile time.

mod decompressed;
pub(crate) mod disk;
mod form;
mod image;
mod kernel;
#[allow(unsafe_code)]
mod linked;
mod module;
mod names;
mod record;
pub(crate) mod registered;
pub(crate) mod words;

pub use decompressed::{Decompressed, StreamRecord, compressed};
pub use form::{Compressed, Form, Plain};
pub use image::PackImage;
pub use kernel::{Kernel, kernel};
pub use linked::{Entry, LinkedPack, linked_packs};
pub use module::{Module, module};
pub use record::{ImageRecord, ModuleRecord};

use core::fmt;
use core::marker::PhantomData;
use names::is_same;
use offload_format::section::DeviceSection;
use offload_format::select::{Choice, DeviceInfo, SelectError};
use words::Words;

/// A pack: modules, each compiled for several targets.
///
/// A pack of one module is used as if it were the module: [`KernelPack::select`]. Each of several
/// modules has a name, which is checked at compile time:
///
/// ```
/// # use offload::{KernelPack, Module};
/// # static SAXPY: KernelPack = {
/// #     use offload::__expansion::ModuleRecord;
/// #     const MODULES: &[ModuleRecord] = &[ModuleRecord { name: "affine", first: 0, count: 0, registered: None }];
/// #     offload::__expansion::not_built("saxpy", "this is an example", MODULES)
/// # };
/// const AFFINE: Module = SAXPY.module("affine");
/// ```
///
/// ```compile_fail
/// # use offload::{KernelPack, Module};
/// # static SAXPY: KernelPack = {
/// #     use offload::__expansion::ModuleRecord;
/// #     const MODULES: &[ModuleRecord] = &[ModuleRecord { name: "affine", first: 0, count: 0, registered: None }];
/// #     offload::__expansion::not_built("saxpy", "this is an example", MODULES)
/// # };
/// const AFFINE: Module = SAXPY.module("afine");
/// ```
///
/// A pack that build.rs compresses is a `KernelPack<Compressed>`; [`PackImage::decompress`] returns
/// the bytes of its images: [`Compressed`].
#[derive(Clone, Copy)]
pub struct KernelPack<F: Form = Plain> {
    name: &'static str,
    section: &'static str,
    modules: &'static [ModuleRecord],
    content: Content<F>,
    form: PhantomData<F>,
}

/// Where the contents of a pack are.
#[derive(Clone, Copy)]
enum Content<F: Form> {
    /// The pack is in the program.
    Linked {
        bytes: &'static [u8],
        images: &'static [ImageRecord],
        /// A stream for each module, if the pack is compressed; offsets of images are then offsets
        /// in the decompressed stream.
        streams: &'static [StreamRecord],
    },
    /// The pack was not built, for this reason: its modules have no images.
    NotBuilt(&'static str),
    /// Its images are not known, for this reason.
    Opaque { bytes: &'static [u8], why: &'static str },
    /// The pack is read from disk when the program first uses it. The tables of modules and images
    /// are those of the program's compilation.
    OnDisk { images: &'static [ImageRecord], load: fn() -> &'static KernelPack<F> },
}

/// Puts bytes and table together.
///
/// # Panics
/// If an image is outside the bytes. Expansions are evaluated at compile time, so this ends a
/// compilation.
pub const fn linked<F: Form>(
    name: &'static str,
    section: &'static str,
    bytes: &'static [u8],
    images: &'static [ImageRecord],
    modules: &'static [ModuleRecord],
) -> KernelPack<F> {
    let mut i = 0;
    while i < images.len() {
        if let Some(problem) = images[i].problem(bytes.len()) {
            panic!("{}", problem);
        }
        i += 1;
    }
    i = 0;
    while i < modules.len() {
        assert!(modules[i].first <= images.len(), "a module starts past the images of its pack");
        assert!(
            modules[i].count <= images.len() - modules[i].first,
            "a module has more images than its pack"
        );
        i += 1;
    }
    KernelPack {
        name,
        section,
        modules,
        content: Content::Linked { bytes, images, streams: &[] },
        form: PhantomData,
    }
}

/// A pack that `load` reads when it is asked for: for development. The images and modules are those
/// of the expansion.
pub const fn on_disk<F: Form>(
    name: &'static str,
    section: &'static str,
    images: &'static [ImageRecord],
    modules: &'static [ModuleRecord],
    load: fn() -> &'static KernelPack<F>,
) -> KernelPack<F> {
    KernelPack {
        name,
        section,
        modules,
        content: Content::OnDisk { images, load },
        form: PhantomData,
    }
}

/// A pack that was not built, and why: every `select` says so. The pack has its modules, without
/// images.
pub const fn not_built<F: Form>(
    name: &'static str,
    why: &'static str,
    modules: &'static [ModuleRecord],
) -> KernelPack<F> {
    let section = DeviceSection::LlvmOffloading.elf_name();
    KernelPack { name, section, modules, content: Content::NotBuilt(why), form: PhantomData }
}

/// A file whose images are unknown, with the reason: every `select` reports it.
pub const fn opaque<F: Form>(
    name: &'static str,
    section: &'static str,
    bytes: &'static [u8],
    why: &'static str,
    modules: &'static [ModuleRecord],
) -> KernelPack<F> {
    KernelPack {
        name,
        section,
        modules,
        content: Content::Opaque { bytes, why },
        form: PhantomData,
    }
}

impl<F: Form> KernelPack<F> {
    /// The images of all modules, as they were known while the program was compiled.
    const fn records(&self) -> &'static [ImageRecord] {
        match self.content {
            Content::Linked { images, .. } | Content::OnDisk { images, .. } => images,
            Content::NotBuilt(_) | Content::Opaque { .. } => &[],
        }
    }

    /// The places of the modules of a compressed pack; empty if it is not compressed.
    const fn streams(&self) -> &'static [StreamRecord] {
        match self.content {
            Content::Linked { streams, .. } => streams,
            Content::NotBuilt(_) | Content::Opaque { .. } | Content::OnDisk { .. } => &[],
        }
    }

    /// The name that the build script gave it; of a pack by its path the file's name without its
    /// extension.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Name of the section that holds it, in ELF programs: `.rodata` for an image by its path,
    /// which is in no container.
    pub const fn section(&self) -> &'static str {
        self.section
    }

    /// The whole pack: offload bundles in `.hip_fatbin`, offload binaries in `.llvm.offloading`, or
    /// the file that was embedded by its path.
    pub fn bytes(&self) -> &'static [u8] {
        match self.now().content {
            Content::Linked { bytes, .. } | Content::Opaque { bytes, .. } => bytes,
            Content::NotBuilt(_) | Content::OnDisk { .. } => &[],
        }
    }

    /// Returns the pack itself, or the one that was read in its place.
    fn now(&self) -> &Self {
        match self.content {
            Content::OnDisk { load, .. } => load(),
            Content::Linked { .. } | Content::NotBuilt(_) | Content::Opaque { .. } => self,
        }
    }

    /// Why there are no images to select from, as the error of a selection.
    fn select_error(&self, device: &DeviceInfo) -> Option<SelectError<PackImage<F>>> {
        match self.content {
            Content::NotBuilt(why) => Some(SelectError::not_built(device, why)),
            Content::Opaque { why, .. } => Some(SelectError::unknown_images(device, why)),
            Content::Linked { .. } | Content::OnDisk { .. } => None,
        }
    }

    /// Why it does not support any device, in a sentence, if it has no images.
    pub(crate) fn unsupported(&self) -> Option<alloc::string::String> {
        let name = self.name;
        match self.now().content {
            Content::NotBuilt(why) => {
                Some(alloc::format!("the pack \"{name}\" was not built: {why}"))
            }
            Content::Opaque { why, .. } => {
                Some(alloc::format!("the images of the pack \"{name}\" are not known: {why}"))
            }
            Content::Linked { .. } | Content::OnDisk { .. } => None,
        }
    }

    /// The reason why no images are known: the pack was not built (`OFFLOAD_SKIP=1`, docs.rs), it
    /// is a compressed file or a fatbin that was embedded by its path, or it could not be read from
    /// disk (`OFFLOAD_FROM_DISK=1`).
    pub fn absent(&self) -> Option<&'static str> {
        match self.now().content {
            Content::NotBuilt(why) | Content::Opaque { why, .. } => Some(why),
            Content::Linked { .. } | Content::OnDisk { .. } => None,
        }
    }

    /// The module of this name. As the value of a `const` or `static`, a name that the pack does
    /// not have is an error of the compiler.
    ///
    /// # Panics
    /// If there is none; the message lists the modules. For names that are not known before the
    /// program runs there is [`KernelPack::find_module`].
    pub const fn module(&self, name: &str) -> Module<'_, F> {
        let mut i = 0;
        while i < self.modules.len() {
            if is_same(self.modules[i].name, name) {
                return Module { pack: self, record: &self.modules[i] };
            }
            i += 1;
        }
        let words = Words::new()
            .add("the pack \"")
            .add(self.name)
            .add("\" has no module \"")
            .add(name)
            .add("\"; it has ");
        panic!("{}", words.list_modules(self.modules).or_none().as_str())
    }

    /// The kernel of this name, which some image of the pack has; of several modules exactly one
    /// has it. As the value of a `const` or `static`, a name that no image has is an error of the
    /// compiler, which lists the kernels:
    ///
    /// ```
    /// # use offload::{Kernel, KernelPack, Origin, PackImageKind, __expansion::{ImageRecord, ModuleRecord}};
    /// # static SAXPY: KernelPack = {
    /// #     const KERNELS: &[&str] = &["saxpy"];
    /// #     const IMAGES: &[ImageRecord] = &[ImageRecord { target: "sm_80", kind: PackImageKind::Cubin, offset: 0, size: 8,
    /// #         origin: Origin::Compiled, code: ImageRecord::code("sm_80", PackImageKind::Cubin), kernels: Some(KERNELS), limits: &[] }];
    /// #     const MODULES: &[ModuleRecord] = &[ModuleRecord { name: "saxpy", first: 0, count: 1, registered: None }];
    /// #     offload::__expansion::linked("saxpy", ".llvm.offloading", &[0; 8], IMAGES, MODULES)
    /// # };
    /// const SAXPY_KERNEL: Kernel = SAXPY.kernel("saxpy");
    /// assert_eq!(SAXPY_KERNEL.name(), "saxpy");
    /// ```
    ///
    /// ```compile_fail
    /// # use offload::{Kernel, KernelPack, Origin, PackImageKind, __expansion::{ImageRecord, ModuleRecord}};
    /// # static SAXPY: KernelPack = {
    /// #     const KERNELS: &[&str] = &["saxpy"];
    /// #     const IMAGES: &[ImageRecord] = &[ImageRecord { target: "sm_80", kind: PackImageKind::Cubin, offset: 0, size: 8,
    /// #         origin: Origin::Compiled, code: ImageRecord::code("sm_80", PackImageKind::Cubin), kernels: Some(KERNELS), limits: &[] }];
    /// #     const MODULES: &[ModuleRecord] = &[ModuleRecord { name: "saxpy", first: 0, count: 1, registered: None }];
    /// #     offload::__expansion::linked("saxpy", ".llvm.offloading", &[0; 8], IMAGES, MODULES)
    /// # };
    /// const SAXPY_KERNEL: Kernel = SAXPY.kernel("saxpi");
    /// ```
    ///
    /// The name is as the images have it: of C++ kernels that are not `extern "C"` the mangled one.
    /// Kernels that only the image for the CPU has are not known. If the images of a module record
    /// no kernels, a name that no image has counts as a kernel of the first such module. That is so
    /// if all images of a module are for the CPU, or if it has none, as in a pack that was not
    /// built. [`Module::kernel`] is for the kernels of one module.
    ///
    /// # Panics
    /// If there is none, or if several modules have it.
    pub const fn kernel<'pack>(&'pack self, name: &'pack str) -> Kernel<'pack, F> {
        let (mut found, mut unknown, mut i) = (None, None, 0);
        while i < self.modules.len() {
            let module = Module { pack: self, record: &self.modules[i] };
            if let Some(recorded) = module.find(name) {
                if let Some(Kernel { module: other, .. }) = found {
                    let words = Words::new()
                        .add("\"")
                        .add(name)
                        .add("\" is a kernel of several modules of the pack \"");
                    let words = words
                        .add(self.name)
                        .add("\": ")
                        .list(other.record.name)
                        .list(module.record.name);
                    panic!(
                        "{}",
                        words
                            .add("; say of which, as in PACK.module(\"affine\").kernel(...)")
                            .as_str()
                    )
                }
                found = Some(Kernel { module, name: recorded });
            }
            if unknown.is_none() && !module.knows_kernels() {
                unknown = Some(module);
            }
            i += 1;
        }
        match (found, unknown, self.modules) {
            (Some(kernel), ..) => kernel,
            (None, Some(module), _) => Kernel { module, name },
            (None, None, [record]) => Module { pack: self, record }.kernel(name),
            (None, None, _) => {
                let words = Words::new()
                    .add("the pack \"")
                    .add(self.name)
                    .add("\" has no kernel \"")
                    .add(name);
                let mut words = words.add("\"; it has ");
                i = 0;
                while i < self.modules.len() {
                    let module = Module { pack: self, record: &self.modules[i] };
                    words = words.list_kernels(
                        module.records(),
                        self.records().split_at(module.record.first).0,
                    );
                    i += 1;
                }
                panic!("{}", words.or_none().as_str())
            }
        }
    }

    /// The module of this name, if there is one.
    pub fn find_module(&self, name: &str) -> Option<Module<'_, F>> {
        self.modules().find(|module| module.name() == name)
    }

    /// The modules, in file order.
    pub fn modules(&self) -> impl ExactSizeIterator<Item = Module<'_, F>> + Clone {
        self.modules.iter().map(move |record| Module { pack: self, record })
    }

    /// The images of all modules, in file order.
    pub fn images(&self) -> impl ExactSizeIterator<Item = PackImage<F>> + Clone + use<F> {
        let pack = self.now();
        let (bytes, modules, streams) = (pack.bytes(), pack.modules, pack.streams());
        let stream = move |at: usize| {
            let of = modules
                .iter()
                .position(|module| module.first <= at && at - module.first < module.count)?;
            streams.get(of)
        };
        let images = pack.records().iter().enumerate();
        images.map(move |(at, record)| PackImage {
            pack: bytes,
            record,
            stream: stream(at),
            form: PhantomData,
        })
    }

    /// The best image for a device of a pack of one module, by the rules of [`mod@crate::select`].
    ///
    /// Returns an error that lists every image and why it was refused, if none fits; and one that
    /// names the modules, if the pack has several.
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
            .field("images", &self.now().records())
            .field("modules", &self.modules)
            .finish()
    }
}

#[cfg(test)]
mod tests;
