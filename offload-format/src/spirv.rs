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

use crate::reader::Reader;
use crate::target::{SpirvFeatures, SpirvVersion};
use crate::{Error, ErrorKind, Result};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

const MAGIC: u32 = 0x0723_0203;
const HEADER: u64 = 20;
const WORD: u64 = 4;

/// The largest bound that consumers of SPIR-V must accept: universal limits of the specification.
const MOST_IDS: u32 = 0x3f_ffff;

/// The name that offload-build gives to the array of a module that stands for `extern __shared__`.
/// No other variable has the array's type, whose length [`SpirvModule::for_driver`] replaces.
pub const DYNAMIC_SHARED_MEMORY: &str = "offload_dynamic_shared";

/// The start of the name of a byte that clang adds to each module of HIP, and that no kernel uses.
const MARK_OF_CLANG: &str = "__hip_cuid_";

// Capabilities.
const CAPABILITY_KERNEL: u32 = 6;

// Opcodes.
const OP_NAME: u32 = 5;
const OP_ENTRY_POINT: u32 = 15;
const OP_EXECUTION_MODE: u32 = 16;
const OP_CAPABILITY: u32 = 17;
const OP_TYPE_BOOL: u32 = 20;
const OP_TYPE_INT: u32 = 21;
const OP_TYPE_FLOAT: u32 = 22;
const OP_TYPE_VECTOR: u32 = 23;
const OP_TYPE_ARRAY: u32 = 28;
const OP_TYPE_STRUCT: u32 = 30;
const OP_TYPE_POINTER: u32 = 32;
const OP_CONSTANT: u32 = 43;
const OP_FUNCTION: u32 = 54;
const OP_FUNCTION_PARAMETER: u32 = 55;
const OP_FUNCTION_END: u32 = 56;
const OP_VARIABLE: u32 = 59;
const OP_DECORATE: u32 = 71;

// Operands.
const EXECUTION_MODEL_KERNEL: u32 = 6;
const EXECUTION_MODE_LOCAL_SIZE: u32 = 17;
const EXECUTION_MODE_SUBGROUP_SIZE: u32 = 35;
const DECORATION_C_PACKED: u32 = 10;
const DECORATION_CONSTANT: u32 = 22;
const DECORATION_FUNC_PARAM_ATTR: u32 = 38;
const DECORATION_ALIGNMENT: u32 = 44;
const PARAM_ATTR_BY_VALUE: u32 = 2;
const STORAGE_CLASS_WORKGROUP: u32 = 4;
const STORAGE_CLASS_CROSS_WORKGROUP: u32 = 5;

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

/// The size and the alignment of a type in bytes.
#[derive(Debug, Clone, Copy)]
struct Layout {
    size: u64,
    align: u64,
}

/// The memory that the threads of a block share.
#[derive(Debug, Clone, Copy, Default)]
struct SharedMemory {
    fixed: u64,
    dynamic: Option<Dynamic>,
}

/// The array that stands for `extern __shared__`.
#[derive(Debug, Clone, Copy)]
struct Dynamic {
    /// The offset in the module of the operands of the array's type: its ID, the element, the
    /// length.
    array_at: u64,
    /// The size of an element in bytes.
    element: u64,
    /// The ID of the type of the length.
    length_type: u32,
}

/// A type, a constant for the length of an array, or the function of a kernel.
#[derive(Debug, Clone, Copy)]
enum Declared {
    Value(Layout),
    Pointer {
        to: u32,
    },
    Array {
        element: Layout,
        length: u32,
        /// The offset in the module of the operands.
        at: u64,
    },
    Constant {
        /// The ID of its type.
        of: u32,
        value: u64,
    },
    /// The index of the kernel.
    Kernel(usize),
}

/// The decorations of an ID that this module reads.
#[derive(Debug, Clone, Copy, Default)]
struct Decorations {
    is_packed: bool,
    is_by_value: bool,
    is_constant: bool,
    is_mark_of_clang: bool,
    align: Option<u32>,
}

/// An instruction: its opcode and its operands.
#[derive(Clone, Copy)]
struct Instruction<'data> {
    opcode: u32,
    /// The offset of the first operand.
    at: u64,
    operands: Reader<'data>,
}

impl<'data> Instruction<'data> {
    fn operand(&self, number: u64) -> Result<u32> {
        self.operands.u32(number * WORD, "operand of a SPIR-V instruction").map_err(|error| {
            Error::new(error.kind(), "operand of a SPIR-V instruction", self.at + number * WORD)
        })
    }

