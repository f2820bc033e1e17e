//! The kernels of an image and their arguments, for all kinds of images.

use super::ImageHeader;
use super::code_object::{CodeObjectKernels, MetadataArguments};
use super::cubin::{CubinArguments, CubinKernels};
use super::elf::budget_of;
use super::ptx::{PtxArguments, PtxKernels};
use super::spirv::SpirvKernels;
use crate::{Error, ErrorKind, Result};
use alloc::vec;
use core::fmt;

/// The kernels of an image, in source order if the compiler preserves it.
#[derive(Clone)]
pub struct Kernels<'data>(Tables<'data>);

/// The kernels of one image, with a variant for each vendor's format.
#[derive(Clone)]
#[expect(
    clippy::large_enum_variant,
    reason = "only one value exists at a time, and a `Box` would need an allocation"
)]
enum Tables<'data> {
    CodeObject(CodeObjectKernels<'data>),
    Cubin(CubinKernels<'data>),
    Ptx(PtxKernels<'data>),
    SpirV(SpirvKernels<'data>),
}

impl<'data> Kernels<'data> {
    /// Finds the kernels of an AMD code object (version 3 and later), a cubin, PTX text, or a
    /// SPIR-V module.
    ///
    /// Returns an error if the image is of any other kind, or if any part of a kernel cannot be
    /// read.
    ///
    /// ```
    /// use offload_format::image::Kernels;
    ///
    /// let ptx = b".version 8.0\n.target sm_90\n.entry add(.param .u64 x, .param .f32 a) .maxntid 256 { ret; }";
    /// let kernel = Kernels::parse(ptx).unwrap().next().unwrap();
    /// assert_eq!((kernel.name, kernel.max_threads, kernel.arguments_size), ("add", Some(256), Some(12)));
    /// assert!(kernel.arguments.map(|it| (it.ordinal, it.offset, it.size)).eq([(0, 0, 8), (1, 8, 4)]));
    /// ```
    pub fn parse(data: &'data [u8]) -> Result<Self> {
        Self::with_header(data, ImageHeader::parse(data)?)
    }

    /// Like [`Kernels::parse`], for an image whose header has already been parsed.
    pub fn with_header(data: &'data [u8], header: ImageHeader) -> Result<Self> {
        let budget = budget_of(data);
        let kernels = Self(match header {
            ImageHeader::CodeObject(header) => {
                Tables::CodeObject(CodeObjectKernels::parse(data, header.version, budget)?)
            }
            ImageHeader::Cubin(_) => Tables::Cubin(CubinKernels::parse(data, budget)?),
            ImageHeader::Ptx(header) => Tables::Ptx(PtxKernels::new(data, header.arch)),
            ImageHeader::SpirV(_) => Tables::SpirV(SpirvKernels::parse(data)?),
            ImageHeader::Fatbin
            | ImageHeader::Bitcode
            | ImageHeader::Elf { .. }
            | ImageHeader::Pe { .. } => {
                return Err(Error::new(
                    ErrorKind::BadMagic,
                    "code object, cubin, PTX or SPIR-V",
                    0,
                ));
            }
        });
        // Read all kernels once to report errors early. Iteration repeats the same steps, so it
        // cannot fail.
        let mut check = kernels.clone();
        while check.read()?.is_some() {}
        Ok(kernels)
    }

    fn read(&mut self) -> Result<Option<Kernel<'data>>> {
        match &mut self.0 {
            Tables::CodeObject(kernels) => kernels.next(),
            Tables::Cubin(kernels) => kernels.next(),
            Tables::Ptx(kernels) => kernels.next(),
            Tables::SpirV(kernels) => Ok(kernels.next()),
        }
    }
}

impl<'data> Iterator for Kernels<'data> {
    type Item = Kernel<'data>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().ok().flatten()
    }
}

impl fmt::Debug for Kernels<'_> {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

/// A kernel of an image. Values missing from the image are `None`; all sizes are in bytes.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Kernel<'data> {
    /// The mangled name.
    pub name: &'data str,
    /// The size of the kernel's code. AMD: excluding called functions; `None` in unlinked objects.
    /// Cubin: including the instructions that ptxas appends. PTX: `None`.
    pub code_size: Option<u64>,
    /// The arguments that a launch passes.
    pub arguments: Arguments<'data>,
    /// The total size of the arguments, including hidden ones and padding.
    pub arguments_size: Option<u64>,
    /// Registers per thread of an NVIDIA kernel. PTX: `None`.
    pub registers: Option<u64>,
    /// Vector registers per work-item of an AMD kernel. AGPRs are included if they share the
    /// register file.
    pub vgprs: Option<u64>,
    /// Accumulation registers per work-item of an AMD kernel.
    pub agprs: Option<u64>,
    /// Scalar registers per wavefront of an AMD kernel.
    pub sgprs: Option<u64>,
    /// Vector registers that an AMD kernel spills to memory.
    pub vgpr_spills: Option<u64>,
    /// Scalar registers that an AMD kernel spills. (Cubins do not record how many registers ptxas
    /// spilled.)
    pub sgpr_spills: Option<u64>,
    /// Memory shared by the threads of a block (LDS, `__shared__`), excluding bytes added at
    /// launch. From sm_90 on, a cubin also counts 1024 bytes for the system if the kernel uses
    /// shared memory. PTX: `None`, because only ptxas determines the size.
    pub shared_memory: Option<u64>,
    /// Memory per thread (scratch, local memory): the stacks of the kernel and the functions it
    /// calls. PTX and unlinked cubins: `None`.
    pub private_memory: Option<u64>,
    /// Threads in a wavefront. NVIDIA: `None`, because a warp always has 32 threads.
    pub wavefront_size: Option<u64>,
    /// The maximum number of threads in a block (`.max_flat_workgroup_size`, `.maxntid`).
    pub max_threads: Option<u64>,
    /// The block size that a launch must use, for each dimension (`.reqd_workgroup_size`,
    /// `.reqntid`).
    pub required_block: Option<[u64; 3]>,
}

