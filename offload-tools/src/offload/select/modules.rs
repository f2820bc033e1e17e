//! Groups images into modules.

use super::judged::{Verdict, Verdicts, best};
use offload_format::inventory::{ContainerKind, Image, Inventory};
use offload_format::select::Fit;
use std::collections::HashMap;

/// A group of images from which a program loads one.
pub(super) struct Module<'i, 'a> {
    /// The module's name, which offload binaries and fatbins can contain.
    pub(super) name: Option<String>,
    /// The numbers of the module's containers: at least one.
    pub(super) containers: Vec<usize>,
    pub(super) verdicts: Verdicts<'i, 'a>,
    pub(super) chosen: Option<(&'i Image<'a>, Fit)>,
}

/// The key that is equal for all images of one module.
#[derive(PartialEq, Eq, Hash)]
enum Key<'i, 'a> {
    /// A bundle or a fatbin: all its images are one module, whatever names they have.
    Container(usize),
    /// Images of offload binaries and kernel packs, and images without a container. Those with the
    /// same place and the same module name are one module. The name may be missing if a pack has
    /// only one module.
    Named(Option<u64>, Option<&'a [u8]>, Option<&'a [u8]>, Option<&'i str>),
}

/// Sorts the images of a file into modules, in file order.
pub(super) fn modules<'i, 'a>(
    inventory: &'i Inventory<'a>,
    verdicts: Verdicts<'i, 'a>,
) -> Vec<Module<'i, 'a>> {
    let mut modules: Vec<Module<'i, 'a>> = Vec::new();
    let mut numbers = HashMap::new();
    for (image, verdict) in verdicts {
        let container = inventory.container(image);
        let place = &container.place;
        let key = match container.kind {
            ContainerKind::OffloadBinary | ContainerKind::Kpack | ContainerKind::Raw => Key::Named(
                place.slice.map(u64::from),
                place.member,
                place.section,
                image.module.as_deref(),
            ),
            ContainerKind::Bundle
            | ContainerKind::CompressedBundle
            | ContainerKind::TextBundle
            | ContainerKind::ObjectBundle
            | ContainerKind::Fatbin => Key::Container(image.container),
        };
        let number = *numbers.entry(key).or_insert_with(|| {
            modules.push(Module {
                name: None,
                containers: Vec::new(),
                verdicts: Vec::new(),
                chosen: None,
            });
            modules.len() - 1
        });
        let module = &mut modules[number];
        if module.containers.last() != Some(&image.container) {
            module.containers.push(image.container);
        }
        module.verdicts.push((image, verdict));
    }
    for module in &mut modules {
        module.chosen = best(&module.verdicts);
        // Compilers may name the module in only some of a fatbin's entries, so the first name
        // counts.
        let names = module.verdicts.iter().find_map(|(image, _)| image.module.as_deref());
        module.name = names.map(str::to_owned);
    }
    modules
}

/// The name of an image that was not selected, and the reason.
pub(super) type Reason = (String, String);

impl Module<'_, '_> {
    /// Returns the name of each image that was not selected, with the reason, in file order.
    pub(super) fn reasons(&self) -> impl Iterator<Item = Reason> {
        self.verdicts.iter().filter_map(|(image, verdict)| {
            let reason = match (verdict, &self.chosen) {
                (Verdict::Fits(..), Some((best, _))) if std::ptr::eq(*best, *image) => return None,
                (Verdict::Fits(fit, _), Some((_, best))) if best.is_better_than(fit) => {
                    format!("fits less well: {fit}")
                }
                (Verdict::Fits(..), _) => "fits as well, but comes later".to_owned(),
                (Verdict::Refused(refusal, _), _) => refusal.to_string(),
                (Verdict::Nothing(reason), _) => (*reason).to_owned(),
            };
            Some((image.label().to_owned(), reason))
        })
    }
}
