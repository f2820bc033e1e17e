//! SPIR-V modules: their kernels, with the parameters that a launch passes.
//!
//! A module is a header of five words, and instructions:
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | magic number 0x07230203, in the module's byte order; this crate reads little-endian ones |
//! | 4 | 4 | version: the bytes 0, major, minor, 0 from the highest on |
//! | 8 | 4 | generator |
//! | 12 | 4 | bound: each ID is less than this number |
//! | 16 | 4 | 0 |
//! | 20 | | instructions: a word with the number of words in its upper half and the opcode in its lower, then operands |
//!
//! Source: SPIR-V specification 1.6, "Physical Layout of a SPIR-V Module" and "Instructions";
//! OpenCL SPIR-V Environment Specification 3.0 for kernels. The sizes of types are those of clang
//! 22.1.8's modules.

mod reading;

use crate::reader::Reader;
use crate::target::{SpirvFeatures, SpirvVersion};
use crate::{Error, ErrorKind, Result};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use reading::{
    CAPABILITY_KERNEL, Dynamic, Instruction, MEMORY_OPERAND_VOLATILE, OP_CAPABILITY, OP_CONSTANT,
    OP_STORE, Reading, SharedMemory,
};

const MAGIC: u32 = 0x0723_0203;
const HEADER: u64 = 20;
const WORD: u64 = 4;

/// The largest bound that consumers of SPIR-V must accept: universal limits of the specification.
const MOST_IDS: u32 = 0x3f_ffff;

/// The name that offload-build gives to the array of a module that stands for `extern __shared__`.
/// No other variable has the array's type, whose length [`SpirvModule::for_driver`] replaces.
pub const DYNAMIC_SHARED_MEMORY: &str = "offload_dynamic_shared";

/// The header of a module, and the capabilities after it.
///
/// The format and its references are on the [module's page](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpirvHeader {
    /// The version.
    pub version: SpirvVersion,
    /// The features that the module needs.
    pub needs: SpirvFeatures,
    is_big_endian: bool,
    is_kernel: bool,
}

impl SpirvHeader {
    /// Whether bytes start with the magic number, in either byte order.
    pub(crate) fn is_at_start_of(data: &[u8]) -> bool {
        data.starts_with(&MAGIC.to_le_bytes()) || data.starts_with(&MAGIC.to_be_bytes())
    }

    /// Reads the header and the capabilities, which are a module's first instructions. The bytes
    /// after them are not needed.
    ///
    /// Returns an error if the bytes are no module, or end before the version.
    pub fn parse(data: &[u8]) -> Result<Self> {
        if !Self::is_at_start_of(data) {
            return Err(Error::new(ErrorKind::BadMagic, "SPIR-V module", 0));
        }
        let reader = Reader::new(data);
        let is_big_endian = data.starts_with(&MAGIC.to_be_bytes());
        let word = |at| {
            let word = reader.u32(at, "SPIR-V version")?;
            Ok(if is_big_endian { word.swap_bytes() } else { word })
        };
        // From the highest on, the bytes of this word are 0, major, minor, 0.
        let [_, minor, major, _] = word(WORD)?.to_le_bytes();
        let version = SpirvVersion { major, minor };
        let mut header =
            Self { version, needs: SpirvFeatures::default(), is_big_endian, is_kernel: false };
        let mut at = HEADER;
        while word(at) == Ok(2 << 16 | OP_CAPABILITY)
            && let Ok(capability) = word(at + WORD)
        {
            header.is_kernel |= capability == CAPABILITY_KERNEL;
            header.needs = header.needs.with(SpirvFeatures::of_capability(capability));
            at += 2 * WORD;
        }
        Ok(header)
    }

