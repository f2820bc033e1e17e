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

/// An archive's files that consist only of device code.
#[derive(Default)]
pub(super) struct Bare {
    files: Vec<File>,
}

struct File {
    path: String,
    known: Known<'static>,
    compiled: Option<Compiled>,
}

/// Whether a file with these containers is loaded by drivers directly, not as part of a program.
fn is_bare(containers: &[Container<'_>]) -> bool {
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
    containers.iter().all(is_whole)
}

impl Bare {
    /// Adds a file of the archive if it consists only of device code; returns whether it does.
    pub(super) fn take(
        &mut self,
        file: &Visited<'_>,
        known: &Known<'_>,
        compiled: &mut Option<Compiled>,
    ) -> bool {
        if known.modules() == 0 || !is_bare(&file.inventory.containers) {
            return false;
        }
        let path = String::from_utf8_lossy(file.name).into_owned();
        self.files.push(File { path, known: known.detached(), compiled: compiled.take() });
        true
    }

    /// Returns each vendor's alternatives as one item, and every other file as a separate item.
    ///
    /// Files whose paths differ only in the name of a GPU form one module. If there are such files,
    /// all files that name a GPU are alternatives, because a kernel may be for only some GPUs. If
    /// no GPU has an image in every file, all files are alternatives.
    pub(super) fn joined(self) -> Vec<Joined> {
        let mut all = Vec::new();
        for (_, files) in grouped(self.files.into_iter(), |file| file.known.vendor()) {
            let paths: Vec<_> = files.iter().map(|file| without_gpu(&file.path)).collect();
            let named: Vec<&String> = paths.iter().flatten().collect();
            let different: HashSet<&String> = named.iter().copied().collect();
            let differ_by_gpu = different.len() < named.len();
            let (mut known, mut numbers) = (Known::default(), HashMap::new());
            for (file, path) in files.iter().zip(&paths) {
                let (path, is_alternative) = match path {
                    Some(path) if differ_by_gpu => (path, true),
                    _ => (&file.path, false),
                };
                known.join_file(path, &file.known, is_alternative, &mut numbers);
            }
            if !known.settle_alternatives() {
                all.extend(files.into_iter().map(|File { path, known, compiled }| Joined {
                    name: text::escaped_str(&path),
                    known,
                    compiled,
                    ..Joined::default()
                }));
                continue;
            }
            let more = text::plural(files.len() - 1, "more file");
            let name = format!("{} and {more}", text::escaped_str(&files[0].path));
            let compiled = files.into_iter().filter_map(|file| file.compiled);
            let compiled = compiled.reduce(Compiled::and);
            all.push(Joined { name, known, compiled, ..Joined::default() });
        }
        all
    }
}
