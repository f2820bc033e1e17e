//! What is known of a kernel, whatever its image is.

use super::cubin_kernels::{CubinArguments, CubinKernels};
use super::metadata::{CodeObjectKernels, MetadataArguments};
use super::ptx_kernels::{PtxArguments, PtxKernels};
use super::{Image, budget::Budget};
use crate::{Error, ErrorKind, Result};
use core::fmt;

/// A kernel of an image. What the image does not record is `None`; all sizes are in bytes.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Kernel<'data> {
    /// Its name, as it was mangled.
    pub name: &'data str,
    /// The size of its code. AMD: without the functions that it calls, `None` in objects that are not linked. Cubin: with
    /// those that ptxas put behind it. PTX: `None`.
    pub code_size: Option<u64>,
    /// What a launch passes.
    pub arguments: Arguments<'data>,
    /// The size of all arguments together, with the hidden ones and the gaps between.
    pub arguments_size: Option<u64>,
    /// Registers of an NVIDIA kernel, for each thread. PTX: `None`.
    pub registers: Option<u64>,
    /// Vector registers of an AMD kernel, for each work-item; where AGPRs are taken from the same file, with those.
    pub vgprs: Option<u64>,
    /// Accumulation registers of an AMD kernel, for each work-item.
    pub agprs: Option<u64>,
    /// Scalar registers of an AMD kernel, for each wavefront.
    pub sgprs: Option<u64>,
    /// Vector registers of an AMD kernel that are kept in memory.
    pub vgpr_spills: Option<u64>,
    /// Scalar registers of an AMD kernel that are kept elsewhere. (How much ptxas spills, no cubin says.)
    pub sgpr_spills: Option<u64>,
    /// Memory that the threads of a block share (LDS, `__shared__`), without what a launch adds. From sm_90 on a cubin
    /// counts 1024 bytes that the system takes if the kernel shares any. PTX: `None`, as it shows only after ptxas.
    pub shared_memory: Option<u64>,
    /// Memory of each thread (scratch, local memory): its stack with that of the functions that it calls. PTX and cubins
    /// that are not linked: `None`.
    pub private_memory: Option<u64>,
    /// Threads in a wavefront. NVIDIA: `None`, always 32.
    pub wavefront_size: Option<u64>,
    /// The most threads that a block may have (`.max_flat_workgroup_size`, `.maxntid`).
    pub max_threads: Option<u64>,
    /// The block that a launch must have, by dimension (`.reqd_workgroup_size`, `.reqntid`).
    pub required_block: Option<[u64; 3]>,
}

impl<'data> Kernel<'data> {
    /// A kernel of which nothing more is known.
    pub(super) fn new(name: &'data str) -> Self {
        Self {
            name,
            code_size: None,
            arguments: Arguments(Source::None),
            arguments_size: None,
            registers: None,
            vgprs: None,
            agprs: None,
            sgprs: None,
            vgpr_spills: None,
            sgpr_spills: None,
            shared_memory: None,
            private_memory: None,
            wavefront_size: None,
            max_threads: None,
            required_block: None,
        }
    }
}

/// An argument of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Argument<'data> {
    /// Its number, counted from 0 in the order of the source. References of PTX and of cubins count too.
    pub ordinal: u64,
    /// Where it is among the arguments, in bytes from where they start. PTX: on the architecture that the text names; on
    /// another, an alignment of more than 16 bytes may move it.
    pub offset: u64,
    /// Its size in bytes.
    pub size: u64,
    /// AMD: what it is, in the metadata's words (`by_value`, `global_buffer`, `hidden_block_count_x`).
    pub value_kind: Option<&'data str>,
}

impl Argument<'_> {
    /// Whether the runtime fills it in: the source does not name it, nor does a launch pass it.
    pub fn is_hidden(&self) -> bool {
        self.value_kind.is_some_and(|kind| kind.starts_with("hidden_"))
    }
}

/// The arguments of a kernel, in the order of the source; AMD's hidden ones are the last. Texture, sampler and surface
/// references of PTX are bound and not passed, so they are not among them.
#[derive(Clone)]
pub struct Arguments<'data>(Source<'data>);

#[derive(Clone)]
enum Source<'data> {
    None,
    Metadata(MetadataArguments<'data>),
    Cubin(CubinArguments<'data>),
    Ptx(PtxArguments<'data>),
}

impl<'data> From<MetadataArguments<'data>> for Arguments<'data> {
    fn from(arguments: MetadataArguments<'data>) -> Self {
        Self(Source::Metadata(arguments))
    }
}

impl<'data> From<CubinArguments<'data>> for Arguments<'data> {
    fn from(arguments: CubinArguments<'data>) -> Self {
        Self(Source::Cubin(arguments))
    }
}

impl<'data> From<PtxArguments<'data>> for Arguments<'data> {
    fn from(arguments: PtxArguments<'data>) -> Self {
        Self(Source::Ptx(arguments))
    }
}

impl<'data> Iterator for Arguments<'data> {
    type Item = Argument<'data>;

    fn next(&mut self) -> Option<Self::Item> {
        // All were read once when the image was: none fails.
        match &mut self.0 {
            Source::None => None,
            Source::Metadata(arguments) => arguments.next().ok().flatten(),
            Source::Cubin(arguments) => arguments.next().ok().flatten(),
            Source::Ptx(arguments) => arguments.next().ok().flatten(),
        }
    }
}

impl fmt::Debug for Arguments<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

/// The kernels of an image, in the order of the source where the compiler keeps it.
#[derive(Clone)]
pub struct Kernels<'data>(Tables<'data>);

#[derive(Clone)]
#[expect(clippy::large_enum_variant, reason = "there is one at a time, and no allocation to put it in")]
enum Tables<'data> {
    CodeObject(CodeObjectKernels<'data>),
    Cubin(CubinKernels<'data>),
    Ptx(PtxKernels<'data>),
}

impl<'data> Kernels<'data> {
    /// Finds the kernels of an AMD code object (version 3 and later), a cubin, or PTX text.
    ///
    /// Returns an error if it is something else, or if anything about a kernel cannot be read.
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
        let budget = Budget::for_file(data);
        let kernels = Self(match Image::parse(data)? {
            Image::CodeObject(header) => Tables::CodeObject(CodeObjectKernels::parse(data, header.version(), budget)?),
            Image::Cubin(_) => Tables::Cubin(CubinKernels::parse(data, budget)?),
            Image::Ptx(header) => Tables::Ptx(PtxKernels::new(data, header.arch())),
            _ => return Err(Error::new(ErrorKind::BadMagic, "code object, cubin or PTX", 0)),
        });
        // Whatever fails, fails here: iteration does the same once more.
        let mut check = kernels.clone();
        while check.read()?.is_some() {}
        Ok(kernels)
    }

    fn read(&mut self) -> Result<Option<Kernel<'data>>> {
        match &mut self.0 {
            Tables::CodeObject(kernels) => kernels.next(),
            Tables::Cubin(kernels) => kernels.next(),
            Tables::Ptx(kernels) => kernels.next(),
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
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}
