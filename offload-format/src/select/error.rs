//! Why there is no answer.

use super::{Candidate, Code, Device, Refusal};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// No image fits: the device, and every image with the reason. Or nothing was looked at, since the pack was not built, its
/// images are not known, or it has several modules and none was named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectError<I>(Box<Inner<I>>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Inner<I> {
    device: Device,
    absent: Option<&'static str>,
    closed: Option<&'static str>,
    modules: Vec<&'static str>,
    refused: Vec<(I, Refusal)>,
}

impl<I> SelectError<I> {
    fn new(device: &Device) -> Self {
        let device = device.clone();
        Self(Box::new(Inner { device, absent: None, closed: None, modules: Vec::new(), refused: Vec::new() }))
    }

    /// The error of images that all were refused.
    pub(super) fn refused_all(device: &Device, refused: impl Iterator<Item = (I, Refusal)>) -> Self {
        let mut error = Self::new(device);
        error.0.refused.extend(refused);
        error
    }

    /// The error of a pack that was not built.
    pub(crate) fn absent(device: &Device, why: &'static str) -> Self {
        let mut error = Self::new(device);
        error.0.absent = Some(why);
        error
    }

    /// The error of a pack whose images are not known, and why.
    pub(crate) fn closed(device: &Device, why: &'static str) -> Self {
        let mut error = Self::new(device);
        error.0.closed = Some(why);
        error
    }

    /// The error of a pack of these modules, of which none was named.
    pub(crate) fn several(device: &Device, modules: Vec<&'static str>) -> Self {
        let mut error = Self::new(device);
        error.0.modules = modules;
        error
    }

    /// The device that nothing fits.
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// Why there are no images, if the pack was not built or they are not known.
    pub fn why_absent(&self) -> Option<&'static str> {
        self.0.absent.or(self.0.closed)
    }

    /// The modules of the pack, if it has several and none was named.
    pub fn modules(&self) -> &[&'static str] {
        &self.0.modules
    }

    /// Every image, in file order, and why it was refused.
    pub fn refused(&self) -> &[(I, Refusal)] {
        &self.0.refused
    }
}

impl<I: Candidate> SelectError<I> {
    /// The targets of which any one, added to those that build.rs lists, would make an image for the device: `sm_75` and
    /// `compute_75`. Beside an image that is for another mode of the device's processor, only one that names the same features
    /// may stand. None if no target would help: for a feature that the device does not report, for another CPU than the
    /// build was for. None either if there are no images, since then nobody knows what kept them out.
    pub fn targets_to_add(&self) -> Vec<String> {
        let Inner { device, refused, modules, .. } = &*self.0;
        if self.why_absent().is_some() || !modules.is_empty() || refused.is_empty() {
            return Vec::new();
        }
        let mut other_mode = None;
        for (image, refusal) in refused {
            match (refusal, image.code()) {
                (Refusal::OtherHost(_), _) => return Vec::new(),
                (Refusal::Feature { .. }, Code::Amdgpu { id, .. }) if device.is_processor(id.processor()) => {
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
}

impl<I: Candidate> fmt::Display for SelectError<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { device, absent, closed, modules, refused } = &*self.0;
        if let Some(first) = modules.first() {
            let (count, names) = (modules.len(), modules.join(", "));
            return write!(
                f,
                "the pack has {count} modules, each with images of its own: {names}; \
                 select from one of them, as in PACK.module(\"{first}\").select(...)"
            );
        }
        write!(f, "no image for {device}")?;
        if let Some(why) = absent {
            return write!(f, ": the pack was not built: {why}");
        }
        if let Some(why) = closed {
            return write!(f, ": {why}");
        }
        if refused.is_empty() {
            return write!(f, ": there are no images");
        }
        let width = refused.iter().map(|(image, _)| image.label().len()).max().unwrap_or(0);
        for (image, refusal) in refused {
            write!(f, "\n  {:width$}  {refusal}", image.label())?;
        }
        let mut before = "\nto run on this device, add";
        let targets = self.targets_to_add();
        for target in &targets {
            write!(f, "{before} \"{target}\"")?;
            before = " or";
        }
        if targets.is_empty() { Ok(()) } else { f.write_str(" to the targets of build.rs") }
    }
}

impl<I: Candidate + fmt::Debug> core::error::Error for SelectError<I> {}
