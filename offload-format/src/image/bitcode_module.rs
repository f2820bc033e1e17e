//! Reads the modules of a bitcode file to find embedded device code.
//!
//! A block contains records and nested blocks. A record is a code followed by operands, stored
//! either in a general encoding or with an abbreviation, which defines an encoding for each of
//! them. A block defines its own abbreviations, and block 0 defines abbreviations for other blocks.
//! (LLVM's BitCodeFormat page; checked against LLVM 22.1.8.) This module reads the following
//! records:
//!
//! | block | record | operands |
//! |---|---|---|
//! | module, 8 | version, 1 | version; from 2 on, the records below start with their name, as offset and size |
//! | | section name, 5 | its characters |
//! | | global variable, 7 | type, constness, initializer + 1, linkage, alignment, number of the section's name, counted from 1 |
//! | | function 8, alias 9 or 14, ifunc 15 | |
//! | constants, 11 | type of the next constants, 1 | |
//! | | string, 8; NUL-terminated string, 9 | its bytes |
//! | | all others | |
//!
//! Variables, functions, aliases and ifuncs are values, numbered from 0 in file order. The
//! constants continue this numbering.

use super::bitcode::{
    Bitcode, Bits, Block, DEFINE_ABBREV, ENTER_SUBBLOCK, FIRST_ABBREV, MAX_SHARING, blocks, stream,
};
use crate::Result;
use crate::budget::Budget;
use crate::reader::Reader;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

const BLOCKINFO_BLOCK: u64 = 0;
const MODULE_BLOCK: u64 = 8;
const CONSTANTS_BLOCK: u64 = 11;

const END_BLOCK: u64 = 0;

const SET_BLOCK: u64 = 1;
const VERSION: u64 = 1;
const SECTION_NAME: u64 = 5;
const GLOBAL_VARIABLE: u64 = 7;
const OTHER_VALUES: [u64; 4] = [8, 9, 14, 15];
const SET_TYPE: u64 = 1;
const STRING: u64 = 8;
const C_STRING: u64 = 9;

/// How many operands to keep from each record: enough to reach a variable's section.
const KEPT: usize = 8;

/// The maximum number of operands in an abbreviation. LLVM's abbreviations have at most about
/// twenty.
const MOST_OPERANDS: u64 = 256;

const ABBREVIATION: &str = "abbreviation in bitcode";

impl Bitcode<'_> {
    /// Returns the initial values of the global variables in this section, in file order, omitting
    /// those that are not byte strings. In host bitcode, clang embeds offload binaries as such
    /// variables in the section `.llvm.offloading`.
    ///
    /// Returns an error if the data does not start with the magic, or if a module is malformed.
    /// Also returns an error if the values are, in total, more than 64 times as large as the file.
    pub fn variables_in_section(data: &[u8], section: &str) -> Result<Vec<Vec<u8>>> {
        let (stream, base) = stream(data)?;
        variables_in_section(Reader::new(stream), section).map_err(|error| error.shifted(base))
    }
}

/// Like [`Bitcode::variables_in_section`], but for a stream without the wrapper header.
fn variables_in_section(stream: Reader<'_>, section: &str) -> Result<Vec<Vec<u8>>> {
    // Variables may share constants, so without a limit a small file could produce a huge result.
    let what = "bitcode module (global variables share too many bytes)";
    let mut budget = Budget::new(stream.len(), MAX_SHARING, what);
    let mut found = Vec::new();
    for block in blocks(stream) {
        let block = block?;
        if block.id == MODULE_BLOCK {
            found.extend(module(&block, section, &mut budget)?);
        }
    }
    Ok(found)
}

/// The state of the search in one module: its numbered sections and values, and the constants to
/// return.
#[derive(Default)]
struct Module {
    names_are_apart: bool,
    sections: u64,
    /// The numbers of the sections with the requested name.
    named: BTreeSet<u64>,
    values: u64,
    /// The numbers of the constants that initialize variables in the `named` sections.
    initializers: Vec<u64>,
    wanted: BTreeSet<u64>,
    constants: BTreeMap<u64, Vec<u8>>,
}

