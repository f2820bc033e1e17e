//! What `include_offload!` expands to: a pack of images inside this program, described at compile time.
//!
//! Nothing is parsed when the program starts. The expansion gives the bytes, which the linker put into the section, and
//! the table of images, which the macro took from the pack's index; [`KernelPack::new`] checks one against the other
//! while the program is compiled.

mod decompressed;
#[doc(hidden)]
pub mod disk;
mod image;
mod kernel;
#[cfg(all(
    target_pointer_width = "64",
    target_endian = "little",
    any(
        target_os = "linux",
        target_os = "android",
        target_os = "freebsd",
        target_os = "netbsd",
        target_os = "openbsd",
        target_os = "illumos"
    )
))]
#[allow(unsafe_code)]
mod linked;
mod module;
#[doc(hidden)]
pub mod registered;
mod words;

pub use decompressed::{Decompressed, StreamRecord};
pub use image::PackImage;
pub use kernel::Kernel;
#[cfg(all(
    target_pointer_width = "64",
    target_endian = "little",
    any(
        target_os = "linux",
        target_os = "android",
        target_os = "freebsd",
        target_os = "netbsd",
        target_os = "openbsd",
        target_os = "illumos"
    )
))]
pub use linked::{Entry, LinkedPack, linked_packs};
pub use module::Module;

pub use crate::pack_index::{Origin, PackImageKind};

use crate::host_object::DeviceSection;
use crate::select::{Choice, Code, Device, SelectError};
use crate::target::{NvidiaArch, TargetId};
use core::cmp::Ordering;
use core::fmt;
use words::Words;

/// A pack: modules, each compiled for several targets.
///
/// A pack of one module is used as if it were the module: [`KernelPack::select`]. Of several, each goes by its name, which
/// is checked while the program is compiled:
///
/// ```
/// # use offload_format::embedded::{KernelPack, Module};
/// # static SAXPY: KernelPack = {
/// #     use offload_format::embedded::ModuleRecord;
/// #     const MODULES: &[ModuleRecord] = &[ModuleRecord { name: "affine", first: 0, count: 0, registered: None }];
/// #     KernelPack::new_absent("saxpy", "this is an example", MODULES)
/// # };
/// const AFFINE: Module = SAXPY.module("affine");
/// ```
///
/// ```compile_fail
/// # use offload_format::embedded::{KernelPack, Module};
/// # static SAXPY: KernelPack = {
/// #     use offload_format::embedded::ModuleRecord;
/// #     const MODULES: &[ModuleRecord] = &[ModuleRecord { name: "affine", first: 0, count: 0, registered: None }];
/// #     KernelPack::new_absent("saxpy", "this is an example", MODULES)
/// # };
/// const AFFINE: Module = SAXPY.module("afine");
/// ```
#[derive(Clone, Copy)]
pub struct KernelPack {
    name: &'static str,
    section: &'static str,
    bytes: &'static [u8],
    images: &'static [ImageRecord],
    modules: &'static [ModuleRecord],
    /// One for each module, if the pack is compressed; offsets of images are then those in what comes out.
    streams: &'static [StreamRecord],
    absent: Option<&'static str>,
    /// Whether the reason for which there are no images is another one than that it was not built.
    closed: bool,
    /// Reads it, if it is not in the program. Images and modules are then those of the time when the program was compiled.
    on_disk: Option<fn() -> &'static KernelPack>,
}

/// What is known of one module at compile time. The macro writes it; programs use [`Module`].
#[derive(Debug, Clone, Copy)]
pub struct ModuleRecord {
    /// Its name.
    pub name: &'static str,
    /// Its first image, among those of all modules in file order.
    pub first: usize,
    /// How many images it has.
    pub count: usize,
    /// Its kernels for HIP's runtime, if the program registers them.
    pub registered: Option<&'static registered::Kernels>,
}

/// What is known of one image at compile time. The macro writes it; programs use [`PackImage`].
#[derive(Debug, Clone, Copy)]
pub struct ImageRecord {
    /// What was asked for: `gfx90a:xnack-`, `sm_80`, `compute_80`, `cpu`.
    pub target: &'static str,
    /// What the image is.
    pub kind: PackImageKind,
    /// Offset in bytes from the start of the pack; of a compressed one, in what comes out of the module's stream.
    pub offset: usize,
    /// Size in bytes.
    pub size: usize,
    /// Where it came from.
    pub origin: Origin,
    /// The names of its kernels in alphabetical order, as it has them: those of C++ mangled. `None` if nobody has read
    /// them, as those of an image for the CPU.
    pub kernels: Option<&'static [&'static str]>,
    /// What the rules of selection see: [`ImageRecord::code`] of `target` and `kind`.
    pub code: Code<'static>,
}