    /// Returns the reason why no OpenCL driver takes the module, in words that follow its name;
    /// `None` if one may.
    pub fn why_not_opencl(&self) -> Option<&'static str> {
        if self.is_big_endian {
            Some("is big-endian SPIR-V, and drivers take little-endian SPIR-V")
        } else if !self.is_kernel {
            Some("is SPIR-V without the capability Kernel, such as a shader for Vulkan")
        } else {
            None
        }
    }
}

/// A SPIR-V module, with what its instructions declare.
///
/// The format and its references are on the [module's page](self).
#[derive(Debug, Clone)]
pub struct SpirvModule<'data> {
    data: &'data [u8],
    version: SpirvVersion,
    bound: u32,
    kernels: Vec<SpirvKernel<'data>>,
    shared: SharedMemory,
    has_variables: bool,
    /// As in [`Reading`].
    blocks: Vec<u64>,
}

/// A kernel of a module. All sizes are in bytes.
///
/// The format and its references are on the [module's page](self).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpirvKernel<'data> {
    /// Its name, as it was mangled.
    pub name: &'data str,
    /// The arguments that a launch passes, in the order of the source.
    pub arguments: Vec<SpirvArgument>,
    /// The block that a launch must have, by dimension.
    pub required_block: Option<[u32; 3]>,
    /// The number of lanes of a sub-group that the kernel requires.
    pub subgroup_size: Option<u32>,
}

/// An argument of a kernel.
///
/// The format and its references are on the [module's page](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpirvArgument {
    /// Its size in bytes.
    pub size: u64,
    /// Its alignment in bytes.
    pub align: u64,
    /// Whether it is an address in the device's memory.
    pub is_address: bool,
}

impl<'data> SpirvModule<'data> {
    /// Reads the declarations of a module. Instructions after the last function's parameters are
    /// only counted.
    ///
    /// Returns an error if the bytes are no little-endian module, or if an instruction is
    /// malformed.
    pub fn parse(data: &'data [u8]) -> Result<Self> {
        let reader = Reader::new(data);
        if reader.u32(0, "SPIR-V magic")? != MAGIC {
            return Err(Error::new(ErrorKind::BadMagic, "SPIR-V module", 0));
        }
        let version = SpirvHeader::parse(data)?.version;
        let bound = reader.u32(3 * WORD, "SPIR-V bound")?;
        reader.u32(4 * WORD, "SPIR-V header")?;
        if bound > MOST_IDS {
            let kind = ErrorKind::LimitExceeded { need: bound.into(), limit: MOST_IDS.into() };
            return Err(Error::new(kind, "bound of a SPIR-V module", 3 * WORD));
        }
        let mut reading = Reading::new(bound);
        let mut at = HEADER;
        while at < reader.len() {
            let word = reader.u32(at, "SPIR-V instruction")?;
            let (count, opcode) = (u64::from(word >> 16), word & 0xffff);
            if count == 0 {
                return Err(Error::new(ErrorKind::Malformed, "SPIR-V instruction", at));
            }
            let operands = reader.range(at + WORD, (count - 1) * WORD, at, "SPIR-V instruction")?;
            let operands = Reader::new(operands);
            reading.read(&Instruction { opcode, at: at + WORD, operands })?;
            at += count * WORD;
        }
        let Reading { kernels, shared, has_variables, blocks, .. } = reading;
        Ok(Self { data, bound, version, kernels, shared, has_variables, blocks })
    }

    /// Returns the reason why offload-gpu cannot run the kernels of a module, in words that follow
    /// the module's name; `None` if it can.
    ///
    /// Its launches count threads as the kernel header does, by which each kernel requires
    /// sub-groups of 32 lanes. Kernels of OpenCL C count threads in another way.
    pub fn why_not_launched(data: &'data [u8]) -> Option<String> {
        if let Ok(header) = SpirvHeader::parse(data)
            && let Some(why) = header.why_not_opencl()
        {
            return Some(why.into());
        }
        let module = match Self::parse(data) {
            Ok(module) => module,
            Err(error) => return Some(format!("is damaged SPIR-V: {error}")),
        };
        let other = module.kernels.iter().find(|kernel| kernel.subgroup_size != Some(32))?;
        Some(format!(
            "is SPIR-V whose kernel {} was not compiled with this kit's header: it requires no sub-groups of 32 lanes",
            other.name.escape_debug()
        ))
    }