impl<'data> Kernel<'data> {
    pub(super) fn new(name: &'data str) -> Self {
        Self { name, ..Self::default() }
    }
}

/// A kernel's arguments in source order, with AMD's hidden ones last. Texture, sampler and surface
/// references in PTX are omitted, because programs bind them instead of passing them.
#[derive(Clone, Default)]
pub struct Arguments<'data>(pub(super) Source<'data>);

/// The arguments, as each image format stores them.
#[derive(Clone, Default)]
pub(super) enum Source<'data> {
    #[default]
    None,
    Metadata(MetadataArguments<'data>),
    Cubin(CubinArguments<'data>),
    Ptx(PtxArguments<'data>),
    List(vec::IntoIter<Argument<'data>>),
}

impl<'data> Iterator for Arguments<'data> {
    type Item = Argument<'data>;

    fn next(&mut self) -> Option<Self::Item> {
        // Reading cannot fail here, because parsing the image has already read all arguments once.
        match &mut self.0 {
            Source::None => None,
            Source::Metadata(arguments) => arguments.next().ok().flatten(),
            Source::Cubin(arguments) => arguments.next().ok().flatten(),
            Source::Ptx(arguments) => arguments.next().ok().flatten(),
            Source::List(arguments) => arguments.next(),
        }
    }
}

impl fmt::Debug for Arguments<'_> {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

/// An argument of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Argument<'data> {
    /// The argument's index in source order, starting at 0. In PTX and cubins, texture, sampler and
    /// surface references count, too.
    pub ordinal: u64,
    /// The offset in bytes from the start of the arguments. PTX: the offset on the architecture
    /// that the text names; on others, it may differ if an alignment exceeds 16 bytes.
    pub offset: u64,
    /// The size in bytes.
    pub size: u64,
    /// AMD: the kind of the argument, as in the metadata (`by_value`, `global_buffer`,
    /// `hidden_block_count_x`).
    pub value_kind: Option<&'data str>,
    /// The name, if the image contains it: the parameter's name in PTX, or the name in the metadata
    /// of AMD code objects from OpenCL C.
    pub name: Option<&'data str>,
    /// The type, if the image contains it. PTX: the type of a parameter that is not an array, such
    /// as `f32`. AMD: the type in OpenCL C, such as `float*`.
    pub type_name: Option<&'data str>,
}

impl Argument<'_> {
    /// Whether this is a hidden argument, which is not in the source and which the runtime fills
    /// in, so launches do not pass it.
    pub fn is_hidden(&self) -> bool {
        self.value_kind.is_some_and(|kind| kind.starts_with("hidden_"))
    }
}
