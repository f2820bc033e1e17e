//! What `include_offload!` expands to: a pack of images inside this program, described at compile time.
//!
//! Nothing is parsed when the program starts. The expansion gives the bytes, which the linker put into the section, and
//! the table of images, which the macro took from the pack's index; [`KernelPack::new`] checks one against the other
//! while the program is compiled.

use crate::host_object::DeviceSection;
use crate::select::{Candidate, Choice, Code, Device, SelectError, select};
use crate::target::{NvidiaArch, PtxVersion, TargetId};
use core::ffi::c_void;
use core::fmt;

/// A pack: modules, each compiled for several targets.
///
/// A pack of one module is used as if it were the module: [`KernelPack::select`]. Of several, each goes by its name, which
/// is checked while the program is compiled:
///
/// ```
/// # use offload_format::embedded::{KernelPack, Module};
/// # static SAXPY: KernelPack = {
/// #     use offload_format::embedded::ModuleRecord;
/// #     const MODULES: &[ModuleRecord] = &[ModuleRecord { name: "affine", first: 0, count: 0 }];
/// #     KernelPack::new_absent("saxpy", "this is an example", MODULES)
/// # };
/// const AFFINE: Module = SAXPY.module("affine");
/// ```
///
/// ```compile_fail
/// # use offload_format::embedded::{KernelPack, Module};
/// # static SAXPY: KernelPack = {
/// #     use offload_format::embedded::ModuleRecord;
/// #     const MODULES: &[ModuleRecord] = &[ModuleRecord { name: "affine", first: 0, count: 0 }];
/// #     KernelPack::new_absent("saxpy", "this is an example", MODULES)
/// # };
/// const AFFINE: Module = SAXPY.module("afine");
/// ```
#[derive(Clone, Copy)]
pub struct KernelPack {
    name: &'static str,
    section: DeviceSection,
    bytes: &'static [u8],
    images: &'static [ImageRecord],
    modules: &'static [ModuleRecord],
    absent: Option<&'static str>,
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
}

/// What is known of one image at compile time. The macro writes it; programs use [`PackImage`].
#[derive(Debug, Clone, Copy)]
pub struct ImageRecord {
    /// What was asked for: `gfx90a:xnack-`, `sm_80`, `compute_80`, `cpu`.
    pub target: &'static str,
    /// What the image is.
    pub kind: PackImageKind,
    /// Offset in bytes from the start of the pack.
    pub offset: usize,
    /// Size in bytes.
    pub size: usize,
    /// Where it came from.
    pub origin: Origin,
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

    /// Whether it lies as it must in a pack of `size` bytes.
    const fn check(&self, size: usize) {
        assert!(self.offset <= size, "an image starts past the end of its pack");
        assert!(self.size <= size - self.offset, "an image ends past the end of its pack");
        // What `PackImage::as_ptr` promises to drivers.
        match self.kind {
            PackImageKind::Ptx { .. } => {
                assert!(self.size < size - self.offset, "no NUL can follow PTX at the end of its pack");
            }
            _ => assert!(self.offset.is_multiple_of(8), "an image is not aligned in its pack"),
        }
    }
}

/// What an image of a pack is, with what the rules of selection need beside its target. `S` is how text is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackImageKind<S = &'static str> {
    /// An AMD code object.
    CodeObject {
        /// Its code object version.
        version: u32,
    },
    /// NVIDIA machine code.
    Cubin,
    /// PTX text. A NUL follows its last byte in the pack.
    Ptx {
        /// Its PTX ISA version.
        version: PtxVersion,
    },
    /// A shared object for the CPU.
    SharedObject {
        /// The host's target triple, as Cargo has it.
        triple: S,
    },
}

impl<S> fmt::Display for PackImageKind<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            PackImageKind::CodeObject { .. } => "code object",
            PackImageKind::Cubin => "cubin",
            PackImageKind::Ptx { .. } => "PTX",
            PackImageKind::SharedObject { .. } => "shared object",
        })
    }
}

