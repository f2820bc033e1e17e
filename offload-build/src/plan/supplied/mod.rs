//! Finds the supplied images in a file by their headers.

mod walk;

use crate::targets::Target;
use crate::toolchain::{Error, files};
use offload_format::image::{ImageHeader, ImageKind};
use offload_format::spirv::SpirvModule;
use offload_format::target::IntelArch;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The target of an image in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Name {
    /// The target's canonical name.
    Target(String),
    /// A cubin for this compute capability (times ten). A cubin's header does not show whether a
    /// letter follows the number.
    Cubin(u32),
}

impl Name {
    pub(crate) fn is_for(&self, target: &Target) -> bool {
        match self {
            Name::Target(name) => target.as_str() == name,
            Name::Cubin(number) => target
                .arch()
                .nvidia()
                .is_some_and(|arch| !target.is_ptx() && arch.number() == *number),
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Name::Target(target) => f.write_str(target),
            Name::Cubin(number) => write!(f, "sm_{number}"),
        }
    }
}

/// Returns the target of a file that is itself a code object or cubin, not a container. Reads only
/// the header, because these files can be large.
pub(crate) fn sole(path: &Path) -> Result<Option<Name>, Error> {
    const HEADER_SIZE: u64 = 64;
    let mut header = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEADER_SIZE).read_to_end(&mut header));
    read.map_err(|error| Error::io("read the source", path, error))?;
    Ok(match single(&header, None) {
        Part::Image(name, _) if header.starts_with(b"\x7fELF") => Some(name),
        _ => None,
    })
}

/// Returns the targets of the images in a file, in file order, without duplicates.
///
/// Returns an error if the file cannot be read or split into images, or contains no image.
pub(crate) fn names(path: &Path) -> Result<Vec<Name>, Error> {
    if let Some(name) = sole(path)? {
        return Ok(vec![name]);
    }
    let mut names = Vec::new();
    let mut other = Vec::new();
    read(path, &mut |part| match part {
        Part::Image(name, _) if !names.contains(&name) => names.push(name),
        Part::Image(..) => {}
        Part::Other(what) if !other.contains(&what) => other.push(what),
        Part::Other(_) => {}
    })?;
    if names.is_empty() {
        Err(Error::config(format!(
            "the source {} contains no image that can be used unchanged{}",
            path.display(),
            if other.is_empty() { String::new() } else { format!(", only {}", other.join(", ")) }
        )))
    } else {
        Ok(names)
    }
}

/// Returns the image for a target.
///
/// Returns an error if the file contains two different images for the target.
pub(crate) fn image(path: &Path, target: &Target) -> Result<Vec<u8>, Error> {
    // A cubin does not show whether its target's name ends in a letter (`sm_90` or `sm_90a`), so an
    // image that is certainly for this target takes precedence.
    let (mut found, mut perhaps): (Vec<Vec<u8>>, Vec<Vec<u8>>) = (Vec::new(), Vec::new());
    read(path, &mut |part| {
        if let Part::Image(name, bytes) = part
            && name.is_for(target)
        {
            let list = if matches!(name, Name::Target(_)) { &mut found } else { &mut perhaps };
            if list.iter().all(|other| other != bytes) {
                list.push(bytes.to_owned());
            }
        }
    })?;
    let mut images = if found.is_empty() { perhaps } else { found };
    match (images.pop(), images.is_empty()) {
        (Some(image), true) => Ok(image),
        (Some(_), false) => Err(Error::config(format!(
            "{} has {} different images for {target}: extract the right one with 'cargo offload extract'",
            path.display(),
            images.len() + 1
        ))),
        (None, _) => Err(Error::config(format!("{} has no image for {target}", path.display()))),
    }
}

/// The description of an ELF file for a CPU, for messages.
const HOST_FILE: &str =
    "an ELF file for a CPU ('cargo offload extract' extracts device code from one)";

enum Part<'a> {
    Image(Name, &'a [u8]),
    /// A description of a part that is not an image.
    Other(String),
}

fn read(path: &Path, visit: &mut dyn FnMut(Part<'_>)) -> Result<(), Error> {
    let bytes = files::read(path)?;
    walk::walk(&bytes, visit).map_err(|reason| {
        Error::config(format!(
            "the source {} cannot be split into images: {reason}",
            path.display()
        ))
    })
}

/// Classifies bytes that are not a container. `named` is their target according to the surrounding
/// container.
fn single<'a>(bytes: &'a [u8], named: Option<&str>) -> Part<'a> {
    let other = |what: &str| Part::Other(what.to_owned());
    if bytes.is_empty() {
        return other("an empty entry");
    }
    let image = match ImageHeader::parse(bytes) {
        Ok(image) => image,
        Err(error) => return other(&format!("data that cannot be parsed as an image ({error})")),
    };
    // Code objects and bitcode get more specific messages.
    match (image.kind(), image.arch()) {
        (ImageKind::CodeObject, _) if image.is_unlinked(bytes) => {
            other("an AMD code object that is not linked")
        }
        (_, Some(arch)) => match arch.nvidia().filter(|_| !arch.is_ptx()) {
            Some(cubin) => Part::Image(Name::Cubin(cubin.number()), bytes),
            None => Part::Image(Name::Target(arch.to_string()), bytes),
        },
        (ImageKind::CodeObject, None) => other("an AMD code object for an unknown processor"),
        (ImageKind::Bitcode, _) => {
            other("LLVM bitcode (to compile it, add it as a separate .bc source)")
        }
        (ImageKind::SpirV, _) => {
            let own = IntelArch::Spirv64.name();
            match (named, SpirvModule::why_not_launched(bytes)) {
                (Some(target), _) if target != own => other(&format!("SPIR-V for {target}")),
                (_, Some(why)) => other(&format!("a file that {why}")),
                (_, None) => Part::Image(Name::Target(own.to_owned()), bytes),
            }
        }
        _ if image.is_for_cpu() => other(HOST_FILE),
        (kind, _) => other(kind.words()),
    }
}
