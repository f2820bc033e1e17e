//! Reads the instructions of a module: types, variables, kernels and their parameters.

use super::ids::{Declared, Ids, Known, Layout};
use super::{DYNAMIC_SHARED_MEMORY, SpirvArgument, SpirvKernel, WORD};
use crate::reader::Reader;
use crate::{Error, ErrorKind, Result};
use alloc::vec::Vec;

/// The name prefix of an unused one-byte variable that clang adds to each HIP module.
const MARK_OF_CLANG: &str = "__hip_cuid_";

// Capabilities.
pub(super) const CAPABILITY_KERNEL: u32 = 6;

// Opcodes.
const OP_NAME: u32 = 5;
const OP_ENTRY_POINT: u32 = 15;
const OP_EXECUTION_MODE: u32 = 16;
pub(super) const OP_CAPABILITY: u32 = 17;
const OP_TYPE_BOOL: u32 = 20;
const OP_TYPE_INT: u32 = 21;
const OP_TYPE_FLOAT: u32 = 22;
const OP_TYPE_VECTOR: u32 = 23;
const OP_TYPE_ARRAY: u32 = 28;
const OP_TYPE_STRUCT: u32 = 30;
const OP_TYPE_POINTER: u32 = 32;
const OP_TYPE_FORWARD_POINTER: u32 = 39;
pub(super) const OP_CONSTANT: u32 = 43;
const OP_FUNCTION: u32 = 54;
const OP_FUNCTION_PARAMETER: u32 = 55;
const OP_FUNCTION_END: u32 = 56;
const OP_VARIABLE: u32 = 59;
const OP_DECORATE: u32 = 71;
const OP_GROUP_DECORATE: u32 = 74;
pub(super) const OP_CONTROL_BARRIER: u32 = 224;
pub(super) const OP_MEMORY_BARRIER: u32 = 225;

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

/// The largest alignment of an OpenCL type, that of `long16`, in bytes. A driver may give this
/// alignment to each variable in shared memory.
const LARGEST_ALIGN: u64 = 128;

/// The memory that the threads of a block share.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SharedMemory {
    pub(super) fixed: u64,
    /// `fixed` plus the maximum padding that a driver needs to align the variables, regardless of
    /// their order.
    pub(super) padded: u64,
    pub(super) dynamic: Option<Dynamic>,
}

/// The array for `extern __shared__`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dynamic {
    /// The offset of the array type's operands (ID, element, length) in the module.
    pub(super) array_at: u64,
    /// The size of an element in bytes.
    pub(super) element: u64,
    /// The ID of the length's type.
    pub(super) length_type: u32,
    /// The width of the length's type in bits.
    pub(super) length_bits: u32,
}

/// An instruction: its opcode and its operands.
#[derive(Clone, Copy)]
pub(super) struct Instruction<'data> {
    pub(super) opcode: u32,
    /// The offset of the first operand.
    pub(super) at: u64,
    pub(super) operands: Reader<'data>,
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

    /// Reads the NUL-terminated text that starts at this operand.
    fn text(&self, number: u64) -> Result<&'data str> {
        let wrong = || Error::new(ErrorKind::Malformed, "text in SPIR-V", self.at);
        let start = number * WORD;
        let size = self.operands.len().checked_sub(start).ok_or_else(wrong)?;
        let bytes = self.operands.bytes(start, size, "text in SPIR-V").map_err(|_| wrong())?;
        let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
        str::from_utf8(text).map_err(|_| wrong())
    }
}

/// The state kept while reading a module.
pub(super) struct Reading<'data> {
    bound: u32,
    ids: Ids,
    pub(super) kernels: Vec<SpirvKernel<'data>>,
    /// The ID of the array for `extern __shared__`.
    dynamic_name: Option<u32>,
    /// The index of the kernel whose parameters follow.
    current: Option<usize>,
    pub(super) shared: SharedMemory,
    pub(super) has_variables: bool,
    /// The required blocks with several dimensions, each with its offset in the module.
    pub(super) blocks: Vec<(u64, [u32; 3])>,
}

impl<'data> Reading<'data> {
    /// Returns the initial state for a module whose IDs are less than `bound`.
    pub(super) fn new(bound: u32) -> Self {
        Self {
            bound,
            ids: Ids::new(),
            kernels: Vec::new(),
            dynamic_name: None,
            current: None,
            shared: SharedMemory::default(),
            has_variables: false,
            blocks: Vec::new(),
        }
    }

