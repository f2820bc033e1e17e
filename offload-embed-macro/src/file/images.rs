//! The images of an embedded file.

use offload_format::fat_file::FileKind;
use offload_format::image::{ImageHeader, ImageKind, Kernels, unique_symbol};
use offload_format::inventory::{ContainerKind, Image, Inventory};
use offload_format::offload_binary;
use offload_format::spirv::SpirvModule;
use offload_format::target::{IntelArch, Vendor};
use offload_format::{Error, ErrorKind};
use offload_pack::pack_index::{IndexImage, IndexKernel, IndexModule, Origin, PackImageKind};

const COMPRESSED: &str = "the file is compressed, so its images are not known when the program is \
                          compiled: PACK.bytes() has the whole file";
const FATBIN: &str = "the file is a fatbin, from which the CUDA driver chooses an image: \
                      PACK.bytes() has the whole file";

/// The maximum number of bytes to decompress at compile time: 0, so nothing is decompressed.
const LIMIT: u64 = 0;

/// The images in a file.
pub(super) struct Images<'a> {
    /// The file's name.
    name: &'a str,
    pub(super) modules: Vec<IndexModule>,
    /// Descriptions of images that no driver loads.
    pub(super) left_out: Vec<String>,
    /// The reason why the file's images are unknown; `None` if they are known.
    pub(super) closed: Option<&'static str>,
    /// The name of a unique symbol (`STB_GNU_UNIQUE`) in an image for the CPU.
    pub(super) unique_symbol: Option<String>,
}

impl<'a> Images<'a> {
    /// Reads the images of the file with this name. The error completes a sentence that starts with
    /// the file's path.
    pub(super) fn of(file: &[u8], name: &'a str) -> Result<(ContainerKind, Self), String> {
        let kind = kind(file)?;
        let inventory = Inventory::of(file, LIMIT);
        let mut images = Self {
            name,
            modules: Vec::new(),
            left_out: Vec::new(),
            closed: None,
            unique_symbol: None,
        };
        for problem in &inventory.problems {
            match problem.error.kind() {
                // A compressed bundle of version 1 does not contain its size, so its end is unknown
                // without decompression.
                ErrorKind::LimitExceeded { .. }
                | ErrorKind::NotBuiltIn { .. }
                | ErrorKind::UnsupportedCompression { .. } => images.closed = Some(COMPRESSED),
                _ => return Err(damaged(&problem.error)),
            }
        }
        for container in &inventory.containers {
            match container.kind {
                ContainerKind::Fatbin => images.closed = Some(FATBIN),
                _ if container.inflated_size.is_some() => images.closed = Some(COMPRESSED),
                _ => {}
            }
        }
        let bundles = inventory.containers.iter().filter(|it| it.kind.is_binary_bundle()).count();
        for (number, container) in inventory.containers.iter().enumerate() {
            if container.kind.is_binary_bundle() {
                let name = if bundles == 1 { name.to_owned() } else { format!("{name}.{number}") };
                images.module(&name, Some(container.place.offset));
            }
            for image in inventory.images_of(container) {
                // The host's entry of a bundle is not an image.
                if !image.is_host() {
                    images.take(container.kind, image, file)?;
                }
            }
        }
        if images.modules.is_empty() {
            let bundle = (kind == ContainerKind::Bundle).then_some(0);
            images.module(name, bundle);
        }
        Ok((kind, images))
    }

    /// Returns the index of the module with this name, and adds the module if it is missing.
    fn module(&mut self, name: &str, bundle: Option<u64>) -> usize {
        let found = self.modules.iter().position(|module| module.name == name);
        found.unwrap_or_else(|| {
            self.modules.push(IndexModule { bundle, ..IndexModule::new(name.to_owned()) });
            self.modules.len() - 1
        })
    }

    /// Adds the module that an image belongs to, and the image itself if all images are known.
    fn take(
        &mut self,
        container: ContainerKind,
        image: &Image<'_>,
        file: &[u8],
    ) -> Result<(), String> {
        let module = match image.module.as_deref() {
            _ if container.is_binary_bundle() => self.modules.len() - 1,
            Some(name) if container == ContainerKind::OffloadBinary => self.module(name, None),
            _ => self.module(self.name, None),
        };
        let (Some(data), Some(offset), None) = (image.in_file(), image.offset, self.closed) else {
            return Ok(());
        };
        let Some((target, kind)) = self.target(container, image, data) else { return Ok(()) };
        let is_ptx = kind.is_ptx();
        let end = usize::try_from(offset).unwrap_or(usize::MAX).saturating_add(data.len());
        // A PTX file needs no NUL, since the expansion adds one.
        let ends =
            container == ContainerKind::Raw || data.last() == Some(&0) || file.get(end) == Some(&0);
        if is_ptx && !ends {
            return Err(format!(
                "has PTX for {target} at offset {offset} without the terminating NUL that drivers \
                 need: add the file in a build script with .file(\"...\"), or embed the PTX as a \
                 separate file"
            ));
        }
        if !is_ptx && !offset.is_multiple_of(offload_binary::ALIGN) {
            let remedy = match container {
                ContainerKind::OffloadBinary => {
                    "add the file in a build script with .file(\"...\")"
                }
                _ => "make the file with clang-offload-bundler's option -bundle-align=4096",
            };
            return Err(format!(
                "has the image for {target} at offset {offset}, but drivers need a multiple of 8: \
                 {remedy}"
            ));
        }
        let kernels = if kind.vendor().is_gpu() { kernels(data) } else { None };
        // The file may contain the NUL after PTX, which is not part of the image.
        let size = data.len() as u64 - u64::from(is_ptx && data.last() == Some(&0));
        let image = IndexImage { target, offset, size, origin: Origin::Supplied, kind, kernels };
        self.modules[module].images.push(image);
        Ok(())
    }