/// Where an image came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Compiled by this build.
    Compiled,
    /// Taken from the prebuilt set in the package, whose recorded inputs match.
    Prebuilt,
    /// Taken out of a file that build.rs names.
    ReadyMade,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Origin::Compiled => "compiled",
            Origin::Prebuilt => "prebuilt",
            Origin::ReadyMade => "ready-made",
        })
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
        section: DeviceSection,
        bytes: &'static [u8],
        images: &'static [ImageRecord],
        modules: &'static [ModuleRecord],
    ) -> Self {
        let mut i = 0;
        while i < images.len() {
            images[i].check(bytes.len());
            i += 1;
        }
        i = 0;
        while i < modules.len() {
            assert!(modules[i].first <= images.len(), "a module starts past the images of its pack");
            assert!(modules[i].count <= images.len() - modules[i].first, "a module has more images than its pack");
            i += 1;
        }
        Self { name, section, bytes, images, modules, absent: None }
    }

    /// A pack that was not built, and why: every `select` says so. The modules are those that it would have, without images.
    #[doc(hidden)]
    pub const fn new_absent(name: &'static str, why: &'static str, modules: &'static [ModuleRecord]) -> Self {
        Self { name, section: DeviceSection::LlvmOffloading, bytes: &[], images: &[], modules, absent: Some(why) }
    }

    /// The name that the build script gave it.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Name of the section that holds it, in ELF programs.
    pub const fn section(&self) -> &'static str {
        self.section.elf_name()
    }

    /// The whole pack: offload bundles in `.hip_fatbin`, offload binaries in `.llvm.offloading`.
    pub const fn bytes(&self) -> &'static [u8] {
        self.bytes
    }

    /// Why the pack is empty, if it was not built (`OFFLOAD_SKIP=1`, docs.rs).
    pub const fn absent(&self) -> Option<&'static str> {
        self.absent
    }

    /// The module of this name. As the value of a `const` or `static`, a name that the pack does not have is an error of
    /// the compiler.
    ///
    /// # Panics
    /// If there is none. For names that are not known before the program runs there is [`KernelPack::find_module`].
    pub const fn module(&self, name: &str) -> Module<'_> {
        let mut i = 0;
        while i < self.modules.len() {
            if is_same(self.modules[i].name, name) {
                return Module { pack: self, record: &self.modules[i] };
            }
            i += 1;
        }
        panic!("the pack has no module of this name; build.rs says which it has")
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
        let pack = self.bytes;
        self.images.iter().map(move |record| PackImage { pack, record })
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

/// Whether two strings are one, for constants.
const fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

impl fmt::Debug for KernelPack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KernelPack")
            .field("name", &self.name)
            .field("section", &self.section())
            .field("size", &self.bytes.len())
            .field("images", &self.images)
            .field("modules", &self.modules)
            .finish()
    }
}

/// A module of a pack: one device program, with an image for each of its targets. It is loaded by itself.
#[derive(Clone, Copy)]
pub struct Module<'pack> {
    pack: &'pack KernelPack,
    record: &'static ModuleRecord,
}

impl Module<'_> {
    /// Its name: what the build script gave it, or that of the pack.
    pub const fn name(&self) -> &'static str {
        self.record.name
    }

    /// Its images, in file order.
    pub fn images(&self) -> impl ExactSizeIterator<Item = PackImage> + Clone + use<> {
        let pack = self.pack.bytes;
        // `KernelPack::new` has checked the range.
        let images = self.pack.images.get(self.record.first..).and_then(|rest| rest.get(..self.record.count));
        images.unwrap_or(&[]).iter().map(move |record| PackImage { pack, record })
    }

    /// The best image for a device, by the rules of [`mod@crate::select`].
    ///
    /// Returns an error that lists every image and why it was refused, if none fits.
    pub fn select(&self, device: &Device) -> Result<Choice<PackImage>, SelectError<PackImage>> {
        match self.pack.absent {
            Some(why) => Err(SelectError::absent(device, why)),
            None => select(self.images(), device),
        }
    }
}

impl fmt::Debug for Module<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let images: alloc::vec::Vec<PackImage> = self.images().collect();
        f.debug_struct("Module").field("name", &self.record.name).field("images", &images).finish()
    }
}

/// One image of a pack.
#[derive(Clone, Copy)]
pub struct PackImage {
    pack: &'static [u8],
    record: &'static ImageRecord,
}

impl PackImage {
    /// What it was made for, in canonical form: `gfx90a:xnack-`, `sm_80`, `compute_80`, `cpu`.
    pub fn target(&self) -> &'static str {
        self.record.target
    }

    /// What it is.
    pub fn kind(&self) -> PackImageKind {
        self.record.kind
    }

    /// Where it came from.
    pub fn origin(&self) -> Origin {
        self.record.origin
    }

    /// Offset in bytes from the start of the pack.
    pub fn offset(&self) -> usize {
        self.record.offset
    }

    /// The image.
    pub fn bytes(&self) -> &'static [u8] {
        // `KernelPack::new` has checked the range.
        &self.pack[self.record.offset..][..self.record.size]
    }

    /// Where the image starts, fit for `cuModuleLoadData` and `hipModuleLoadData`: PTX is followed by a NUL, code objects
    /// are aligned to at least 8 bytes.
    pub fn as_ptr(&self) -> *const c_void {
        // Of the pack, not of the image: the NUL behind PTX is outside the image's slice.
        self.pack.as_ptr().wrapping_add(self.record.offset).cast()
    }
}

