//! Kernels of AMD code objects, read from a MessagePack note and from the kernels' function
//! symbols.
//!
//! Source: LLVM's AMDGPUUsage, "Code Object V3 Metadata" to "V6 Metadata"; checked on files of LLVM
//! 14 and 22.1.8. The note's owner is `AMDGPU`, and its type is 32. Version 2 stores YAML in a note
//! with the owner `AMD` and the type 10, for which this module returns an error.
//!
//! | key | value |
//! |---|---|
//! | `amdhsa.kernels` | array of kernels |
//! | `.name`, `.symbol` | the kernel's name; its descriptor's symbol, `<function>.kd` |
//! | `.args` | array of arguments: `.offset`, `.size`, `.value_kind`, `.name`, `.type_name`, hidden ones last |
//! | `.kernarg_segment_size` | size of all arguments |
//! | `.vgpr_count`, `.agpr_count`, `.sgpr_count` | registers |
//! | `.vgpr_spill_count`, `.sgpr_spill_count` | spilled registers |
//! | `.group_segment_fixed_size`, `.private_segment_fixed_size` | LDS per work-group, scratch per work-item |
//! | `.wavefront_size`, `.max_flat_workgroup_size`, `.reqd_workgroup_size` | numbers of work-items |

use crate::budget::Budget;
use crate::image::elf::{Elf, HashTable};
use crate::image::kernels::{Arguments, Source};
use crate::image::{Argument, Kernel};
use crate::msgpack::Cursor;
use crate::{Error, ErrorKind, Result};

const NT_AMDGPU_METADATA: u32 = 32;
const NT_AMD_HSA_METADATA: u32 = 10;
const SHT_HASH: u32 = 5;
const STT_FUNC: u8 = 2;

/// The remaining kernels in the metadata.
#[derive(Debug, Clone)]
pub(in crate::image) struct CodeObjectKernels<'data> {
    cursor: Cursor<'data>,
    left: u64,
    /// The offset of the metadata in the file.
    base: u64,
    symbols: Option<HashTable<'data>>,
}

impl<'data> CodeObjectKernels<'data> {
    /// Finds the list of kernels in the code object's metadata. A file without metadata has no
    /// kernels.
    pub(in crate::image) fn parse(
        data: &'data [u8],
        version: u32,
        mut budget: Budget,
    ) -> Result<Self> {
        let elf = Elf::parse(data)?;
        let note = elf.find_note(&mut budget, |note| match (note.owner, note.kind) {
            (b"AMDGPU\0", NT_AMDGPU_METADATA) => Some(Ok(note)),
            (b"AMD\0", NT_AMD_HSA_METADATA) => Some(Err(note.offset)),
            _ => None,
        })?;
        let note = match note {
            None => {
                return Ok(Self {
                    cursor: Cursor::new(b"", "code object metadata"),
                    left: 0,
                    base: 0,
                    symbols: None,
                });
            }
            Some(Ok(note)) => note,
            Some(Err(offset)) => {
                let version = ErrorKind::UnsupportedVersion { version: u64::from(version) };
                return Err(Error::new(version, "code object with metadata in YAML", offset));
            }
        };
        let mut kernels = Self {
            cursor: Cursor::new(note.description, "code object metadata"),
            left: 0,
            base: note.offset,
            symbols: symbols(&elf)?,
        };
        let mut top = kernels.cursor;
        kernels.find(&mut top).map_err(|error| error.shifted(note.offset))?;
        Ok(kernels)
    }

    /// Finds the array of kernels in the metadata, and moves the cursor into it.
    fn find(&mut self, top: &mut Cursor<'data>) -> Result<()> {
        for _ in 0..top.map("code object metadata")? {
            if top.str("code object metadata key")? == "amdhsa.kernels" {
                self.cursor = *top;
                self.left = self.cursor.array("amdhsa.kernels")?;
            }
            top.skip()?;
        }
        Ok(())
    }

    pub(in crate::image) fn next(&mut self) -> Result<Option<Kernel<'data>>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let (mut kernel, symbol) =
            kernel(&mut self.cursor).map_err(|error| error.shifted(self.base))?;
        let function = symbol.and_then(|symbol| symbol.strip_suffix(".kd")).unwrap_or(kernel.name);
        let found = self.symbols.and_then(|symbols| symbols.find(function.as_bytes(), STT_FUNC));
        kernel.code_size = found.map(|symbol| symbol.size);
        Ok(Some(kernel))
    }
}

