//! Writes an index.

use super::{
    COMPRESSED, FIRST_WORD, Index, IndexImage, IndexKernel, IndexModule, IndexStream,
    KERNELS_UNKNOWN, Limits, VERSION, kind,
};
use crate::escape::escape;
use core::fmt;

impl fmt::Display for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{FIRST_WORD}{VERSION}")?;
        let index = match self {
            Index::Absent { name, why, compressed, modules } => {
                writeln!(f, "name {name}\nabsent {}", why.replace('\n', " "))?;
                if *compressed {
                    writeln!(f, "{COMPRESSED}")?;
                }
                return modules.iter().try_for_each(|module| {
                    writeln!(f, "module {}", module.name)?;
                    write_signatures(f, module)
                });
            }
            Index::Built(index) => index,
        };
        writeln!(f, "name {}\nlibrary {}", index.name, index.library)?;
        writeln!(
            f,
            "library-size {}\nlibrary-offset {}",
            index.library_size, index.library_offset
        )?;
        writeln!(f, "symbol {}", index.symbol)?;
        writeln!(f, "section {}\nsize {}", index.section.elf_name(), index.size)?;
        for module in &index.modules {
            writeln!(f, "module {}", module.name)?;
            module.bundle.map_or(Ok(()), |offset| writeln!(f, "bundle {offset}"))?;
            if let Some(IndexStream { offset, size, inflated_size, method }) = module.stream {
                writeln!(f, "stream {offset} {size} {inflated_size} {method}")?;
            }
            module.images.iter().try_for_each(|image| writeln!(f, "{image}"))?;
            write_signatures(f, module)?;
        }
        Ok(())
    }
}

fn write_signatures(f: &mut fmt::Formatter<'_>, module: &IndexModule) -> fmt::Result {
    match &module.signatures_unknown {
        Some(why) => writeln!(f, "signatures-unknown {}", escape(why)),
        None => write!(f, "{}", module.signatures),
    }
}

/// Writes the image's line, and the lines of its kernels.
impl fmt::Display for IndexImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "image {} {} {} {} ", self.target, self.offset, self.size, self.origin)?;
        kind::write(f, &self.kind)?;
        match &self.kernels {
            Some(kernels) => kernels.iter().try_for_each(|kernel| write!(f, "\n{kernel}")),
            None => write!(f, "\n{KERNELS_UNKNOWN}"),
        }
    }
}

/// Writes the lines of the kernel.
impl fmt::Display for IndexKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel {}", escape(&self.name))?;
        if self.limits != Limits::UNKNOWN {
            write!(f, "\nlimits{}", self.limits)?;
        }
        let Some(arguments) = &self.arguments else { return Ok(()) };
        f.write_str("\narguments")?;
        arguments.iter().try_for_each(|argument| write!(f, " {argument}"))
    }
}

/// Writes the words of the limits, each after a space.
impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { max_threads, required_block, shared_memory, wavefront_size } = self;
        let number = |f: &mut fmt::Formatter<'_>, name: &str, value: &Option<u64>| {
            value.map_or(Ok(()), |value| write!(f, " {name}={value}"))
        };
        number(f, "threads", max_threads)?;
        if let Some([x, y, z]) = required_block {
            write!(f, " block={x},{y},{z}")?;
        }
        number(f, "shared", shared_memory)?;
        number(f, "wavefront", wavefront_size)
    }
}
