//! Compiles GPU kernels in a build script, for every target of a list, and packs the results.
//!
//! ```no_run
//! // build.rs, in fn main():
//! offload_build::Build::new()
//!     .file("kernels/saxpy.cu")
//!     .archs(["gfx90a", "gfx1100", "sm_80", "compute_90", "cpu"])
//!     .compile("saxpy");
//! ```
//!
//! ```text
//! // main.rs
//! static SAXPY: offload_format::KernelPack = offload_embed_macro::include_offload!("saxpy");
//! ```
//!
//! # Targets
//!
//! | name | image | made by |
//! |---|---|---|
//! | `gfx90a`, `gfx942:xnack-`, `gfx12-generic` | AMD code object | clang, lld |
//! | `sm_80`, `sm_90a` | cubin: machine code for this NVIDIA architecture | clang, ptxas |
//! | `compute_80` | PTX, which the driver compiles | clang |
//! | `cpu` | shared object for the host | the C++ compiler that the `cc` crate finds |
//!
//! No SDK is needed: `.cu` sources are compiled with the header `offload/kernel.h` of this crate in front, which has what
//! kernels of the CUDA dialect use. An image whose compiler is missing comes from the package's prebuilt set, if that was
//! made from the same sources and options; the build says so. See [`Build::prebuilt`].
//!
//! # Environment variables
//!
//! | variable | means |
//! |---|---|
//! | `OFFLOAD_ARCH_<package>`, `OFFLOAD_ARCH` | targets in place of those in build.rs; `,` `;` or spaces between them. `-` in the package's name is `_` here |
//! | `OFFLOAD_CLANG` | the clang to use |
//! | `OFFLOAD_PTXAS` | the ptxas to use; else `CUDA_HOME`, `CUDA_PATH`, `CUDA_ROOT`, `CUDA_TOOLKIT_ROOT_DIR` with `/bin/ptxas` |
//! | `CXX`, `CXXFLAGS`, … | the C++ compiler for the `cpu` image, as documented by `cc` |
//! | `OFFLOAD_PREBUILT_<package>`, `OFFLOAD_PREBUILT` | `update`: write the prebuilt set; `only`: take every GPU image from it; `never`: don't look at it |
//! | `OFFLOAD_SKIP=1`, `DOCS_RS` | compile nothing: an empty pack, whose `select` says so. For rust-analyzer: `"rust-analyzer.cargo.extraEnv": {"OFFLOAD_SKIP": "1"}` |
//!
//! Cargo runs the build script again when one of them, a source, a header or a compiler changes, by the time stamps of
//! files: after a compiler was replaced by one with an older time stamp, touch build.rs.
//!
//! # What is in `OUT_DIR`
//!
//! ```text
//! offload/
//! ├── include/offload/               the header kernel.h and its parts
//! ├── saxpy.index                    what include_offload!("saxpy") reads
//! ├── saxpy.pack                     the pack as it is embedded
//! ├── liboffload_saxpy_<hash>.a      the pack in a host object
//! └── saxpy/                         an image for each target, also of earlier builds: gfx90a.hsaco, sm_80.cubin, …
//!     └── work/                      what lies between source and image, and what each image was made from
//! ```
//!
//! Packs, libraries and indexes appear whole or not at all. An image counts once all its steps have ended. Packs and
//! libraries are left alone when their bytes would be the same.
//!
//! # What kernels can use
//!
//! `offload/kernel.h` makes one `.cu` source serve AMD (clang's HIP language mode), NVIDIA (its CUDA language mode) and the
//! CPU (C++17), with nothing else installed. `OFFLOAD_AMDGPU`, `OFFLOAD_NVPTX` or `OFFLOAD_CPU` is defined.
//!
//! | | what | AMD | NVIDIA | CPU |
//! |---|---|---|---|---|
//! | keywords | `__global__`, `__device__`, `__host__`, `__constant__`, `__shared__`, `__launch_bounds__`, `__forceinline__`, `__noinline__` | the compiler's | the compiler's | `__global__` exports, `__shared__` is `thread_local`, most others do nothing |
//! | indices | `threadIdx`, `blockIdx`, `blockDim`, `gridDim`, `dim3` | registers | registers | variables |
//! | barriers | `__syncthreads()`, `__syncthreads_count`, `_and`, `_or` | `s_barrier`; to count, 4 bytes of shared memory and three barriers | `bar.sync`, `bar.red` | threads wait on stacks of their own |
//! | dynamic shared memory | `OFFLOAD_DYNAMIC_SHARED(float, tile);` | `extern __shared__ float tile[];` | the same | memory of the launch |
//! | warps | `warpSize`, `__shfl_sync`, `__shfl_up_sync`, `_down`, `_xor`, `__ballot_sync`, `__any_sync`, `__all_sync`, `__syncwarp`, `__activemask` | `ds_bpermute_b32`; 64 lanes on gfx9, else 32 | `shfl.sync`, `vote.sync`; 32 lanes | 32 lanes |
//! | atomics | `atomicAdd`, `Sub`, `Min`, `Max`, `And`, `Or`, `Xor`, `Exch`, `CAS`, `Inc`, `Dec`; `__threadfence`, `_block`, `_system` | `global_atomic_*` for integers | `atom.*` | `__atomic_*` |
//! | integers | `__popc`, `__clz`, `__ffs`, `__brev`, `__umulhi` and kin, `__float_as_int` and kin, `min`, `max`, `abs`, `__ldg` | instructions | instructions | plain C++ |
//! | exact math | `sqrt`, `fma`, `fabs`, `copysign`, `fmin`, `fmax`, `floor`, `ceil`, `trunc`, `rint`, `round`, `fmod`, `ldexp`, `frexp`, `isnan`, … | instructions | instructions | the C library |
//! | math | `exp`, `exp2`, `exp10`, `expm1`, `log`, `log2`, `log10`, `log1p`, `pow`, `cbrt`, `hypot`, `rsqrt`, `sin`, `cos`, `sincos`, `tan`, `sinpi`, `cospi`, `asin`, `acos`, `atan`, `atan2`, `sinh`, `cosh`, `tanh`, `asinh`, `acosh`, `atanh`, `erf`, `erfc` | our own functions | the same | the C library |
//! | fast math | `__expf`, `__logf`, `__powf`, `__sinf`, `__cosf`, `__fdividef` and kin | `v_exp_f32` and kin | `ex2.approx` and kin | the functions above |
//!
//! Mathematical functions are there for `float` (`sinf`, or `sin` of a float) and `double`. Our own ones were measured over
//! numbers of every size: most are within 1 unit in the last place, `erfc` within 4, the others within 2.5; `offload/math.h`
//! has the list. They give the same bits on all GPUs, unless options like `-ffast-math` allow the compiler otherwise.
//!
//! Limits:
//!
//! - `extern __shared__ float tile[];` links for GPUs, not for the CPU: C++ cannot define an array by another's name. The
//!   macro works everywhere.
//! - `std::sin` and its kin are the C library's, which GPUs don't have: say `sin`.
//! - Masks of lanes have the type `offload_lanes`, 64 bits on AMD; `OFFLOAD_ALL_LANES` names all of them, which `0xffffffff`
//!   does not on gfx9. AMD's shuffles don't look at the mask. With `-mwavefrontsize64` on gfx10 and later, shuffles reach
//!   only the lanes of their own half.
//! - `atomicAdd` for floating point is a loop on AMD's GPUs where the instruction is not safe for all memory; the flag
//!   `-munsafe-fp-atomics` takes it anyway. Minima and maxima of floating point are loops on every target.
//! - Not there: `__half`, textures, cooperative groups, `printf`, `__match_*_sync`, `__reduce_*_sync`.
//!
//! # Kernels on the CPU
//!
//! The `cpu` image is for correct results, not for fast ones. It exports the kernels and
//!
//! ```c
//! void offload_cpu_launch(const unsigned *grid, const unsigned *block, void (*thread)(void *), void *context);
//! void offload_cpu_launch_shared(const unsigned *grid, const unsigned *block, size_t shared_size,
//!                                void (*thread)(void *), void *context);
//! ```
//!
//! which call `thread(context)` for each thread of the grid with the indices set; `thread` calls the kernel. Blocks follow
//! one another on the thread of the operating system that launches. So do the threads of a block, until one has to wait at
//! a barrier or for its warp: then the others run on stacks of their own (`OFFLOAD_CPU_STACK` bytes each, 256 KiB unless
//! defined), and calls of `thread` overlap. Several launches may run at once, on as many threads of the operating system.
//! Threads that have returned are not waited for; threads that wait for each other for ever end the program with a message
//! that counts them. Changing stacks is a few instructions on x86-64 and AArch64, and `ucontext` for other processors with
//! glibc or a BSD; elsewhere, on Windows among others, a kernel that can wait does not compile for the CPU.
#![deny(unsafe_code)]

mod build;
mod cache;
mod cargo;
mod depfile;
mod error;
mod hash;
mod image;
mod jobs;
mod lack;
mod options;
mod output;
mod pack;
mod prebuilt;
mod run;
mod steps;
mod targets;
mod toolchain;

pub use build::Build;
pub use error::{Error, ErrorKind};
pub use offload_format::embedded::Origin;
pub use pack::{Pack, PackedImage};
