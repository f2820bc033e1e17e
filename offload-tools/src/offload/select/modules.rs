//! Groups images into modules.

use super::verdicts::{Verdict, Verdicts, best};
use crate::text::plural;
use offload_format::inventory::{ContainerKind, DeviceLink, Image, Inventory};
use offload_format::oxart::Oxart;
use offload_format::select::{Fit, Refusal, worst};
use offload_format::target::FeatureState;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A group of images from which a program loads one.
#[derive(Default)]
pub(in crate::offload) struct Module<'i, 'a> {
    /// The module's name, if its offload binary or fatbin contains one.
    pub(in crate::offload) name: Option<String>,
    /// The numbers of the module's containers; empty if no kernel pack contains the module.
    pub(in crate::offload) containers: Vec<usize>,
    pub(in crate::offload) verdicts: Verdicts<'i, 'a>,
    pub(in crate::offload) chosen: Option<(&'i Image<'a>, Fit)>,
    /// All images that the driver links, if several. `chosen` is the worst fit among them.
    pub(in crate::offload) parts: Vec<&'i Image<'a>>,
}

/// The key shared by all images of one module.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key<'i, 'a> {
    /// A bundle or a fatbin: all its images form one module, whatever their names.
    Container(usize),
    /// The fatbins of linked relocatable device code.
    Link,
    /// Images of offload binaries, kernel packs and bundles of cuda-oxide, and images without a
    /// container. Those with the same place and module name form one module. The name may be
    /// missing if a pack has only one module.
    Named(Option<u32>, Option<&'a [u8]>, Option<&'a [u8]>, Option<&'i str>),
}

/// A module's images, each with additional data.
pub(in crate::offload) struct Group<'i, 'a, T> {
    pub(in crate::offload) name: Option<String>,
    containers: Vec<usize>,
    pub(in crate::offload) images: Vec<(&'i Image<'a>, T)>,
}

/// A way of serving a GPU, and a container that must provide an image for it.
///
/// In most modules, the program needs the best image, so there is one way and one container. Linked
/// relocatable device code can serve a GPU in two ways: with the linked fatbin, or with each of its
/// parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(in crate::offload) struct Needed {
    pub(in crate::offload) is_part: bool,
    container: usize,
}

/// Returns the way and the container that an image belongs to.
pub(in crate::offload) fn needed<'a>(inventory: &Inventory<'a>, image: &Image<'a>) -> Needed {
    match inventory.container(image).link {
        Some(link) => Needed { is_part: link == DeviceLink::Part, container: image.container },
        None => Needed::default(),
    }
}

/// Returns the images of a module that a device gets, if any. Uses the first way in which every
/// container has an image for the device, and returns the best image of each container. The worst
/// fit comes first.
pub(in crate::offload) fn chosen<I>(
    all: &BTreeSet<Needed>,
    images: impl Iterator<Item = (Needed, I)>,
    best: impl Fn(&mut dyn Iterator<Item = I>) -> Option<(I, Fit)>,
) -> Option<Vec<(I, Fit)>> {
    let mut of: BTreeMap<&Needed, Vec<I>> = all.iter().map(|it| (it, Vec::new())).collect();
    for (container, image) in images {
        if let Some(images) = of.get_mut(&container) {
            images.push(image);
        }
    }
    [false, true].into_iter().find_map(|is_part| {
        let of_way = of.iter_mut().filter(|(container, _)| container.is_part == is_part);
        let all = of_way.map(|(_, images)| best(&mut images.drain(..)));
        let mut all: Vec<(I, Fit)> = all.collect::<Option<_>>()?;
        let (worst, _) = worst(all.iter().enumerate().map(|(at, image)| (at, image.1)))?;
        all[..=worst].rotate_right(1);
        Some(all)
    })
}

/// Groups a file's images into modules, in file order.
///
/// A crate has one bundle of cuda-oxide per target, and a linker concatenates the bundles. A second
/// bundle for the same target begins a new module, because it belongs to a different crate with the
/// same name.
pub(in crate::offload) fn grouped<'i, 'a, T>(
    inventory: &'i Inventory<'a>,
    images: Vec<(&'i Image<'a>, T)>,
) -> Vec<Group<'i, 'a, T>> {
    let mut groups: Vec<Group<'i, 'a, T>> = Vec::new();
    let (mut numbers, mut of_crates) = (HashMap::new(), HashMap::new());
    for (image, known) in images {
        let container = inventory.container(image);
        let place = &container.place;
        let in_place =
            |section| Key::Named(place.slice, place.member, section, image.module.as_deref());
        let key = match container.kind {
            // The runtime searches all entries of the program's list for each kernel's image.
            ContainerKind::ImageTable => in_place(None),
            _ if container.is_in_table => in_place(None),
            // A library has one kernel pack per processor, so a module has images in several packs.
            ContainerKind::Kpack => Key::Named(None, None, None, image.module.as_deref()),
            ContainerKind::OffloadBinary | ContainerKind::Oxart | ContainerKind::Raw => {
                in_place(place.section)
            }
            ContainerKind::Bundle
            | ContainerKind::CompressedBundle
            | ContainerKind::TextBundle
            | ContainerKind::ObjectBundle
            | ContainerKind::Fatbin => Key::Container(image.container),
        };
        let key = container.link.map_or(key, |_| Key::Link);
        let new = groups.len();
        let mut number = *numbers.entry(key).or_insert(new);
        if container.kind == ContainerKind::Oxart
            && let Ok(bundle) = Oxart::parse(container.data)
        {
            let mut bundle_of = |number| {
                let target = (number, bundle.target);
                *of_crates.entry(target).or_insert(image.container)
            };
            if bundle_of(number) != image.container {
                number = new;
                numbers.insert(key, new);
                bundle_of(new);
            }
        }
        if number == new {
            groups.push(Group { name: None, containers: Vec::new(), images: Vec::new() });
        }
        let group = &mut groups[number];
        if group.containers.last() != Some(&image.container) {
            group.containers.push(image.container);
        }
        // Compilers may name the module in only some of a fatbin's entries: use the first name.
        group.name = group.name.take().or_else(|| image.module.as_deref().map(str::to_owned));
        group.images.push((image, known));
    }
    groups
}

