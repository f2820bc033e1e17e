//! Files of an archive that consist only of device code. Some libraries (rocBLAS, hipBLASLt,
//! MIOpen, AITER, FlashInfer) choose such files by name, and load only those for the machine's GPU.

use super::compile::Compiled;
use super::gets::Known;
use super::joined::Joined;
use crate::offload::grouped::grouped;
use crate::offload::walk::Visited;
use crate::text;
use offload_format::inventory::{Container, ContainerKind, without_gpu};
use std::collections::{HashMap, HashSet};

/// Whether a file consists only of device code, which drivers load directly, not as part of a
/// program.
pub(super) fn is_bare(file: &Visited<'_>, known: &Known<'_>) -> bool {
    let is_whole = |container: &Container<'_>| {
        let place = &container.place;
        place.section.is_none()
            && place.member.is_none()
            && matches!(
                container.kind,
                ContainerKind::Raw
                    | ContainerKind::Bundle
                    | ContainerKind::CompressedBundle
                    | ContainerKind::Fatbin
            )
    };
    known.modules() > 0 && file.inventory.containers.iter().all(is_whole)
}

/// Returns each vendor's alternatives as one item, and every other file as a separate item.
///
/// Files whose paths differ only in the name of a GPU form one module. If there are such files,
/// all files that name a GPU are alternatives, because a kernel may be for only some GPUs. If
/// no GPU has an image in every file, all files are alternatives.
pub(super) fn joined(bare: Vec<Joined>) -> Vec<Joined> {
    let mut all = Vec::new();
    for (_, files) in grouped(bare.into_iter(), |file| file.known.vendor()) {
        let paths: Vec<_> = files.iter().map(|file| without_gpu(&file.name)).collect();
        let named: Vec<&String> = paths.iter().flatten().collect();
        let different: HashSet<&String> = named.iter().copied().collect();
        let differ_by_gpu = different.len() < named.len();
        let (mut known, mut numbers) = (Known::default(), HashMap::new());
        for (file, path) in files.iter().zip(&paths) {
            let (path, is_alternative) = match path {
                Some(path) if differ_by_gpu => (path, true),
                _ => (&file.name, false),
            };
            known.join_file(path, &file.known, is_alternative, &mut numbers);
        }
        if !known.settle_alternatives() {
            all.extend(files);
            continue;
        }
        let more = text::plural(files.len() - 1, "more file");
        let name = format!("{} and {more}", files[0].name);
        let compiled = files.into_iter().filter_map(|file| file.compiled);
        let compiled = compiled.reduce(Compiled::and);
        all.push(Joined { name, known, compiled, ..Joined::default() });
    }
    all
}
