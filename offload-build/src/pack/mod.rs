//! Assembles images into a pack, embeds it in a host object, and writes the index for the macro.

mod agreement;
#[cfg(feature = "compression")]
mod compression;
#[cfg(not(feature = "compression"))]
mod compression_disabled;
pub(crate) mod image;
mod kernels;
pub(crate) mod layout;
mod linker;

#[cfg(not(feature = "compression"))]
use compression_disabled as compression;

use self::compression::compress;
use self::image::Image;
use self::layout::{ModuleImages, PackLayout, plain};
use crate::output::{OutDir, write_if_changed, write_layout};
use crate::request::Request;
use crate::targets::Target;
use crate::toolchain::{Cargo, ContentHash, Error, Parts};
use offload_format::archive;
use offload_format::host_object::{self, CargoTarget, Machine};
use offload_format::layout::Layout;
use offload_format::section::{DeviceSection, ObjectFormat};
use offload_format::target::Vendor;
use offload_pack::expansion;
use offload_pack::pack_index::{Index, IndexModule, PackIndex};
use std::path::{Path, PathBuf};

/// The result of [`Build::compile`](crate::Build::compile): a pack.
///
/// ```no_run
/// let pack = offload_build::Build::new().file("kernels/saxpy.cu").archs(["gfx90a", "sm_80"]).compile("saxpy");
/// for module in pack.modules() {
///     for image in module.images() {
///         println!("{} for {}: {}, {:?}", module.name(), image.target(), image.path().display(), image.kernels());
///     }
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Pack {
    path: Option<PathBuf>,
    modules: Vec<PackedModule>,
}

/// One module of a [`Pack`].
#[derive(Debug, Clone)]
pub struct PackedModule {
    name: String,
    images: Vec<PackedImage>,
}

/// One image of a [`Pack`].
#[derive(Debug, Clone)]
pub struct PackedImage {
    target: Target,
    path: PathBuf,
}

impl Pack {
    /// Returns the file with the bytes that programs embed.
    ///
    /// If all targets are AMD's, the file contains an offload bundle for each module. Otherwise, it
    /// contains offload binaries. Returns `None` if nothing was compiled, because of
    /// `OFFLOAD_SKIP`, docs.rs, a host that does not support packs, or
    /// [`Build::allow_empty`](crate::Build::allow_empty) without a remaining target.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Returns the modules. The unnamed module, with the files added to the build itself, comes
    /// first. If the pack was not built, its modules contain no images.
    pub fn modules(&self) -> &[PackedModule] {
        &self.modules
    }

    /// Returns the images of all modules. Each module's images are in the order of the targets.
    pub fn images(&self) -> impl Iterator<Item = &PackedImage> {
        self.modules.iter().flat_map(|module| &module.images)
    }
}

impl PackedModule {
    /// Returns the module's name: the name in build.rs, or the pack's name for the unnamed module.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the images, in the order of the targets.
    pub fn images(&self) -> &[PackedImage] {
        &self.images
    }
}

impl PackedImage {
    /// Returns the canonical name of the target.
    pub fn target(&self) -> &str {
        self.target.as_str()
    }

    /// Returns the path of the file that contains only this image. The file is in `OUT_DIR`, unless
    /// the source already is a code object or cubin, in which case this is the source's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the names of the image's kernels, read from the image.
    ///
    /// The names of C++ kernels are mangled. For the CPU, the list is empty, because the image
    /// contains no names.
    ///
    /// Returns an error if the file is damaged or cannot be read.
    pub fn kernels(&self) -> Result<Vec<String>, Error> {
        if self.target.is_gpu() { image::kernels(&self.path) } else { Ok(Vec::new()) }
    }
}

/// Writes the index of a pack that is not built, with the modules that the pack would have.
pub(crate) fn write_absent(
    name: &str,
    why: &str,
    modules: Vec<IndexModule>,
    request: &Request,
    output: &OutDir,
) -> Result<Pack, Error> {
    let compressed = request.compressed;
    let mut packed = Vec::new();
    for module in &modules {
        packed.push(PackedModule { name: module.name.clone(), images: Vec::new() });
    }
    let index = Index::Absent { name: name.to_owned(), why: why.to_owned(), compressed, modules };
    describe(&index, output)?;
    Ok(Pack { path: None, modules: packed })
}

/// Writes the index of a pack, and the Rust code for it. The code's first line is for the macro: it
/// contains the version, and values for checking the library.
fn describe(index: &Index, output: &OutDir) -> Result<(), Error> {
    write_if_changed(&output.index(), index.to_string().as_bytes())?;
    let library = match index {
        Index::Built(pack) => {
            let mut start = String::new();
            for byte in pack.first_bytes() {
                start += &format!("{byte:02x}");
            }
            let (size, offset) = (pack.library_size, pack.library_offset);
            let section = pack.section.elf_name();
            format!(" lib{}.a {size} {offset} {section} {start}", pack.library)
        }
        Index::Absent { .. } => String::new(),
    };
    let code = expansion::of(index);
    let text = format!("// {}{library}\n{code}", env!("CARGO_PKG_VERSION"));
    write_if_changed(&output.code(), text.as_bytes())
}