    pub(super) fn read(&mut self, it: &Instruction<'data>) -> Result<()> {
        match it.opcode {
            OP_NAME if it.text(1) == Ok(DYNAMIC_SHARED_MEMORY) => {
                self.dynamic_name = Some(it.operand(0)?);
            }
            OP_NAME if it.text(1).is_ok_and(|name| name.starts_with(MARK_OF_CLANG)) => {
                self.known(it, 0)?.decorations.is_mark_of_clang = true;
            }
            OP_ENTRY_POINT if it.operand(0)? == EXECUTION_MODEL_KERNEL => {
                let kernel = SpirvKernel {
                    name: it.text(2)?,
                    arguments: Vec::new(),
                    required_block: None,
                    subgroup_size: None,
                };
                self.declare(it, 1, Declared::Kernel(self.kernels.len()))?;
                self.kernels.push(kernel);
            }
            OP_EXECUTION_MODE => self.execution_mode(it)?,
            OP_DECORATE => self.decorate(it)?,
            OP_GROUP_DECORATE => self.decorate_as_group(it)?,
            OP_TYPE_BOOL => self.declare(it, 0, Declared::value(1, 1))?,
            OP_TYPE_INT | OP_TYPE_FLOAT => {
                let size = u64::from(it.operand(1)?).div_ceil(8);
                self.declare(it, 0, Declared::value(size, size))?;
            }
            OP_TYPE_VECTOR => {
                let element = self.layout(it.operand(1)?);
                let count = u64::from(it.operand(2)?);
                // A vector of three elements has the size and the alignment of a vector of four.
                let size = element.size.saturating_mul(count.next_power_of_two());
                self.declare(it, 0, Declared::value(size, size))?;
            }
            OP_TYPE_ARRAY => {
                let element = self.layout(it.operand(1)?);
                let array = Declared::Array { element, length: it.operand(2)?, at: it.at };
                self.declare(it, 0, array)?;
            }
            OP_TYPE_STRUCT => {
                let structure = self.structure(it.operand(0)?, it.operands_from(1));
                self.declare(it, 0, Declared::Value(structure))?;
            }
            OP_TYPE_POINTER => {
                self.declare(it, 0, Declared::Pointer { to: it.operand(2)? })?;
            }
            // The pointee is declared later, after the structs that contain the pointer.
            OP_TYPE_FORWARD_POINTER => self.declare(it, 0, Declared::Pointer { to: 0 })?,
            OP_CONSTANT => {
                let high = it.operand(3).unwrap_or(0);
                let value = u64::from(high) << 32 | u64::from(it.operand(2)?);
                let constant = Declared::Constant { of: it.operand(0)?, value };
                self.declare(it, 1, constant)?;
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
                    self.blocks.push((it.at + 2 * WORD, block));
                }
            }
            EXECUTION_MODE_SUBGROUP_SIZE => kernel.subgroup_size = Some(it.operand(2)?),
            _ => {}
        }
        Ok(())
    }

    fn decorate(&mut self, it: &Instruction<'_>) -> Result<()> {
        let of = &mut self.known(it, 0)?.decorations;
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

    /// Adds a group's decorations to the IDs in the remaining operands. Khronos' translator from
    /// LLVM IR emits such groups.
    fn decorate_as_group(&mut self, it: &Instruction<'_>) -> Result<()> {
        let group = self.ids.get(it.operand(0)?).decorations;
        for number in 1..it.operands.len() / WORD {
            let of = &mut self.known(it, number)?.decorations;
            of.is_packed |= group.is_packed;
            of.is_by_value |= group.is_by_value;
            of.is_constant |= group.is_constant;
            of.align = group.align.or(of.align);
        }
        Ok(())
    }

    fn declare(&mut self, it: &Instruction<'_>, number: u64, declared: Declared) -> Result<()> {
        self.known(it, number)?.declared = Some(declared);
        Ok(())
    }

    /// Returns what is known about an operand's ID.
    fn known(&mut self, it: &Instruction<'_>, number: u64) -> Result<&mut Known> {
        let id = it.operand(number)?;
        if id == 0 || id >= self.bound {
            let what = "ID of a SPIR-V instruction (0, or not less than the bound)";
            return Err(Error::new(ErrorKind::Malformed, what, it.at + number * WORD));
        }
        Ok(self.ids.get_mut(id))
    }

    fn declared(&self, id: u32) -> Option<Declared> {
        self.ids.get(id).declared
    }

    fn kernel(&self, id: u32) -> Option<usize> {
        match self.declared(id) {
            Some(Declared::Kernel(index)) => Some(index),
            _ => None,
        }
    }

    /// Returns the size and alignment of a type declared by an earlier instruction. An array whose
    /// length is not a constant has size 0.
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
        let is_packed = self.ids.get(id).decorations.is_packed;
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
        if self.dynamic_name == Some(id)
            && let Some(Declared::Array { element, length, at }) = self.declared(to)
            && let Some(Declared::Constant { of, .. }) = self.declared(length)
        {
            self.shared.dynamic = Some(Dynamic {
                array_at: at,
                element: element.size,
                length_type: of,
                length_bits: self.layout(of).size.min(8) as u32 * 8,
            });
        } else {
            let size = self.layout(to).size;
            let align = u64::from(self.ids.get(id).decorations.align.unwrap_or(0));
            // A driver that uses smaller alignments needs no more bytes than this.
            let padded =
                round_up(size, LARGEST_ALIGN).saturating_add(align.saturating_sub(LARGEST_ALIGN));
            self.shared.fixed = self.shared.fixed.saturating_add(size);
            self.shared.padded = self.shared.padded.saturating_add(padded);
        }
    }

    /// Reads a variable in device memory, unless clang's header only declares it (size 0).
    fn variable(&mut self, pointer: u32, id: u32) {
        let Some(Declared::Pointer { to }) = self.declared(pointer) else { return };
        let of = self.ids.get(id).decorations;
        let is_variable = !of.is_constant && !of.is_mark_of_clang;
        self.has_variables |= is_variable && self.layout(to).size != 0;
    }

    fn parameter(&mut self, it: &Instruction<'_>) -> Result<()> {
        let Some(current) = self.current else { return Ok(()) };
        let (kind, id) = (it.operand(0)?, it.operand(1)?);
        let of = self.ids.get(id).decorations;
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

/// Rounds a size up to a multiple of an alignment, which comes from the file and may be any number.
fn round_up(size: u64, align: u64) -> u64 {
    size.checked_next_multiple_of(align.max(1)).unwrap_or(u64::MAX)
}
