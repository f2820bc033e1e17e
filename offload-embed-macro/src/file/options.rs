//! Checks that the macro's options fit a file that is embedded by its path.

use super::{File, section, words};
use crate::input::Options;
use offload_format::inventory::ContainerKind;
use syn::{Error, LitStr, Result};

/// The largest alignment that rustc accepts for a type.
const MOST_ALIGN: u64 = 1 << 29;

/// Checks the options for a file that is embedded by its path.
pub(super) fn check(options: &Options, file: &File) -> Result<()> {
    if let Some(align) = &options.align {
        let value: u64 = align.base10_parse()?;
        if !value.is_power_of_two() || !(8..=MOST_ALIGN).contains(&value) {
            let message = format!(
                "the alignment must be a power of two from 8, which drivers need, to {MOST_ALIGN}. \
                 The default is {}",
                file.align()
            );
            return Err(Error::new(align.span(), message));
        }
        let in_llvm =
            |name: &LitStr| section::device(&name.value()) == Some(ContainerKind::OffloadBinary);
        let in_llvm = options.section.as_ref().is_none_or(in_llvm);
        if file.kind == ContainerKind::OffloadBinary && in_llvm && value > file.align() {
            let message = "in .llvm.offloading, the alignment must be 8, because LLVM's tools stop \
                           at the gap that a larger alignment leaves";
            return Err(Error::new(align.span(), message));
        }
    }
    if let Some(section) = &options.section {
        let name = section.value();
        match section::device(&name) {
            Some(kind) if kind != file.kind => {
                let message = format!(
                    "tools expect {} in {name}, but {} is {}",
                    words(kind, false),
                    file.path.display(),
                    words(file.kind, file.is_ptx)
                );
                return Err(Error::new(section.span(), message));
            }
            Some(_) => {}
            None => section::check(&name).map_err(|message| Error::new(section.span(), message))?,
        }
    }
    if let Some(compressed) = options.compressed {
        let message = "`compressed` is only for packs that build.rs makes: remove it to embed \
                       a file";
        return Err(Error::new(compressed, message));
    }
    if let (Some(word), Some(symbol)) = (&options.trusts_cpu, &file.unique_symbol) {
        let message = format!(
            "{} has an image for the CPU that cannot be loaded beside other images, because all \
             images of a program would share the symbol {symbol} (STB_GNU_UNIQUE). Compile the \
             image with -fno-gnu-unique",
            file.path.display()
        );
        return Err(Error::new(word.span(), message));
    }
    match options.register {
        Some(register) if file.kind != ContainerKind::Bundle || file.closed.is_some() => {
            let message = format!(
                "only offload bundles can be registered with HIP's runtime, but {} is {}",
                file.path.display(),
                if file.closed.is_some() {
                    "compressed, so its kernels are not known"
                } else {
                    words(file.kind, file.is_ptx)
                }
            );
            Err(Error::new(register, message))
        }
        _ => Ok(()),
    }
}
