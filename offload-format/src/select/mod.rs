//! Selects the image that fits a device best, or reports why each image does not fit.
//!
//! | device | images that fit, best first |
//! |---|---|
//! | AMD | an image for the device's processor, if every feature that the image names has the same state on the device (more named features first); then an image for the processor's generic target, under the same condition and from code object version 6 on; then SPIR-V |
//! | NVIDIA | cubins of the same major compute capability and no higher minor, highest first, but never a cubin for a Tegra GPU (5.3, 6.2, 7.2, 8.7, 11.0) on a different kind of GPU, or vice versa; for the same number, `a` before `f` before no suffix (`a` runs only on exactly that number; `f` runs on the number's family: the same major and no lower minor; 10.1 belongs to the family of 11.0, its name since CUDA 13); then PTX for a compute capability that is not higher than the device's, highest first, with the same rules for suffixes, if the driver supports the PTX ISA version |
//! | Intel | SPIR-V, if the driver accepts its version and the device has the features that it needs, such as `double` |
//! | CPU | an image for this program's architecture, system and C library |
//!
//! [`is_before`] decides between two images that fit. If both fit equally well, the newer PTX ISA
//! or the older code object version wins, then the label that sorts first alphabetically. The
//! position in the file matters only if the rules find no difference.
//!
//! The rules never assume a feature that a device does not report, so `gfx90a:xnack-` does not fit
//! `gfx90a`. An unknown property, such as the PTX version, is no reason to refuse an image.
//!
//! [`DeviceInfo::check_loader`] compares [`Needs`] with the device's driver, if the driver is
//! known. For example, zstd in a fatbin needs a driver for CUDA 12.4, and machine code from CUDA 13
//! needs a driver for CUDA 13.0. HIP's runtime reads no compressed bundles of version 1 and no
//! stripped code objects. `target/loader.rs` contains the whole table, with its sources.
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
//! 9.1, release history. The vendors' own programs may choose differently (see docs/formats.md,
//! "Selection").

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
use intel::IntelGpu;
use nvidia::NvidiaGpu;

/// A device of any vendor, with the properties that the vendor's rules compare. Each vendor's type
/// is in its own file; only this enum lists the vendors.
#[derive(Debug, Clone, PartialEq, Eq)]
enum VendorDevice {
    Amd(AmdGpu),
    Nvidia(NvidiaGpu),
    Intel(IntelGpu),
    Cpu(Cpu),
}

impl VendorDevice {
    /// Returns the device that the text names; `None` if no vendor recognizes the text.
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

    // With this function and its callees inlined into `select`, the compiler can remove the reasons
    // for refusals, which `select` does not read. This halves the running time of `select`.
    #[inline(always)]
    fn judge<'a, S: From<&'a str>>(&self, code: ImageCode<'a>) -> Result<Fit, Refusal<S>> {
        match self {
            Self::Amd(device) => device.judge(code),
            Self::Nvidia(device) => device.judge(code),
            Self::Intel(device) => device.judge(code),
            Self::Cpu(device) => device.judge(code),
        }
    }
}

impl DeviceInfo {
    /// Checks whether the device's loader accepts an image with these needs, regardless of the
    /// image's code.
    ///
    /// Returns an error with the reason if the loader does not accept the image. Images in packs
    /// have no such needs, so programs need no check.
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
    /// Returns the code of the image, which the rules compare.
    fn code(&self) -> ImageCode<'_>;
    /// Returns the image's name in messages, such as `gfx90a:xnack-` or `sm_80`.
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

/// Checks whether an image runs on a device. Returns how well the image fits, or why it does not
/// fit.
pub fn judge<I: Candidate + ?Sized>(image: &I, device: &DeviceInfo) -> Result<Fit, Refusal> {
    device.of_vendor.judge(image.code())
}

/// Whether `image` is preferred over `other`, regardless of the images' order in a list. Both
/// images must fit the same device. Returns `false` if the rules find no difference.
pub fn is_before<I: Candidate + ?Sized>(image: (&I, &Fit), other: (&I, &Fit)) -> bool {
    let by_fit = image.1.rank().cmp(&other.1.rank());
    by_fit.then_with(|| by_name(image.0, other.0).reverse()) == Ordering::Greater
}

/// Returns the worst-fitting of the images that a device needs together, such as those that
/// NVIDIA's driver links. Returns `None` if there are no images.
#[inline]
pub fn worst<T>(needed: impl Iterator<Item = (T, Fit)>) -> Option<(T, Fit)> {
    needed.reduce(|worst, other| if worst.1.is_better_than(&other.1) { other } else { worst })
}

/// Compares the labels, and then the parts of the target that labels may omit.
fn by_name<I: Candidate + ?Sized>(a: &I, b: &I) -> Ordering {
    a.label().cmp(b.label()).then_with(|| a.code().sort_key().cmp(&b.code().sort_key()))
}

/// Returns the best image for a device. Allocates nothing if an image fits.
///
/// If no image fits, returns an error that lists each image and the reason it was refused.
pub fn select<I: Candidate>(
    images: impl IntoIterator<Item = I, IntoIter: Clone>,
    device: &DeviceInfo,
) -> Result<Choice<I>, SelectError<I>> {
    let images = images.into_iter();
    let mut best: Option<Choice<I>> = None;
    for image in images.clone() {
        if let Ok(fit) = device.of_vendor.judge::<&str>(image.code())
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
