//! Checks of the data that a program passes to its runtime.

use super::check::{Finding, Report, VerifyCheck};
use offload_format::fat_file::{WrapperKind, wrappers};
use offload_format::image::ImageHeader;
use offload_format::kpack::KpackReference;
use offload_format::{bundle, compressed, nv_fatbin};

/// Checks the pointers in the structures with which a program registers its device code.
pub(super) fn check(report: &mut Report, file: &[u8]) {
    wrappers(file, |wrapper| {
        // The wrapper may point to an image in another object, which is linked later. Then this
        // file does not contain the image, and nothing is checked.
        let Some(image) = wrapper.image() else { return };
        let starts = |magics: &[&[u8]]| magics.iter().any(|magic| image.starts_with(magic));
        let (whose, is_there) = match wrapper.kind() {
            // Besides a bundle, HIP's runtime also accepts a single code object.
            WrapperKind::Hip => (
                "HIP",
                starts(&[bundle::MAGIC, &compressed::MAGIC])
                    || matches!(ImageHeader::parse(image), Ok(ImageHeader::CodeObject(_))),
            ),
            WrapperKind::HipKpack => ("HIP", KpackReference::parse(image).is_ok()),
            WrapperKind::Cuda => ("CUDA", starts(&[&nv_fatbin::MAGIC])),
            _ => return,
        };
        if !is_there {
            let start: Vec<String> =
                image.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
            report.findings.push(Finding {
                // Sorts this finding after the findings about containers.
                at: u64::MAX,
                place: format!("wrapper at {} for {whose}'s runtime: ", wrapper.offset()),
                check: VerifyCheck::Wrapper,
                text: format!(
                    "what it points to starts with {}, which is no device code",
                    start.join(" ")
                ),
                is_note: false,
            });
        }
    });
}
