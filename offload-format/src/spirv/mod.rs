//! SPIR-V modules: their kernels, with the parameters that a launch passes.
//!
//! A module is a five-word header followed by instructions:
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | magic number 0x07230203, in the module's byte order; this crate reads only little-endian modules |
//! | 4 | 4 | version: the bytes 0, major, minor, 0, most significant first |
//! | 8 | 4 | generator |
//! | 12 | 4 | bound: each ID is less than this number |
//! | 16 | 4 | 0 |
//! | 20 | | instructions: a word with the word count in its upper half and the opcode in its lower half, then operands |
//!
//! Source: SPIR-V specification 1.6, "Physical Layout of a SPIR-V Module" and "Instructions";
//! OpenCL SPIR-V Environment Specification 3.0 for kernels. Type sizes are those in modules from
//! clang 22.1.8.

mod ids;
mod reading;

use crate::reader::Reader;
use crate::target::{SpirvFeatures, SpirvVersion};
use crate::{Error, ErrorKind, Result};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use reading::{
    CAPABILITY_KERNEL, Instruction, OP_CAPABILITY, OP_CONSTANT, OP_CONTROL_BARRIER,
    OP_MEMORY_BARRIER, Reading, SharedMemory,
};

const MAGIC: u32 = 0x0723_0203;
const HEADER: u64 = 20;
const WORD: u64 = 4;

/// The largest bound that drivers must accept ("Universal Limits").
const MOST_IDS: u32 = 0x3f_ffff;

/// The name that offload-build gives to the array for `extern __shared__`.
/// [`SpirvModule::for_driver`] replaces the length in the array's type, which no other variable
/// has.
pub const DYNAMIC_SHARED_MEMORY: &str = "offload_dynamic_shared";

/// The header of a module, and the capabilities after it.
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
    pub(crate) fn is_at_start_of(data: &[u8]) -> bool {
        data.starts_with(&MAGIC.to_le_bytes()) || data.starts_with(&MAGIC.to_be_bytes())
    }

    /// Reads the header and the capabilities, which are a module's first instructions. The bytes
    /// after the capabilities are not needed.
    ///
    /// Returns an error if the bytes are not a module, or if they end before the version.
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
        // The bytes of this word are 0, major, minor, 0, most significant first.
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

    /// Returns why no OpenCL driver accepts the module, worded to follow the module's name in
    /// messages; `None` if a driver may accept the module.
    pub fn why_not_opencl(&self) -> Option<&'static str> {
        if self.is_big_endian {
            Some("is big-endian SPIR-V, but drivers accept only little-endian SPIR-V")
        } else if !self.is_kernel {
            Some("is SPIR-V without the capability Kernel, for example a Vulkan shader")
        } else {
            None
        }
    }
}

/// Returns the sizes of consecutive little-endian modules, each including the zeros after it, or
/// `None` if the bytes are anything else or only one module. The sizes of instructions determine
/// where a module ends.
#[cfg(feature = "object")]
pub(crate) fn in_a_row(data: &[u8]) -> Option<Vec<usize>> {
    let mut words = data.chunks_exact(WORD as usize).map(|word| Reader::new(word).u32(0, "word"));
    let (mut sizes, mut words_of_module) = (Vec::new(), 0);
    while let Some(Ok(word)) = words.next() {
        let count = match word {
            MAGIC => {
                sizes.extend((words_of_module > 0).then_some(words_of_module * WORD as usize));
                words_of_module = 0;
                HEADER as usize / WORD as usize
            }
            _ if words_of_module == 0 => return None,
            0 => 1,
            _ => (word >> 16) as usize,
        };
        words_of_module += count;
        if count == 0 || (count > 1 && words.nth(count - 2).is_none()) {
            return None;
        }
    }
    let before: usize = sizes.iter().sum();
    sizes.push(data.len() - before);
    (sizes.len() > 1).then_some(sizes)
}

/// A SPIR-V module whose declarations have been read.
#[derive(Debug, Clone)]
pub struct SpirvModule<'data> {
    data: &'data [u8],
    bound: u32,
    kernels: Vec<SpirvKernel<'data>>,
    shared: SharedMemory,
    has_variables: bool,
    /// The required blocks, as in [`Reading`].
    blocks: Vec<(u64, [u32; 3])>,
}

/// A kernel of a module. All sizes are in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpirvKernel<'data> {
    /// The mangled name.
    pub name: &'data str,
    /// The arguments that a launch passes, in the order of the source.
    pub arguments: Vec<SpirvArgument>,
    /// The block size that a launch must use, for each dimension.
    pub required_block: Option<[u32; 3]>,
    /// The sub-group size in lanes, if the kernel requires one.
    pub subgroup_size: Option<u32>,
}

/// An argument of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpirvArgument {
    /// The size in bytes.
    pub size: u64,
    /// The alignment in bytes.
    pub align: u64,
    /// Whether the argument is an address in device memory.
    pub is_address: bool,
}

