//! Finds the fatbins in a program that NVIDIA's device linker built from the program's other
//! fatbins.
//!
//! According to `fatbinary_section.h` of CUDA 13.5, a wrapper of version 2 has an "array of
//! prelinked fatbins". The array is filled only when the program starts (`link.stub`), so this
//! module assigns all relocatable fatbins of the file to each linked fatbin.

use super::{Container, ContainerKind, DeviceLink};
use crate::archive::Archive;
use crate::fat_file::{WrapperKind, wrappers};
use crate::section::{ObjectFormat, SectionNames};
use alloc::collections::BTreeSet;

/// The version of a linked fatbin's wrapper.
const LINKED: u32 = 2;

/// Marks the containers of a file that belong to a link of relocatable device code.
pub(super) fn mark(containers: &mut [Container<'_>], file: &[u8]) {
    let is_part = |container: &Container<'_>| {
        let section = container.place.section.and_then(|name| str::from_utf8(name).ok());
        let is_relocatable = |format| {
            section.is_some_and(|name| SectionNames::NV_RELFATBIN.matches(format, "", name))
        };
        container.kind == ContainerKind::Fatbin
            && (is_relocatable(ObjectFormat::Elf) || is_relocatable(ObjectFormat::Coff))
    };
    if !containers.iter().any(is_part) {
        return;
    }
    let mut linked = BTreeSet::new();
    let mut find = |object| {
        wrappers(object, |wrapper| {
            if wrapper.kind == WrapperKind::Cuda && wrapper.version == LINKED {
                linked.extend(wrapper.image.map(<[u8]>::as_ptr));
            }
        });
    };
    match Archive::parse(file) {
        Ok(archive) => {
            let members = archive.members();
            members.filter_map(|member| member.data).for_each(find);
        }
        Err(_) => find(file),
    }
    let mut is_any = false;
    for container in containers.iter_mut().filter(|it| it.kind == ContainerKind::Fatbin) {
        let at = usize::try_from(container.place.offset).ok().and_then(|at| file.get(at..));
        if at.is_some_and(|bytes| linked.contains(&bytes.as_ptr())) {
            container.link = Some(DeviceLink::Linked);
            is_any = true;
        }
    }
    if is_any {
        let parts = containers.iter_mut().filter(|container| is_part(container));
        parts.for_each(|container| container.link = Some(DeviceLink::Part));
    }
}