impl ImageRecord {
    /// What the rules of selection see, read while the program is compiled.
    #[doc(hidden)]
    pub const fn code(target: &'static str, kind: PackImageKind) -> Code<'static> {
        match kind {
            PackImageKind::CodeObject { version } => match TargetId::check(target) {
                Ok(id) => Code::Amdgpu { id, version: Some(version) },
                Err(_) => Code::Other,
            },
            PackImageKind::Cubin => match NvidiaArch::check(target) {
                Ok(arch) => Code::Cubin(arch),
                Err(_) => Code::Other,
            },
            PackImageKind::Ptx { version } => match NvidiaArch::check(target) {
                Ok(arch) => Code::Ptx { arch, version: Some(version) },
                Err(_) => Code::Other,
            },
            PackImageKind::SharedObject { triple } => Code::Cpu(triple),
        }
    }

    /// What is wrong with the place where it lies in a pack of `size` bytes.
    pub(crate) const fn problem(&self, size: usize) -> Option<&'static str> {
        if self.offset > size {
            return Some("an image starts past the end of its pack");
        }
        if self.size > size - self.offset {
            return Some("an image ends past the end of its pack");
        }
        // What `PackImage::as_ptr` promises to drivers.
        match self.kind {
            PackImageKind::Ptx { .. } if self.size == size - self.offset => {
                Some("no NUL can follow PTX at the end of its pack")
            }
            PackImageKind::Ptx { .. } => None,
            _ if self.offset.is_multiple_of(8) => None,
            _ => Some("an image is not aligned in its pack"),
        }
    }
}

