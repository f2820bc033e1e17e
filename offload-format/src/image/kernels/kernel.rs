//! Properties of a kernel, for every kind of image.

use crate::image::arguments::Arguments;

/// A kernel of an image. A value that the image does not record is `None`; all sizes are in bytes.
///
/// The format and its references are on the [module's page](crate::image).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Kernel<'data> {
    /// Its name, as it was mangled.
    pub name: &'data str,
    /// The size of its code. AMD: without the functions that it calls, `None` in objects that are
    /// not linked. Cubin: including the instructions that ptxas adds after it. PTX: `None`.
    pub code_size: Option<u64>,
    /// The arguments that a launch passes.
    pub arguments: Arguments<'data>,
    /// The size of all arguments together, including the hidden ones and the gaps between them.
    pub arguments_size: Option<u64>,
    /// Registers of an NVIDIA kernel, for each thread. PTX: `None`.
    pub registers: Option<u64>,
    /// Vector registers of an AMD kernel, for each work-item; including AGPRs if they share the
    /// register file.
    pub vgprs: Option<u64>,
    /// Accumulation registers of an AMD kernel, for each work-item.
    pub agprs: Option<u64>,
    /// Scalar registers of an AMD kernel, for each wavefront.
    pub sgprs: Option<u64>,
    /// Vector registers of an AMD kernel that are kept in memory.
    pub vgpr_spills: Option<u64>,
    /// Scalar registers of an AMD kernel that are kept elsewhere. (No cubin records how much ptxas
    /// spills.)
    pub sgpr_spills: Option<u64>,
    /// Memory that the threads of a block share (LDS, `__shared__`), without the bytes that a
    /// launch adds. From sm_90 on, a cubin also counts 1024 bytes for the system if the kernel has
    /// any shared memory. PTX: `None`, since the size is known only after ptxas.
    pub shared_memory: Option<u64>,
    /// Memory of each thread (scratch, local memory): its stack, and the stacks of the functions
    /// that it calls. PTX and cubins that are not linked: `None`.
    pub private_memory: Option<u64>,
    /// Threads in a wavefront. NVIDIA: `None`, since it is always 32.
    pub wavefront_size: Option<u64>,
    /// The most threads that a block may have (`.max_flat_workgroup_size`, `.maxntid`).
    pub max_threads: Option<u64>,
    /// The block that a launch must have, by dimension (`.reqd_workgroup_size`, `.reqntid`).
    pub required_block: Option<[u64; 3]>,
}

impl<'data> Kernel<'data> {
    /// Returns a kernel of this name, without any other properties.
    pub(super) fn new(name: &'data str) -> Self {
        Self {
            name,
            code_size: None,
            arguments: Arguments::NONE,
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
