//! Applies the selection rules for a device to a file's images.

use crate::describe::Named;
use offload_format::image::{CubinHeader, spirv_in_offload_binary};
use offload_format::inventory::{ContainerKind, Image, ImageKind, Images, Inventory};
use offload_format::select::{Advice, Candidate, DeviceInfo, Fit, Refusal, is_before, judge};

/// The result of the selection rules for an image.
pub(in crate::offload) enum Verdict<'i> {
    Fits(Fit, Named<'i>),
    Refused(Refusal, Named<'i>),
    /// No vendor's driver loads the image, because it is empty, meant for compilers, or unreadable,
    /// as the text says.
    Nothing(&'static str),
}

pub(in crate::offload) type Verdicts<'i, 'a> = Vec<(&'i Image<'a>, Verdict<'i>)>;

/// Returns a file's images as candidates for the selection rules or, for an image to which the
/// rules cannot be applied, the reason. Omits an empty entry for the host in a bundle.
///
/// With `toolkits`, reads cubins completely, to find the toolkits that wrote them.
pub(in crate::offload) fn named<'i, 'a>(
    inventory: &'i Inventory<'a>,
    images: &mut Images<'a>,
    toolkits: bool,
    failed: &mut dyn FnMut(&Image<'a>, offload_format::Error),
) -> Vec<(&'i Image<'a>, Result<Named<'i>, &'static str>)> {
    let mut all = Vec::with_capacity(inventory.images.len());
    for image in &inventory.images {
        let named = if image.known_kind() == Some(ImageKind::Empty) {
            if image.is_host() {
                continue;
            }
            Err("it is empty")
        } else {
            let is_other_offload_binary = |bytes: &[u8]| {
                ContainerKind::of(bytes) == Some(ContainerKind::OffloadBinary)
                    && spirv_in_offload_binary(bytes).is_none()
            };
            match images.read_unrecorded(image) {
                Ok(Some(bytes)) if is_other_offload_binary(&bytes) => {
                    Err("it is itself an offload binary, whose images no vendor's driver finds")
                }
                Ok(start) => {
                    let start = start.as_deref();
                    let spirv = start.and_then(spirv_in_offload_binary);
                    let mut named = Named::with_bytes(image, spirv.or(start));
                    named.needs.form = inventory.form_of(image);
                    if toolkits && named.is(ImageKind::is_cubin) {
                        let cubin = images.read(image);
                        let toolkit = cubin.and_then(|cubin| CubinHeader::toolkit(&cubin));
                        named.needs.toolkit = toolkit.unwrap_or_else(|error| {
                            failed(image, error);
                            None
                        });
                    }
                    Ok(named)
                }
                Err(error) => {
                    failed(image, error);
                    Err("it cannot be read")
                }
            }
        };
        all.push((image, named));
    }
    all
}

/// Applies the selection rules for a device to a file's images.
pub(in crate::offload) fn judge_all<'i, 'a>(
    inventory: &'i Inventory<'a>,
    images: &mut Images<'a>,
    device: &DeviceInfo,
    failed: &mut dyn FnMut(&Image<'a>, offload_format::Error),
) -> Verdicts<'i, 'a> {
    let verdict = |(image, named): (_, Result<Named<'i>, _>)| {
        let verdict = match named {
            Ok(named) if named.is(ImageKind::is_bitcode) => {
                Verdict::Nothing("it is LLVM bitcode, which no vendor's driver loads")
            }
            Ok(named) => match judge_loaded(&named, device) {
                Ok(fit) => Verdict::Fits(fit, named),
                Err(refusal) => Verdict::Refused(refusal, named),
            },
            Err(reason) => Verdict::Nothing(reason),
        };
        (image, verdict)
    };
    named(inventory, images, device.has_driver(), failed).into_iter().map(verdict).collect()
}

/// Applies the selection rules and the loader's rules to an image.
pub(in crate::offload) fn judge_loaded(
    image: &Named<'_>,
    device: &DeviceInfo,
) -> Result<Fit, Refusal> {
    let fit = judge(image, device)?;
    device.check_loader(image.needs).map(|()| fit)
}

/// Returns the targets to build for a device that none of these images fits.
pub(in crate::offload) fn advice<'v, 'i: 'v, 'a: 'i>(
    verdicts: impl Iterator<Item = &'v (&'i Image<'a>, Verdict<'i>)>,
    device: &DeviceInfo,
) -> Option<Advice> {
    let refused: Vec<(&dyn Candidate, &Refusal)> = verdicts
        .filter_map(|(_, verdict)| match verdict {
            Verdict::Refused(refusal, named) => Some((named as &dyn Candidate, refusal)),
            Verdict::Fits(..) | Verdict::Nothing(_) => None,
        })
        .collect();
    Advice::new(device, &refused)
}

/// Returns the best fit among images that fit.
pub(in crate::offload) fn best<'n, I: Candidate + 'n, T>(
    fitting: impl Iterator<Item = (T, &'n I, Fit)>,
) -> Option<(T, Fit)> {
    let best = fitting.reduce(|best, other| {
        if is_before((other.1, &other.2), (best.1, &best.2)) { other } else { best }
    });
    best.map(|(image, _, fit)| (image, fit))
}
