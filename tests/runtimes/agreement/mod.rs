//! Tests that vendors' programs choose the same images as our rules, for every device that those
//! programs support. Tests with one image show whether the image fits a device. Tests with several
//! images show which image is preferred.
//!
//! docs/formats.md, "Selection", lists the cases in which vendors' programs choose differently.

mod cpu;
mod hip;
mod nvidia;

use offload_format::image::PtxHeader;
use offload_format::select::{Candidate, DeviceInfo, select};
use offload_format::target::{ImageCode, NvidiaArch, NvidiaCode, TargetId};

/// An image that our rules and a vendor's program may choose.
#[derive(Debug, Clone, PartialEq)]
struct Image {
    /// The target: `gfx90a:xnack-`, `sm_90a`, `compute_80`, or a target triple.
    target: String,
    bytes: Vec<u8>,
}

impl Candidate for Image {
    fn code(&self) -> ImageCode<'_> {
        match NvidiaArch::parse(&self.target) {
            Ok(arch) if arch.code == NvidiaCode::Ptx => {
                let header = PtxHeader::parse(&self.bytes).expect("the image is PTX");
                ImageCode::Ptx { arch, version: Some(header.version) }
            }
            Ok(arch) => ImageCode::Cubin(arch),
            Err(_) if self.target.starts_with("gfx") => {
                let id = TargetId::parse(&self.target).expect("a target ID");
                ImageCode::Amdgpu { id, version: Some(hip::CODE_OBJECT_VERSION) }
            }
            Err(_) => ImageCode::Cpu(&self.target),
        }
    }

    fn label(&self) -> &str {
        &self.target
    }
}

/// Returns the image that our rules choose.
fn ours<'i>(
    images: impl IntoIterator<Item = &'i Image, IntoIter: Clone>,
    device: &DeviceInfo,
) -> Option<&'i Image> {
    select(images, device).ok().map(|choice| choice.into_image())
}

/// Asserts that our rules and the vendor's program choose the same image. The message contains
/// `how`, a description of the images and the device.
#[track_caller]
fn assert_same_choice(ours: Option<&Image>, theirs: Option<&str>, how: &str) {
    assert_eq!(ours.map(|image| image.target.as_str()), theirs, "{how}: ours is on the left");
}
