//! JSON records of a file, and of an image.

use offload_format::Result;
use offload_format::fat_file::sections;
use offload_format::image::{ImageHeader, Kernels};
use offload_format::inventory::{Image, ImageKind, Images, Inventory};
use serde::Serialize;
use sha2::{Digest, Sha256};

/// The JSON record of a file.
#[derive(Debug, Serialize)]
pub struct FileRecord {
    /// The file's path, as given on the command line.
    pub file: String,
    /// The file's size in bytes.
    pub size: u64,
    /// The file's images, in file order.
    pub images: Vec<ImageRecord>,
}

/// The JSON record of an image: the fields of [`Image`], and facts from its bytes. Unknown values
/// are null.
#[derive(Debug, Serialize)]
pub struct ImageRecord {
    /// The name of the section that contains the image.
    pub section: Option<String>,
    /// The kind of the container.
    pub container: &'static str,
    /// The container's index in the file.
    pub container_index: usize,
    /// The bundle entry ID as stored.
    pub entry_id: Option<String>,
    /// The module to which the image belongs.
    pub module: Option<String>,
    /// The offload kind that the container states: `hip`, `openmp`.
    pub offload_kind: Option<String>,
    /// The target triple.
    pub triple: Option<String>,
    /// The target ID: `gfx90a:xnack-`, `sm_80`.
    pub target_id: Option<String>,
    /// The kind of the image.
    pub image_kind: &'static str,
    /// Offset in bytes in the file; null for an image in compressed data.
    pub offset: Option<u64>,
    /// Size in bytes.
    pub size: u64,
    /// SHA-256 of the image's bytes, in hexadecimal digits; null if they cannot be read.
    pub sha256: Option<String>,
    /// The image's kernels; null if images of this kind do not list kernels.
    pub kernels: Option<Vec<KernelRecord>>,
    /// The compiler of an image for the CPU, as the compiler named itself. Omitted if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compiler: Option<String>,
    /// How the threads of each kernel wait on the CPU. Omitted if the image does not contain this
    /// information.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cpu_kernels: Vec<CpuKernelRecord>,
    /// The name of the archive member that contains the image.
    pub member: Option<String>,
}

/// The JSON record of a kernel. Sizes are in bytes.
#[derive(Debug, Serialize)]
pub struct KernelRecord {
    /// The kernel's name, mangled as in the image.
    pub name: String,
    /// The size of the kernel's code.
    pub code_size: Option<u64>,
    /// The number of launch arguments, without those that the runtime fills in.
    pub arguments: u64,
    /// The launch arguments, in order.
    pub parameters: Vec<ParameterRecord>,
    /// The total size of the arguments, including those that the runtime fills in.
    pub arguments_size: Option<u64>,
    /// Registers of an NVIDIA kernel, per thread.
    pub registers: Option<u64>,
    /// Vector registers of an AMD kernel.
    pub vgprs: Option<u64>,
    /// Scalar registers of an AMD kernel.
    pub sgprs: Option<u64>,
    /// Accumulation registers of an AMD kernel.
    pub agprs: Option<u64>,
    /// The number of vector registers that are spilled to memory.
    pub vgpr_spills: Option<u64>,
    /// The number of scalar registers that are spilled, to memory or elsewhere.
    pub sgpr_spills: Option<u64>,
    /// Memory that the threads of a block share.
    pub shared_memory: Option<u64>,
    /// Memory per thread: scratch, local memory.
    pub private_memory: Option<u64>,
    /// Threads in a wavefront.
    pub wavefront_size: Option<u64>,
    /// The maximum number of threads in a block.
    pub max_threads: Option<u64>,
}

/// The JSON record of how a kernel's threads wait on the CPU.
#[derive(Debug, Serialize)]
pub struct CpuKernelRecord {
    /// The name that programs use to launch the kernel.
    pub name: String,
    /// The number of regions into which waits divide the kernel; null if its threads have stacks.
    pub regions: Option<u64>,
    /// Why the threads have stacks; null if they have none.
    pub stacks: Option<String>,
}

impl CpuKernelRecord {
    /// Returns the records in an image's section `.offload.regions`.
    pub fn all_of(image: &[u8]) -> Vec<Self> {
        let mut found = Vec::new();
        for line in text_of(image, b".offload.regions").lines() {
            let Some((name, how)) = line.split_once(' ') else { continue };
            found.push(Self {
                name: name.to_owned(),
                regions: how.strip_prefix("regions: ").and_then(|count| count.parse().ok()),
                stacks: how.strip_prefix("stacks: ").map(str::to_owned),
            });
        }
        found
    }

    /// Returns the record as text: `regions: 3`, or `stacks: ` and the reason.
    pub fn how(&self) -> String {
        match (self.regions, &self.stacks) {
            (Some(count), _) => format!("regions: {count}"),
            (None, why) => format!("stacks: {}", why.as_deref().unwrap_or("unknown")),
        }
    }
}

