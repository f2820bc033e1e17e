//! The kernels of an image and their arguments, for all kinds of images.

use super::ImageHeader;
use super::budget::Budget;
use super::code_object::{CodeObjectKernels, MetadataArguments};
use super::cubin::{CubinArguments, CubinKernels};
use super::ptx::{PtxArguments, PtxKernels};
use super::spirv::SpirvKernels;
use crate::{Error, ErrorKind, Result};
use alloc::vec;
use core::fmt;

/// The kernels of an image, in the order of the source if the compiler preserves it.
#[derive(Clone)]
pub struct Kernels<'data>(Tables<'data>);

/// The kernels of one image. Each variant is a vendor's format.
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

    /// Finds the kernels of an image with this header, like [`Kernels::parse`].
    pub fn with_header(data: &'data [u8], header: ImageHeader) -> Result<Self> {
        let budget = Budget::for_file(data);
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
        // Read all kernels once, so that errors occur here. Iteration repeats these steps and
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

/// A kernel of an image. A value that the image does not contain is `None`; all sizes are in bytes.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Kernel<'data> {
    /// The mangled name.
    pub name: &'data str,
    /// The size of the kernel's code. AMD: without the functions that the kernel calls; `None` in
    /// unlinked objects. Cubin: including the instructions that ptxas adds at the end. PTX: `None`.
    pub code_size: Option<u64>,
    /// The arguments that a launch passes.
    pub arguments: Arguments<'data>,
    /// The size of all arguments together, including the hidden ones and the gaps between them.
    pub arguments_size: Option<u64>,
    /// Registers of an NVIDIA kernel, for each thread. PTX: `None`.
    pub registers: Option<u64>,
    /// Vector registers of an AMD kernel, for each work-item. The number includes AGPRs if they
    /// share the register file.
    pub vgprs: Option<u64>,
    /// Accumulation registers of an AMD kernel, for each work-item.
    pub agprs: Option<u64>,
    /// Scalar registers of an AMD kernel, for each wavefront.
    pub sgprs: Option<u64>,
    /// Vector registers of an AMD kernel that are spilled to memory.
    pub vgpr_spills: Option<u64>,
    /// Scalar registers of an AMD kernel that are spilled. (Cubins do not contain the number of
    /// registers that ptxas spills.)
    pub sgpr_spills: Option<u64>,
    /// Memory that the threads of a block share (LDS, `__shared__`), not including the bytes that a
    /// launch adds. From sm_90 on, a cubin also counts 1024 bytes for the system if the kernel uses
    /// shared memory. PTX: `None`, because only ptxas determines the size.
    pub shared_memory: Option<u64>,
    /// Memory of each thread (scratch, local memory): the kernel's stack, and the stacks of the
    /// functions that the kernel calls. PTX and unlinked cubins: `None`.
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

/// The arguments of a kernel, in the order of the source; AMD's hidden ones come last. Texture,
/// sampler and surface references in PTX are omitted, because programs bind these references
/// instead of passing them.
#[derive(Clone, Default)]
pub struct Arguments<'data>(pub(super) Source<'data>);

/// The arguments in each vendor's images.
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
        // This cannot fail: parsing the image has read all arguments once.
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
    /// The argument's number, counted from 0 in the order of the source, including texture, sampler
    /// and surface references in PTX and cubins.
    pub ordinal: u64,
    /// The offset in bytes from the start of the arguments. PTX: the offset on the architecture
    /// that the text names. On other architectures, the offset may differ if an alignment is more
    /// than 16 bytes.
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
    /// Whether this is a hidden argument: the runtime fills it in, the source does not contain it,
    /// and launches do not pass it.
    pub fn is_hidden(&self) -> bool {
        self.value_kind.is_some_and(|kind| kind.starts_with("hidden_"))
    }
}