/// Returns a file's modules, each with the image that the device gets.
pub(in crate::offload) fn modules<'i, 'a>(
    inventory: &'i Inventory<'a>,
    verdicts: Verdicts<'i, 'a>,
) -> Vec<Module<'i, 'a>> {
    let module = |Group { name, containers, images: verdicts }: Group<'i, 'a, Verdict<'i>>| {
        let images =
            verdicts.iter().map(|(image, verdict)| (needed(inventory, image), (*image, verdict)));
        let all = images.clone().map(|(needed, _)| needed).collect();
        let chosen = chosen(&all, images, |images| {
            let fitting = images.filter_map(|it| match it.1 {
                Verdict::Fits(fit, named) => Some((it, named, *fit)),
                Verdict::Refused(..) | Verdict::Nothing(_) => None,
            });
            best(fitting)
        });
        let all: Vec<(&Image<'a>, Fit)> =
            chosen.into_iter().flatten().map(|((image, _), fit)| (image, fit)).collect();
        let is_part = |image: &&Image<'a>| needed(inventory, image).is_part;
        let parts = all.iter().map(|(image, _)| *image).filter(is_part).collect();
        let chosen = all.first().copied();
        Module { name, containers, verdicts, chosen, parts }
    };
    grouped(inventory, verdicts).into_iter().map(module).collect()
}

/// Returns a module without images for each name that is not in `among`.
pub(in crate::offload) fn missing<'i, 'a>(
    among: &[Module<'i, 'a>],
    names: &BTreeSet<String>,
) -> Vec<Module<'i, 'a>> {
    let is_there = |name: &&String| among.iter().any(|module| module.name.as_ref() == Some(*name));
    let missing = names.iter().filter(|name| !is_there(name));
    let module = |name: &String| Module { name: Some(name.clone()), ..Module::default() };
    missing.map(module).collect()
}

/// The name of an image that was not selected, and the reason.
pub(in crate::offload) type Reason = (String, String);

impl<'a> Module<'_, 'a> {
    /// Returns the feature, if any, that decides whether the device gets an image, but whose state
    /// the device's name omits.
    pub(super) fn open_feature(&self) -> Option<&str> {
        if self.chosen.is_some() {
            return None;
        }
        self.verdicts.iter().find_map(|(_, verdict)| match verdict {
            Verdict::Refused(Refusal::Feature { name, device: FeatureState::Any, .. }, _) => {
                Some(&**name)
            }
            _ => None,
        })
    }

    /// Describes how the device's image fits.
    pub(in crate::offload) fn fit(&self, fit: &Fit) -> String {
        match self.parts.len() {
            0 => fit.to_string(),
            1 => format!("{fit}, linked at load time"),
            parts => {
                format!("{fit}, linked at load time with {}", plural(parts - 1, "other image"))
            }
        }
    }

    /// Returns the images that were not selected, each with the reason, in file order.
    pub(in crate::offload) fn reasons(
        &self,
        inventory: &Inventory<'a>,
    ) -> impl Iterator<Item = Reason> {
        self.verdicts.iter().filter_map(|(image, verdict)| {
            let is_linked = self.parts.iter().any(|part| std::ptr::eq(*part, *image));
            let reason = match (verdict, &self.chosen) {
                (Verdict::Fits(..), Some((best, _)))
                    if is_linked || std::ptr::eq(*best, *image) =>
                {
                    return None;
                }
                (Verdict::Fits(..), Some(_))
                    if self.parts.is_empty() && needed(inventory, image).is_part =>
                {
                    "for linking at load time, which this device does not need".to_owned()
                }
                (Verdict::Fits(..), None) => {
                    "fits, but must be linked with images from other fatbins, and one of those fatbins has no image that fits".to_owned()
                }
                (Verdict::Fits(fit, _), Some((_, best))) if best.is_better_than(fit) => {
                    format!("fits less well: {fit}")
                }
                (Verdict::Fits(..), _) => "fits equally well, but comes later".to_owned(),
                (Verdict::Refused(refusal, _), _) => refusal.to_string(),
                (Verdict::Nothing(reason), _) => (*reason).to_owned(),
            };
            Some((image.label().to_owned(), reason))
        })
    }
}
