//! Arranges the bytes of a file as a tree, the largest parts first.

use super::account::Account;
use super::part::Part;
use clap::ValueEnum;
use offload_format::inventory::ImageKind;
use std::collections::HashMap;

/// The property that divides the first level of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum By {
    /// Targets, then their modules, then the kernels of the modules.
    Target,
    /// Modules, then their targets, then the kernels of the targets.
    Module,
    /// Kernels, then the targets whose images contain them.
    Kernel,
    /// Sections of images and of the file itself, then the targets whose images contain them.
    Section,
}

/// The kind of a row of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum RowKind {
    /// The whole file.
    File,
    Target(&'static str),
    Module,
    /// The kernels of an image.
    Kernels,
    Kernel,
    /// A section of an image or of the file itself, without the code of kernels.
    Section,
    /// Bytes of an image outside its kernels and sections.
    Other,
    /// Bytes of containers outside their images.
    Containers,
    /// Bytes in no container.
    Rest,
}

/// The key that identifies a row among its siblings.
type Row<'a> = (RowKind, &'a str);

/// A row of the tree.
#[derive(Debug)]
pub(super) struct Node<'a> {
    pub(super) kind: RowKind,
    /// The row's name, as in the file.
    pub(super) name: &'a str,
    /// Bytes in the file, including those of all rows below.
    pub(super) bytes: u64,
    /// The decompressed size.
    pub(super) size: u64,
    pub(super) children: Vec<Node<'a>>,
    index: HashMap<Row<'a>, usize>,
}

/// The label for the code of all kernels.
pub(super) const KERNELS: &str = "code of kernels";
/// The label for bytes of an image outside its kernels and sections.
pub(super) const OTHER: &str = "(other parts of images: headers, padding)";
/// The label for bytes of images outside all kernels.
pub(super) const NOT_KERNELS: &str = "(not in kernels)";
/// The label for images without a module's name.
pub(super) const NO_MODULE: &str = "(no module)";
pub(super) const CONTAINERS: &str = "(containers: headers, tables, padding)";
pub(super) const REST: &str = "(rest of the file)";
pub(super) const REST_OTHER: &str = "(between sections: headers, tables, padding)";

/// Returns the label of an image whose contents are not read.
pub(super) fn whole(kind: Option<ImageKind>) -> &'static str {
    // Write out each label in full, because labels are part of JSON and of HTML pages.
    match kind {
        Some(ImageKind::Ptx) => "(PTX)",
        Some(ImageKind::Bitcode) => "(bitcode)",
        Some(ImageKind::SpirV) => "(SPIR-V)",
        _ if kind.is_none_or(ImageKind::is_machine_code) => "(machine code, not looked into)",
        _ => "(other images)",
    }
}

impl<'a> Node<'a> {
    /// Builds the tree of a file.
    pub(super) fn of(account: &'a Account, by: By) -> Self {
        let mut file = Self::new(RowKind::File, "");
        // If no image has a module's name, the file is a single module, which needs no row.
        let modules = account.parts.iter().any(|part| part.module.is_some());
        for part in &account.parts {
            let target = (RowKind::Target(part.vendor), part.target.as_str());
            let module = (RowKind::Module, part.module.as_deref().unwrap_or(NO_MODULE));
            let path = match by {
                By::Target if modules => &[target, module][..],
                By::Target => &[target],
                By::Module => &[module, target],
                By::Kernel | By::Section => &[],
            };
            file.part(part, by, path, target);
        }
        file.add(&[(RowKind::Containers, CONTAINERS)], account.overhead(), account.overhead());
        let rest = (RowKind::Rest, REST);
        let mut other = account.rest;
        for share in &account.host {
            other -= share.bytes;
            file.add(&[rest, (RowKind::Section, &share.name)], share.bytes, share.bytes);
        }
        file.add(&[rest, (RowKind::Other, REST_OTHER)], other, other);
        file.sort();
        file
    }

    fn new(kind: RowKind, name: &'a str) -> Self {
        Self { kind, name, bytes: 0, size: 0, children: Vec::new(), index: HashMap::new() }
    }

    /// Adds an image's rows. Kernels and sections go below `path` or, in trees by kernel or
    /// section, above the target.
    fn part(&mut self, part: &'a Part, by: By, path: &[Row<'a>], target: Row<'a>) {
        let is_known = part.kernels.is_some() || !part.sections.is_empty();
        let mut add = |rows: &[Row<'a>], bytes, size| match by {
            By::Target | By::Module => self.add(&[path, rows].concat(), bytes, size),
            By::Kernel | By::Section => self.add(&[rows, &[target]].concat(), bytes, size),
        };
        let kernels = (RowKind::Kernels, KERNELS);
        for kernel in part.kernels.iter().flatten() {
            let row = (RowKind::Kernel, &*kernel.name);
            let rows = match by {
                By::Target | By::Module => &[kernels, row][..],
                By::Kernel => &[row],
                By::Section => &[kernels],
            };
            add(rows, kernel.bytes, kernel.size);
        }
        let mut add = |row, bytes, size| match by {
            By::Kernel => add(&[(RowKind::Other, NOT_KERNELS), row], bytes, size),
            _ => add(&[row], bytes, size),
        };
        for section in &part.sections {
            add((RowKind::Section, &section.name), section.bytes, section.size);
        }
        let (bytes, size) = part.other();
        add((RowKind::Other, if is_known { OTHER } else { whole(part.kind) }), bytes, size);
    }

    fn add(&mut self, path: &[Row<'a>], bytes: u64, size: u64) {
        self.bytes += bytes;
        self.size = self.size.saturating_add(size);
        if let [(kind, name), rest @ ..] = path {
            let count = self.children.len();
            let at = *self.index.entry((*kind, *name)).or_insert(count);
            if at == count {
                self.children.push(Self::new(*kind, name));
            }
            self.children[at].add(rest, bytes, size);
        }
    }

    /// Sorts the rows by size, largest first, then by name.
    fn sort(&mut self) {
        self.index = HashMap::new();
        // Remove an only child for other bytes, because it has the same size as its parent.
        if let [Node { kind: RowKind::Other, .. }] = self.children[..]
            && self.kind != RowKind::File
        {
            self.children.clear();
        }
        self.children.retain(|child| child.size > 0);
        self.children.sort_by(|a, b| {
            b.bytes.cmp(&a.bytes).then(b.size.cmp(&a.size)).then(a.name.cmp(b.name))
        });
        self.children.iter_mut().for_each(Self::sort);
    }
}
