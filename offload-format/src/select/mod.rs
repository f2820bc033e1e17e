//! Which image a device gets, and why not the others.
//!
//! One set of rules, a total order: of the images that fit, the one with the best [`Fit`] wins; of equal ones, the first.
//!
//! | device | what fits, best first |
//! |---|---|
//! | AMD | an image for its processor, each named feature in the device's state (more named features first); its generic target (code object version 6), features alike; SPIR-V |
//! | NVIDIA | cubins of the same major compute capability, minor not higher than the device's, highest first (for one number `a`, then `f`, then plain; `a` runs on exactly that number, `f` on its family); then PTX, highest first, if not above the device and if the driver knows its ISA version |
//! | CPU | an image for the host's architecture, system and environment |
//!
//! Sources: LLVM's AMDGPUUsage, "Target ID" and "Generic processors"; ROCm's HIP runtime (clr, 2026) for generic targets
//! and SPIR-V; CUDA programming guide 13, "Compute Capabilities" and "Compatibility"; PTX ISA 9.1, release history.

mod amdgpu;
mod cpu;
mod device;
mod fit;
mod nvidia;

pub use device::Device;
pub use fit::{Fit, Refusal};

use crate::target::{NvidiaArch, PtxVersion, TargetId, TargetTriple};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Deref;
use device::Inner;

/// What the rules need to know of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code<'a> {
    /// An AMD code object, or SPIR-V for AMD GPUs.
    Amdgpu {
        /// What it was made for.
        id: TargetId<'a>,
        /// Its code object version, where known.
        version: Option<u32>,
    },
    /// NVIDIA machine code.
    Cubin(NvidiaArch),
    /// PTX.
    Ptx {
        /// What it was made for.
        arch: NvidiaArch,
        /// Its PTX ISA version, where known.
        version: Option<PtxVersion>,
    },
    /// A shared object for the CPU.
    Cpu(TargetTriple<'a>),
    /// Something that no device of this crate runs.
    Other,
}

/// An image that can be chosen.
pub trait Candidate {
    /// What it is, for the rules.
    fn code(&self) -> Code<'_>;
    /// Its name in messages: `gfx90a:xnack-`, `sm_80`.
    fn label(&self) -> &str;
}

impl<I: Candidate + ?Sized> Candidate for &I {
    fn code(&self) -> Code<'_> {
        (**self).code()
    }

    fn label(&self) -> &str {
        (**self).label()
    }
}

/// Whether an image runs on a device: how well it fits, or why it does not.
pub fn judge<I: Candidate + ?Sized>(image: &I, device: &Device) -> Result<Fit, Refusal> {
    match (&device.0, image.code()) {
        (Inner::Hip(name), Code::Amdgpu { id, version }) => amdgpu::judge(id, version, name),
        (Inner::Cuda { major, minor, .. }, Code::Cubin(arch)) => nvidia::judge_cubin(arch, *major, *minor),
        (Inner::Cuda { major, minor, driver }, Code::Ptx { arch, version }) => {
            nvidia::judge_ptx(arch, version, *major, *minor, *driver)
        }
        (Inner::Cpu, Code::Cpu(triple)) => cpu::judge(triple),
        (_, Code::Amdgpu { .. }) => Err(Refusal::OtherKindOfDevice("an AMD GPU")),
        (_, Code::Cubin(_) | Code::Ptx { .. }) => Err(Refusal::OtherKindOfDevice("an NVIDIA GPU")),
        (_, Code::Cpu(_)) => Err(Refusal::OtherKindOfDevice("a CPU")),
        (_, Code::Other) => Err(Refusal::NotUnderstood),
    }
}

/// The best image for a device.
///
/// Returns an error that lists every image with the reason why it was refused, if none fits.
pub fn select<I: Candidate>(images: impl IntoIterator<Item = I>, device: &Device) -> Result<Choice<I>, SelectError<I>> {
    let mut best: Option<Choice<I>> = None;
    let mut refused = Vec::new();
    for image in images {
        match judge(&image, device) {
            Ok(fit) if best.as_ref().is_none_or(|best| fit.is_better_than(&best.fit)) => {
                best = Some(Choice { image, fit })
            }
            Ok(_) => {}
            Err(refusal) => refused.push((image, refusal)),
        }
    }
    best.ok_or_else(|| SelectError { refused, ..SelectError::none(device) })
}

