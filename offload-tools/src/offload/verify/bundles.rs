//! Checks the entries of bundles.

use super::check::{Check, Report, Subject};
use offload_format::bundle::{
    self, Bundle, Composition, EntryId, HIP_ALIGN, HIP_ENTRY_PREFIX, HIP_TABLE_LIMIT,
};
use offload_format::inventory::{Image, Place};
use offload_format::section::{ObjectFormat, SectionNames};
use offload_format::target::{Form, Needs, TargetId, amdgpu};
use std::collections::BTreeSet;

/// The ID and the size of a bundle's entry.
pub(super) struct Entry<'e> {
    id: &'e str,
    size: u64,
}

impl<'e> Entry<'e> {
    pub(super) fn of(image: &'e Image<'_>) -> Self {
        Self { id: image.entry_id.as_deref().unwrap_or(""), size: image.size }
    }

    pub(super) fn stored(entry: bundle::Entry<'e>) -> Self {
        Self { id: entry.id_str, size: entry.code_object.len() as u64 }
    }
}

/// Checks each bundle entry ID, and the combination of a bundle's IDs.
pub(super) fn names<'e>(
    report: &mut Report,
    subject: Subject<'_, '_>,
    entries: impl Iterator<Item = Entry<'e>>,
) {
    let (mut seen, mut ids) = (BTreeSet::new(), Vec::new());
    for entry in entries {
        let id = match EntryId::parse(entry.id) {
            Ok(id) => id,
            Err(_) if EntryId::sycl_target(entry.id).is_some() => continue,
            Err(error) => {
                report.finding(Check::EntryId, subject.entry(entry.id), error.to_string());
                continue;
            }
        };
        name(report, subject.entry(entry.id), &id);
        if entry.size == 0 && !id.is_host() {
            // With -fgpu-rdc, clang writes empty entries into objects that contain no device code.
            report.note(Check::Image, subject.entry(entry.id), "it is empty");
        }
        let target = id.target_id().map_or(id.target().to_owned(), |target| target.to_canonical());
        if !seen.insert(format!("{}-{}-{target}", id.kind(), id.triple())) {
            report.finding(
                Check::Duplicate,
                subject.entry(entry.id),
                "an earlier entry is for the same target",
            );
        }
        ids.push(entry.id);
    }
    if let Some((a, b)) = Composition::find_conflict(ids) {
        let text = format!(
            "it cannot be combined with {}: some devices fit both",
            crate::text::escaped_str(&a)
        );
        report.finding(Check::Composition, subject.entry(&b), text);
    }
}

fn name(report: &mut Report, subject: Subject<'_, '_>, id: &EntryId<'_>) {
    // HIP's first compilers wrote the kind `hcc`, which runtimes still accept.
    if !id.is_known_kind() && !id.is_hip() && !id.is_sycl() {
        let text =
            format!("no tool reads the offload kind '{}'", crate::text::escaped_str(id.kind()));
        report.finding(Check::EntryId, subject, text);
    }
    if !id.triple().is_amdgpu() {
        return;
    }
    if id.target().is_empty() {
        report.finding(Check::EntryId, subject, "it names no processor");
        return;
    }
    match TargetId::parse(id.target()) {
        Err(error) => report.finding(Check::EntryId, subject, error.to_string()),
        Ok(target) => {
            if let Some(feature) = target.unsupported_feature() {
                let text =
                    format!("{} does not support the feature '{feature}'", target.processor());
                report.finding(Check::EntryId, subject, text);
            }
        }
    }
}