fn module(block: &Block<'_>, section: &str, budget: &mut Budget) -> Result<Vec<Vec<u8>>> {
    let mut abbreviations = Abbreviations::new();
    let mut module = Module::default();
    let mut cursor = Cursor::new(block);
    while let Some(item) = cursor.next()? {
        match item {
            Item::Block(block) if block.id == BLOCKINFO_BLOCK => {
                block_info(&block, &mut abbreviations)?
            }
            Item::Block(block) if block.id == CONSTANTS_BLOCK => {
                module.constants(&block, &abbreviations)?
            }
            Item::Block(_) => {}
            Item::Record(id) => {
                let (mut operands, mut count) = ([0; KEPT], 0);
                let mut name = section.bytes();
                let mut is_name = true;
                let code =
                    cursor.record(id, of_block(&abbreviations, MODULE_BLOCK), |operand| {
                        if let Some(kept) = operands.get_mut(count) {
                            *kept = operand;
                        }
                        count += 1;
                        is_name &= name.next().map(u64::from) == Some(operand);
                    })?;
                module.record(code, &operands, is_name && name.next().is_none());
            }
        }
    }
    let objects = module.initializers.iter().filter_map(|value| module.constants.get(value));
    let objects = objects.map(|bytes| {
        let spent = budget.spend(bytes.len() as u64);
        spent.map_err(|error| error.shifted(cursor.bits.at / 8)).map(|()| bytes.clone())
    });
    objects.collect()
}

impl Module {
    fn record(&mut self, code: u64, operands: &[u64; KEPT], is_name: bool) {
        match code {
            VERSION => self.names_are_apart = operands[0] >= 2,
            SECTION_NAME => {
                self.sections += 1;
                if is_name {
                    self.named.insert(self.sections);
                }
            }
            GLOBAL_VARIABLE => {
                let name = if self.names_are_apart { 2 } else { 0 };
                let (initializer, section) = (operands[name + 2], operands[name + 5]);
                if let Some(value) =
                    initializer.checked_sub(1).filter(|_| self.named.contains(&section))
                {
                    self.initializers.push(value);
                    self.wanted.insert(value);
                }
                self.values += 1;
            }
            _ if OTHER_VALUES.contains(&code) => self.values += 1,
            _ => {}
        }
    }

    /// Numbers the constants in a block, and keeps the strings that initialize the requested
    /// variables.
    fn constants(&mut self, block: &Block<'_>, abbreviations: &Abbreviations) -> Result<()> {
        let mut cursor = Cursor::new(block);
        while let Some(item) = cursor.next()? {
            let Item::Record(id) = item else { continue };
            let mut bytes = self.wanted.contains(&self.values).then(Vec::new);
            let code = cursor.record(id, of_block(abbreviations, CONSTANTS_BLOCK), |operand| {
                if let Some(bytes) = &mut bytes {
                    bytes.push(operand as u8);
                }
            })?;
            if code == SET_TYPE {
                continue;
            }
            if let Some(mut bytes) = bytes.filter(|_| matches!(code, STRING | C_STRING)) {
                bytes.extend((code == C_STRING).then_some(0));
                self.constants.insert(self.values, bytes);
            }
            self.values += 1;
        }
        Ok(())
    }
}

/// Abbreviations by the ID of the blocks that use them.
type Abbreviations = BTreeMap<u64, Vec<Abbreviation>>;

fn of_block(abbreviations: &Abbreviations, block: u64) -> &[Abbreviation] {
    abbreviations.get(&block).map_or(&[], Vec::as_slice)
}

fn block_info(block: &Block<'_>, abbreviations: &mut Abbreviations) -> Result<()> {
    let mut cursor = Cursor::new(block);
    let mut current = None;
    while let Some(item) = cursor.next()? {
        let Item::Record(id) = item else { continue };
        let mut first = None;
        let code = cursor.record(id, &[], |operand| {
            first.get_or_insert(operand);
        })?;
        // Abbreviations before this record belong to the block in the last `SET_BLOCK` record.
        let defined = core::mem::take(&mut cursor.own);
        if let Some(block) = current {
            abbreviations.entry(block).or_default().extend(defined);
        }
        if code == SET_BLOCK {
            current = first;
        }
    }
    if let Some(block) = current {
        abbreviations.entry(block).or_default().append(&mut cursor.own);
    }
    Ok(())
}

/// An abbreviation: the encodings of a record's operands, starting with the code.
struct Abbreviation(Vec<Operand>);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operand {
    Literal(u64),
    Fixed(u64),
    Variable(u64),
    Char6,
    /// All remaining operands: a count, then that many values in the next operand's encoding.
    Array,
    /// The remaining bytes: a count, then that many bytes, aligned to 4 bytes.
    Blob,
}

enum Item<'data> {
    Block(Block<'data>),
    /// The abbreviation ID of a record, which the caller must read next with `Cursor::record`.
    Record(u64),
}

/// A cursor over the contents of a block.
struct Cursor<'data> {
    bits: Bits<'data>,
    end: u64,
    /// The abbreviations that the block has defined for itself.
    own: Vec<Abbreviation>,
}