impl KernelPack {
    /// Puts bytes and table together; the macro's expansion calls it.
    ///
    /// # Panics
    /// If an image lies outside the bytes, which ends a compilation, since expansions are evaluated then.
    #[doc(hidden)]
    pub const fn new(
        name: &'static str,
        section: &'static str,
        bytes: &'static [u8],
        images: &'static [ImageRecord],
        modules: &'static [ModuleRecord],
    ) -> Self {
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
            assert!(modules[i].count <= images.len() - modules[i].first, "a module has more images than its pack");
            i += 1;
        }
        Self { bytes, images, modules, ..Self::empty(name, section) }
    }

    const fn empty(name: &'static str, section: &'static str) -> Self {
        let (images, modules, streams) = (&[], &[], &[]);
        Self { name, section, bytes: &[], images, modules, streams, absent: None, closed: false, on_disk: None }
    }

    /// A pack that `load` reads when it is asked for: for development. Images and modules are those that it has now.
    #[doc(hidden)]
    pub const fn new_on_disk(
        name: &'static str,
        section: &'static str,
        images: &'static [ImageRecord],
        modules: &'static [ModuleRecord],
        load: fn() -> &'static KernelPack,
    ) -> Self {
        Self { on_disk: Some(load), images, modules, ..Self::empty(name, section) }
    }

    /// A pack that was not built, and why: every `select` says so. The modules are those that it would have, without images.
    #[doc(hidden)]
    pub const fn new_absent(name: &'static str, why: &'static str, modules: &'static [ModuleRecord]) -> Self {
        let section = DeviceSection::LlvmOffloading.elf_name();
        Self { closed: false, ..Self::new_closed(name, section, &[], why, modules) }
    }

    /// A file of which nothing is known but that it is there, and why: every `select` says so.
    #[doc(hidden)]
    pub const fn new_closed(
        name: &'static str,
        section: &'static str,
        bytes: &'static [u8],
        why: &'static str,
        modules: &'static [ModuleRecord],
    ) -> Self {
        Self { bytes, absent: Some(why), closed: true, modules, ..Self::empty(name, section) }
    }

    /// The name that the build script gave it; of a pack by its path the file's name without its extension.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Name of the section that holds it, in ELF programs: `.rodata` for an image by its path, which is in no container.
    pub const fn section(&self) -> &'static str {
        self.section
    }

    /// The whole pack: offload bundles in `.hip_fatbin`, offload binaries in `.llvm.offloading`, or the file that was embedded
    /// by its path.
    pub fn bytes(&self) -> &'static [u8] {
        self.now().bytes
    }

    /// Whether the reason for having no images is another one than that it was not built.
    pub(crate) fn is_closed(&self) -> bool {
        self.now().closed
    }

    /// Itself, or what was read in its place.
    fn now(&self) -> &Self {
        match self.on_disk {
            Some(load) => load(),
            None => self,
        }
    }

    /// Why no images are known: the pack was not built (`OFFLOAD_SKIP=1`, docs.rs), or it is a compressed file or a
    /// fatbin that was embedded by its path; or it was to be read from disk (`OFFLOAD_FROM_DISK=1`), and could not.
    pub fn absent(&self) -> Option<&'static str> {
        self.now().absent
    }

    /// The module of this name. As the value of a `const` or `static`, a name that the pack does not have is an error of
    /// the compiler.
    ///
    /// # Panics
    /// If there is none; the message lists those that there are. For names that are not known before the program runs
    /// there is [`KernelPack::find_module`].
    pub const fn module(&self, name: &str) -> Module<'_> {
        let mut i = 0;
        while i < self.modules.len() {
            if is_same(self.modules[i].name, name) {
                return Module { pack: self, record: &self.modules[i] };
            }
            i += 1;
        }
        let words =
            Words::new().add("the pack \"").add(self.name).add("\" has no module \"").add(name).add("\"; it has ");
        panic!("{}", words.list_modules(self.modules).or_none().as_str())
    }

    /// The kernel of this name, which some image of the pack has; of several modules exactly one has it. As the value of a
    /// `const` or `static`, a name that no image has is an error of the compiler, which lists those that there are:
    ///
    /// ```
    /// # use offload_format::embedded::{ImageRecord, Kernel, KernelPack, ModuleRecord, Origin, PackImageKind};
    /// # static SAXPY: KernelPack = {
    /// #     const KERNELS: &[&str] = &["saxpy"];
    /// #     const IMAGES: &[ImageRecord] = &[ImageRecord { target: "sm_80", kind: PackImageKind::Cubin, offset: 0, size: 8,
    /// #         origin: Origin::Compiled, code: ImageRecord::code("sm_80", PackImageKind::Cubin), kernels: Some(KERNELS) }];
    /// #     const MODULES: &[ModuleRecord] = &[ModuleRecord { name: "saxpy", first: 0, count: 1, registered: None }];
    /// #     KernelPack::new("saxpy", ".llvm.offloading", &[0; 8], IMAGES, MODULES)
    /// # };
    /// const SAXPY_KERNEL: Kernel = SAXPY.kernel("saxpy");
    /// assert_eq!(SAXPY_KERNEL.name(), "saxpy");
    /// ```
    ///
    /// ```compile_fail
    /// # use offload_format::embedded::{ImageRecord, Kernel, KernelPack, ModuleRecord, Origin, PackImageKind};
    /// # static SAXPY: KernelPack = {
    /// #     const KERNELS: &[&str] = &["saxpy"];
    /// #     const IMAGES: &[ImageRecord] = &[ImageRecord { target: "sm_80", kind: PackImageKind::Cubin, offset: 0, size: 8,
    /// #         origin: Origin::Compiled, code: ImageRecord::code("sm_80", PackImageKind::Cubin), kernels: Some(KERNELS) }];
    /// #     const MODULES: &[ModuleRecord] = &[ModuleRecord { name: "saxpy", first: 0, count: 1, registered: None }];
    /// #     KernelPack::new("saxpy", ".llvm.offloading", &[0; 8], IMAGES, MODULES)
    /// # };
    /// const SAXPY_KERNEL: Kernel = SAXPY.kernel("saxpi");
    /// ```
    ///
    /// The name is as the images have it: of C++ kernels that are not `extern "C"` the mangled one. Kernels that only the
    /// image for the CPU has are not known. Where no image says which kernels it has, as in a pack that was not built, any
    /// name is taken.
    ///
    /// # Panics
    /// If there is none, or if several modules have it: then [`Module::kernel`] says of which.
    pub const fn kernel<'pack>(&'pack self, name: &'pack str) -> Kernel<'pack> {
        let (mut found, mut known, mut i) = (None, false, 0);
        while i < self.modules.len() {
            let module = Module { pack: self, record: &self.modules[i] };
            if let Some(recorded) = module.find(name) {
                if let Some(Kernel { module: other, .. }) = found {
                    let words =
                        Words::new().add("\"").add(name).add("\" is a kernel of several modules of the pack \"");
                    let words = words.add(self.name).add("\": ").list(other.record.name).list(module.record.name);
                    panic!("{}", words.add("; say of which, as in PACK.module(\"affine\").kernel(...)").as_str())
                }
                found = Some(Kernel { module, name: recorded });
            }
            known |= module.knows_kernels();
            i += 1;
        }
        match (found, self.modules) {
            (Some(kernel), _) => kernel,
            (None, [record]) => Module { pack: self, record }.kernel(name),
            (None, [record, ..]) if !known => Kernel { module: Module { pack: self, record }, name },
            (None, _) => {
                let words = Words::new().add("the pack \"").add(self.name).add("\" has no kernel \"").add(name);
                let mut words = words.add("\"; it has ");
                i = 0;
                while i < self.modules.len() {
                    let module = Module { pack: self, record: &self.modules[i] };
                    words = words.list_kernels(module.records(), self.images.split_at(module.record.first).0);
                    i += 1;
                }
                panic!("{}", words.or_none().as_str())
            }
        }
    }

    /// The module of this name, if there is one.
    pub fn find_module(&self, name: &str) -> Option<Module<'_>> {
        self.modules().find(|module| module.name() == name)
    }

    /// The modules, in file order.
    pub fn modules(&self) -> impl ExactSizeIterator<Item = Module<'_>> + Clone {
        self.modules.iter().map(move |record| Module { pack: self, record })
    }

    /// The images of all modules, in file order.
    pub fn images(&self) -> impl ExactSizeIterator<Item = PackImage> + Clone + use<> {
        let pack = self.now();
        let (bytes, modules, streams) = (pack.bytes, pack.modules, pack.streams);
        let stream = move |at: usize| {
            let of = modules.iter().position(|module| module.first <= at && at - module.first < module.count)?;
            streams.get(of)
        };
        let images = pack.images.iter().enumerate();
        images.map(move |(at, record)| PackImage { pack: bytes, record, stream: stream(at) })
    }

    /// The best image for a device of a pack of one module, by the rules of [`mod@crate::select`].
    ///
    /// Returns an error that lists every image and why it was refused, if none fits; and one that names the modules, if the
    /// pack has several.
    pub fn select(&self, device: &Device) -> Result<Choice<PackImage>, SelectError<PackImage>> {
        match self.modules {
            [record] => Module { pack: self, record }.select(device),
            modules => Err(SelectError::several(device, modules.iter().map(|module| module.name).collect())),
        }
    }
}

