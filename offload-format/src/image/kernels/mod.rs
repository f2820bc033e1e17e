//! The kernels of an image.

mod code_object;
mod cubin;
mod kernel;
mod ptx;
mod spirv;

pub use kernel::Kernel;

use super::Image;
use super::budget::Budget;
use crate::{Error, ErrorKind, Result};
use code_object::CodeObjectKernels;
use core::fmt;
use cubin::CubinKernels;
use ptx::PtxKernels;
use spirv::SpirvKernels;

/// The kernels of an image, in the order of the source where the compiler keeps it.
///
/// The formats and their references are on the [module's page](crate::image).
#[derive(Clone)]
pub struct Kernels<'data>(Tables<'data>);

#[derive(Clone)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one at a time, and no allocation to put it in"
)]
enum Tables<'data> {
    CodeObject(CodeObjectKernels<'data>),
    Cubin(CubinKernels<'data>),
    Ptx(PtxKernels<'data>),
    Spirv(SpirvKernels<'data>),
}

impl<'data> Kernels<'data> {
    /// Finds the kernels of an AMD code object (version 3 and later), a cubin, PTX text, or a SPIR-V module.
    ///
    /// Returns an error if the image is of another kind, or if any part of a kernel cannot be read.
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
            Image::CodeObject(header) => {
                Tables::CodeObject(CodeObjectKernels::parse(data, header.version(), budget)?)
            }
            Image::Cubin(_) => Tables::Cubin(CubinKernels::parse(data, budget)?),
            Image::Ptx(header) => Tables::Ptx(PtxKernels::new(data, header.arch())),
            Image::SpirV(_) => Tables::Spirv(SpirvKernels::parse(data)?),
            Image::Fatbin | Image::Bitcode | Image::Elf { .. } | Image::Pe { .. } => {
                return Err(Error::new(ErrorKind::BadMagic, "code object, cubin, PTX or SPIR-V", 0));
            }
        });
        // Reads all kernels once, so that all errors occur here: iteration repeats these steps.
        let mut check = kernels.clone();
        while check.read()?.is_some() {}
        Ok(kernels)
    }

    fn read(&mut self) -> Result<Option<Kernel<'data>>> {
        match &mut self.0 {
            Tables::CodeObject(kernels) => kernels.next(),
            Tables::Cubin(kernels) => kernels.next(),
            Tables::Ptx(kernels) => kernels.next(),
            Tables::Spirv(kernels) => Ok(kernels.next()),
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
