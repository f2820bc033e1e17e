//! Reads an index.
//!
//! This module is compiled once for build scripts and macros. For programs, all functions are
//! `#[inline]`, so only the few programs that call these functions compile them.

use super::{
    COMPRESSED, FIRST_WORD, Index, IndexError, IndexImage, IndexKernel, IndexModule, IndexStream,
    KERNELS_UNKNOWN, Origin, PackIndex, VERSION, kind,
};
use crate::escape::unescape;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use offload_format::compression::Method;
use offload_format::section::{DeviceSection, ObjectFormat};

impl Index {
    /// Reads an index.
    ///
    /// Returns an error with the number of the first invalid line. If lines are missing at the end,
    /// this is the number after the last line's.
    #[inline]
    pub fn parse(text: &str) -> Result<Self, IndexError> {
        let mut parser = Parser { lines: text.lines(), number: 0, text: "" };
        let first = parser
            .line()
            .and_then(|line| line.strip_prefix(FIRST_WORD))
            .ok_or_else(|| parser.error())?;
        if first.parse() != Ok(VERSION) {
            return Err(IndexError::Version { found: first.to_string() });
        }
        let name = parser.field("name")?;
        parser.line();
        if let Some(why) = parser.text.strip_prefix("absent ") {
            let why = why.to_string();
            let (mut compressed, mut modules) = (false, Vec::new());
            while parser.line().is_some() {
                if parser.text == COMPRESSED && !compressed && modules.is_empty() {
                    compressed = true;
                } else if !parser.read_of_module(&mut modules)? {
                    return Err(parser.error());
                }
            }
            return Ok(Index::Absent { name, why, compressed, modules });
        }
        let library = parser.this_field("library")?;
        let library_size = parser.number("library-size")?;
        let library_offset = parser.number("library-offset")?;
        let symbol = parser.field("symbol")?;
        let section = parser.field("section")?;
        let section = DeviceSection::from_names(ObjectFormat::Elf, "", &section);
        let section = section.ok_or_else(|| parser.error())?;
        let size = parser.number("size")?;
        let mut modules: Vec<IndexModule> = Vec::new();
        while parser.line().is_some() {
            if !parser.read_of_module(&mut modules)? {
                let module = modules.last_mut();
                let read = module.and_then(|it| read_of_images(it, size, parser.text));
                read.ok_or_else(|| parser.error())?;
            }
        }
        Ok(Index::Built(PackIndex {
            name,
            library,
            library_size,
            library_offset,
            symbol,
            section,
            size,
            modules,
        }))
    }
}

struct Parser<'a> {
    lines: core::str::Lines<'a>,
    number: usize,
    text: &'a str,
}

impl<'a> Parser<'a> {
    #[inline]
    fn line(&mut self) -> Option<&'a str> {
        self.number += 1;
        let line = self.lines.next();
        self.text = line.unwrap_or("");
        line
    }

    #[inline]
    fn field(&mut self, key: &str) -> Result<String, IndexError> {
        self.line();
        self.this_field(key)
    }

    #[inline]
    fn number(&mut self, key: &str) -> Result<u64, IndexError> {
        self.field(key)?.parse().map_err(|_| self.error())
    }

    #[inline]
    fn this_field(&mut self, key: &str) -> Result<String, IndexError> {
        let value = self.text.strip_prefix(key).and_then(|rest| rest.strip_prefix(' '));
        value.map(ToString::to_string).ok_or_else(|| self.error())
    }

    /// Reads a line that belongs to a module but not to its images, such as the module's name or
    /// its signatures. Returns whether the current line is such a line.
    #[inline]
    fn read_of_module(&mut self, modules: &mut Vec<IndexModule>) -> Result<bool, IndexError> {
        if let Ok(name) = self.this_field("module") {
            modules.push(IndexModule::new(name));
            return Ok(true);
        }
        let Some(module) = modules.last_mut() else { return Ok(false) };
        let is_unknown = module.signatures_unknown.is_some();
        if let Ok(why) = self.this_field("signatures-unknown") {
            let is_first = module.signatures.is_empty() && !is_unknown;
            module.signatures_unknown = unescape(&why).filter(|_| is_first);
            return if module.signatures_unknown.is_some() { Ok(true) } else { Err(self.error()) };
        }
        let is_read = module.signatures.read_line(self.text).map_err(|_| self.error())?;
        if is_read && is_unknown { Err(self.error()) } else { Ok(is_read) }
    }

    #[inline]
    fn error(&self) -> IndexError {
        IndexError::Line { number: self.number, text: self.text.to_string() }
    }
}

/// Reads a line about a module's images in a pack of `size` bytes. Returns `None` if the line is
/// invalid or misplaced.
#[inline]
fn read_of_images(module: &mut IndexModule, size: u64, line: &str) -> Option<()> {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let is_inside = |at: u64, bytes: u64, whole| at.saturating_add(bytes) <= whole;
    match word {
        "bundle" if module.images.is_empty() && module.bundle.is_none() => {
            module.bundle = Some(rest.parse().ok().filter(|offset| *offset < size)?);
        }
        "stream" if module.images.is_empty() && module.stream.is_none() => {
            let stream = parse_stream(rest).filter(|it| is_inside(it.offset, it.size, size))?;
            module.stream = Some(stream);
        }
        "image" => {
            let inside = module.stream.map_or(size, |stream| stream.inflated_size);
            let image = parse_image(rest).filter(|it| is_inside(it.offset, it.size, inside))?;
            module.images.push(image);
        }
        _ => {
            let kernels = &mut module.images.last_mut()?.kernels;
            let known = kernels.as_mut()?;
            // A line for unknown kernels must be the only line about the image's kernels.
            if known.is_empty() && line == KERNELS_UNKNOWN {
                *kernels = None;
            } else {
                IndexKernel::read_line(known, word, rest)?;
            }
        }
    }
    Some(())
}

#[inline]
fn parse_stream(text: &str) -> Option<IndexStream> {
    let mut words = text.split(' ');
    let mut number = || words.next()?.parse().ok();
    let (offset, size, inflated_size) = (number()?, number()?, number()?);
    let method = words.next()?;
    let method = [Method::Zstd, Method::Zlib].into_iter().find(|it| it.to_string() == method)?;
    words.next().is_none().then_some(IndexStream { offset, size, inflated_size, method })
}

#[inline]
fn parse_image(text: &str) -> Option<IndexImage> {
    let mut words = text.split(' ');
    let mut next = || words.next().filter(|word| !word.is_empty());
    let (target, offset, size) =
        (next()?.to_string(), next()?.parse().ok()?, next()?.parse().ok()?);
    let origin = next()?;
    let origin = [Origin::Compiled, Origin::Prebuilt, Origin::Supplied]
        .into_iter()
        .find(|it| it.to_string() == origin)?;
    let kind = kind::parse(next()?, next())?;
    // All expected words have been read, so a further word is an error.
    words.next().is_none().then_some(IndexImage {
        target,
        offset,
        size,
        origin,
        kind,
        kernels: Some(Vec::new()),
    })
}