/// Where a name is in a list in alphabetical order, for constants. By halves, since the compiler stops what takes it
/// long: a pack may have thousands of names.
const fn position(names: &[&str], name: &str) -> Option<usize> {
    let (mut from, mut to) = (0, names.len());
    while from < to {
        let middle = from + (to - from) / 2;
        match order(names[middle].as_bytes(), name.as_bytes()) {
            Ordering::Equal => return Some(middle),
            Ordering::Less => from = middle + 1,
            Ordering::Greater => to = middle,
        }
    }
    None
}

/// Which of two strings comes first, for constants.
const fn order(a: &[u8], b: &[u8]) -> Ordering {
    let mut i = 0;
    while i < a.len() && i < b.len() {
        if a[i] != b[i] {
            return if a[i] < b[i] { Ordering::Less } else { Ordering::Greater };
        }
        i += 1;
    }
    if i < b.len() {
        Ordering::Less
    } else if i < a.len() {
        Ordering::Greater
    } else {
        Ordering::Equal
    }
}

/// Whether two strings are one, for constants.
const fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len()
}

impl fmt::Debug for KernelPack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KernelPack")
            .field("name", &self.name)
            .field("section", &self.section())
            .field("size", &self.bytes().len())
            .field("images", &self.now().images)
            .field("modules", &self.modules)
            .finish()
    }
}

#[cfg(test)]
mod tests;
