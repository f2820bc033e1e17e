//! Prints the text output of `cargo offload select`.

use super::modules::{Module, Reason};
use super::verdicts;
use crate::offload::grouped::grouped;
use crate::offload::{Result, out};
use crate::text::{self, BAD, FAINT, GOOD, HEADING, TARGET, plural, styled};
use offload_format::inventory::{ContainerKind, Image, Inventory};
use offload_format::select::DeviceInfo;
use std::io::Write;

/// Prints the images that a device gets from a file.
pub(super) fn print(
    out: &mut out::Out,
    file: &str,
    inventory: &Inventory<'_>,
    device: &DeviceInfo,
    modules: &[Module<'_, '_>],
) -> Result<()> {
    match modules {
        [] => print_none(out, file, device),
        [module] => print_module(out, file, inventory, device, module),
        modules => print_modules(out, file, inventory, device, modules),
    }
}

/// Prints that the device gets no image, because the file has none.
pub(super) fn print_none(out: &mut out::Out, file: &str, device: &DeviceInfo) -> Result<()> {
    writeln!(
        out,
        "{file}: {}",
        styled(BAD, &format!("no image for {device}: there are no images"))
    )?;
    Ok(())
}

/// Prints the image that a device gets from a file's only module, and why it does not get the
/// others.
fn print_module(
    out: &mut out::Out,
    file: &str,
    inventory: &Inventory<'_>,
    device: &DeviceInfo,
    module: &Module<'_, '_>,
) -> Result<()> {
    let groups = counted(module.reasons(inventory));
    let chosen = module.chosen;
    let width = width(
        groups
            .iter()
            .map(|((label, _), _)| label.as_str())
            .chain(chosen.map(|(image, _)| image.label())),
    );
    match &chosen {
        Some((image, fit)) => {
            writeln!(out, "{}", styled(HEADING, &format!("{file}: {device} gets")))?;
            let fit = module.fit(fit);
            writeln!(out, "  {}  {fit}", styled(GOOD, &padded(image.label(), width)))?;
            writeln!(out, "  {:width$}  {}", "", styled(FAINT, &place(inventory, image)))?;
            if !groups.is_empty() {
                writeln!(out, "{}", styled(HEADING, "not chosen"))?;
            }
        }
        None => writeln!(out, "{file}: {}", styled(BAD, &format!("no image for {device}")))?,
    }
    print_reasons(out, "  ", width, &groups, "images")?;
    if chosen.is_none() { print_advice(out, device, &[module]) } else { Ok(()) }
}

/// Prints which targets to add to modules without an image for the device.
fn print_advice(
    out: &mut out::Out,
    device: &DeviceInfo,
    without: &[&Module<'_, '_>],
) -> Result<()> {
    let verdicts = without.iter().flat_map(|module| &module.verdicts);
    if let Some(advice) = verdicts::advice(verdicts, device) {
        writeln!(out, "{advice} to the targets that the file is built for")?;
    }
    Ok(())
}

/// Prints a file's modules that have an image for the device, and the reasons why the other modules
/// have none.
fn print_modules(
    out: &mut out::Out,
    file: &str,
    inventory: &Inventory<'_>,
    device: &DeviceInfo,
    modules: &[Module<'_, '_>],
) -> Result<()> {
    let (with, without): (Vec<_>, Vec<_>) =
        modules.iter().partition(|module| module.chosen.is_some());
    let facts = match with.len() {
        0 => styled(BAD, &format!("no image for {device} in any of {} modules", modules.len())),
        count => styled(
            HEADING,
            &format!("{device} gets an image in {count} of {} modules", modules.len()),
        ),
    };
    writeln!(out, "{file}: {facts}")?;
    let width =
        width(with.iter().filter_map(|module| module.chosen).map(|(image, _)| image.label()));
    let chosen = with.iter().filter_map(|module| Some((*module, module.chosen?)));
    for ((label, fit), group) in
        grouped(chosen, |(module, (image, fit))| (image.label().to_owned(), module.fit(fit)))
    {
        writeln!(out, "  {}  {fit}", styled(GOOD, &padded(&label, width)))?;
        let bytes = group.iter().map(|(_, (image, _))| image.size).fold(0, u64::saturating_add);
        let facts = format!("{}, {}", plural(group.len(), "module"), text::size(bytes));
        writeln!(out, "  {:width$}  {}", "", styled(FAINT, &facts))?;
        for line in names(inventory, group.iter().map(|(module, _)| *module)) {
            writeln!(out, "  {:width$}    {line}", "")?;
        }
    }
    if !with.is_empty() && !without.is_empty() {
        writeln!(
            out,
            "{}",
            styled(BAD, &format!("no image in {}", plural(without.len(), "module")))
        )?;
    }
    for (reasons, group) in
        grouped(without.iter().copied(), |module| counted(module.reasons(inventory)))
    {
        for line in names(inventory, group.into_iter()) {
            writeln!(out, "  {line}")?;
        }
        let width = self::width(reasons.iter().map(|((label, _), _)| label.as_str()));
        print_reasons(out, "    ", width, &reasons, "images in each")?;
    }
    // A single module may be meant for other devices only, so advise only if no module has an
    // image.
    if with.is_empty() { print_advice(out, device, &without) } else { Ok(()) }
}

