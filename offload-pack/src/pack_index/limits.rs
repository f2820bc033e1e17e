//! The limits of a kernel's launches, and their line in the index.

/// Limits on a kernel's launches, as far as an image states them.
///
/// Source: AMD's metadata of kernels (`AMDGPUUsage`, LLVM 22), the attributes of kernels in cubins,
/// and PTX's directives (PTX ISA 9.0). The project's docs/formats.md describes these formats.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The maximum number of threads in a block (`__launch_bounds__`, `.maxntid`).
    pub max_threads: Option<u64>,
    /// The block size that a launch must have, by dimension (`reqd_work_group_size`, `.reqntid`).
    pub required_block: Option<[u64; 3]>,
    /// The static shared memory of a block in bytes (`__shared__`), to which a launch may add a
    /// dynamic part.
    pub shared_memory: Option<u64>,
    /// The number of threads in a wavefront, for AMD. Images for NVIDIA do not contain this number,
    /// because warps always have 32 threads.
    pub wavefront_size: Option<u64>,
}

impl Limits {
    /// Limits without any known value.
    pub const UNKNOWN: Self =
        Self { max_threads: None, required_block: None, shared_memory: None, wavefront_size: None };

    /// Returns these limits with [`Limits::max_threads`] set to `threads`.
    #[must_use]
    pub const fn with_max_threads(self, threads: u64) -> Self {
        Self { max_threads: Some(threads), ..self }
    }

    /// Returns these limits with [`Limits::required_block`] set to `block`.
    #[must_use]
    pub const fn with_required_block(self, block: [u64; 3]) -> Self {
        Self { required_block: Some(block), ..self }
    }

    /// Returns these limits with [`Limits::shared_memory`] set to `bytes`.
    #[must_use]
    pub const fn with_shared_memory(self, bytes: u64) -> Self {
        Self { shared_memory: Some(bytes), ..self }
    }

    /// Returns these limits with [`Limits::wavefront_size`] set to `threads`.
    #[must_use]
    pub const fn with_wavefront_size(self, threads: u64) -> Self {
        Self { wavefront_size: Some(threads), ..self }
    }

    /// Reads the words of a line: `threads=256 block=8,4,1 shared=1024 wavefront=64`.
    #[inline]
    pub(super) fn parse(words: &str) -> Option<Self> {
        words.split(' ').try_fold(Self::UNKNOWN, |limits, word| {
            let (name, value) = word.split_once('=')?;
            Some(match name {
                "threads" => limits.with_max_threads(value.parse().ok()?),
                "block" => {
                    let (x, rest) = value.split_once(',')?;
                    let (y, z) = rest.split_once(',')?;
                    limits.with_required_block([x.parse().ok()?, y.parse().ok()?, z.parse().ok()?])
                }
                "shared" => limits.with_shared_memory(value.parse().ok()?),
                "wavefront" => limits.with_wavefront_size(value.parse().ok()?),
                _ => return None,
            })
        })
    }
}
