//! An image's requirements on its loader, other than those of its code. The loader must be able to
//! read the form that a container stores the image in, and support the toolkit that wrote it.
//!
//! | form | minimum loader | source |
//! |---|---|---|
//! | compressed with zstd in a fatbin | driver 550.54.14, for CUDA 12.4 | RAPIDS' page on fatbin compression (26.10); driver 535 refuses such an image (ollama, pull request 16895) |
//! | compressed bundle, version 1 | no release of HIP | ROCm's clr reads the size at the offset of version 2, and crashes (clr, issue 99) |
//! | compressed bundle, version 2 | ROCm 6.2 | clr: the tag rocm-6.2.0 reads this version, rocm-6.1.2 does not |
//! | compressed bundle, version 3 | ROCm 7.0 | clr passes the bundle to comgr; LLVM 20, which is in ROCm 7.0 but not in ROCm 6.4, reads this version (clang's release notes); not tested |
//! | kernel pack | ROCm 7.12 | rocm-systems, pull request 2622 of January 2026, which is in TheRock's tag therock-7.12 but not in therock-7.11 |
//!
//! No minimum is known for any other form. No vendor's loader reads offload binaries.

use core::fmt;

/// The form in which a container stores an image.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Form {
    /// The image's own bytes, or a form that all current loaders read.
    #[default]
    Plain,
    /// Compressed with zstd in a fatbin.
    ZstdInFatbin,
    /// In a compressed bundle of this version.
    CompressedBundle(u16),
    /// In a kernel pack.
    // Not `KernelPack`, because rustc would then show offload-gpu's `KernelPack` by its full path.
    Kpack,
}

/// A version higher than any loader's, in the format of `cuDriverGetVersion`.
const NEVER: u32 = u32::MAX;

/// An image's requirements on its loader, other than those of its code.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Needs {
    /// The form in which the container stores the image.
    pub form: Form,
    /// The version of the CUDA toolkit that wrote the image, times ten, if the image is a cubin
    /// that records it.
    pub toolkit: Option<u32>,
    /// A part that ROCm's loaders need but the code object lacks, if one is known.
    pub lacks: Option<&'static str>,
}

impl Needs {
    /// Returns the minimum CUDA driver, in the format of `cuDriverGetVersion`; 0 if any driver is
    /// enough.
    ///
    /// Since CUDA 11, a driver runs machine code from all toolkits of its major version; an older
    /// driver runs machine code only from its own version. Source: NVIDIA's "CUDA Compatibility"
    /// (release 590), "Minor Version Compatibility".
    #[inline]
    pub(crate) fn cuda(self) -> u32 {
        let of_form = if self.form == Form::ZstdInFatbin { 12040 } else { 0 };
        let of_toolkit = match self.toolkit.unwrap_or(0) {
            toolkit @ 110.. => toolkit / 10 * 1000,
            toolkit => toolkit / 10 * 1000 + toolkit % 10 * 10,
        };
        of_form.max(of_toolkit)
    }

    /// Returns the minimum ROCm version in CUDA's format: 6020 for 6.2, and 0 if any is enough.
    #[inline]
    pub(crate) fn rocm(self) -> u32 {
        match self.form {
            Form::Plain | Form::ZstdInFatbin => 0,
            Form::CompressedBundle(1) => NEVER,
            Form::CompressedBundle(2) => 6020,
            Form::CompressedBundle(_) => 7000,
            Form::Kpack => 7120,
        }
    }

    /// Whether any release of HIP's runtime loads an image with these needs.
    #[inline]
    pub fn is_for_hip(self) -> bool {
        self.rocm() != NEVER && self.lacks.is_none()
    }
}

impl fmt::Display for Needs {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(part) = self.lacks {
            return write!(
                f,
                "it has no {part}, which ROCm's loaders need; the file may be stripped"
            );
        }
        let text = |version: u32| alloc::format!("{}.{}", version / 1000, version % 1000 / 10);
        match self.form {
            Form::CompressedBundle(1) => f.write_str(
                "in a compressed bundle of version 1, which HIP's runtime does not read",
            ),
            Form::CompressedBundle(version) => {
                write!(f, "in a compressed bundle of version {version}")
            }
            Form::Kpack => f.write_str("in a kernel pack"),
            Form::ZstdInFatbin if self.cuda() == 12040 => f.write_str("compressed with zstd"),
            _ => {
                let toolkit = self.toolkit.unwrap_or(0);
                write!(f, "machine code from CUDA {}.{}", toolkit / 10, toolkit % 10)
            }
        }?;
        match (self.cuda(), self.rocm()) {
            (0, 0 | NEVER) => Ok(()),
            (0, rocm) => write!(f, ", which needs ROCm {} or later", text(rocm)),
            (cuda, _) => write!(f, ", which needs CUDA driver {} or later", text(cuda)),
        }
    }
}
