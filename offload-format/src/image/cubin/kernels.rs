//! Kernels of cubins, read from code sections, symbols, and the attributes in `.nv.info`.
//!
//! NVIDIA does not document these formats. This description is derived from files that ptxas 12.9
//! and 13.5 and nvlink 13.5 wrote, and from cuobjdump 13.5's output for these files.
//!
//! | section | type | `sh_info` | contents |
//! |---|---|---|---|
//! | `.text.<kernel>` | PROGBITS | the function's symbol in bits 0-23; up to sm_8x, registers in bits 24-31 | code |
//! | `.nv.info` | 0x70000000 | 0 | attributes of all functions |
//! | `.nv.info.<kernel>` | 0x70000000 | number of the `.text` section | attributes of the kernel |
//! | `.nv.shared.<kernel>` | NOBITS, in relocatable files 0x7000000a | number of the `.text` section | none; its size is the size of the shared memory |
//!
//! A kernel's symbol has bit 0x10 set in `st_other`. An attribute is one byte for the form, one for
//! the kind, and two for the value. In form 4, the last two bytes hold the size of a value that
//! follows:
//!
//! | kind | in | value |
//! |---|---|---|
//! | 0x05, 0x10 | kernel | the maximum number of threads, the required block: three words each |
//! | 0x17 | kernel | argument: word, number (2 bytes), offset (2), word whose bits 18-31 are the size |
//! | 0x45 | kernel | as 0x17, but with the size as a word, for arguments of more than 16383 bytes |
//! | 0x19 | kernel | size of all arguments |
//! | 0x2f | all | registers: symbol, number |
//! | 0x12 | all | stack, including that of called functions: symbol, bytes. Linked files only |
//!
//! ptxas writes arguments last to first; nvlink writes them first to last. A texture, sampler or
//! surface reference has offset 0xffff and size 0.

use super::arguments::{Attribute, Attributes, CubinArguments, LARGE_ARGUMENT};
use crate::budget::Budget;
use crate::image::Kernel;
use crate::image::elf::{Elf, Section, Symbols};
use crate::image::kernels::{Arguments, Source};
use crate::reader::Reader;
use crate::{Error, ErrorKind, Result};

const SHT_PROGBITS: u32 = 1;
const SHT_SYMTAB: u32 = 2;
const SHT_NOBITS: u32 = 8;
const SHT_CUDA_INFO: u32 = 0x7000_0000;
const SHT_CUDA_SHARED: u32 = 0x7000_000a;
const SHF_EXECINSTR: u64 = 4;
const STT_FUNC: u8 = 2;
const STO_CUDA_ENTRY: u8 = 0x10;

const MAX_THREADS: u8 = 0x05;
const REQUIRED_BLOCK: u8 = 0x10;
const STACK_SIZE: u8 = 0x12;
const ARGUMENT: u8 = 0x17;
const ARGUMENTS_SIZE: u8 = 0x19;
const REGISTERS: u8 = 0x2f;

/// The remaining kernels, which are in the sections before `next`. The iterator walks the sections
/// backwards, because ptxas writes the last kernel first.
#[derive(Debug, Clone)]
pub(in crate::image) struct CubinKernels<'data> {
    elf: Elf<'data>,
    symbols: Option<Symbols<'data>>,
    next: u64,
    info: Related,
    shared: Related,
    registers: OfFunctions<'data>,
    stack: OfFunctions<'data>,
    budget: Budget,
}

impl<'data> CubinKernels<'data> {
    pub(in crate::image) fn parse(data: &'data [u8], budget: Budget) -> Result<Self> {
        let elf = Elf::parse(data)?;
        let (mut symbols, mut all) = (None, None);
        for index in 0..elf.sections() {
            let section = elf.section(index)?;
            match section.kind {
                SHT_SYMTAB if symbols.is_none() => symbols = Some(Symbols::parse(&elf, &section)?),
                SHT_CUDA_INFO if section.info == 0 => {
                    all = Some(Attributes::parse(&elf, &section)?)
                }
                _ => {}
            }
        }
        let all = all.unwrap_or(Attributes { reader: Reader::new(b""), base: 0, at: 0 });
        Ok(Self {
            symbols,
            next: elf.sections(),
            info: Related::parse(&elf, &[SHT_CUDA_INFO], b".nv.info.")?,
            shared: Related::parse(&elf, &[SHT_NOBITS, SHT_CUDA_SHARED], b".nv.shared.")?,
            registers: OfFunctions::new(REGISTERS, all)?,
            stack: OfFunctions::new(STACK_SIZE, all)?,
            elf,
            budget,
        })
    }

