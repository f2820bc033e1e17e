//! Why there is no answer.

use super::{Candidate, Code, DeviceInfo, Refusal};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// No image fits: the device, and every image with the reason. Or nothing was looked at, since the
/// pack was not built, its images are not known, or it has several modules and none was named.
#[derive(Clone, PartialEq, Eq)]
pub struct SelectError<I>(Box<Inner<I>>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Inner<I> {
    device: DeviceInfo,
    cause: Cause<I>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Cause<I> {
    Refused(Vec<(I, Refusal)>),
    NotBuilt(&'static str),
    UnknownImages(&'static str),
    SeveralModules(Vec<&'static str>),
}

impl<I> SelectError<I> {
    fn new(device: &DeviceInfo, cause: Cause<I>) -> Self {
        Self(Box::new(Inner { device: device.clone(), cause }))
    }

    /// Converts its images to another type.
    pub fn map<J>(self, hold: impl Fn(I) -> J) -> SelectError<J> {
        let Inner { device, cause } = *self.0;
        let cause = match cause {
            Cause::Refused(refused) => Cause::Refused(
                refused.into_iter().map(|(image, refusal)| (hold(image), refusal)).collect(),
            ),
            Cause::NotBuilt(why) => Cause::NotBuilt(why),
            Cause::UnknownImages(why) => Cause::UnknownImages(why),
            Cause::SeveralModules(names) => Cause::SeveralModules(names),
        };
        SelectError(Box::new(Inner { device, cause }))
    }

    /// The error of images that all were refused.
    pub(super) fn refused_all(
        device: &DeviceInfo,
        refused: impl Iterator<Item = (I, Refusal)>,
    ) -> Self {
        Self::new(device, Cause::Refused(refused.collect()))
    }

    /// The error of a pack that was not built, and why.
    pub fn not_built(device: &DeviceInfo, why: &'static str) -> Self {
        Self::new(device, Cause::NotBuilt(why))
    }

    /// The error of a pack whose images are not known, and why.
    pub fn unknown_images(device: &DeviceInfo, why: &'static str) -> Self {
        Self::new(device, Cause::UnknownImages(why))
    }

    /// The error of a pack with these modules, none of which was named.
    pub fn several_modules(device: &DeviceInfo, modules: Vec<&'static str>) -> Self {
        Self::new(device, Cause::SeveralModules(modules))
    }

    /// The device that nothing fits.
    pub fn device(&self) -> &DeviceInfo {
        &self.0.device
    }

    /// Why there are no images, if the pack was not built or they are not known.
    pub fn why_absent(&self) -> Option<&'static str> {
        match &self.0.cause {
            Cause::NotBuilt(why) | Cause::UnknownImages(why) => Some(why),
            Cause::Refused(_) | Cause::SeveralModules(_) => None,
        }
    }

    /// The modules of the pack, if it has several and none was named.
    pub fn modules(&self) -> &[&'static str] {
        match &self.0.cause {
            Cause::SeveralModules(modules) => modules,
            Cause::Refused(_) | Cause::NotBuilt(_) | Cause::UnknownImages(_) => &[],
        }
    }

    /// Every image, in file order, and why it was refused.
    pub fn refused(&self) -> &[(I, Refusal)] {
        match &self.0.cause {
            Cause::Refused(refused) => refused,
            Cause::NotBuilt(_) | Cause::UnknownImages(_) | Cause::SeveralModules(_) => &[],
        }
    }
}

impl<I: Candidate> SelectError<I> {
    /// Returns targets; any one of them, added to build.rs's list, would make an image for the
    /// device: `sm_75` and `compute_75`. If an image is for another mode of the device's processor,
    /// only a target with the same features may be beside it. Returns none if no target would help:
    /// for a feature that the device does not report, for another CPU than the build was for.
    /// Returns none, too, if there are no images, since the reason for that is unknown.
    pub fn targets_to_add(&self) -> Vec<String> {
        targets_to_add(&self.0.device, &self.refused_images())
    }

    /// Every image and why it was refused, whatever the type of images is.
    fn refused_images(&self) -> Vec<RefusedImage<'_>> {
        self.refused().iter().map(|(image, refusal)| (image as &dyn Candidate, refusal)).collect()
    }
}

type RefusedImage<'a> = (&'a dyn Candidate, &'a Refusal);

// The functions below have no type parameters: each program would compile them for its own type of
// images.

fn targets_to_add(device: &DeviceInfo, refused: &[RefusedImage<'_>]) -> Vec<String> {
    if refused.is_empty() {
        return Vec::new();
    }
    let mut other_mode = None;
    for (image, refusal) in refused {
        match (refusal, image.code()) {
            (Refusal::OtherHost(_), _) => return Vec::new(),
            (Refusal::Feature { .. }, Code::Amdgpu { id, .. })
                if device.is_processor(id.processor()) =>
            {
                other_mode = other_mode.or(Some(id));
            }
            _ => {}
        }
    }
    match other_mode {
        Some(image) => device.target_beside(image).into_iter().collect(),
        None => device.targets(),
    }
}

/// Prints that nothing was looked at, and why.
fn write_reason(
    f: &mut fmt::Formatter<'_>,
    device: &DeviceInfo,
    why_absent: &dyn fmt::Display,
) -> fmt::Result {
    write!(f, "no image for {device}: {why_absent}")
}

fn write_modules(f: &mut fmt::Formatter<'_>, modules: &[&str]) -> fmt::Result {
    write!(f, "the pack has {} modules, each with images of its own", modules.len())?;
    let mut before = ": ";
    for module in modules {
        write!(f, "{before}{module}")?;
        before = ", ";
    }
    let first = modules.first().unwrap_or(&"");
    write!(f, "; select from one of them, as in PACK.module(\"{first}\").select(...)")
}

fn write_refused(
    f: &mut fmt::Formatter<'_>,
    device: &DeviceInfo,
    refused: &[RefusedImage<'_>],
) -> fmt::Result {
    write!(f, "no image for {device}")?;
    let width = refused.iter().map(|(image, _)| image.label().len()).max().unwrap_or(0);
    for (image, refusal) in refused {
        write!(f, "\n  {:width$}  {refusal}", image.label())?;
    }
    let mut before = "\nto run on this device, add";
    let targets = targets_to_add(device, refused);
    for target in &targets {
        write!(f, "{before} \"{target}\"")?;
        before = " or";
    }
    if targets.is_empty() { Ok(()) } else { f.write_str(" to the targets of build.rs") }
}

impl<I: Candidate> fmt::Display for SelectError<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { device, cause } = &*self.0;
        match cause {
            Cause::NotBuilt(why) => {
                write_reason(f, device, &format_args!("the pack was not built: {why}"))
            }
            Cause::UnknownImages(why) => write_reason(f, device, why),
            Cause::SeveralModules(modules) => write_modules(f, modules),
            Cause::Refused(refused) if refused.is_empty() => {
                write_reason(f, device, &"there are no images")
            }
            Cause::Refused(_) => write_refused(f, device, &self.refused_images()),
        }
    }
}

/// Prints the same text as `Display`, since a `main` that returns this error prints it with
/// `Debug`.
impl<I: Candidate> fmt::Debug for SelectError<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<I: Candidate> core::error::Error for SelectError<I> {}