/// Returns the symbols' hash table; `None` for an unlinked file.
fn symbols<'data>(elf: &Elf<'data>) -> Result<Option<HashTable<'data>>> {
    for index in 0..elf.sections() {
        let section = elf.section(index)?;
        if section.kind == SHT_HASH {
            return HashTable::parse(elf, &section).map(Some);
        }
    }
    Ok(None)
}

/// Reads a kernel's metadata. Returns the kernel and its `.symbol`, which names the kernel
/// descriptor.
fn kernel<'data>(cursor: &mut Cursor<'data>) -> Result<(Kernel<'data>, Option<&'data str>)> {
    let mut kernel = Kernel::new("");
    let (mut name, mut symbol) = (None, None);
    let start = *cursor;
    for _ in 0..cursor.map("kernel metadata")? {
        let number = match cursor.str("kernel metadata key")? {
            ".name" => {
                name = Some(cursor.str("kernel .name")?);
                continue;
            }
            ".symbol" => {
                symbol = Some(cursor.str("kernel .symbol")?);
                continue;
            }
            ".args" => {
                let left = cursor.array("kernel .args")?;
                kernel.arguments = Arguments(Source::Metadata(MetadataArguments {
                    cursor: *cursor,
                    ordinal: 0,
                    left,
                }));
                for ordinal in 0..left {
                    read_argument(cursor, ordinal)?;
                }
                continue;
            }
            ".reqd_workgroup_size" => {
                if cursor.array("kernel .reqd_workgroup_size")? != 3 {
                    return Err(cursor.wrong("kernel .reqd_workgroup_size"));
                }
                let mut size = || cursor.uint("kernel .reqd_workgroup_size");
                kernel.required_block = Some([size()?, size()?, size()?]);
                continue;
            }
            ".kernarg_segment_size" => &mut kernel.arguments_size,
            ".vgpr_count" => &mut kernel.vgprs,
            ".agpr_count" => &mut kernel.agprs,
            ".sgpr_count" => &mut kernel.sgprs,
            ".vgpr_spill_count" => &mut kernel.vgpr_spills,
            ".sgpr_spill_count" => &mut kernel.sgpr_spills,
            ".group_segment_fixed_size" => &mut kernel.shared_memory,
            ".private_segment_fixed_size" => &mut kernel.private_memory,
            ".wavefront_size" => &mut kernel.wavefront_size,
            ".max_flat_workgroup_size" => &mut kernel.max_threads,
            _ => {
                cursor.skip()?;
                continue;
            }
        };
        *number = Some(cursor.uint("number in kernel metadata")?);
    }
    kernel.name = name.ok_or(start.wrong("kernel without .name"))?;
    Ok((kernel, symbol))
}

/// The remaining arguments in a kernel's metadata.
#[derive(Debug, Clone)]
pub(in crate::image) struct MetadataArguments<'data> {
    cursor: Cursor<'data>,
    /// The number of the next argument.
    ordinal: u64,
    left: u64,
}

impl<'data> MetadataArguments<'data> {
    pub(in crate::image) fn next(&mut self) -> Result<Option<Argument<'data>>> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let ordinal = self.ordinal;
        self.ordinal += 1;
        read_argument(&mut self.cursor, ordinal).map(Some)
    }
}

/// Reads one argument; `ordinal` is its number in the kernel.
fn read_argument<'data>(cursor: &mut Cursor<'data>, ordinal: u64) -> Result<Argument<'data>> {
    let (mut offset, mut size, mut value_kind, mut name, mut type_name) =
        (None, None, None, None, None);
    let start = *cursor;
    for _ in 0..cursor.map("kernel argument")? {
        match cursor.str("kernel argument key")? {
            ".offset" => offset = Some(cursor.uint("kernel argument .offset")?),
            ".size" => size = Some(cursor.uint("kernel argument .size")?),
            ".value_kind" => value_kind = Some(cursor.str("kernel argument .value_kind")?),
            ".name" => name = Some(cursor.str("kernel argument .name")?),
            ".type_name" => type_name = Some(cursor.str("kernel argument .type_name")?),
            _ => cursor.skip()?,
        }
    }
    let place = offset.zip(size).ok_or(start.wrong("kernel argument without .offset or .size"))?;
    Ok(Argument { ordinal, offset: place.0, size: place.1, value_kind, name, type_name })
}