impl<'data> Cursor<'data> {
    fn new(block: &Block<'data>) -> Self {
        Self { bits: block.content, end: block.end(), own: Vec::new() }
    }

    /// Returns the next block or record.
    fn next(&mut self) -> Result<Option<Item<'data>>> {
        while self.bits.at < self.end {
            match self.bits.abbreviation()? {
                END_BLOCK => return Ok(None),
                ENTER_SUBBLOCK => {
                    let block = Block::enter(self.bits)?;
                    self.bits.at = block.end();
                    return Ok(Some(Item::Block(block)));
                }
                DEFINE_ABBREV => {
                    let abbreviation = self.definition()?;
                    self.own.push(abbreviation);
                }
                id => return Ok(Some(Item::Record(id))),
            }
        }
        Ok(None)
    }

    fn definition(&mut self) -> Result<Abbreviation> {
        let count = self.bits.variable(5)?;
        if count > MOST_OPERANDS {
            return Err(self.bits.malformed(ABBREVIATION));
        }
        let mut operands = Vec::new();
        for _ in 0..count {
            let is_literal = self.bits.fixed(1)? == 1;
            operands.push(if is_literal {
                Operand::Literal(self.bits.variable(8)?)
            } else {
                match self.bits.fixed(3)? {
                    encoding @ (1 | 2) => match (encoding, self.bits.variable(5)?) {
                        (_, 0) => Operand::Literal(0),
                        (1, width @ 1..=32) => Operand::Fixed(width),
                        (2, width @ 2..=32) => Operand::Variable(width),
                        _ => return Err(self.bits.malformed(ABBREVIATION)),
                    },
                    3 => Operand::Array,
                    4 => Operand::Char6,
                    5 => Operand::Blob,
                    _ => return Err(self.bits.malformed(ABBREVIATION)),
                }
            });
        }
        Ok(Abbreviation(operands))
    }

    /// Reads a record encoded with the abbreviation `id`, passes each operand to `sink`, and
    /// returns the code. IDs refer first to the abbreviations in `shared`, then to the block's own.
    /// Blob contents are skipped.
    fn record(
        &mut self,
        id: u64,
        shared: &[Abbreviation],
        mut sink: impl FnMut(u64),
    ) -> Result<u64> {
        let bits = &mut self.bits;
        if id < FIRST_ABBREV {
            let code = bits.variable(6)?;
            for _ in 0..bits.variable(6)? {
                sink(bits.variable(6)?);
            }
            return Ok(code);
        }
        let wrong = bits.malformed(ABBREVIATION);
        let index = usize::try_from(id - FIRST_ABBREV).map_err(|_| wrong)?;
        let Abbreviation(operands) = shared.iter().chain(&self.own).nth(index).ok_or(wrong)?;
        let (code, operands) = operands.split_first().ok_or(wrong)?;
        let code = scalar(bits, *code)?;
        let mut operands = operands.iter().copied();
        while let Some(operand) = operands.next() {
            match operand {
                Operand::Array => {
                    // Refuse literals as elements: a literal takes no bits, so a small file could
                    // encode an array of any length.
                    let element = operands
                        .next()
                        .filter(|it| !matches!(it, Operand::Literal(_)))
                        .ok_or(wrong)?;
                    for _ in 0..bits.variable(6)? {
                        sink(scalar(bits, element)?);
                    }
                    break;
                }
                Operand::Blob => {
                    let size = bits.variable(6)?;
                    bits.align();
                    bits.skip(size)?;
                    bits.align();
                    break;
                }
                _ => sink(scalar(bits, operand)?),
            }
        }
        Ok(code)
    }
}

fn scalar(bits: &mut Bits<'_>, operand: Operand) -> Result<u64> {
    match operand {
        Operand::Literal(value) => Ok(value),
        Operand::Fixed(width) => bits.fixed(width),
        Operand::Variable(width) => bits.variable(width),
        Operand::Char6 => {
            const CHARACTERS: &[u8; 64] =
                b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._";
            Ok(CHARACTERS[bits.fixed(6)? as usize].into())
        }
        Operand::Array | Operand::Blob => Err(bits.malformed(ABBREVIATION)),
    }
}

impl Bits<'_> {
    /// Skips this many bytes.
    fn skip(&mut self, bytes: u64) -> Result<()> {
        self.stream.range(self.at / 8, bytes, self.at / 8, "bitcode blob")?;
        self.at += 8 * bytes;
        Ok(())
    }
}