    fn operands_from(&self, number: u64) -> impl Iterator<Item = u32> + use<'data> {
        let operands = self.operands;
        (number..operands.len() / WORD).map_while(move |at| operands.u32(at * WORD, "operand").ok())
    }

    /// Reads the text that starts with this operand and ends with a NUL.
    fn text(&self, number: u64) -> Result<&'data str> {
        let wrong = || Error::new(ErrorKind::Malformed, "text in SPIR-V", self.at);
        let start = number * WORD;
        let size = self.operands.len().checked_sub(start).ok_or_else(wrong)?;
        let bytes = self.operands.bytes(start, size, "text in SPIR-V").map_err(|_| wrong())?;
        let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
        str::from_utf8(text).map_err(|_| wrong())
    }
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
        let mut reading = Reading {
            declared: vec![None; bound as usize],
            decorations: vec![Decorations::default(); bound as usize],
            kernels: Vec::new(),
            dynamic_name: None,
            current: None,
            shared: SharedMemory::default(),
            has_variables: false,
            blocks: Vec::new(),
        };
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

/// The state of reading a module.
struct Reading<'data> {
    /// By ID.
    declared: Vec<Option<Declared>>,
    /// By ID.
    decorations: Vec<Decorations>,
    kernels: Vec<SpirvKernel<'data>>,
    /// The ID of the array for `extern __shared__`.
    dynamic_name: Option<u32>,
    /// The index of the kernel whose parameters follow.
    current: Option<usize>,
    shared: SharedMemory,
    has_variables: bool,
    /// The offsets in the module of the required blocks that have several dimensions.
    blocks: Vec<u64>,
}

impl<'data> Reading<'data> {
    fn read(&mut self, it: &Instruction<'data>) -> Result<()> {
        match it.opcode {
            OP_NAME if it.text(1) == Ok(DYNAMIC_SHARED_MEMORY) => {
                self.dynamic_name = Some(it.operand(0)?);
            }
            OP_NAME if it.text(1).is_ok_and(|name| name.starts_with(MARK_OF_CLANG)) => {
                if let Some(of) = self.decorations.get_mut(it.operand(0)? as usize) {
                    of.is_mark_of_clang = true;
                }
            }
            OP_ENTRY_POINT if it.operand(0)? == EXECUTION_MODEL_KERNEL => {
                let kernel = SpirvKernel {
                    name: it.text(2)?,
                    arguments: Vec::new(),
                    required_block: None,
                    subgroup_size: None,
                };
                self.declare(it.operand(1)?, Declared::Kernel(self.kernels.len()));
                self.kernels.push(kernel);
            }
            OP_EXECUTION_MODE => self.execution_mode(it)?,
            OP_DECORATE => self.decorate(it)?,
            OP_TYPE_BOOL => self.declare(it.operand(0)?, Declared::value(1, 1)),
            OP_TYPE_INT | OP_TYPE_FLOAT => {
                let size = u64::from(it.operand(1)?).div_ceil(8);
                self.declare(it.operand(0)?, Declared::value(size, size));
            }
            OP_TYPE_VECTOR => {
                let element = self.layout(it.operand(1)?);
                let count = u64::from(it.operand(2)?);
                // A vector of three has the size and the alignment of one of four.
                let size = element.size.saturating_mul(count.next_power_of_two());
                self.declare(it.operand(0)?, Declared::value(size, size));
            }
            OP_TYPE_ARRAY => {
                let element = self.layout(it.operand(1)?);
                let array = Declared::Array { element, length: it.operand(2)?, at: it.at };
                self.declare(it.operand(0)?, array);
            }
            OP_TYPE_STRUCT => {
                let id = it.operand(0)?;
                let structure = self.structure(id, it.operands_from(1));
                self.declare(id, Declared::Value(structure));
            }
            OP_TYPE_POINTER => {
                self.declare(it.operand(0)?, Declared::Pointer { to: it.operand(2)? });
            }
            OP_CONSTANT => {
                let high = it.operand(3).unwrap_or(0);
                let value = u64::from(high) << 32 | u64::from(it.operand(2)?);
                self.declare(it.operand(1)?, Declared::Constant { of: it.operand(0)?, value });
            }
            OP_VARIABLE if it.operand(2)? == STORAGE_CLASS_WORKGROUP => {
                self.shared_variable(it.operand(0)?, it.operand(1)?);
            }
            OP_VARIABLE if it.operand(2)? == STORAGE_CLASS_CROSS_WORKGROUP => {
                self.variable(it.operand(0)?, it.operand(1)?);
            }
            OP_FUNCTION => {
                self.current = self.kernel(it.operand(1)?);
            }
            OP_FUNCTION_PARAMETER => self.parameter(it)?,
            OP_FUNCTION_END => self.current = None,
            _ => {}
        }
        Ok(())
    }

    fn execution_mode(&mut self, it: &Instruction<'_>) -> Result<()> {
        let Some(index) = self.kernel(it.operand(0)?) else { return Ok(()) };
        let kernel = &mut self.kernels[index];
        match it.operand(1)? {
            EXECUTION_MODE_LOCAL_SIZE => {
                let block = [it.operand(2)?, it.operand(3)?, it.operand(4)?];
                kernel.required_block = Some(block);
                if block[1..] != [1, 1] {
                    self.blocks.push(it.at + 2 * WORD);
                }
            }
            EXECUTION_MODE_SUBGROUP_SIZE => kernel.subgroup_size = Some(it.operand(2)?),
            _ => {}
        }
        Ok(())
    }