/// Prints why images were not chosen.
fn print_reasons(
    out: &mut out::Out,
    indent: &str,
    width: usize,
    reasons: &[(Reason, usize)],
    images: &str,
) -> Result<()> {
    for ((label, reason), count) in reasons {
        let times = if *count > 1 {
            styled(FAINT, &format!("  ({count} {images})"))
        } else {
            String::new()
        };
        writeln!(out, "{indent}{}  {reason}{times}", styled(TARGET, &padded(label, width)))?;
    }
    Ok(())
}

/// Returns the width of the column with image names.
fn width<'l>(labels: impl Iterator<Item = &'l str>) -> usize {
    labels.map(|label| text::escaped_str(label).chars().count()).max().unwrap_or(0).min(40)
}

fn padded(label: &str, width: usize) -> String {
    format!("{:width$}", text::shortened(&text::escaped_str(label), width))
}

/// Counts equal reasons instead of repeating them, because a library can have hundreds of images.
fn counted(reasons: impl Iterator<Item = Reason>) -> Vec<(Reason, usize)> {
    grouped(reasons, Reason::clone).into_iter().map(|(reason, all)| (reason, all.len())).collect()
}

/// Properties shared by the modules on one line of the output.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Line {
    /// The kind of the chosen image's container or, if no image was chosen, of the first container.
    /// `None` if no kernel pack contains the module.
    kind: Option<ContainerKind>,
    member: Option<String>,
    section: Option<String>,
    name: Option<String>,
}

/// Returns the lines that list a group's modules. Each name has its own line, and unnamed modules
/// share one line per kind and section: `fatbins [0-3, 7] in .nv_fatbin`. Containers are numbered
/// as in `ls`.
fn names<'m>(
    inventory: &Inventory<'_>,
    modules: impl Iterator<Item = &'m Module<'m, 'm>>,
) -> Vec<String> {
    let line = |module: &&Module<'_, '_>| {
        let chosen = module.chosen.map(|(image, _)| image.container);
        let number = chosen.or(module.containers.first().copied());
        let container = number.map(|number| &inventory.containers[number]);
        let part = |name: Option<&[u8]>| name.map(text::escaped);
        Line {
            kind: container.map(|container| container.kind),
            member: part(container.and_then(|container| container.place.member)),
            section: part(container.and_then(|container| container.place.section)),
            name: module.name.as_deref().map(text::escaped_str),
        }
    };
    let shown = |(line, group): (Line, Vec<&Module<'_, '_>>)| {
        let Some(kind) = line.kind else {
            return format!("{}: in no kernel pack", line.name.unwrap_or_default());
        };
        let numbers: Vec<usize> =
            group.iter().flat_map(|module| &module.containers).copied().collect();
        let name = line.name.map_or(String::new(), |name| format!("{name}: "));
        let section = line.section.map_or(String::new(), |section| format!(" in {section}"));
        let member = line.member.map_or(String::new(), |member| format!(", member {member}"));
        format!("{name}{} [{}]{section}{member}", kind.words(numbers.len()), ranges(&numbers))
    };
    grouped(modules, line).into_iter().map(shown).collect()
}

/// Returns numbers as ranges: `0-3, 7`.
fn ranges(numbers: &[usize]) -> String {
    let parts = numbers.chunk_by(|one, next| one + 1 == *next).map(|run| match run {
        [one] => one.to_string(),
        run => format!("{}-{}", run[0], run[run.len() - 1]),
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// Returns an image's place and size: `.hip_fatbin, bundle [2], hipv4-..., 4.1 KiB`. Containers are
/// numbered as in `ls`.
fn place(inventory: &Inventory<'_>, image: &Image<'_>) -> String {
    let container = inventory.container(image);
    let mut parts = Vec::new();
    if let Some(member) = container.place.member {
        parts.push(format!("member {}", text::escaped(member)));
    }
    if let Some(section) = container.place.section {
        parts.push(text::escaped(section));
    }
    parts.push(format!("{} [{}]", container.kind.name(), image.container));
    if let Some(id) = &image.entry_id {
        parts.push(text::escaped_str(id));
    }
    if let Some(module) = &image.module {
        parts.push(format!("module {}", text::escaped_str(module)));
    }
    if let Some(offset) = image.offset {
        parts.push(format!("offset {offset}"));
    }
    parts.push(text::size(image.size));
    parts.join(", ")
}
