//! Selection of an image for a device, with the reason why each other image was not chosen.
//!
//! | device | what fits, best first |
//! |---|---|
//! | AMD | an image for its processor, each named feature in the device's state (more named features first); then for its generic target, which takes code object version 6, features alike; then SPIR-V |
//! | NVIDIA | cubins of the same major compute capability, minor not higher than the device's, highest first, and none between Tegra GPUs (5.3, 6.2, 7.2, 8.7, 11.0) and others; for one number `a`, then `f`, then plain, where `a` runs on exactly that number and `f` on its family: the same major, minor not lower, and 10.1 in that of 11.0, its name since CUDA 13; then PTX, highest first and with the letters alike, if not above the device and if the driver knows its ISA version |
//! | Intel | SPIR-V, if the driver takes its version and the device has the features that it needs, such as `double` |
//! | CPU | an image for this program's architecture, system and C library |
//!
//! [`is_before`] decides which of two images that fit is chosen. If two images fit equally well,
//! the image with the newer PTX ISA or the older code object version is first. After that, the
//! label that is first in alphabetical order decides. The position in the file matters only if the
//! rules find no difference between two images.
//!
//! The rules do not assume a feature that a device does not report: `gfx90a:xnack-` does not fit
//! `gfx90a`. If a fact about an image is unknown, such as the version of PTX, the image is not
//! refused because of that fact.
//!
//! [`DeviceInfo::check_loader`] compares [`Needs`] with the device's driver, if that is known: zstd
//! in a fatbin needs the driver of CUDA 12.4, and machine code of CUDA 13 that of CUDA 13.0. HIP's
//! runtime reads no compressed bundle of version 1, and no stripped code object. The table with its
//! sources is in `target/loader.rs`.
//!
//! ```
//! # use offload_format::select::{Candidate, select};
//! # use offload_format::target::{ImageCode, TargetId};
//! use offload_format::DeviceInfo;
//! # #[derive(Debug)] struct Named(&'static str);
//! # impl Candidate for Named {
//! #     fn code(&self) -> ImageCode<'_> { ImageCode::Amdgpu { id: TargetId::parse(self.0).unwrap(), version: Some(6) } }
//! #     fn label(&self) -> &str { self.0 }
//! # }
//! # let images = ["gfx90a:xnack-", "gfx90a:xnack+", "gfx11-generic"].map(Named);
//!
//! let device = DeviceInfo::hip("gfx90a:sramecc+:xnack-").unwrap();
//! let choice = select(&images, &device).unwrap();
//! assert_eq!(choice.to_string(), "gfx90a:xnack-: made for this processor in this mode");
//!
//! let error = select(&images, &DeviceInfo::parse("Radeon VII").unwrap()).unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "no image for Radeon VII (gfx906)
//!   gfx90a:xnack-  code for another processor
//!   gfx90a:xnack+  code for another processor
//!   gfx11-generic  code for another family of processors
//! to run on this device, add \"gfx906\" to the targets in build.rs"
//! );
//! ```
//!
//! Sources: LLVM's AMDGPUUsage, "Target ID" and "Generic processors"; ROCm's HIP runtime (clr,
//! 2026) for generic targets and SPIR-V; CUDA programming guide 13, "Compute Capabilities" and
//! "Compatibility"; CUDA C++ programming guide 13.0, "Binary Compatibility", for Tegra; PTX ISA
//! 9.1, release history. The vendors' own programs may choose differently: docs/formats.md,
//! "Selection".

mod amdgpu;
mod choice;
mod cpu;
mod device;
mod error;
mod fit;
mod intel;
mod nvidia;

pub use choice::Choice;
pub use device::DeviceInfo;
pub use error::{Advice, SelectError};
pub use fit::{Fit, Refusal};
pub use nvidia::ComputeCapability;

use crate::target::{ImageCode, Needs, ParseError};
use alloc::string::ToString;
use amdgpu::AmdGpu;
use core::cmp::Ordering;
use cpu::Cpu;
use device::{DeviceName, InMessages};
use fit::Unfit;
use intel::IntelGpu;
use nvidia::NvidiaGpu;

/// A device of each vendor, with what the vendor's rules compare. A vendor's file has the type;
/// only this enum lists the vendors.
#[derive(Debug, Clone, PartialEq, Eq)]
enum VendorDevice {
    Amd(AmdGpu),
    Nvidia(NvidiaGpu),
    Intel(IntelGpu),
    Cpu(Cpu),
}