/// Checks the requirements that HIP's runtime has for its bundles: those in `.hip_fatbin`, and
/// those with entries of kind `hipv4`, which compilers use only for HIP. The purpose of other
/// bundles is unknown.
pub(super) fn hip(report: &mut Report, subject: Subject<'_, '_>, bundle: &Bundle<'_>, form: Form) {
    let is_compressed = form != Form::Plain;
    let ids = || bundle.entries().filter_map(|entry| entry.id().ok());
    let has_hip = ids().any(|id| id.is_hip());
    if !has_hip || !ids().all(|id| id.is_hip() || id.is_host()) {
        return;
    }
    let in_program = is_hip_section(&subject.container.place);
    let is_for_runtime = in_program || ids().any(|id| id.kind() == "hipv4");
    let first = bundle.entries().next();
    if !first.is_some_and(|entry| {
        entry.id().is_ok_and(|id| id.is_host()) && entry.code_object.is_empty()
    }) {
        report.add_if(
            is_for_runtime,
            Check::HipHost,
            subject,
            "its first entry is not an empty entry for the host",
        );
    }
    if is_compressed {
        let needs = Needs { form, ..Needs::default() };
        let is_finding = is_for_runtime && !needs.is_for_hip();
        report.add_if(is_finding, Check::Loader, subject, needs.to_string());
    }
    let start = subject.container.place.offset;
    // A member of an archive may start at any offset, so do not check its alignment.
    let is_placed = in_program && !is_compressed && subject.container.place.member.is_none();
    if is_placed && !start.is_multiple_of(HIP_ALIGN) {
        // This is only a note, because clang-linker-wrapper 22 leaves the alignment to the linker.
        report.note(
            Check::Alignment,
            subject,
            format!("it starts at {start}, which is not a multiple of {HIP_ALIGN}"),
        );
    }
    let table = bundle.table().size();
    if table > HIP_TABLE_LIMIT && !is_compressed {
        let text = format!(
            "the entry table has {table} bytes, but the runtime reads only {HIP_TABLE_LIMIT}"
        );
        report.finding(Check::HipTable, subject, text);
    }
    for entry in bundle.entries() {
        let Ok(id) = entry.id() else { continue };
        if id.is_host() || entry.code_object.is_empty() {
            continue;
        }
        let subject = subject.entry(entry.id_str);
        if !is_spelled_for_hip(&id, entry.id_str) {
            let is_finding = id.kind() == "hipv4";
            let text = format!(
                "the runtime expects the name {HIP_ENTRY_PREFIX}{}",
                canonical(id.target())
            );
            report.add_if(is_finding, Check::HipEntry, subject, text);
        }
        if !entry.offset.is_multiple_of(HIP_ALIGN) && !is_compressed {
            let text =
                format!("it starts at {}, which is not a multiple of {HIP_ALIGN}", entry.offset);
            report.add_if(is_for_runtime, Check::Alignment, subject, text);
        }
    }
}

/// Whether a place is the section with the bundles that a program passes to HIP's runtime.
fn is_hip_section(place: &Place<'_>) -> bool {
    let text = |name: Option<&[u8]>| String::from_utf8_lossy(name.unwrap_or_default()).into_owned();
    let (segment, section) = (text(place.segment), text(place.section));
    let formats = match place.segment {
        Some(_) => &[ObjectFormat::MachO][..],
        None => &[ObjectFormat::Elf, ObjectFormat::Coff],
    };
    formats.iter().any(|format| SectionNames::HIP_FATBIN.matches(*format, &segment, &section))
}

fn is_spelled_for_hip(id: &EntryId<'_>, text: &str) -> bool {
    if id.target() == amdgpu::SPIRV {
        return true;
    }
    // The runtime compares kind and triple byte by byte, and expects sramecc before xnack.
    let (_, prefix) = HIP_ENTRY_PREFIX.split_once('-').unwrap_or_default();
    let rest = text.strip_prefix(id.kind()).and_then(|rest| rest.strip_prefix('-'));
    rest.and_then(|rest| rest.strip_prefix(prefix))
        .is_some_and(|target| target == canonical(target))
}

/// Returns a valid target ID in canonical form, but keeps an alias of the processor's name.
fn canonical(target: &str) -> String {
    let Ok(id) = TargetId::parse(target) else { return target.to_owned() };
    id.to_canonical().replacen(id.primary_processor(), id.processor(), 1)
}