impl fmt::Debug for PackImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.record.fmt(f)
    }
}

impl Candidate for PackImage {
    fn code(&self) -> Code<'_> {
        self.record.code
    }

    fn label(&self) -> &str {
        self.record.target
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::boxed::Box;
    use alloc::string::ToString;

    fn pack(kind: PackImageKind, offset: usize, size: usize) -> KernelPack {
        static BYTES: [u8; 64] = [7; 64];
        let record = ImageRecord {
            target: "sm_80",
            kind,
            offset,
            size,
            origin: Origin::Compiled,
            code: ImageRecord::code("sm_80", kind),
        };
        let images = Box::leak(Box::new([record]));
        const MODULES: &[ModuleRecord] = &[ModuleRecord { name: "test", first: 0, count: 1 }];
        KernelPack::new("test", DeviceSection::LlvmOffloading, &BYTES, images, MODULES)
    }

    const NO_IMAGES: &[ModuleRecord] =
        &[ModuleRecord { name: "affine", first: 0, count: 0 }, ModuleRecord { name: "scale", first: 0, count: 0 }];

    #[test]
    fn several_modules_are_told_apart() {
        static PACK: KernelPack = KernelPack::new("two", DeviceSection::LlvmOffloading, &[], &[], NO_IMAGES);
        const SCALE: Module<'_> = PACK.module("scale");
        assert_eq!(SCALE.name(), "scale");
        assert!(PACK.find_module("scal").is_none() && PACK.find_module("scale2").is_none());
        let device = Device::parse("gfx90a").unwrap();
        let error = PACK.select(&device).unwrap_err();
        assert_eq!(error.modules(), ["affine", "scale"]);
        assert_eq!(
            error.to_string(),
            "the pack has 2 modules, each with images of its own: affine, scale; \
             select from one of them, as in PACK.module(\"affine\").select(...)"
        );
        assert_eq!(SCALE.select(&device).unwrap_err().to_string(), "no image for gfx90a: there are no images");
    }

    #[test]
    #[should_panic(expected = "a module has more images than its pack")]
    fn a_module_of_images_that_are_not_there() {
        const MODULES: &[ModuleRecord] = &[ModuleRecord { name: "affine", first: 0, count: 1 }];
        KernelPack::new("test", DeviceSection::LlvmOffloading, &[], &[], MODULES);
    }

    #[test]
    fn a_pack_that_was_not_built_has_its_modules() {
        let pack = KernelPack::new_absent("two", "OFFLOAD_SKIP was set", NO_IMAGES);
        let error = pack.module("affine").select(&Device::cpu()).unwrap_err();
        assert_eq!(error.to_string(), "no image for the CPU: the pack was not built: OFFLOAD_SKIP was set");
    }

    #[test]
    #[should_panic(expected = "the pack has no module of this name")]
    fn a_module_that_is_not_there() {
        let pack = KernelPack::new_absent("two", "OFFLOAD_SKIP was set", NO_IMAGES);
        let _ = pack.module("offset");
    }

    #[test]
    fn an_image_lies_in_its_pack() {
        let image = pack(PackImageKind::Cubin, 8, 56).images().next().unwrap();
        assert_eq!((image.offset(), image.bytes().len()), (8, 56));
    }

    #[test]
    #[should_panic(expected = "an image ends past the end of its pack")]
    fn an_image_that_is_too_large() {
        pack(PackImageKind::Cubin, 8, 57);
    }

    #[test]
    #[should_panic(expected = "an image starts past the end of its pack")]
    fn an_image_that_starts_outside() {
        pack(PackImageKind::Cubin, 72, 0);
    }

    #[test]
    #[should_panic(expected = "no NUL can follow PTX at the end of its pack")]
    fn ptx_without_room_for_its_nul() {
        pack(PackImageKind::Ptx { version: PtxVersion::new(8, 0) }, 8, 56);
    }

    #[test]
    #[should_panic(expected = "an image is not aligned in its pack")]
    fn an_image_that_is_not_aligned() {
        pack(PackImageKind::Cubin, 4, 8);
    }
}