    pub(in crate::image) fn next(&mut self) -> Result<Option<Kernel<'data>>> {
        let Some(symbols) = self.symbols else { return Ok(None) };
        while self.next > 0 {
            self.next -= 1;
            self.budget.spend(1)?;
            let text = self.elf.section(self.next)?;
            if text.kind != SHT_PROGBITS || text.flags & SHF_EXECINSTR == 0 {
                continue;
            }
            let number = text.info & 0xff_ffff;
            let symbol = symbols.get(number)?;
            if symbol.kind != STT_FUNC || symbol.other & STO_CUDA_ENTRY == 0 {
                continue;
            }
            let mut kernel = Kernel::new(self.name(&text)?);
            kernel.code_size = Some(symbol.size);
            let of_text = u64::from(text.info >> 24);
            kernel.registers = self
                .registers
                .find(number, &mut self.budget)?
                .or(Some(of_text).filter(|&count| count > 0));
            kernel.private_memory = self.stack.find(number, &mut self.budget)?;
            let shared = self.shared.find(&self.elf, self.next, &mut self.budget)?;
            kernel.shared_memory = Some(shared.map_or(0, |section| section.size));
            if let Some(section) = self.info.find(&self.elf, self.next, &mut self.budget)? {
                // A kernel without arguments has no attribute for their size.
                kernel.arguments_size = Some(0);
                attributes(&mut kernel, Attributes::parse(&self.elf, &section)?, &mut self.budget)?;
            }
            return Ok(Some(kernel));
        }
        Ok(None)
    }

    /// Returns the kernel's name, which is part of its section's name.
    fn name(&mut self, text: &Section) -> Result<&'data str> {
        let wrong = Error::new(ErrorKind::Malformed, "cubin kernel name", text.row);
        let rest = self.elf.name_after(text, b".text.").ok_or(wrong)?;
        let size = rest.iter().position(|&byte| byte == 0).ok_or(wrong)?;
        self.budget.spend(size as u64)?;
        str::from_utf8(&rest[..size]).map_err(|_| wrong)
    }
}

/// Reads the attributes of a kernel into `kernel`.
fn attributes<'data>(
    kernel: &mut Kernel<'data>,
    all: Attributes<'data>,
    budget: &mut Budget,
) -> Result<()> {
    // Several sections may refer to the same bytes, so charge each section's bytes to the budget.
    budget.spend(all.reader.len())?;
    let mut next = all;
    let mut arguments: Option<CubinArguments<'data>> = None;
    // The end of the previous argument, to check that the arguments are consecutive.
    let mut end = 0;
    loop {
        let start = next;
        let Some(attribute) = next.next()? else { break };
        match attribute.kind {
            MAX_THREADS => {
                let [x, y, z] = attribute.words::<3>(&all)?.map(u64::from);
                kernel.max_threads = Some(x.saturating_mul(y).saturating_mul(z));
            }
            REQUIRED_BLOCK => {
                kernel.required_block = Some(attribute.words::<3>(&all)?.map(u64::from))
            }
            ARGUMENTS_SIZE => kernel.arguments_size = Some(attribute.short),
            ARGUMENT | LARGE_ARGUMENT => {
                let number = attribute.argument(&all)?.ordinal;
                match &mut arguments {
                    None => {
                        arguments =
                            Some(CubinArguments { all: start, first: number, count: 1, given: 0 })
                    }
                    Some(run) if start.at == end && run.takes(number) => run.count += 1,
                    Some(_) => return Err(all.wrong(start.at, "order of cubin arguments")),
                }
                end = next.at;
            }
            _ => {}
        }
    }
    if let Some(run) = arguments {
        let lowest = if run.is_descending() { run.first + 1 - run.count } else { run.first };
        if lowest != 0 {
            return Err(all.wrong(run.all.at, "number of the first cubin argument"));
        }
        kernel.arguments = Arguments(Source::Cubin(run));
    }
    Ok(())
}