    fn decorate(&mut self, it: &Instruction<'_>) -> Result<()> {
        let Some(of) = self.decorations.get_mut(it.operand(0)? as usize) else { return Ok(()) };
        match it.operand(1)? {
            DECORATION_C_PACKED => of.is_packed = true,
            DECORATION_CONSTANT => of.is_constant = true,
            DECORATION_ALIGNMENT => of.align = Some(it.operand(2)?),
            DECORATION_FUNC_PARAM_ATTR if it.operand(2)? == PARAM_ATTR_BY_VALUE => {
                of.is_by_value = true;
            }
            _ => {}
        }
        Ok(())
    }

    fn declare(&mut self, id: u32, declared: Declared) {
        if let Some(place) = self.declared.get_mut(id as usize) {
            *place = Some(declared);
        }
    }

    fn declared(&self, id: u32) -> Option<Declared> {
        self.declared.get(id as usize).copied().flatten()
    }

    /// Returns the index of the kernel whose function has this ID.
    fn kernel(&self, id: u32) -> Option<usize> {
        match self.declared(id) {
            Some(Declared::Kernel(index)) => Some(index),
            _ => None,
        }
    }

    /// Returns the size and the alignment of a type, which instructions before have declared. An
    /// array whose length is no constant has the size 0.
    fn layout(&self, id: u32) -> Layout {
        match self.declared(id) {
            Some(Declared::Value(layout)) => layout,
            Some(Declared::Array { element, length, .. }) => match self.declared(length) {
                Some(Declared::Constant { value, .. }) => {
                    Layout { size: element.size.saturating_mul(value), ..element }
                }
                _ => Layout { size: 0, ..element },
            },
            Some(Declared::Pointer { .. }) => Layout { size: 8, align: 8 },
            Some(Declared::Constant { .. } | Declared::Kernel(_)) | None => {
                Layout { size: 0, align: 1 }
            }
        }
    }

    fn structure(&self, id: u32, members: impl Iterator<Item = u32>) -> Layout {
        let is_packed = self.decorations.get(id as usize).is_some_and(|of| of.is_packed);
        let (mut size, mut align) = (0_u64, 1);
        for member in members {
            let member = self.layout(member);
            let own = if is_packed { 1 } else { member.align.max(1) };
            size = round_up(size, own).saturating_add(member.size);
            align = align.max(own);
        }
        Layout { size: round_up(size, align), align }
    }

    fn shared_variable(&mut self, pointer: u32, id: u32) {
        let Some(Declared::Pointer { to, .. }) = self.declared(pointer) else { return };
        let size = self.layout(to).size;
        if self.dynamic_name == Some(id)
            && let Some(Declared::Array { element, length, at }) = self.declared(to)
            && let Some(Declared::Constant { of, .. }) = self.declared(length)
        {
            self.shared.dynamic =
                Some(Dynamic { array_at: at, element: element.size, length_type: of });
        } else {
            self.shared.fixed = self.shared.fixed.saturating_add(size);
        }
    }

    /// Reads a variable in the device's memory. Declarations of clang's header have no size.
    fn variable(&mut self, pointer: u32, id: u32) {
        let Some(Declared::Pointer { to }) = self.declared(pointer) else { return };
        let of = self.decorations.get(id as usize).copied().unwrap_or_default();
        let is_variable = !of.is_constant && !of.is_mark_of_clang;
        self.has_variables |= is_variable && self.layout(to).size != 0;
    }

    fn parameter(&mut self, it: &Instruction<'_>) -> Result<()> {
        let Some(current) = self.current else { return Ok(()) };
        let (kind, id) = (it.operand(0)?, it.operand(1)?);
        let of = self.decorations.get(id as usize).copied().unwrap_or_default();
        let (mut layout, is_address) = match self.declared(kind) {
            Some(Declared::Pointer { to }) if of.is_by_value => (self.layout(to), false),
            Some(Declared::Pointer { .. }) => (self.layout(kind), true),
            _ => (self.layout(kind), false),
        };
        if let (true, Some(align)) = (of.is_by_value, of.align) {
            layout.align = align.into();
        }
        let Layout { size, align } = layout;
        self.kernels[current].arguments.push(SpirvArgument { size, align, is_address });
        Ok(())
    }
}

impl Declared {
    const fn value(size: u64, align: u64) -> Self {
        Self::Value(Layout { size, align })
    }
}

/// Returns the next multiple of an alignment, whatever the file says that it is.
fn round_up(size: u64, align: u64) -> u64 {
    size.checked_next_multiple_of(align.max(1)).unwrap_or(u64::MAX)
}