impl VendorDevice {
    /// Asks each vendor whether the text names one of its devices.
    #[inline]
    fn parse(named: &DeviceName<'_>) -> Option<Result<Self, ParseError>> {
        let amd = || Some(AmdGpu::parse(named)?.map(Self::Amd));
        let nvidia = || Some(NvidiaGpu::parse(named)?.map(Self::Nvidia));
        let intel = || Some(IntelGpu::parse(named)?.map(Self::Intel));
        let cpu = || Some(Cpu::parse(named)?.map(Self::Cpu));
        nvidia().or_else(intel).or_else(amd).or_else(cpu)
    }

    fn device(&self) -> &dyn InMessages {
        match self {
            Self::Amd(device) => device,
            Self::Nvidia(device) => device,
            Self::Intel(device) => device,
            Self::Cpu(device) => device,
        }
    }

    // The compiler inlines this function and its callees into `select`. There it removes the
    // reasons for refusals, which `select` does not read; this halves the time of `select`.
    #[inline(always)]
    fn judge<'a>(&self, code: ImageCode<'a>) -> Result<Fit, Unfit<'a>> {
        match self {
            Self::Amd(device) => device.judge(code),
            Self::Nvidia(device) => device.judge(code),
            Self::Intel(device) => device.judge(code),
            Self::Cpu(device) => device.judge(code),
        }
    }
}

impl DeviceInfo {
    /// Checks whether the device's loader loads an image with these needs, whatever its code.
    ///
    /// Returns the reason if it does not. Programs need not ask for images of packs, which have no
    /// needs of this kind.
    #[inline]
    pub fn check_loader(&self, needs: Needs) -> Result<(), Refusal> {
        let loads = match &self.of_vendor {
            VendorDevice::Amd(_) => needs.is_for_hip(),
            VendorDevice::Nvidia(gpu) => gpu.loads(needs),
            VendorDevice::Intel(_) | VendorDevice::Cpu(_) => true,
        };
        if loads { Ok(()) } else { Err(Refusal::NotLoaded(needs.to_string())) }
    }
}

/// An image that [`select`] can choose.
pub trait Candidate {
    /// Returns the properties of the image that the rules compare.
    fn code(&self) -> ImageCode<'_>;
    /// Returns the image's name in messages: `gfx90a:xnack-`, `sm_80`.
    fn label(&self) -> &str;
}

impl<I: Candidate + ?Sized> Candidate for &I {
    fn code(&self) -> ImageCode<'_> {
        (**self).code()
    }

    fn label(&self) -> &str {
        (**self).label()
    }
}

/// Checks whether an image runs on a device: returns how well it fits, or why it does not fit.
pub fn judge<I: Candidate + ?Sized>(image: &I, device: &DeviceInfo) -> Result<Fit, Refusal> {
    device.of_vendor.judge(image.code()).map_err(Unfit::into_owned)
}

/// Whether `image` is chosen before `other`, in whatever order a list contains them; both must fit
/// the same device. Returns `false` for images that are equal in everything that the rules compare.
pub fn is_before<I: Candidate + ?Sized>(image: (&I, &Fit), other: (&I, &Fit)) -> bool {
    let by_fit = image.1.rank().cmp(&other.1.rank());
    by_fit.then_with(|| by_name(image.0, other.0).reverse()) == Ordering::Greater
}

/// Returns the image that fits worst, of images that a device needs together, such as the parts
/// that NVIDIA's driver links. Returns `None` if there are none.
#[inline]
pub fn worst<T>(needed: impl Iterator<Item = (T, Fit)>) -> Option<(T, Fit)> {
    needed.reduce(|worst, other| if worst.1.is_better_than(&other.1) { other } else { worst })
}

/// Compares the labels. If they are equal, compares the parts of the target that labels may omit.
fn by_name<I: Candidate + ?Sized>(a: &I, b: &I) -> Ordering {
    a.label().cmp(b.label()).then_with(|| a.code().sort_key().cmp(&b.code().sort_key()))
}

/// Returns the best image for a device. Allocates nothing if an image fits.
///
/// If no image fits, returns an error that lists every image with the reason why it was refused.
pub fn select<I: Candidate>(
    images: impl IntoIterator<Item = I, IntoIter: Clone>,
    device: &DeviceInfo,
) -> Result<Choice<I>, SelectError<I>> {
    let images = images.into_iter();
    let mut best: Option<Choice<I>> = None;
    for image in images.clone() {
        if let Ok(fit) = device.of_vendor.judge(image.code())
            && best
                .as_ref()
                .is_none_or(|best| is_before((&image, &fit), (best.image(), best.fit())))
        {
            best = Some(Choice::new(image, fit));
        }
    }
    best.ok_or_else(|| {
        SelectError::refused_all(
            device,
            images.filter_map(|image| judge(&image, device).err().map(|refusal| (image, refusal))),
        )
    })
}

#[cfg(test)]
mod tests;