    /// Returns the version in the header.
    pub fn version(&self) -> SpirvVersion {
        self.version
    }

    /// Returns the kernels, in the order of the module's entry points.
    pub fn kernels(&self) -> &[SpirvKernel<'data>] {
        &self.kernels
    }

    /// Returns the bytes of shared memory of all variables together, without the array for
    /// `extern __shared__`. A kernel has at most these.
    pub fn shared_memory(&self) -> u64 {
        self.shared.fixed
    }

    /// Whether a kernel uses dynamic shared memory.
    pub fn has_dynamic_shared_memory(&self) -> bool {
        self.shared.dynamic.is_some()
    }

    /// Whether the module has variables in the device's memory that kernels or programs may change.
    /// Each program that a driver compiles of the module has a copy of them.
    pub fn has_variables(&self) -> bool {
        self.has_variables
    }

    /// Returns the module in the form that a driver compiles for launches of offload-gpu; `None` if
    /// it has this form.
    ///
    /// Its dynamic shared memory has this many bytes, rounded up to whole elements of an array. A
    /// required block (`reqd_work_group_size`) has one dimension, as the launches do.
    pub fn for_driver(&self, dynamic_shared_memory: u64) -> Option<Vec<u8>> {
        if self.shared.dynamic.is_none() && self.blocks.is_empty() {
            return None;
        }
        let mut module = self.data.to_vec();
        for &at in &self.blocks {
            let at = usize::try_from(at).ok()?;
            let block = module.get_mut(at..at + 12)?;
            let mut threads = 1_u32;
            for size in block.chunks_exact(4) {
                threads = threads.saturating_mul(u32::from_le_bytes(size.try_into().ok()?));
            }
            for (size, to) in block.chunks_exact_mut(4).zip([threads, 1, 1]) {
                size.copy_from_slice(&to.to_le_bytes());
            }
        }
        let Some(Dynamic { array_at, element, length_type }) = self.shared.dynamic else {
            return Some(module);
        };
        // The module gets a constant of its own for the length: others may use the old one.
        let bytes = dynamic_shared_memory;
        let length = u32::try_from(bytes.div_ceil(element.max(1)).max(1)).ok()?;
        let array = usize::try_from(array_at - WORD).ok()?;
        let mut constant = Vec::new();
        for word in [4 << 16 | OP_CONSTANT, length_type, self.bound, length] {
            constant.extend_from_slice(&word.to_le_bytes());
        }
        let operand = array + constant.len() + 3 * WORD as usize;
        module.splice(array..array, constant);
        module.get_mut(operand..operand + 4)?.copy_from_slice(&self.bound.to_le_bytes());
        module.get_mut(12..16)?.copy_from_slice(&(self.bound + 1).to_le_bytes());
        Some(module)
    }
}

/// Marks each store of a module as volatile, so that no driver leaves it out. A store without an
/// alignment stays as it is; clang 22 writes none.
pub fn make_stores_volatile(module: &mut [u8]) {
    let mut at = HEADER as usize;
    while let Some(&word) = module.get(at..).and_then(|rest| rest.first_chunk()) {
        let word = u32::from_le_bytes(word);
        let (count, opcode) = ((word >> 16) as usize, word & 0xffff);
        if count == 0 {
            return;
        }
        // The pointer, the value, the memory operands.
        if opcode == OP_STORE
            && count > 3
            && let Some(operands) = module.get_mut(at + 3 * WORD as usize)
        {
            *operands |= MEMORY_OPERAND_VOLATILE;
        }
        at += count * WORD as usize;
    }
}
