//! Checks the data that a program passes to its runtime.

use super::check::{Check, Finding, Report};
use offload_format::fat_file::{Wrapper, WrapperKind, wrappers};
use offload_format::image::ImageHeader;
use offload_format::kpack::KpackReference;
use offload_format::{bundle, compressed, nv_fatbin};

/// Checks the pointers in the structures that register a program's device code.
pub(super) fn check(report: &mut Report, file: &[u8]) {
    wrappers(file, |wrapper| {
        let whose = match wrapper.kind {
            WrapperKind::Hip | WrapperKind::HipKpack => " for HIP's runtime",
            WrapperKind::Cuda => " for CUDA's runtime",
            _ => "",
        };
        if let Some(text) = fault(&wrapper) {
            report.findings.push(Finding {
                // Sort this finding after the findings about containers.
                at: u64::MAX,
                place: format!("wrapper at {}{whose}: ", wrapper.offset),
                check: Check::Wrapper,
                text,
                is_note: false,
            });
        }
    });
}

/// Returns why the runtime does not register a wrapper.
fn fault(wrapper: &Wrapper<'_>) -> Option<String> {
    let starts = |image: &[u8], magics: &[&[u8]]| magics.iter().any(|it| image.starts_with(it));
    let is_hip = matches!(wrapper.kind, WrapperKind::Hip | WrapperKind::HipKpack);
    if is_hip && wrapper.version != 1 {
        let version = wrapper.version;
        return Some(format!("its version is {version}, but the runtime registers only version 1"));
    }
    // If the wrapper points to an image in an object that is linked later, this file does not
    // contain the image, so check nothing.
    let image = wrapper.image?;
    let is_there = match wrapper.kind {
        // Besides a bundle, HIP's runtime also accepts a single code object.
        WrapperKind::Hip => {
            starts(image, &[bundle::MAGIC, &compressed::MAGIC])
                || matches!(ImageHeader::parse(image), Ok(ImageHeader::CodeObject(_)))
        }
        WrapperKind::HipKpack => KpackReference::parse(image).is_ok(),
        WrapperKind::Cuda => starts(image, &[&nv_fatbin::MAGIC]),
        _ => return Some("no runtime recognizes its magic number".to_owned()),
    };
    let start: Vec<String> = image.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let text = || {
        format!(
            "the data that it points to starts with {}, which is not device code",
            start.join(" ")
        )
    };
    (!is_there).then(text)
}
