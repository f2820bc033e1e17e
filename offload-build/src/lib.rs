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
//! static SAXPY: offload::KernelPack = offload::include_offload!("saxpy");
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
//! Words that stand for several:
//!
//! | word | stands for |
//! |---|---|
//! | `native` | the GPUs of the building machine, each kind once; an error if there is none. In [`Build::default_archs`] it may stand beside others, which are then built |
//! | `all-major` | as for nvcc: the first NVIDIA architecture of each major number that ptxas and clang know, and PTX of the last |
//! | `all` | every one of them, and PTX of the last |
//!
//! AMD's GPUs have no such word: generic targets (`gfx11-generic`) are what stands for many. The
//! letters of `sm_90a` and `sm_100f` bind code to few GPUs; they are there if you write them, and
//! never added. A name that is well-formed is asked of the compilers before anything is compiled,
//! so new GPUs need a new compiler, not a new version of this crate.
//!
//! If build.rs lists no target, those of the variables count in which users of other programs name
//! their GPUs; of each vendor the first that is set, and a line says which:
//!
//! | vendor | variables, in this order |
//! |---|---|
//! | NVIDIA | `CUDA_COMPUTE_CAPS`, `CUDA_COMPUTE_CAP` (`80`, `90a`, `8.6`, `all-major`, `all`, `native`: machine code); `CUDAARCHS`, `CMAKE_CUDA_ARCHITECTURES` (CMake's words: `80` is `sm_80` and `compute_80`, `80-real` and `80-virtual` are one of them, `OFF` is nothing); `TORCH_CUDA_ARCH_LIST` (`8.0`, `9.0+PTX`); `CUDARC_NVCC_ARCH` |
//! | AMD | `AMDGPU_TARGETS`, `GPU_TARGETS`, `GPU_ARCHS`, `ROCM_ARCHS`, `PYTORCH_ROCM_ARCH`, `HIPARCHS`, `CMAKE_HIP_ARCHITECTURES`, `HIP_ARCH_LIST`, `HCC_AMDGPU_TARGET` (target IDs, `native`) |
//!
//! Where build.rs leaves one vendor, those of the other do not count: by [`Build::supports`],
//! [`Module::supports`] and [`Source::supports`], by the languages of the sources, and for CUDA
//! sources by a compiler of NVIDIA's ([`Compiler::Nvcc`], [`Compiler::ClangCuda`]), if no other is
//! asked for and no other vendor's target is listed: that is so for static libraries, and for packs
//! with [`Build::default_archs`].
//!
//! If none of these is set either, [`Build::default_archs`] says what is built. [`Build::resolve`]
//! returns the targets to the build script.
//!
//! # Modules
//!
//! A pack is modules times targets. A module is one device program, made of one source or of
//! several that are linked; it has one image for each target, and programs load it by itself. The
//! sources of [`Build::file`] and [`Build::files`] are one module. [`Build::modules`] makes one of
//! each source, called as the file is, and [`Build::module`] takes a [`Module`], which has a name,
//! sources and options of its own:
//!
//! ```no_run
//! use offload_build::{Build, Module};
//!
//! Build::new()
//!     .modules(["kernels/affine.cu", "kernels/scale.cu"])
//!     .module(Module::new("fp8").file("kernels/fp8.cu").supports([">=sm_90", "gfx942"]).requires_kernel("gemm"))
//!     .flag_for("amd", "-ffast-math")
//!     .archs(["gfx90a", "gfx942", "sm_80", "sm_90"])
//!     .compile("kernels");
//! ```
//!
//! ```text
//! static KERNELS: offload::KernelPack = offload::include_offload!("kernels");
//! const FP8: offload::Module = KERNELS.module("fp8");   // a wrong name does not compile
//! ```
//!
//! A module may say which targets it supports ([`Module::supports`]), and so may each of its
//! sources ([`Source::supports`]). An image is made of the sources that support its target. What
//! the whole pack supports, [`Build::supports`] says. A module that is built for fewer targets than
//! are listed is named: in a warning, if the list is that of `OFFLOAD_ARCH`, else in what
//! `cargo build -vv` prints. One that is built for none is an error, or empty if
//! [`Module::allow_empty`] or [`Build::allow_empty`] was called.
//!
//! Packs are embedded in 64-bit programs for Linux, Android, BSD, illumos, Windows and macOS. For
//! other hosts, such as WebAssembly, 32-bit systems and iOS, `compile` is an error, or the pack is
//! empty if [`Build::allow_empty`] was called: a library then needs no `cfg` for them.
//!
//! # Selectors
//!
//! | selector | targets |
//! |---|---|
//! | `amd`, `nvidia`, `cpu` | all of this kind |
//! | `sm_90a`, `compute_80` | this one |
//! | `gfx90a` | this one, also with features: `gfx90a:xnack-` |
//! | `>=sm_80` | NVIDIA targets, machine code and PTX, of compute capability 8.0 or higher |
//!
//! # Languages
//!
//! | source | AMD | NVIDIA | CPU |
//! |---|---|---|---|
//! | `.cu`: CUDA dialect, with this crate's header | yes | yes | yes |
//! | `.hip`: the same | yes | yes | yes |
//! | `.hip` that includes ROCm's headers (`<hip/…>`), with those | yes | | |
//! | `.cl`: OpenCL C, with clang's own header and no library | yes | yes | |
//! | `.c`: C, with clang's `<gpuintrin.h>` (kernels: clang 21 and newer) | yes | yes | |
//! | `.ll`, `.bc`: LLVM IR | by its triple | by its triple | |
//! | `.s`: assembly | yes | | |
//! | `.ptx`: PTX | | for its own target; through ptxas, machine code of that and later ones | |
//! | code objects, cubins | by their own headers | by their own headers | |
//! | bundles, offload binaries | by their own headers | by their own headers | |
//! | fatbins, bundles in a row, archives (feature `containers`); compressed ones (feature `compression`) | by their own headers | by their own headers | |
//!
//! The extensions of supplied files are on [`Language::Image`]. [`Source::language`] says it for a
//! file of another name. What a file says of its targets counts as if build.rs had said it.
//! Supplied images, PTX, and assembly that has kernels are not linked with other sources.
//!
//! # Compilers
//!
//! Clang 15 or newer is found by itself; an older one is used where it is named, and builds what it
//! can. No SDK is needed: `.cu` sources are compiled with the header `offload/kernel.h` of this
//! crate in front, which has what kernels of the CUDA dialect use. An image whose compiler is
//! missing comes from the package's prebuilt set, if that was made from the same sources and
//! options; the build says so. See [`Build::prebuilt`].
//!
//! ## NVIDIA's and AMD's own
//!
//! Sources that need a vendor's headers say so, for the build or for a module:
//!
//! | [`Build::compiler`] | compiles | with the headers | found by |
//! |---|---|---|---|
//! | [`Compiler::Clang`] (unless said) | CUDA and HIP sources for all GPUs | of this crate | `OFFLOAD_CLANG`, `PATH`, … |
//! | [`Compiler::Nvcc`] | CUDA and HIP sources for NVIDIA's GPUs | of the CUDA toolkit | [`Build::nvcc`]; `NVCC_<target>`, `NVCC`, `CUDACXX`; `CUDA_HOME`, `CUDA_PATH`, `CUDA_ROOT`, `CUDA_TOOLKIT_ROOT_DIR`; `PATH`; `/usr/local/cuda`, `/opt/cuda`, `/usr/local/cuda-*`; Python's packages (`nvidia/cu13`) of the active environment, the user and the system |
//! | [`Compiler::ClangCuda`] | the same | the same | the same |
//! | [`Compiler::ClangRocm`] | the same for AMD's GPUs, also `.hip` sources that include `<hip/…>` | of ROCm | `HIPCC`; `ROCM_PATH`, `HIP_PATH`, `ROCM_HOME`; a `hipcc` in `PATH`; `/opt/rocm`, `/opt/rocm-*`, `/usr` |
//!
//! nvcc is asked whether it compiles for a target before anything is compiled;
//! [`Build::archs_if_known`] leaves out what it does not know, and [`Build::toolkit_version`]
//! returns its version. Variables that lead to two different toolkits are an error. The C++
//! compiler that nvcc needs is that of `NVCC_CCBIN`, or else what the `cc` crate finds (on Windows
//! Visual Studio's). Options are the compiler's own: `--use_fast_math` for nvcc where clang has
//! `-ffast-math`, so give them with [`Build::flag_for`]. nvcc links several sources of a module to
//! machine code, and not to PTX. Lines for debuggers have absolute paths with nvcc; without them
//! the same sources give the same bytes wherever they lie.
//!
//! Sources with host code that launches kernels (`<<<...>>>`) become a static library:
//! [`Build::compile_static`]. Its sources call each other's device functions if
//! [`Build::device_link`] was called; [`Build::cudart`] says how CUDA's runtime is linked.
//!
//! ## Debug information and optimization
//!
//! | compiler | optimization | debug information |
//! |---|---|---|
//! | clang with this crate's header, C++ for the CPU | Cargo's `opt-level` | Cargo's `debug` |
//! | nvcc, ptxas, clang with CUDA's or ROCm's headers | 3, also in a dev build | line tables (`-lineinfo`), if Cargo's `debug` asks for any |
//!
//! For debuggers these make five times the code, and take gigabytes of memory: nvcc's `-G` is for
//! [`Build::debug`] to ask for. [`Build::opt_level`] replaces the level; both are there for a
//! [`Module`] and a [`Source`], too. A flag of build.rs (`-O1`, `-G`, `-lineinfo`, `-g`) replaces
//! what it is about.
//!
//! Warnings of compilers that succeed become Cargo's warnings, each once. What flags such as
//! `-Xptxas -v` (registers of each kernel), `--resource-usage`,
//! `-Rpass-analysis=kernel-resource-usage` or `-v` have them print, `cargo build -vv` shows, when
//! an image is made: `OFFLOAD_REBUILD=1 cargo build -vv` makes all of them.
//!
//! # Shipping without a compiler
//!
//! ```text
//! OFFLOAD_PREBUILT=update cargo build --release      # where the compilers are
//! ```
//!
//! writes the prebuilt set: a folder `prebuilt` beside build.rs, with every image but the CPU's and
//! a manifest for each module that says from which sources, with which options and by which
//! compiler they were made. It is committed, or at least packaged. From then on an image whose
//! compiler is missing comes from there, in this package's own builds and in those of everybody who
//! gets it from a registry. When sources or options have moved on, `cargo package` and
//! `cargo publish` fail in their own build of the package, also on a machine that has the
//! compilers, and say what to run.
//!
//! # Packs of other packages
//!
//! A package with kernels can offer its packs to those that depend on it: it has a `links` key in
//! its `Cargo.toml`, and nothing more. The one that embeds calls [`embed_from`] in its build.rs,
//! and `include_offload!` as for a pack of its own.
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `containers` | supplied images in fatbins, archives, and bundles in a row |
//! | `compression` | [`Build::compress`], and supplied files that are compressed; brings `containers` |
//! | `doctor` | the module `doctor`: what a build would find on this machine, as `offload doctor` shows it |
//!
//! None is on by default.
//!
//! # Environment variables
//!
//! | variable | means |
//! |---|---|
//! | `OFFLOAD_ARCH_<package>`, `OFFLOAD_ARCH` | targets in place of those in build.rs; `,` `;` or spaces between them. `-` in the package's name is `_` here |
//! | `OFFLOAD_JOBS` | the most compilers at a time, if that is less than `cargo build -j` allows; before [`Build::max_parallel`] |
//! | `OFFLOAD_COMPILER_LAUNCHER` | what compilers are started through; see [below](#compiler-launchers) |
//! | `OFFLOAD_CPU_CHECK` | the image for the CPU checks its kernels: `memory`, `races`, `undefined`, or `all`; see [below](#checks) |
//! | `OFFLOAD_CLANG` | the clang to use |
//! | `OFFLOAD_PTXAS` | the ptxas to use; else `CUDA_HOME`, `CUDA_PATH`, `CUDA_ROOT`, `CUDA_TOOLKIT_ROOT_DIR` with `/bin/ptxas`; then, after `PATH`, what is said of nvcc above |
//! | `NVCC`, `NVCC_<target>`, `CUDACXX` | the nvcc to use where build.rs asks for it; else those of the four variables above, with `/bin/nvcc`; then `VIRTUAL_ENV`, `CONDA_PREFIX`, `HOME` for Python's packages |
//! | `NVCC_CCBIN` | the C++ compiler that nvcc uses for the host's part |
//! | `NVCC_PREPEND_FLAGS`, `NVCC_APPEND_FLAGS` | flags that nvcc itself reads. GPUs in them (`-arch`, `-gencode`) do not count: nvcc is started without them, and a warning says so |
//! | `HIPCC`, `ROCM_PATH`, `HIP_PATH`, `ROCM_HOME` | the ROCm whose headers are used; `HIP_DEVICE_LIB_PATH` and `HIP_CLANG_PATH` for its parts, `HIPCC_COMPILE_FLAGS_APPEND` for more options |
//! | `CXXSTDLIB` | the C++ library that static libraries are linked with, as in `cc` |
//! | `CXX`, `CXXFLAGS`, … | the C++ compiler for the `cpu` image, as documented by `cc` |
//! | `OFFLOAD_PREBUILT_<package>`, `OFFLOAD_PREBUILT` | `update`: write the prebuilt set; `only`: take every GPU image from it; `never`: don't look at it. A static library is in no set: with `update` a warning tells so, and `only` is an error |
//! | `OFFLOAD_SKIP=1`, `DOCS_RS` | compile nothing: an empty pack, whose `select` says so. For rust-analyzer: `"rust-analyzer.cargo.extraEnv": {"OFFLOAD_SKIP": "1"}` |
//! | `CPATH`, `C_INCLUDE_PATH`, `CPLUS_INCLUDE_PATH`, `OBJC_INCLUDE_PATH`, `OBJCPLUS_INCLUDE_PATH`, `COMPILER_PATH`, `LIBRARY_PATH`, `GCC_EXEC_PREFIX`, `SOURCE_DATE_EPOCH`, `SDKROOT`, `MACOSX_DEPLOYMENT_TARGET`, `CCC_OVERRIDE_OPTIONS`, `QA_OVERRIDE_GCC3_OPTIONS`, `INCLUDE`, `LIB`, `LIBPATH`, `CL`, `_CL_` | what compilers read by themselves: images of another value are made again. `DEPENDENCIES_OUTPUT` and `SUNPRO_DEPENDENCIES` are kept from them |
//! | `OFFLOAD_REBUILD=1` | make everything again, whatever there is |
//!
//! `CARGO_TERM_COLOR=always` gives compilers' messages their colours.
//!
//! # Checks
//!
//! With `OFFLOAD_CPU_CHECK` the image for the CPU is compiled with a sanitizer of the C++ compiler,
//! g++ or clang, on x86-64 Linux:
//!
//! | value | finds |
//! |---|---|
//! | `memory` | accesses beyond global, shared and local memory, to memory that was freed, and misaligned ones (AddressSanitizer) |
//! | `races` | accesses that nothing orders: of threads of a block without a barrier, of a warp without `__syncwarp`, of blocks (ThreadSanitizer) |
//! | `undefined` | shifts that are too far, signed overflow, indices beyond an array (UndefinedBehaviorSanitizer) |
//! | `all` | `memory` and `undefined` in one image. `races` needs an image of its own, and a warning says so |
//!
//! `cargo offload test`, of offload-tools, runs the tests of a package so, and prints what is
//! found. What follows is for who does it by hand.
//!
//! Each finds barriers that not all threads of a block reach, and fills shared memory with bytes of
//! 0xff, which are NaN. Images for GPUs are what they are without it.
//!
//! The sanitizer's library has to be in the program before all others, which `LD_PRELOAD` does. An
//! error of `offload::run` shows the variables with their values for a program that was started
//! without. AddressSanitizer ends the program at the first finding, unless `ASAN_OPTIONS` has
//! `halt_on_error=0`. After `OFFLOAD_CPU_TIME_LIMIT` seconds, if that is set, a launch ends the
//! program with the block and the thread that it is in.
//!
//! # What makes a build script run again
//!
//! Cargo runs it again when one of the variables above, `PATH`, a source, a header, another input,
//! or a compiler changes, by the time stamps of files; and when something changes in a folder of
//! [`Build::include`], unless the folder holds Cargo's own `target` or more than 2000 entries.
//!
//! Then only what would come out different is compiled; if that is nothing, no tool is started but
//! those that are scripts or links to ccache and its like. What counts:
//!
//! - the bytes of sources, of all that they include, of files named in flags (`@options.txt`,
//!   `-fmodule-map-file=x`, `-mlink-builtin-bitcode x`), of what assembly takes in with `.include`
//!   and `.incbin`, and of [`Build::input`];
//! - whether there is a file that would be found before one of these, or for which `__has_include`
//!   asks;
//! - options, the variables that compilers read, and compilers: what they report, their files, and
//!   for a wrapper the files of the program that it starts.
//!
//! What Cargo does not notice is compared at the next run of the script, which any other change
//! brings about: a header that appears in a folder that Cargo is not told of, a compiler that is
//! replaced by one with an older time stamp, one that is put into a folder of `PATH` before the one
//! that was found, a toolkit that is installed elsewhere than in `PATH` (`/usr/local/cuda`,
//! `/opt/rocm`) while prebuilt images stand in, and for `native` another GPU. Then touch build.rs.
//! What always makes everything again: `OFFLOAD_REBUILD=1 cargo build`.
//!
//! # Compiler launchers
//!
//! `OFFLOAD_COMPILER_LAUNCHER=sccache` starts compilers through sccache; `ccache`, `icecc`,
//! `distcc` and whatever else takes a compiler with its arguments do as well. Arguments of its own
//! stand between semicolons, as in CMake's lists: `env;SCCACHE_DIR=/fast/disk;sccache`. It gets the
//! steps that read one source: from there to LLVM bitcode, or for the CPU to an object; sccache
//! also gets ptxas. Putting bitcode together, and links, run directly. A launcher is no input:
//! nothing is compiled again because of it. nvcc under sccache is an error, as sccache breaks it.
//!
//! | launcher | `.cu`, `.hip` | `.c`, `.ll` | `ptxas` |
//! |---|---|---|---|
//! | sccache 0.16 | cached | cached | cached, but for those with `-g` |
//! | ccache 4.7 | NVIDIA: cached; AMD: run as is | cached | not asked |
//! | icecc 1.4, distcc 3.4 | run as is | spread | not asked |
//!
//! When one machine is too small, let `cargo build -j` start more compilers than it has processors,
//! and spread them: distcc and icecc send C to other machines, for every GPU, and run the CUDA
//! dialect here. Give all machines the same clang (for icecc, `icecc-create-env --clang` packs it).
//! The images have the same bytes; only debug information may have other checksums.
//!
//! Start sccache's server before the build (`sccache --start-server`): otherwise each of the first
//! compilers, which start together, starts one, and all but one of these end again.
//!
//! # What is in `OUT_DIR`
//!
//! ```text
//! offload/
//! ├── lock                           held while a build script runs
//! ├── include/                       the header offload/kernel.h and its parts, cuda_fp16.h and its kin
//! ├── probes.cache                   what compilers reported about themselves
//! ├── saxpy.index                    what include_offload!("saxpy") reads
//! ├── saxpy.pack                     the pack as it is embedded
//! ├── liboffload_saxpy_<hash>.a      the pack in a host object
//! ├── liblaunch.a                    a static library
//! └── saxpy/                         an image for each target, also of earlier builds: gfx90a.hsaco, sm_80.cubin, …;
//!     │                              of modules that have names: fp8.gfx90a.hsaco, …; of a static library an object for each
//!     │                              source and list of targets: 0_launch.sm_80.sm_90.o, …, and by clang
//!     │                              the images in it: 0_launch.device.sm_80.cubin, …
//!     └── work/                      what lies between source and image, and what each image was made from
//! ```
//!
//! Packs, libraries and indexes appear whole or not at all, whatever error or signal ends a build;
//! after a power cut one may be empty, and `OFFLOAD_REBUILD=1` makes all of them again. An image
//! counts once all its steps have ended. Packs and libraries are left alone when their bytes would
//! be the same.
//!
//! # Large packs
//!
//! Each program carries the packs that it uses, so a pack of more than 1 GiB is worth a warning.
//! [`Build::compress`] (feature `compression`) makes packs smaller; so do fewer targets. On x86-64
//! ELF one of more than 1.5 GiB takes a linker that puts it out of the way of code and data.
//! rust-lld does, which rustc for x86-64 Linux has and uses since 1.90 (checked: 2.2 GiB with rustc
//! 1.95). With mold it is an error: its programs abort at their first panic (1.10). With GNU ld it
//! is one, too, unless [`Build::large_pack_script`] says that programs are linked with this script,
//! which puts packs behind all else:
//!
//! ```text
//! /* large.ld */
//! SECTIONS
//! {
//!   .hip_fatbin ALIGN(4096) : { *(.hip_fatbin) }
//!   .llvm.offloading ALIGN(8) : { *(.llvm.offloading) }
//! }
//! INSERT AFTER .lrodata;
//! ```
//!
//! The package of the program gives it to the linker; what a library's build.rs says does not reach
//! the link of programs that depend on it:
//!
//! ```no_run
//! // build.rs of the program, in fn main():
//! println!("cargo::rustc-link-arg-bins=-Wl,-T,{}/large.ld", std::env::var("CARGO_MANIFEST_DIR").unwrap());
//! println!("cargo::rerun-if-changed=large.ld");
//! ```
//!
//! Which linker it is, the build script reads from RUSTFLAGS and Cargo's configuration. It does not
//! see what other packages' build scripts say, and not which other packs a program has: several
//! together count as one that large.
//!
//! # What kernels can use
//!
//! `offload/kernel.h` makes one `.cu` source serve AMD (clang's HIP language mode), NVIDIA (its
//! CUDA language mode) and the CPU (C++17), with nothing else installed. `OFFLOAD_AMDGPU`,
//! `OFFLOAD_NVPTX` or `OFFLOAD_CPU` is defined.
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
//! | vectors | `float4`, `uchar2` and kin, `make_float4`; `__dp4a`, `__vsubss4` and kin | plain C++ | the same | the same |
//! | small numbers | `<cuda_fp16.h>`: `__half`, `__half2`; `<cuda_bf16.h>`: `__nv_bfloat16`, `__nv_bfloat162`; `<cuda_fp8.h>`: `__nv_fp8_e4m3`, `__nv_fp8_e5m2`; their conversions, arithmetic and functions | by way of `float`, rounded to nearest | the same | the same |
//! | other headers | `<cuda_runtime.h>`, `<cuda.h>` (nothing beside the above), `<cuda/std/limits>`; `assert`, `memcpy`, `memset` | a trap; instructions | the same | the C library |
//! | fast math | `__expf`, `__logf`, `__powf`, `__sinf`, `__cosf`, `__fdividef` and kin | `v_exp_f32` and kin | `ex2.approx` and kin | the functions above |
//!
//! Mathematical functions are there for `float` (`sinf`, or `sin` of a float) and `double`. Our own
//! ones were measured over numbers of every size: most are within 1 unit in the last place, `erfc`
//! within 4, the others within 2.5; `offload/math.h` has the list. They give the same bits on all
//! GPUs, unless options like `-ffast-math` allow the compiler otherwise.
//!
//! Limits:
//!
//! - `extern __shared__ float tile[];` links for GPUs, not for the CPU: C++ cannot define an array
//!   by another's name. The macro works everywhere.
//! - `std::sin` and its kin are the C library's, which GPUs don't have: say `sin`.
//! - Masks of lanes have the type `offload_lanes`, 64 bits on AMD; `OFFLOAD_ALL_LANES` names all of
//!   them, which `0xffffffff` does not on gfx9. AMD's shuffles don't look at the mask. With
//!   `-mwavefrontsize64` on gfx10 and later, shuffles reach only the lanes of their own half.
//! - `atomicAdd` for floating point is a loop on AMD's GPUs where the instruction is not safe for
//!   all memory; the flag `-munsafe-fp-atomics` takes it anyway. Minima and maxima of floating
//!   point are loops on every target.
//! - `__CUDA_ARCH__` is defined for NVIDIA's GPUs only. Sources that ask it for what a GPU has take
//!   the way for the oldest one on AMD's and on the CPU; `flag_for("amd", "-D__CUDA_ARCH__=890")`
//!   leads them elsewhere, as long as there is no PTX.
//! - Not there: textures, cooperative groups, `mma.h`, `printf`, `__match_*_sync`,
//!   `__reduce_*_sync`.
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
//! which call `thread(context)` for each thread of the grid with the indices set; `thread` calls
//! the kernel. Blocks follow one another on the thread of the operating system that launches. So do
//! the threads of a block, until one has to wait at a barrier or for its warp: then the others run
//! on stacks of their own (`OFFLOAD_CPU_STACK` bytes each, 256 KiB unless defined), and calls of
//! `thread` overlap. Several launches may run at once, on as many threads of the operating system.
//! Threads that have returned are not waited for; threads that wait for each other for ever end the
//! program with a message that counts them. Changing stacks is a few instructions on x86-64 and
//! AArch64, a call of the system's fibers on Windows, and `ucontext` for other processors with
//! glibc or a BSD; elsewhere a kernel that can wait does not compile for the CPU.
//!
//! # What this crate does not do
//!
//! - Choose targets: no targets is an error, and what the building machine has counts only if
//!   `native` is asked for. A GPU that the compilers do not know is refused, never replaced by the
//!   nearest that they know.
//! - Look for sources: `src/**/*.cu` is for the `glob` crate to list. Name the folder with
//!   `cargo::rerun-if-changed`, or a new file in it goes unnoticed.
//! - Fetch headers such as CUTLASS: give the folder of a submodule, or one that a package with
//!   `links` names, to [`Build::include`].
//! - Write constants with the images' text: [`Build::modules`] and `PACK.module("affine")` are in
//!   their place, with a name that the compiler checks.
//! - Compile kernels written in Rust: their own builders and toolchains do. The PTX or code object
//!   that comes out is a source like any other. Metal and Vulkan's SPIR-V, whose drivers do not
//!   take these containers, have no place in a pack.
//! - Guess how much memory a compiler needs: [`Build::max_parallel`] and `OFFLOAD_JOBS` say how
//!   many may run. PyTorch's `MAX_JOBS` is not read, since Cargo's `-j` is there.
//! - Keep images outside of `OUT_DIR`: `cargo clean` means clean.
//! - Put images into files beside the program, as AMD's kpack does: packs are in the program.
//!   `OFFLOAD_FROM_DISK` is for development.
//! - Read `NVCC_THREADS` (every target is a job), `CANDLE_NVCC_CCBIN` (`NVCC_CCBIN` is read),
//!   `HIP_PLATFORM` or `HIPCC_LINK_FLAGS_APPEND`.
//! - Show progress: Cargo shows what build scripts print only after they have failed, or as
//!   warnings, and those are kept for what the user has to know.
//! - Write `compile_commands.json`, as `cc` does for host code: most kernels are compiled once for
//!   each target, and editors take one entry for a file.
//! - Link the program with a runtime, load, or launch: that is for the host's crates (`cudarc`,
//!   `cust`, HIP bindings).
#![deny(unsafe_code)]
// Some questions to the finders only `doctor` has.
#![cfg_attr(not(feature = "doctor"), allow(dead_code))]

mod build;
mod cargo;
mod compile;
#[cfg(feature = "doctor")]
pub mod doctor;
mod error;
mod exec;
mod hash;
mod output;
mod pack;
mod plan;
mod request;
mod targets;
mod toolchain;

pub use build::{
    Build, ResolvedTarget, ResolvedTargets, StaticLibrary, embed_from, try_embed_from,
};
pub use error::{Error, ErrorKind};
pub use offload_format::pack_index::Origin;
pub use pack::{Pack, PackedImage, PackedModule};
pub use request::{Compiler, Language, Module, Source};
pub use targets::TargetOrigin;

// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
