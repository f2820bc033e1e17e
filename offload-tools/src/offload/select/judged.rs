//! Applies the rules of selection for a device to the images of a file.

use crate::describe::Named;
use offload_format::inventory::{Image, ImageKind, Images, Inventory};
use offload_format::select::{Advice, Candidate, DeviceInfo, Fit, Refusal, is_before, judge};

/// The number of bytes that is enough to detect the kind of an image. PTX may start with comments,
/// so a few bytes would not be enough.
const START: u64 = 4096;

/// The result of the rules of selection for an image.
pub(super) enum Verdict<'i> {
    Fits(Fit, Named<'i>),
    Refused(Refusal, Named<'i>),
    /// The image is empty or cannot be read. The text is the reason.
    Nothing(&'static str),
}

pub(super) type Verdicts<'i, 'a> = Vec<(&'i Image<'a>, Verdict<'i>)>;

/// Applies the rules of selection for a device to the images of a file. A bundle's entry for the
/// host is left out if it is empty.
pub(super) fn judge_all<'i, 'a>(
    inventory: &'i Inventory<'a>,
    images: &mut Images<'a>,
    device: &DeviceInfo,
    failed: &mut dyn FnMut(&Image<'a>, offload_format::Error),
) -> Verdicts<'i, 'a> {
    let mut verdicts = Vec::with_capacity(inventory.images.len());
    for image in &inventory.images {
        let verdict = if image.known_kind() == Some(ImageKind::Empty) {
            if image.is_host() {
                continue;
            }
            Verdict::Nothing("there is nothing in it")
        } else {
            match images.start(image, START) {
                Ok(start) => {
                    let named = Named::with_header(image, start.as_deref());
                    match judge(&named, device) {
                        Ok(fit) => Verdict::Fits(fit, named),
                        Err(refusal) => Verdict::Refused(refusal, named),
                    }
                }
                Err(error) => {
                    failed(image, error);
                    Verdict::Nothing("it cannot be read")
                }
            }
        };
        verdicts.push((image, verdict));
    }
    verdicts
}

/// Returns the targets that would help a device for which all these images were refused.
pub(super) fn advice<'v, 'i: 'v, 'a: 'i>(
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

/// Returns the image of a module that fits best.
pub(super) fn best<'i, 'a>(
    verdicts: &[(&'i Image<'a>, Verdict<'i>)],
) -> Option<(&'i Image<'a>, Fit)> {
    let mut best: Option<(&Image<'a>, &Fit, &Named<'i>)> = None;
    for (image, verdict) in verdicts {
        if let Verdict::Fits(fit, named) = verdict
            && best.is_none_or(|(_, best_fit, best)| is_before((named, fit), (best, best_fit)))
        {
            best = Some((*image, fit, named));
        }
    }
    best.map(|(image, fit, _)| (image, *fit))
}