/// The attributes of one kind in `.nv.info`, each with a function's number. ptxas writes them in
/// the order of the kernels or in reverse; nvlink writes them in any order.
#[derive(Debug, Clone)]
struct OfFunctions<'data> {
    kind: u8,
    /// All attributes from the first one of this kind on; empty if there is none, as in many files.
    all: Attributes<'data>,
    /// The attributes after the last search's result.
    near: Attributes<'data>,
}

/// The size of an attribute with a symbol and a number: four bytes, then an 8-byte value.
const OF_FUNCTION_SIZE: u64 = 12;

impl<'data> OfFunctions<'data> {
    fn new(kind: u8, mut all: Attributes<'data>) -> Result<Self> {
        let mut next = all;
        while next.next()?.is_some_and(|attribute| attribute.kind != kind) {
            all = next;
        }
        // If no attribute has this kind, `all` starts after the last attribute.
        Ok(Self { kind, all, near: all })
    }

    fn find(&mut self, symbol: u32, budget: &mut Budget) -> Result<Option<u64>> {
        let stop = self.near.at;
        // First try the attribute before the last result, in case the attributes are in reverse
        // order.
        let mut next = Attributes { at: stop.saturating_sub(2 * OF_FUNCTION_SIZE), ..self.all };
        if let Ok(Some(attribute)) = next.next()
            && next.at == stop.saturating_sub(OF_FUNCTION_SIZE)
            && let Some(number) = self.matches(&attribute, symbol)
        {
            self.near = next;
            return Ok(Some(number));
        }
        // Then search after the last result, and finally from the start.
        for (mut next, stop) in [(self.near, u64::MAX), (self.all, stop)] {
            while next.at < stop {
                budget.spend(1)?;
                let Some(attribute) = next.next()? else { break };
                if let Some(number) = self.matches(&attribute, symbol) {
                    self.near = next;
                    return Ok(Some(number));
                }
            }
        }
        Ok(None)
    }

    fn matches(&self, attribute: &Attribute, symbol: u32) -> Option<u64> {
        let [of, number] =
            (attribute.kind == self.kind).then(|| attribute.words(&self.all).ok())??;
        (of == symbol).then_some(u64::from(number))
    }
}

/// The sections of one kind that belong to code sections, such as those with the kernels'
/// attributes. A code section has at most one related section of each kind, whose `sh_info` is the
/// code section's number.
#[derive(Debug, Clone, Copy)]
struct Related {
    kinds: &'static [u32],
    prefix: &'static [u8],
    /// Whether the sections are in the order of their code sections. If so, each search starts
    /// where the last one ended.
    sorted: bool,
    before: u64,
}

impl Related {
    fn parse(elf: &Elf<'_>, kinds: &'static [u32], prefix: &'static [u8]) -> Result<Self> {
        let mut related = Self { kinds, prefix, sorted: true, before: elf.sections() };
        let mut last = 0;
        for index in 0..elf.sections() {
            let section = elf.section(index)?;
            if related.has(elf, &section) {
                related.sorted &= section.info >= last;
                last = section.info;
            }
        }
        Ok(related)
    }

    fn has(&self, elf: &Elf<'_>, section: &Section) -> bool {
        self.kinds.contains(&section.kind)
            && section.info != 0
            && elf.name_after(section, self.prefix).is_some()
    }

    /// Returns the section that belongs to section `text`. Callers pass code sections from the last
    /// to the first.
    fn find(&mut self, elf: &Elf<'_>, text: u64, budget: &mut Budget) -> Result<Option<Section>> {
        let mut before = if self.sorted { self.before } else { elf.sections() };
        while before > 0 {
            budget.spend(1)?;
            let section = elf.section(before - 1)?;
            if self.has(elf, &section) {
                if u64::from(section.info) == text {
                    self.before = before;
                    return Ok(Some(section));
                }
                if self.sorted && u64::from(section.info) < text {
                    break;
                }
            }
            before -= 1;
        }
        self.before = before;
        Ok(None)
    }
}