/// Returns the compiler of an image for the CPU, from the section `.comment`. The section may also
/// name GCC, which compiled linked parts of the C library.
pub fn cpu_compiler(image: &[u8]) -> Option<String> {
    let text = text_of(image, b".comment");
    let words = |of: &str| text.split('\0').find(|words| words.contains(of)).map(str::to_owned);
    words("clang").or_else(|| words("GCC"))
}

/// Returns the text of a file's sections with this name.
fn text_of(file: &[u8], name: &[u8]) -> String {
    let mut text = String::new();
    for section in sections(file).into_iter().flatten() {
        let (start, end) = (section.offset as usize, (section.offset + section.size) as usize);
        if let Some(bytes) = file.get(start..end).filter(|_| section.name == name) {
            text += &String::from_utf8_lossy(bytes);
        }
    }
    text
}

/// The JSON record of a kernel's parameter.
#[derive(Debug, Serialize)]
pub struct ParameterRecord {
    /// The parameter's name in the image.
    pub name: Option<String>,
    /// The parameter's type in the image: `f32` in PTX, `float*` in AMD's code objects from OpenCL
    /// C.
    #[serde(rename = "type")]
    pub type_name: Option<String>,
    /// The parameter's offset in bytes from the start of the arguments.
    pub offset: u64,
    /// The parameter's size in bytes.
    pub size: u64,
    /// Whether the image states that the parameter is a pointer to GPU memory.
    #[serde(skip)]
    pub is_pointer: bool,
}

impl KernelRecord {
    /// Returns the kernels of an image with this header; `None` if images of its kind do not list
    /// kernels.
    ///
    /// Returns an error if the kernels' records cannot be read.
    pub fn all_of(bytes: &[u8], header: Option<ImageHeader>) -> Result<Option<Vec<Self>>> {
        let Some(header) = header.filter(ImageHeader::lists_kernels) else { return Ok(None) };
        let kernels = Kernels::with_header(bytes, header)?;
        Ok(Some(kernels.map(|kernel| Self::new(&kernel)).collect()))
    }

    fn new(kernel: &offload_format::image::Kernel<'_>) -> Self {
        let passed = kernel.arguments.clone().filter(|argument| !argument.is_hidden());
        let parameters: Vec<ParameterRecord> = passed
            .map(|argument| ParameterRecord {
                name: argument.name.map(str::to_owned),
                type_name: argument.type_name.map(str::to_owned),
                offset: argument.offset,
                size: argument.size,
                is_pointer: argument.value_kind == Some("global_buffer"),
            })
            .collect();
        Self {
            name: kernel.name.to_owned(),
            code_size: kernel.code_size,
            arguments: parameters.len() as u64,
            parameters,
            arguments_size: kernel.arguments_size,
            registers: kernel.registers,
            vgprs: kernel.vgprs,
            sgprs: kernel.sgprs,
            agprs: kernel.agprs,
            vgpr_spills: kernel.vgpr_spills,
            sgpr_spills: kernel.sgpr_spills,
            shared_memory: kernel.shared_memory,
            private_memory: kernel.private_memory,
            wavefront_size: kernel.wavefront_size,
            max_threads: kernel.max_threads,
        }
    }
}

impl ImageRecord {
    /// Returns the JSON record of `image`, whose bytes are read through `images`. If a part is
    /// unreadable, also returns the error, for [`Inventory::problem_of`].
    pub fn new<'a>(
        inventory: &Inventory<'a>,
        image: &Image<'a>,
        images: &mut Images<'a>,
    ) -> (Self, Option<offload_format::Error>) {
        let container = inventory.container(image);
        let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let text = |text: &Option<std::borrow::Cow<'a, str>>| text.as_deref().map(str::to_owned);
        let mut record = Self {
            section: container.place.section.map(lossy),
            container: container.kind.name(),
            container_index: image.container,
            entry_id: text(&image.entry_id),
            module: text(&image.module),
            offload_kind: text(&image.offload_kind),
            triple: text(&image.triple),
            target_id: text(&image.target_id),
            image_kind: image.known_kind().unwrap_or(ImageKind::Unknown).name(),
            offset: image.offset,
            size: image.size,
            sha256: None,
            kernels: None,
            compiler: None,
            cpu_kernels: Vec::new(),
            member: container.place.member.map(lossy),
        };
        let bytes = match images.read(image) {
            Ok(bytes) => bytes,
            Err(error) => return (record, Some(error)),
        };
        let header = ImageHeader::parse(&bytes).ok();
        record.image_kind = image.kind(&bytes, header).name();
        record.size = bytes.len() as u64;
        record.sha256 =
            Some(Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect());
        match KernelRecord::all_of(&bytes, header) {
            Ok(None) => {
                record.compiler = cpu_compiler(&bytes);
                record.cpu_kernels = CpuKernelRecord::all_of(&bytes);
            }
            Ok(kernels) => record.kernels = kernels,
            Err(error) => return (record, Some(error)),
        }
        (record, None)
    }
}