/// Returns the machine of the host objects.
///
/// Returns an error if packs cannot be linked into programs for this host.
pub(crate) fn machine(cargo: &Cargo) -> Result<Machine, Error> {
    let machine = Machine::of(&CargoTarget {
        arch: &cargo.target_arch,
        os: &cargo.target_os,
        pointer_width: &cargo.target_pointer_width,
        endian: &cargo.target_endian,
    });
    machine.ok_or_else(|| {
        Error::config(format!(
            "packs can be embedded only in 64-bit programs for Linux, Android, BSD and illumos \
             (x86_64, aarch64, riscv64, loongarch64) and for Windows and macOS (x86_64, aarch64), \
             not for {}. Call .allow_empty() in build.rs to make the pack empty there",
            cargo.target
        ))
    })
}

/// Writes the files of a pack: the pack, the library that contains it, and its index.
///
/// Returns an error if the pack is too large for the linker, or if a file cannot be written. The
/// limit for a compressed pack applies to its compressed size.
pub(crate) fn write(
    name: &str,
    modules: &[ModuleImages],
    request: &Request,
    machine: Machine,
    output: &OutDir,
    cargo: &Cargo,
) -> Result<Pack, Error> {
    let mut images = Vec::new();
    for module in modules {
        images.extend(&module.images);
    }
    // Use bundles only for AMD: HIP's runtime reads them, but they cannot contain images of other
    // vendors.
    let only_amd = images.iter().all(|image| image.target.vendor() == Vendor::Amd);
    let section = if only_amd { DeviceSection::HipFatbin } else { DeviceSection::LlvmOffloading };
    let PackLayout { layout, files, modules: mut placed } = if request.compressed {
        compress(modules, section, output)?
    } else {
        plain(modules, section)?
    };
    linker::check_size(name, layout.size(), machine, request, cargo)?;
    let hash = content_hash(section, request.compressed, &layout, &images);
    let library = format!("offload_{name}_{hash}");
    let symbol = format!("offload_pack_{hash}");

    let object = host_object::write(machine, section, &symbol, layout.size()).map_err(|error| {
        Error::config(format!("the pack is too large for one library: {error}"))
    })?;
    let write_library = match machine.format() {
        ObjectFormat::MachO => archive::write_darwin_library,
        _ => archive::write_library,
    };
    let archive = write_library("offload.o", &machine.linker_name(&symbol), object.size());
    let library_offset = archive.offset_of(0).unwrap_or(0) + object.offset_of(0).unwrap_or(0);
    let library_layout = archive.nest(|_| object.clone()).nest(|_| layout.clone());
    let library_path = output.library(&library);
    // Write both files in parallel, because writing a large pack mostly waits for memory.
    std::thread::scope(|scope| {
        let pack = scope.spawn(|| write_layout(&output.pack(), &layout, &files));
        write_layout(&library_path, &library_layout, &files)?;
        pack.join().expect("writing a file does not panic")
    })?;

    let mut packed = Vec::new();
    for (module, placed) in modules.iter().zip(&mut placed) {
        let mut packed_images = Vec::new();
        for (image, placed) in module.images.iter().zip(&mut placed.images) {
            let (target, path) = (image.target.clone(), image.path.clone());
            packed_images.push(PackedImage { target, path });
            placed.kernels = kernels::of(&module.name, image, output, cargo)?;
        }
        kernels::warn_of_none(name, module, &placed.images, cargo);
        match &module.signatures {
            Ok(known) => {
                placed.signatures = agreement::agreed(&module.name, known, &placed.images, cargo);
            }
            Err(why) => placed.signatures_unknown = Some(why.clone()),
        }
        packed.push(PackedModule { name: module.name.clone(), images: packed_images });
    }
    let index = Index::Built(PackIndex {
        name: name.to_owned(),
        library: library.clone(),
        library_size: library_layout.size(),
        library_offset,
        symbol,
        section,
        size: layout.size(),
        modules: placed,
    });
    describe(&index, output)?;
    output.remove_stale_libraries(&format!("offload_{name}_"), &library_path);
    cargo.link_search(&output.root);
    Ok(Pack { path: Some(output.pack()), modules: packed })
}

/// Returns the hash of a pack's section, structure and images. Packs with the same hash are equal.
fn content_hash(
    section: DeviceSection,
    compressed: bool,
    layout: &Layout,
    images: &[&Image],
) -> ContentHash {
    let method = if compressed { "zstd" } else { "" };
    let mut hash = Parts::default();
    hash.add(&format!("{}{method}", section.elf_name()));
    hash.add(&format!("{:?}", layout.pieces()));
    for image in images {
        hash.add(&image.hash.to_string());
    }
    hash.finish()
}