    /// Returns the target and the kind of an image; `None` if no driver loads it.
    fn target(
        &mut self,
        container: ContainerKind,
        image: &Image<'_>,
        data: &[u8],
    ) -> Option<(String, PackImageKind<String>)> {
        let named = image.target_id.as_deref();
        // In bundles, host code is only for compilers. In an offload binary, host code is a shared
        // object: the image for the CPU.
        let triple = image.triple.as_deref().filter(|_| container == ContainerKind::OffloadBinary);
        let whom = named.unwrap_or("an unnamed target");
        let header = match ImageHeader::parse(data) {
            Ok(header) => header,
            Err(_) if data.is_empty() => return None,
            Err(_) => {
                self.left_out.push(format!("an unknown image for {whom}"));
                return None;
            }
        };
        let kind = header.pack_kind(triple.unwrap_or_default().to_owned());
        let left_out = match (kind, header.target(named)) {
            _ if header.is_unlinked(data) => {
                format!("an object for {} that is not linked", named.unwrap_or("a GPU"))
            }
            (Some(kind @ PackImageKind::SpirV { .. }), target) => {
                let own = IntelArch::Spirv64.name();
                // A file without a container names no target.
                match (target, SpirvModule::why_not_launched(data)) {
                    (Some(target), _) if target != own => format!("SPIR-V for {target}"),
                    (_, Some(why)) => format!("a file that {why}"),
                    (_, None) => return Some((own.to_owned(), kind)),
                }
            }
            (Some(kind), Some(target)) if kind.vendor().is_gpu() => return Some((target, kind)),
            (Some(kind), None) if kind.vendor().is_gpu() => {
                "a code object for an unknown processor".to_owned()
            }
            (Some(kind), _) if triple.is_some() => {
                // Ignore an unreadable file: the system's loader reports it.
                if let Ok(Some(symbol)) = unique_symbol(data) {
                    let symbol = String::from_utf8_lossy(symbol).escape_debug().to_string();
                    self.unique_symbol = Some(symbol);
                }
                return Some(("cpu".to_owned(), kind));
            }
            _ => format!("{} for {whom}", header.kind().words()),
        };
        self.left_out.push(left_out);
        None
    }
}

fn kernels(image: &[u8]) -> Option<Vec<IndexKernel>> {
    Some(IndexKernel::in_order(Kernels::parse(image).ok()?))
}

/// Returns the kind of the file, or the reason why the file is not embedded. The reason completes a
/// sentence that starts with the file's path.
fn kind(file: &[u8]) -> Result<ContainerKind, String> {
    if file.is_empty() {
        return Err("is empty: generate it before the build".to_owned());
    }
    let what = match FileKind::identify(file) {
        Some(FileKind::Container(ContainerKind::Raw)) | None => return image(file),
        Some(FileKind::Container(kind)) if kind.is_binary_bundle() => {
            return Ok(ContainerKind::Bundle);
        }
        Some(FileKind::Container(
            kind @ (ContainerKind::OffloadBinary | ContainerKind::Fatbin),
        )) => return Ok(kind),
        Some(FileKind::Container(kind)) => format!("a {}", kind.words(1)),
        Some(FileKind::Archive) => "an archive".to_owned(),
        Some(FileKind::Universal | FileKind::Host) => "an ELF file for a CPU".to_owned(),
    };
    Err(format!("is {what}: extract its device code with `cargo offload extract`"))
}

/// Returns the kind of a file without a container, or the reason why the file is not embedded.
fn image(file: &[u8]) -> Result<ContainerKind, String> {
    let why_not = match ImageHeader::parse(file).map(|header| header.kind()) {
        Ok(ImageKind::SpirV) => {
            return SpirvModule::why_not_launched(file).map_or(Ok(ContainerKind::Raw), Err);
        }
        Ok(kind) if kind.vendor().is_some_and(Vendor::is_gpu) => return Ok(ContainerKind::Raw),
        // Each kind that drivers do not load has a separate message.
        Ok(ImageKind::Bitcode) => {
            "is LLVM bitcode, which no driver loads: compile it in a build script with \
             .file(\"...\")"
        }
        Err(error) if error.kind() != ErrorKind::BadMagic => return Err(damaged(&error)),
        Ok(_) | Err(_) => {
            "is not a file that can be embedded: the macro accepts offload bundles (also \
             compressed), offload binaries, fatbins, AMD code objects, cubins, PTX and SPIR-V"
        }
    };
    Err(why_not.to_owned())
}

fn damaged(error: &Error) -> String {
    format!("is damaged: {error}")
}
