//! The error returned if selection finds no image.

use super::{Candidate, DeviceInfo, Refusal};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// The error returned if no image fits. Contains the device, plus each image and the reason it was
/// refused. If no images were compared, contains the cause instead: the pack was not built, its
/// images are unknown, the module has no images, or the pack has several modules and the program
/// named none.
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
    /// No images were compared; the string says why.
    NoImages(String),
    SeveralModules(Vec<&'static str>),
}

impl<I> SelectError<I> {
    fn new(device: &DeviceInfo, cause: Cause<I>) -> Self {
        Self(Box::new(Inner { device: device.clone(), cause }))
    }

    /// Returns the error with its images converted to another type by `hold`.
    pub fn map<J>(self, hold: impl Fn(I) -> J) -> SelectError<J> {
        let Inner { device, cause } = *self.0;
        let cause = match cause {
            Cause::Refused(refused) => Cause::Refused(
                refused.into_iter().map(|(image, refusal)| (hold(image), refusal)).collect(),
            ),
            Cause::NoImages(why) => Cause::NoImages(why),
            Cause::SeveralModules(names) => Cause::SeveralModules(names),
        };
        SelectError(Box::new(Inner { device, cause }))
    }

    /// Creates the error for images that were all refused.
    pub(super) fn refused_all(
        device: &DeviceInfo,
        refused: impl Iterator<Item = (I, Refusal)>,
    ) -> Self {
        Self::new(device, Cause::Refused(refused.collect()))
    }

    /// Creates the error for a pack or module without known images; `why` is the reason.
    pub fn no_images(device: &DeviceInfo, why: String) -> Self {
        Self::new(device, Cause::NoImages(why))
    }

    /// Creates the error for a pack with several `modules` if the program named none.
    pub fn several_modules(device: &DeviceInfo, modules: Vec<&'static str>) -> Self {
        Self::new(device, Cause::SeveralModules(modules))
    }

    /// Returns the pack's modules if it has several and the program named none.
    pub fn modules(&self) -> &[&'static str] {
        match &self.0.cause {
            Cause::SeveralModules(modules) => modules,
            Cause::Refused(_) | Cause::NoImages(_) => &[],
        }
    }

    /// Returns each image and the reason it was refused, in file order.
    pub fn refused(&self) -> &[(I, Refusal)] {
        match &self.0.cause {
            Cause::Refused(refused) => refused,
            Cause::NoImages(_) | Cause::SeveralModules(_) => &[],
        }
    }
}

impl<I: Candidate> SelectError<I> {
    /// Returns targets to add to the list in build.rs, such as `sm_75` and `compute_75`; any one of
    /// them yields an image for the device. If an image is for a different mode of the device's
    /// processor, returns a target with the same features, because no other may be built together
    /// with that image. Returns no targets if none would help, for example because the device does
    /// not report a feature, or because the build was for a different CPU. Also returns no targets
    /// if no images were compared, because the reason may not be a missing target.
    pub fn targets_to_add(&self) -> Vec<String> {
        targets_to_add(&self.0.device, &self.refused_images())
    }

    /// Returns each image and the reason it was refused, in a form independent of the images' type.
    fn refused_images(&self) -> Vec<RefusedImage<'_>> {
        self.refused().iter().map(|(image, refusal)| (image as &dyn Candidate, refusal)).collect()
    }
}

type RefusedImage<'a> = (&'a dyn Candidate, &'a Refusal);

// The functions below have no type parameters, so programs need not compile them for each image
// type.

fn targets_to_add(device: &DeviceInfo, refused: &[RefusedImage<'_>]) -> Vec<String> {
    if refused.is_empty() {
        return Vec::new();
    }
    let is_final = |refusal: &Refusal| {
        matches!(
            refusal,
            Refusal::OtherHost(_)
                | Refusal::SpirvTooNew { .. }
                | Refusal::SpirvNeeds(_)
                | Refusal::NotLoaded(_)
        )
    };
    if refused.iter().any(|(_, refusal)| is_final(refusal)) {
        return Vec::new();
    }
    let device = device.of_vendor.device();
    let mut beside = refused.iter().filter_map(|(image, _)| device.targets_beside(image.code()));
    beside.next().unwrap_or_else(|| device.targets())
}

/// Prints why no images were compared.
fn write_reason(f: &mut fmt::Formatter<'_>, device: &DeviceInfo, why: &str) -> fmt::Result {
    write!(f, "no image for {device}: {why}")
}

fn write_modules(f: &mut fmt::Formatter<'_>, modules: &[&str]) -> fmt::Result {
    write!(f, "the pack has {} modules, each with its own images", modules.len())?;
    let mut before = ": ";
    for module in modules {
        write!(f, "{before}{module}")?;
        before = ", ";
    }
    let first = modules.first().unwrap_or(&"");
    write!(f, ". Select from one module, as in PACK.module(\"{first}\").select(...)")
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
    match Advice::new(device, refused) {
        Some(advice) => write!(f, "\n{advice} to the targets in build.rs"),
        None => Ok(()),
    }
}

/// The start of the advice given if all images were refused, such as
/// `to run on this device, add "sm_75" or "compute_75"`.
#[derive(Debug)]
pub struct Advice(Vec<String>);

impl Advice {
    /// Returns the advice for a device, based on [`SelectError::targets_to_add`]; `None` if no
    /// target would help.
    pub fn new(device: &DeviceInfo, refused: &[(&dyn Candidate, &Refusal)]) -> Option<Self> {
        Some(targets_to_add(device, refused)).filter(|targets| !targets.is_empty()).map(Self)
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = "to run on this device, add";
        for target in &self.0 {
            write!(f, "{before} \"{target}\"")?;
            before = " or";
        }
        Ok(())
    }
}

impl<I: Candidate> fmt::Display for SelectError<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { device, cause } = &*self.0;
        match cause {
            Cause::NoImages(why) => write_reason(f, device, why),
            Cause::SeveralModules(modules) => write_modules(f, modules),
            Cause::Refused(refused) if refused.is_empty() => {
                write_reason(f, device, "there are no images")
            }
            Cause::Refused(_) => write_refused(f, device, &self.refused_images()),
        }
    }
}

/// Prints the same text as `Display`, because Rust prints an error returned from `main` with
/// `Debug`.
impl<I: Candidate> fmt::Debug for SelectError<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<I: Candidate> core::error::Error for SelectError<I> {}
