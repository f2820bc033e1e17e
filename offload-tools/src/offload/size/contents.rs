//! Reads the contents of images: kernels and sections.

use super::claims::{Claims, Split};
use super::part::{Part, Share};
use crate::describe::KernelRecord;
use offload_format::fat_file;
use offload_format::image::ImageHeader;
use offload_format::inventory::{Image, ImageKind, Images};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Whether an image may contain kernels with a known code size. PTX kernels have no size, and
/// bitcode is not compiled yet.
pub(super) fn may_have_kernels(image: &Image<'_>) -> bool {
    !image.is_host() && image.known_kind().is_none_or(ImageKind::is_machine_code)
}

/// Claims an object's sections. Returns the newly claimed bytes by section name; none for other
/// files.
fn sections(
    object: &[u8],
    claims: &mut Claims,
    names: &mut Names,
    kernels: &HashSet<&[u8]>,
) -> Vec<(Rc<str>, u64)> {
    let Ok(all) = fat_file::sections(object) else { return Vec::new() };
    let (mut sizes, mut at) = (Vec::new(), HashMap::new());
    for section in all {
        let size = claims.claim(section.offset..section.offset.saturating_add(section.size));
        if size > 0 {
            let name = names.get(&String::from_utf8_lossy(of_all_kernels(section.name, kernels)));
            let index = *at.entry(Rc::clone(&name)).or_insert(sizes.len());
            if index == sizes.len() {
                sizes.push((name, 0));
            }
            sizes[index].1 += size;
        }
    }
    sizes
}

/// Strips the kernel's name from the end of a section's name: `.nv.info` for `.nv.info.<kernel>`.
/// Cubins repeat some sections for each kernel.
fn of_all_kernels<'n>(name: &'n [u8], kernels: &HashSet<&[u8]>) -> &'n [u8] {
    let dots = name.iter().enumerate().skip(1).filter(|(_, byte)| **byte == b'.').take(4);
    let mut ends = dots.map(|(at, _)| at).filter(|at| kernels.contains(&name[at + 1..]));
    ends.next().map_or(name, |end| &name[..end])
}

/// Distinct names, each stored once, because images for several targets have the same kernels.
#[derive(Debug, Default)]
struct Names(HashSet<Rc<str>>);

impl Names {
    fn get(&mut self, name: &str) -> Rc<str> {
        if let Some(known) = self.0.get(name) {
            return Rc::clone(known);
        }
        let name: Rc<str> = name.into();
        self.0.insert(Rc::clone(&name));
        name
    }
}

/// Reads the kernels and sections of images.
pub(super) struct Reader<'a> {
    decompresses: bool,
    images: Images<'a>,
    names: Names,
}

impl<'a> Reader<'a> {
    /// Returns a reader that decompresses at most `limit` bytes at once.
    pub(super) fn new(decompresses: bool, limit: u64) -> Self {
        Self { decompresses, images: Images::new(limit), names: Names::default() }
    }

    /// Claims the sections of the host's object, and returns their sizes by name; none for other
    /// files.
    pub(super) fn host(&mut self, object: &[u8], claims: &mut Claims) -> Vec<Share> {
        let sections = sections(object, claims, &mut self.names, &HashSet::new());
        sections.into_iter().map(|(name, size)| Share { name, bytes: size, size }).collect()
    }

    /// Whether to read an image's kernels and sections: if it may contain kernels and, for a
    /// compressed image, if the user requested all images.
    pub(super) fn wants(&self, image: &Image<'a>) -> bool {
        may_have_kernels(image) && (image.in_file().is_some() || self.decompresses)
    }

    /// Reads an image, and fills in the kernels and sections of `part`.
    ///
    /// Returns an error if the image or its kernels cannot be read.
    pub(super) fn read(
        &mut self,
        image: &Image<'a>,
        part: &mut Part,
    ) -> offload_format::Result<()> {
        let bytes = self.images.read(image)?;
        // Keep the sections even if the kernels cannot be read.
        let (records, outcome) = match KernelRecord::all_of(&bytes, ImageHeader::parse(&bytes).ok())
        {
            Ok(records) => (records, Ok(())),
            Err(error) => (None, Err(error)),
        };
        let kernels: Vec<(&str, u64)> =
            records.iter().flatten().filter_map(|it| Some((&*it.name, it.code_size?))).collect();
        let names: HashSet<&[u8]> = kernels.iter().map(|(name, _)| name.as_bytes()).collect();
        let mut sections = sections(&bytes, &mut Claims::new(part.size), &mut self.names, &names);
        // `.text` includes the code of the kernels, so subtract their sizes, because kernels are
        // listed separately.
        let code = kernels.iter().map(|(_, size)| *size).fold(0, u64::saturating_add);
        sections
            .iter_mut()
            .filter(|(name, _)| **name == *CODE)
            .for_each(|(_, size)| *size = size.saturating_sub(code));
        // The sum may exceed the image's size, because functions may share code, and sizes in the
        // image may be wrong.
        let sizes =
            kernels.iter().map(|(_, size)| size).chain(sections.iter().map(|(_, size)| size));
        let sum = sizes.map(|&size| u128::from(size)).sum::<u128>();
        let mut split = Split::new(part.bytes, sum.max(part.size.into()));
        let mut share = |name, size| Share { name, bytes: split.next(size), size };
        part.kernels = records.is_some().then(|| {
            kernels
                .iter()
                .map(|(name, size)| share(self.names.get(name), *size))
                .filter(|it| it.size > 0)
                .collect()
        });
        part.sections = sections
            .into_iter()
            .map(|(name, size)| share(name, size))
            .filter(|it| it.size > 0)
            .collect();
        outcome
    }
}

/// The section that contains an image's code.
const CODE: &str = ".text";
