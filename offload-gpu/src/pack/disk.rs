//! Packs that are not linked: the program, compiled with `OFFLOAD_FROM_DISK=1`, reads them from
//! disk at run time. The macro's expansion reads the files, since this crate works without `std`;
//! this module interprets their contents.
//!
//! The index contains the library's name, which includes a hash of the pack's content, so an index
//! and its library always belong to the same build. The program also contains the index from its
//! own compilation, and compares the types of kernels and variables in the two indexes.
//! `cargo check` runs the build script in a different folder, so only `cargo build` changes the
//! pack that programs read.
//!
//! All functions are `#[inline]` or generic, so that rustc compiles them only for the few programs
//! that call them.

use super::{Content, Form, ImageRecord, KernelPack, ModuleRecord, not_built, opaque, record};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use offload_format::section::DeviceSection;
use offload_format::target::ImageCode;
use offload_pack::pack_index::{Change, Index, IndexImage, IndexModule, first_change};

/// Advice on how to build the pack.
const BUILD: &str = ". To build the pack, run `cargo build --lib` in its package";

/// Returns the message that a pack could not be read: the reason, advice, and the variable that
/// makes the program read packs from disk.
#[inline]
fn unread(why: &str, advice: &str) -> String {
    format!(
        "{why} (the pack is read from disk, because OFFLOAD_FROM_DISK was set when the program was compiled){advice}"
    )
}

/// A function that reads a file, or returns the reason why it cannot.
pub type Read = fn(&str) -> Result<Vec<u8>, String>;

/// Loads the current pack with this name from `folder`. The bytes stay in memory until the program
/// ends.
///
/// `compiled` is the index from the program's compilation. The program uses the types of kernels
/// and variables from that index, so `load` rejects the pack if these types have changed.
pub fn load<F: Form>(
    name: &'static str,
    folder: &str,
    compiled: &str,
    read: Read,
) -> KernelPack<F> {
    try_load(name, folder, compiled, read)
        .unwrap_or_else(|why| opaque(name, "", &[], why.leak(), &[]))
}

fn try_load<F: Form>(
    name: &'static str,
    folder: &str,
    compiled: &str,
    read: Read,
) -> Result<KernelPack<F>, String> {
    let file = |path: &str| {
        read(path).map_err(|why| unread(&format!("could not read {path}: {why}"), BUILD))
    };
    let path = format!("{folder}/{name}.index");
    let text = String::from_utf8(file(&path)?);
    let text = text.map_err(|_| unread(&format!("{path} is not UTF-8 text"), BUILD))?;
    let parse =
        |text: &str| Index::parse(text).map_err(|error| unread(&format!("{path}: {error}"), BUILD));
    let index = parse(&text)?;
    let changed = first_change(&parse(compiled)?, &index);
    let index = match index {
        Index::Built(index) => index,
        Index::Absent { why, modules, .. } => {
            let modules = modules.into_iter().map(module).collect::<Result<Vec<_>, _>>();
            return Ok(not_built(name, why.leak(), modules?.leak()));
        }
    };
    if let Some(Change { item, before, after }) = changed {
        let why = format!(
            "{item} has {after} in {path}, but had {before} when the program was compiled: build the program again"
        );
        return Err(unread(&why, ""));
    }
    // The library's name contains the hash of its content, so this library belongs to this index.
    let path = format!("{folder}/lib{}.a", index.library);
    let library = file(&path)?;
    let damaged = |why| unread(&format!("{path} is damaged: {why}"), BUILD);
    let range = |size: u64, at: u64| {
        let (at, size) = (usize::try_from(at).ok()?, usize::try_from(size).ok()?);
        library.get(at..)?.get(..size)
    };
    let bytes = range(index.size, index.library_offset)
        .ok_or_else(|| damaged("it ends before the end of the pack"))?;
    if index.is_compressed() && !F::IS_COMPRESSED {
        let why = format!(
            "{path} contains a compressed pack, but the program was compiled for an uncompressed \
             one: build the program again"
        );
        return Err(unread(&why, ""));
    }
    let modules: Result<Vec<_>, _> = index.modules.into_iter().map(module).collect();
    let modules = modules.map_err(damaged)?.leak();
    let problem = record::problem(modules, bytes.len(), F::IS_COMPRESSED);
    problem.map_or(Ok(()), |problem| Err(damaged(problem)))?;
    let unaligned = || unread(&format!("could not allocate aligned memory for {path}"), "");
    let bytes = aligned(bytes).ok_or_else(unaligned)?;
    let section = index.section.elf_name();
    Ok(KernelPack::of(name, section, bytes, modules, Content::Linked).with_trust())
}