impl<'data> SpirvModule<'data> {
    /// Reads the declarations of a module. Other instructions, such as those in function bodies,
    /// are skipped.
    ///
    /// Returns an error if the bytes are not a little-endian module, or if an instruction is
    /// malformed.
    pub fn parse(data: &'data [u8]) -> Result<Self> {
        let reader = Reader::new(data);
        if reader.u32(0, "SPIR-V magic")? != MAGIC {
            return Err(Error::new(ErrorKind::BadMagic, "SPIR-V module", 0));
        }
        let bound = reader.u32(3 * WORD, "SPIR-V bound")?;
        reader.u32(4 * WORD, "SPIR-V header")?;
        if bound > MOST_IDS {
            let what = "bound of a SPIR-V module (more than 0x3fffff)";
            return Err(Error::new(ErrorKind::Malformed, what, 3 * WORD));
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
        Ok(Self { data, bound, kernels, shared, has_variables, blocks })
    }

    /// Returns why offload-gpu cannot run a module's kernels, worded to follow the module's name in
    /// messages; `None` if offload-gpu can run them.
    ///
    /// Launches count threads as the kernel header does, but OpenCL C kernels count them
    /// differently. A kernel that does not require sub-groups of 32 lanes was compiled without this
    /// header.
    #[inline]
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
            "is SPIR-V whose kernel {} does not require sub-groups of 32 lanes: compile it with \
             offload-build's header",
            other.name.escape_debug()
        ))
    }

    /// Returns the kernels, in the order of the module's entry points.
    pub fn kernels(&self) -> &[SpirvKernel<'data>] {
        &self.kernels
    }

    /// Returns the total size in bytes of all variables in shared memory, without the array for
    /// `extern __shared__`. No kernel uses more.
    pub fn shared_memory(&self) -> u64 {
        self.shared.fixed
    }

    /// Returns [`Self::shared_memory`] plus the maximum padding. The driver chooses the order of
    /// the variables, and may align them to up to 128 bytes, the largest alignment of an OpenCL
    /// type.
    pub fn padded_shared_memory(&self) -> u64 {
        self.shared.padded
    }

    /// Whether any kernel uses dynamic shared memory.
    pub fn has_dynamic_shared_memory(&self) -> bool {
        self.shared.dynamic.is_some()
    }

    /// Whether the module has variables in device memory that kernels or programs may change. Each
    /// program that a driver compiles from the module has its own copy of the variables.
    pub fn has_variables(&self) -> bool {
        self.has_variables
    }

    /// Returns the module in the form that drivers compile for offload-gpu's launches; `None` if
    /// the module already has this form.
    ///
    /// In this form, the dynamic shared memory is `dynamic_shared_memory` bytes, rounded up to
    /// whole elements of the array. A required block (`reqd_work_group_size`) is one-dimensional,
    /// like a launch.
    ///
    /// Returns an error if the type of the array's length cannot represent the number of elements,
    /// or if the module's bound is the maximum, which leaves no ID for the length.
    #[inline]
    pub fn for_driver(&self, dynamic_shared_memory: u64) -> Result<Option<Vec<u8>>> {
        if self.shared.dynamic.is_none() && self.blocks.is_empty() {
            return Ok(None);
        }
        let mut module = self.data.to_vec();
        for &(at, [x, y, z]) in &self.blocks {
            write(&mut module, at, &[x.saturating_mul(y).saturating_mul(z), 1, 1]);
        }
        if let Some(it) = self.shared.dynamic {
            // Add a constant for the length, because other code may use the old constant.
            let id = self.bound;
            if id == MOST_IDS {
                let what = "bound of a SPIR-V module (it leaves no ID for a constant)";
                return Err(Error::new(ErrorKind::Malformed, what, 3 * WORD));
            }
            let length = dynamic_shared_memory.div_ceil(it.element.max(1)).max(1);
            if length > u64::MAX.checked_shr(64 - it.length_bits).unwrap_or(0) {
                let what = "length of the array for dynamic shared memory (too large for its type)";
                return Err(Error::new(ErrorKind::Malformed, what, it.array_at));
            }
            write(&mut module, it.array_at + 2 * WORD, &[id]);
            write(&mut module, 3 * WORD, &[id + 1]);
            let words = if it.length_bits > 32 { 5 } else { 4 };
            let mut constant = vec![0; words * WORD as usize];
            let start = (words as u32) << 16 | OP_CONSTANT;
            let value = [length as u32, (length >> 32) as u32];
            write(&mut constant, 0, &[start, it.length_type, id, value[0], value[1]]);
            let array = (it.array_at - WORD) as usize;
            module.splice(array..array, constant);
        }
        Ok(Some(module))
    }
}

/// Overwrites the words at an offset.
#[inline]
fn write(module: &mut [u8], at: u64, words: &[u32]) {
    let places = module.get_mut(at as usize..).unwrap_or_default().chunks_exact_mut(4);
    for (place, word) in places.zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
}

/// Inserts a memory barrier with the same scope and semantics before each block barrier. Otherwise,
/// Intel's compiler for CPUs moves shared memory accesses past the block barrier. Code after a
/// malformed instruction is unchanged.
#[inline]
pub fn with_memory_barriers(module: &[u8]) -> Vec<u8> {
    let mut done = Vec::with_capacity(module.len());
    let (header, mut rest) = module.split_at(module.len().min(HEADER as usize));
    done.extend_from_slice(header);
    while let Some(&word) = rest.first_chunk() {
        let word = u32::from_le_bytes(word);
        let (count, opcode) = ((word >> 16) as usize, word & 0xffff);
        let Some((instruction, after)) = rest.split_at_checked(count * WORD as usize) else {
            break;
        };
        if count == 0 {
            break;
        }
        if opcode == OP_CONTROL_BARRIER && count == 4 {
            done.extend_from_slice(&(3 << 16 | OP_MEMORY_BARRIER).to_le_bytes());
            done.extend_from_slice(&instruction[2 * WORD as usize..]);
        }
        done.extend_from_slice(instruction);
        rest = after;
    }
    done.extend_from_slice(rest);
    done
}
