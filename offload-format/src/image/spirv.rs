//! Kernels of SPIR-V modules.

use crate::Result;
use crate::image::kernels::{Arguments, Source};
use crate::image::{Argument, Kernel};
use crate::offload_binary::OffloadBinary;
use crate::spirv::{SpirvHeader, SpirvKernel, SpirvModule};
use alloc::vec;
use alloc::vec::Vec;

/// Returns the SPIR-V in an image that is a bare offload binary. `clang-linker-wrapper` of LLVM 23
/// writes such images for Intel's GPUs, and LLVM's runtime for Level Zero reads them. Returns
/// `None` if the offload binary contains an image of any other kind.
#[inline]
pub fn spirv_in_offload_binary(image: &[u8]) -> Option<&[u8]> {
    let mut images = OffloadBinary::parse(image).ok()?.images();
    let is_spirv = |image: &[u8]| SpirvHeader::is_at_start_of(image);
    let first = images.next()?.data;
    let is_all = images.all(|image| is_spirv(image.data));
    (is_all && is_spirv(first)).then_some(first)
}

/// The remaining kernels.
#[derive(Debug, Clone)]
pub(super) struct SpirvKernels<'data> {
    kernels: vec::IntoIter<SpirvKernel<'data>>,
    /// The shared memory of the only kernel; `None` if there are several, because the module does
    /// not state which kernel uses which variables.
    shared_memory: Option<u64>,
}

impl<'data> SpirvKernels<'data> {
    pub(super) fn parse(data: &'data [u8]) -> Result<Self> {
        let module = SpirvModule::parse(data)?;
        let is_alone = module.kernels().len() == 1;
        let shared_memory = is_alone.then(|| module.shared_memory());
        Ok(Self { kernels: module.kernels().to_vec().into_iter(), shared_memory })
    }

    pub(super) fn next(&mut self) -> Option<Kernel<'data>> {
        let found = self.kernels.next()?;
        let mut kernel = Kernel::new(found.name);
        let (mut arguments, mut end) = (Vec::new(), 0_u64);
        for (ordinal, it) in (0..).zip(&found.arguments) {
            let offset = end.checked_next_multiple_of(it.align.max(1)).unwrap_or(u64::MAX);
            end = offset.saturating_add(it.size);
            let (size, of) = (it.size, None);
            arguments.push(Argument {
                ordinal,
                offset,
                size,
                value_kind: of,
                name: of,
                type_name: of,
            });
        }
        kernel.arguments = Arguments(Source::List(arguments.into_iter()));
        kernel.arguments_size = Some(end);
        kernel.shared_memory = self.shared_memory;
        kernel.wavefront_size = found.subgroup_size.map(u64::from);
        kernel.required_block = found.required_block.map(|block| block.map(u64::from));
        Some(kernel)
    }
}
