//! Checks images: compares their bytes with the information in their containers.

use super::check::{Check, Report, Subject};
use crate::describe::{KernelRecord, Named};
use offload_format::image;
use offload_format::inventory::{Image, ImageKind};
use offload_format::offload_binary::StatedKind;
use offload_format::select::Candidate;
use offload_format::target::amdgpu;

pub(super) fn check(
    report: &mut Report,
    subject: Subject<'_, '_>,
    image: &Image<'_>,
    bytes: &[u8],
) {
    let parsed = image::ImageHeader::parse(bytes);
    let kind = image.kind(bytes, parsed.ok());
    if kind == ImageKind::Empty {
        return;
    }
    match &parsed {
        Err(error) if kind != ImageKind::Unknown => {
            report.finding(Check::Image, subject, error.to_string())
        }
        // This is only a note, because the format may be private to its producer, or may be
        // obsolete. A separate check covers the images of fatbins.
        Err(_) if !image.is_host() => {
            report.note(Check::Image, subject, "its kind is unknown");
        }
        _ => {}
    }
    recorded_kind(report, subject, image, kind);
    let named = Named::with_header(image, Some(bytes), parsed.ok());
    if let Some(header) = named.contradiction() {
        report.finding(Check::Target, subject, format!("its header says {header}"));
    }
    if let Some(text) = named.unknown_processor() {
        report.note(Check::Target, subject, text);
    }
    code_object(report, subject, image, &named);
    if named.needs.lacks.is_some() {
        report.finding(Check::Loader, subject, named.needs.to_string());
    }
    match KernelRecord::all_of(bytes, parsed.ok()) {
        Ok(kernels) => {
            let container = (subject.number, subject.container);
            let differences =
                report.parameters.compare(container, image, kind, kernels.unwrap_or_default());
            differences.into_iter().for_each(|text| report.note(Check::Parameters, subject, text));
        }
        Err(error) => report.finding(Check::Kernels, subject, error.to_string()),
    }
}

fn code_object(
    report: &mut Report,
    subject: Subject<'_, '_>,
    image: &Image<'_>,
    named: &Named<'_>,
) {
    let header = named.header;
    let Some(version) = header.and_then(|header| header.code_object_version()) else { return };
    if let Some(id) = named.code().target_id()
        && amdgpu::is_generic(id.processor())
        && version < amdgpu::FIRST_GENERIC_VERSION
    {
        let text = format!("it is for a generic target, but has code object version {version}");
        report.finding(Check::Generic, subject, text);
    }
    let written = if version < 4 { "hip" } else { "hipv4" };
    // clang-linker-wrapper also writes the kind `hip` for code object version 4 or later, which
    // runtimes accept.
    if let Some(kind @ ("hip" | "hipv4")) = image.offload_kind.as_deref()
        && kind != written
        && (version < 4 || image.entry_id.is_some())
    {
        let text = format!(
            "its offload kind is {kind}, but clang writes {written} for code object version \
             {version}"
        );
        report.add_if(version < 4, Check::HipVersion, subject, text);
    }
}

/// Checks that an image in a fatbin is of the stated kind.
fn recorded_kind(
    report: &mut Report,
    subject: Subject<'_, '_>,
    image: &Image<'_>,
    kind: ImageKind,
) {
    let Some(recorded) =
        image.said_kind().filter(|kind| *kind != ImageKind::Unknown && *kind != ImageKind::Empty)
    else {
        return;
    };
    if recorded.name() != kind.name() {
        let text = format!(
            "the container says that this image is {}, but its bytes are {}",
            recorded.name(),
            kind.name()
        );
        report.finding(Check::ImageKind, subject, text);
    }
}

/// Checks that an image in an offload binary is of the stated kind.
pub(super) fn stated_kind(
    report: &mut Report,
    subject: Subject<'_, '_>,
    stated: StatedKind,
    bytes: &[u8],
) {
    let found = image::ImageHeader::parse(bytes).ok().and_then(|header| header.kind().stated());
    let Some(found) = found else { return };
    let is_so = match stated {
        // LLVM's tool derives the kind from the file's name, and for most files it writes no kind.
        StatedKind::NONE => true,
        // clang states the kind "object" for cubins, and for bitcode that is not linked yet.
        StatedKind::OBJECT => {
            matches!(
                found,
                StatedKind::OBJECT | StatedKind::CUBIN | StatedKind::BITCODE | StatedKind::SPIRV
            )
        }
        _ => stated == found,
    };
    if !is_so {
        let text =
            format!("the container says that this image is {stated}, but its bytes are {found}");
        report.finding(Check::ImageKind, subject, text);
    }
}