/// Copies the bytes to memory with the alignment that drivers need.
#[inline]
fn aligned(bytes: &[u8]) -> Option<&'static [u8]> {
    const ALIGN: usize = DeviceSection::HipFatbin.align() as usize;
    let memory = vec![0_u8; bytes.len().checked_add(ALIGN)?].leak();
    let start = memory.as_ptr().align_offset(ALIGN);
    let place = memory.get_mut(start..)?.get_mut(..bytes.len())?;
    place.copy_from_slice(bytes);
    Some(place)
}

#[inline]
fn module(module: IndexModule) -> Result<ModuleRecord, &'static str> {
    let images: Result<Vec<_>, _> = module.images.into_iter().map(image).collect();
    let record = ModuleRecord::new(module.name.leak(), images?.leak());
    Ok(ModuleRecord { stream: module.stream, ..record })
}

#[inline]
fn image(image: IndexImage) -> Result<ImageRecord, &'static str> {
    let (mut names, mut limits) = (Vec::new(), Vec::new());
    let are_known = image.kernels.is_some();
    for kernel in image.kernels.into_iter().flatten() {
        names.push(&*kernel.name.leak());
        limits.push(kernel.limits);
    }
    let target = image.target.leak();
    let kind = image.kind.map_text(|triple| &*triple.leak());
    let size =
        |size: u64| usize::try_from(size).map_err(|_| "an image starts past the end of its pack");
    Ok(ImageRecord {
        target,
        kind,
        code: ImageCode::of_pack_image(target, kind)
            .ok_or("a target in the pack's index is malformed")?,
        offset: size(image.offset)?,
        size: size(image.size)?,
        origin: image.origin,
        kernels: are_known.then_some(&*names.leak()),
        limits: limits.leak(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::Plain;
    use super::*;
    use offload_format::select::DeviceInfo;

    const INDEX: &str = "offload-pack 10\nname saxpy\nlibrary x\nlibrary-size 40\nlibrary-offset 8\nsymbol s\n\
                         section .hip_fatbin\nsize 24\nmodule saxpy\nbundle 0\n\
                         image gfx90a 8 16 compiled code-object 6\nkernel saxpy\narguments 0+4\n";

    fn read(path: &str) -> Result<Vec<u8>, String> {
        match path {
            "out/saxpy.index" => Ok(INDEX.into()),
            "out/old.index" => Ok("offload-pack 1\n".into()),
            "out/other.index" => Ok(INDEX.replace("0+4", "0+8").into()),
            "out/bytes.index" => Ok(vec![0xff]),
            "out/cut.index" => Ok(INDEX.replace("size 24", "size 48").into()),
            "out/odd.index" => Ok(INDEX.replace("gfx90a 8", "gfx90a 4").into()),
            "out/libx.a" => Ok((0..40).collect()),
            _ => Err("no such file".into()),
        }
    }

    #[test]
    fn what_lies_there_is_the_pack() {
        let pack: KernelPack = load("saxpy", "out", INDEX, read);
        assert_eq!((pack.bytes()[0], pack.bytes().len(), pack.absent()), (8, 24, None));
        assert_eq!(pack.bytes().as_ptr().addr() % 4096, 0);
        let choice = pack.select(&DeviceInfo::parse("gfx90a").unwrap()).unwrap();
        assert_eq!(choice.image().has_kernel("saxpy"), Some(true));
        assert_eq!(choice.image().bytes()[0], 16);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (name, words) in [
            (
                "missing",
                "could not read out/missing.index: no such file (the pack is read from disk",
            ),
            (
                "old",
                "out/old.index: the pack's index has version 1, but this version of offload-gpu ",
            ),
            ("bytes", "out/bytes.index is not UTF-8 text ("),
            (
                "other",
                "the kernel saxpy of the module \"saxpy\" has the parameters (8 bytes at offset 0) \
                 in out/other.index, but had the parameters (4 bytes at offset 0) when the program \
                 was compiled: build the program again (",
            ),
            ("cut", "out/libx.a is damaged: it ends before the end of the pack ("),
            ("odd", "out/libx.a is damaged: an image is not aligned in its pack ("),
        ] {
            let error = try_load::<Plain>(name, "out", INDEX, read).unwrap_err();
            assert!(error.starts_with(words), "{error}");
            let pack: KernelPack = load(name, "out", INDEX, read);
            assert_eq!((pack.absent(), pack.images().len()), (Some(&*error), 0));
        }
    }
}