/// The image that [`select()`] found; it dereferences to the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice<I> {
    image: I,
    fit: Fit,
}

impl<I> Choice<I> {
    /// The image.
    pub fn image(&self) -> &I {
        &self.image
    }

    /// The image, taken out.
    pub fn into_image(self) -> I {
        self.image
    }

    /// Why it fits.
    pub fn fit(&self) -> &Fit {
        &self.fit
    }
}

impl<I> Deref for Choice<I> {
    type Target = I;

    fn deref(&self) -> &I {
        &self.image
    }
}

/// No image fits: the device, and every image with the reason. Or nothing was looked at, since the pack was not built, its
/// images are not known, or it has several modules and none was named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectError<I> {
    device: Device,
    absent: Option<&'static str>,
    closed: Option<&'static str>,
    modules: Vec<&'static str>,
    refused: Vec<(I, Refusal)>,
}

impl<I> SelectError<I> {
    /// The error of a pack that was not built.
    pub(crate) fn absent(device: &Device, why: &'static str) -> Self {
        Self { absent: Some(why), ..Self::none(device) }
    }

    /// The error of a pack whose images are not known, and why.
    pub(crate) fn closed(device: &Device, why: &'static str) -> Self {
        Self { closed: Some(why), ..Self::none(device) }
    }

    fn none(device: &Device) -> Self {
        Self { device: device.clone(), absent: None, closed: None, modules: Vec::new(), refused: Vec::new() }
    }

    /// The error of a pack of these modules, of which none was named.
    pub(crate) fn several(device: &Device, modules: Vec<&'static str>) -> Self {
        Self { modules, ..Self::none(device) }
    }

    /// The device that nothing fits.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Why there are no images, if the pack was not built or they are not known.
    pub fn why_absent(&self) -> Option<&'static str> {
        self.absent.or(self.closed)
    }

    /// The modules of the pack, if it has several and none was named.
    pub fn modules(&self) -> &[&'static str] {
        &self.modules
    }

    /// Every image, in file order, and why it was refused.
    pub fn refused(&self) -> &[(I, Refusal)] {
        &self.refused
    }
}

impl<I: Candidate> SelectError<I> {
    /// What to add to build.rs. Beside an image that is for another mode of the device's processor, only one that names the
    /// same features may stand.
    fn suggestion(&self) -> Option<String> {
        let other_mode = self.refused.iter().find_map(|(image, refusal)| match (refusal, image.code()) {
            (Refusal::Feature { .. }, Code::Amdgpu { id, .. }) => Some(id),
            _ => None,
        });
        match other_mode {
            Some(image) => self.device.suggestion_beside(image),
            None => Some(self.device.suggestion()),
        }
    }
}

impl<I: Candidate> fmt::Display for SelectError<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(first) = self.modules.first() {
            let (count, names) = (self.modules.len(), self.modules.join(", "));
            return write!(
                f,
                "the pack has {count} modules, each with images of its own: {names}; \
                 select from one of them, as in PACK.module(\"{first}\").select(...)"
            );
        }
        write!(f, "no image for {}", self.device)?;
        if let Some(why) = self.absent {
            return write!(f, ": the pack was not built: {why}");
        }
        if let Some(why) = self.closed {
            return write!(f, ": {why}");
        }
        if self.refused.is_empty() {
            return write!(f, ": there are no images");
        }
        let width = self.refused.iter().map(|(image, _)| image.label().len()).max().unwrap_or(0);
        for (image, refusal) in &self.refused {
            write!(f, "\n  {:width$}  {refusal}", image.label())?;
        }
        match self.suggestion() {
            Some(target) => write!(f, "\nto run on this device, add {target} to the targets of build.rs"),
            None => Ok(()),
        }
    }
}

impl<I: Candidate + fmt::Debug> core::error::Error for SelectError<I> {}

#[cfg(test)]
mod tests;
