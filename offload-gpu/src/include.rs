//! `include_offload!`, `include_kernels!`, and a macro for the systems on which `linked_packs`
//! lists packs.

/// Embeds a pack of GPU images, and evaluates to a [`KernelPack`](crate::KernelPack).
///
/// ```no_run
/// # macro_rules! include_offload { ($($token:tt)*) => {
/// #     offload_gpu::__expansion::not_built("saxpy", "this is an example", &[
/// #         offload_gpu::__expansion::ModuleRecord::new("saxpy", &[])])
/// # } }
/// # use offload_gpu::{ComputeCapability, DeviceInfo, Kernel, KernelPack};
/// # /*
/// use offload_gpu::{ComputeCapability, DeviceInfo, Kernel, KernelPack, include_offload};
/// # */
///
/// static SAXPY: KernelPack = include_offload!("saxpy");
/// const KERNEL: Kernel = SAXPY.kernel("saxpy"); // a wrong name does not compile
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let image = SAXPY.select(&DeviceInfo::cuda(ComputeCapability { major: 9, minor: 0 }, 13000))?;
/// println!("{} for {}: load {:?}, launch {}", image.kind(), image.target(), image.as_ptr(), KERNEL.name());
/// # Ok(())
/// # }
/// ```
///
/// Use the macro to initialize a `static`. A `const` cannot refer to bytes that a linker provides,
/// but it can hold a module or a kernel of that `static`. The macro works in libraries, programs,
/// tests, benches, examples and doctests, under `#![forbid(unsafe_code)]` and `#![no_std]`, in the
/// editions 2021 and 2024.
///
/// | | made by | how the bytes get into the program | suitable for |
/// |---|---|---|---|
/// | `include_offload!("saxpy")` | the package's build script, `offload_build::Build::compile("saxpy")` | as a static library, not through the compiler | packs of any size |
/// | `include_offload!(path = "saxpy.hipfb")` | any tool | through the compiler, like `include_bytes!` | files of up to a few megabytes |
///
/// For large files, let a build script build a pack: `Build::new().file("kernels.hipfb")` accepts
/// supplied images. This needs offload-build's feature `containers`, and `compression` if the file
/// is compressed.
///
/// # A pack of the build script
///
/// The name is the argument of `compile` in build.rs. The bytes do not pass through the compiler:
/// the build script puts them into a static library, and the expansion refers to them by a symbol.
/// The bytes are in the section `.hip_fatbin` if all targets are AMD GPUs, else in
/// `.llvm.offloading`, where ROCm's and LLVM's tools look for them. The symbol's name contains a
/// hash of the pack's content. Different crates can therefore use the same pack name, and identical
/// packs are linked only once.
/// A pack that no code uses is not linked.
///
/// A pack of 64 MiB or more is not copied into the crate's library (`.rlib`): the linker reads it
/// from `OUT_DIR`. Programs and dynamic libraries need no further setup. A `staticlib` for a
/// program in another language contains only packs smaller than 64 MiB. To use a larger pack, link
/// that program with `-L <OUT_DIR>/offload -loffload_<name>_<hash>`, which
/// `cargo rustc -- --print native-static-libs` prints.
///
/// # A file
///
/// `include_offload!(path = …)` embeds a file. It needs the `files` feature of this crate.
///
#[cfg_attr(feature = "files", doc = "```")]
#[cfg_attr(not(feature = "files"), doc = "```ignore")]
/// use offload_gpu::{ComputeCapability, DeviceInfo, KernelPack};
///
/// static SAXPY: KernelPack =
///     offload_gpu::include_offload!(path = "$CARGO_MANIFEST_DIR/corpus/saxpy.compute_80.ptx");
/// let image = SAXPY.select(&DeviceInfo::cuda(ComputeCapability { major: 9, minor: 0 }, 13000)).unwrap();
/// assert_eq!((image.target(), image.has_kernel("saxpy")), ("compute_80", Some(true)));
/// ```
///
/// The path is absolute, relative to the source file, or starts with `$OUT_DIR/` or
/// `$CARGO_MANIFEST_DIR/`. Cargo rebuilds the crate when the file changes. These formats are
/// accepted:
///
/// | file | section | alignment |
/// |---|---|---|
/// | offload bundles, also compressed ones (`clang-offload-bundler`, `hipcc --genco`) | `.hip_fatbin` | 4096 |
/// | offload binaries (`llvm-offload-binary`, `clang-offload-packager`) | `.llvm.offloading` | 8 |
/// | fatbins (`fatbinary`, `nvcc -fatbin`) | `.nv_fatbin` | 8 |
/// | an AMD code object, a cubin | no separate section | 4096 |
/// | PTX, followed by a NUL | no separate section | 8 |
///
/// The macro does not list the images of compressed files and fatbins: for these files, `select`
/// returns an error with the reason. `bytes()` always returns the whole file, including images that
/// no driver loads, such as unlinked objects; `images()` omits such images.
///
/// # Options
///
/// Options follow the name or the path, in any order.
///
/// | option | meaning | for |
/// |---|---|---|
/// | `section = ".my_kernels"` | the section, instead of the one in the table above: a period and a name that has no meaning to linkers, loaders and runtimes. On macOS, the section is `"segment,section"` | files |
/// | `align = 65536` | the alignment in bytes, a power of two of at least 8 | files |
/// | `retain` | the pack is in the program even if no code uses it, as long as the crate is linked (a dependency is linked if anything names it: `use kernels as _;`). `linked_packs` lists the pack | both |
/// | `crate = ::gpu::offload_gpu` | the path of this crate or of a re-export, for expansions in a crate that does not depend on this crate | both |
/// | `compressed` | the type is [`KernelPack<Compressed>`](crate::Compressed) even in builds whose build.rs does not compress the pack | packs of build.rs |
/// | `unsafe(cpu)` | code in the file may run in this program on the CPU | files |
/// | `register` | the program registers the kernels with HIP's runtime when it starts | both, for AMD |
///
/// An image for the CPU runs inside the program. The build compiled the images of a build script's
/// pack. A file, however, can come from anywhere, and the functions that load its images are not
/// `unsafe`. Loading an image for the CPU from a file is therefore an error, unless the
/// `unsafe(cpu)` option declares that the file is trusted. Constructors, destructors and kernels of
/// these images may then run in this program. Under `forbid(unsafe_code)`, the compiler rejects
/// this option.
///
/// The section and the alignment of a build script's pack cannot be changed, since tools and
/// runtimes expect these values.
///
#[cfg_attr(feature = "files", doc = "```")]
#[cfg_attr(not(feature = "files"), doc = "```ignore")]
/// mod kit {
///     pub extern crate offload_gpu as gpu;
/// }
///
/// static SAXPY: offload_gpu::KernelPack = offload_gpu::include_offload!(
///     path = "$CARGO_MANIFEST_DIR/corpus/saxpy.gfx90a.hsaco",
///     section = ".my_kernels",
///     align = 65536,
///     retain,
///     crate = crate::kit::gpu,
/// );
///
/// fn main() {
///     assert_eq!((SAXPY.section(), SAXPY.bytes().as_ptr().addr() % 65536), (".my_kernels", 0));
/// }
/// ```
///
/// ## `register`
///
/// Without this option, a program loads an image itself: `select`, then `hipModuleLoadData`. With
/// `register`, the program contains the same data as objects from hipcc and clang. A structure in
/// `.hipFatBinSegment` points to each bundle, and a constructor passes the structure and the names
/// of the kernels to the runtime. HIP's runtime then chooses and loads the image, and launches the
/// kernel by the address that `host_function` returns:
///
/// ```text
/// static SAXPY: KernelPack = include_offload!("saxpy", register);
///
/// let function = SAXPY.kernel("saxpy").host_function().unwrap();
/// hipLaunchKernel(function, grid, block, arguments, 0, stream);
/// ```
///
/// The option works on Linux, for packs whose targets are all AMD GPUs, and for offload bundles in
/// files. The linker needs `libamdhip64.so`: build.rs prints its folder
/// (`cargo::rustc-link-search=native=/opt/rocm/lib`). The program does not start without this
/// library. The pack is in the program even if no code uses it. If no image fits the GPU, ROCm 5.2
/// ends the process at the first launch. To detect this case before the launch, call `select`,
/// which returns an error. Use `register` only for host code that launches kernels through HIP's
/// runtime, as code from hipcc does.
///
/// A linker can also link device code: with `-C linker=clang -C link-arg=--offload-link`,
/// clang-linker-wrapper extracts relocatable images from an offload binary, links them, and
/// registers the result. Use this if device code from several languages or libraries has to be
/// linked together. `llvm-offload-binary` creates this offload binary from objects (`clang -c`).
/// Embed the file with `path` and `retain` in the program's own crate: the wrapper does not search
/// libraries whose symbols are not used.
///
/// # Environment variables
///
/// | variable | meaning |
/// |---|---|
/// | `OFFLOAD_FROM_DISK=1` | development builds (those with `debug_assertions`) do not link packs of build scripts, but read them from `OUT_DIR` on first use. After a kernel has changed, `cargo build --lib` in the package with the kernels is enough: programs need not be linked again. The program does not contain these packs, not even with `retain`, and `linked_packs` does not list them. If a pack cannot be read, `select` returns an error with the path. It is also an error if a kernel's parameters have changed since the program was compiled. Such a program runs only on the machine that built it, and its crate needs std. The variable does not affect release builds, files that are embedded by their paths, or packs with `register` |
///
/// If the variable changes, Cargo rebuilds the crate. The front page of `offload_build` lists the
/// build script's variables.
///
/// # Errors
///
/// A missing pack, a missing or damaged file, or an option that does not fit the pack or file is a
/// compile error at the literal. For a missing pack, the message lists the packs that exist. If a
/// pack was not built, because `OFFLOAD_SKIP` was set or the build was for docs.rs, the program
/// compiles, and the pack's `select` returns the reason.
///
/// For a pack of a build script, the macro reads only a small index and a few bytes of the library,
/// regardless of the size of the pack.
///
/// This macro needs this crate's feature `macros`, which is on by default. With `path`, it also
/// needs `files`.
#[macro_export]
macro_rules! include_offload {
    // Match tokens, not a literal: errors should point to the literal in the user's source, but a
    // matched literal would lose its position.
    ($($tokens:tt)*) => { $crate::__expansion::include_offload!(@ 5 $crate; $($tokens)*) };
}

/// Embeds a pack of the build script, like [`include_offload!`](crate::include_offload), and
/// declares a function for each kernel. The functions' parameters have the types in the kernels'
/// source.
///
/// ```text
/// /// Adds `a` times x to y.
/// extern "C" __global__ void saxpy(int n, float a, const float *x, float *y) { … }
/// ```
///
/// ```
/// # mod kernels {
/// #     pub fn saxpy(n: i32, a: f32, x: *const f32, y: *mut f32) -> offload_gpu::Call<4, 24> { todo!() }
/// # }
/// # /*
/// mod kernels {
///     offload_gpu::include_kernels!("saxpy");
/// }
/// # */
///
/// # fn example(x: *const f32, y: *mut f32) {
/// let call = kernels::saxpy(1000, 2.0, x, y); // an f64, a usize or a forgotten argument does not compile
/// let mut parameters = call.pointers(); // what cuLaunchKernel and hipModuleLaunchKernel take
/// # let _ = &mut parameters;
/// # }
/// ```
///
/// Put the macro call into a module of your own. The name and the options are those of
/// `include_offload!` for packs. For a call with only the name, the build script has already
/// written the code. Options and declared kernels need the `macros` feature of this crate, which is
/// on by default and compiles a Rust parser (`syn`). A file in place of the name needs the feature
/// `files`. The macro declares these items:
///
/// | item | description |
/// |---|---|
/// | `PACK` | the pack, a [`KernelPack`](crate::KernelPack) |
/// | a function for each kernel | takes the arguments of a launch, each an [`Argument`](crate::Argument), and returns a [`Call`](crate::Call). In its signature, `n: impl n_1_4<i32>` means that parameter 1, `int n`, accepts any `Argument<i32>`. Its documentation is the comment above the kernel |
/// | a generic function and a trait for each template | the function calls the instance for these types: `scale::<f32>`. See [Templates](#templates) |
/// | a `struct` for each record | with the fields, the size and the alignment of the device's compiler, unless a [type of the program](#types-of-the-program) replaces it. A union, or a class that Rust cannot lay out, is declared as bytes. See [Records in memory](#records-in-memory) |
/// | a `mod` for each `enum` of a parameter, field or pointer | with a constant for each named value. An item of yours with the same name replaces the `mod` |
/// | `named` | a function that finds a kernel by a name chosen at run time, and returns a [`NamedKernel`](crate::NamedKernel). See [Kernels by name](#kernels-by-name) |
/// | a constant for each kernel whose parameters are not known | a [`Kernel`](crate::Kernel) |
/// | a `mod` for each module that has its own name | the same items for that module |
///
/// Signatures come from the debug information that clang writes for CUDA, HIP, OpenCL C and C
/// sources. The build compares the signatures with the arguments in each GPU image. An image may
/// have different arguments, for example because an `#ifdef` widens a parameter. In this case, the
/// build prints a warning, and a call of the kernel does not compile. Signatures are unknown for
/// kernels in supplied images, and for kernels that nvcc compiles unless build.rs calls
/// `clang_signatures(true)`. If the pack has only images for the CPU, clang reads the source as the
/// C++ compiler does.
///
/// Builds without clang (`OFFLOAD_SKIP=1`, docs.rs, or only the target `cpu`) use the signatures of
/// the package's prebuilt set. If no signature is known, the macro produces a compile error with
/// the reason, unless rustdoc runs or the program declares kernels.
///
/// # Declared kernels
///
/// If the signature of a kernel is unknown, the program can declare the function with Rust types:
///
#[cfg_attr(feature = "files", doc = "```")]
#[cfg_attr(not(feature = "files"), doc = "```ignore")]
/// mod kernels {
///     use offload_gpu::Parameter;
///
///     /// A struct that a kernel takes by value.
///     #[derive(Clone, Copy, Parameter)]
///     #[repr(C)]
///     pub struct Range {
///         pub first: i32,
///         pub count: i64,
///     }
///
///     offload_gpu::include_kernels!(path = "$CARGO_MANIFEST_DIR/corpus/saxpy.gfx90a.hsaco", extern {
///         /// Adds `a` times x to y.
///         fn saxpy(n: i32, a: f32, x: *const f32, y: *mut f32);
///     });
/// }
///
/// # fn example(x: *const f32, y: *mut f32) {
/// let call = kernels::saxpy(1000, 2.0, x, y);
/// # let _ = call;
/// # }
/// ```
///
/// In a declaration, `#[link_name = "_Z5scaleIfEvPT_i"]` gives the kernel's name in the images, and
/// `mod affine { … }` names the module of the pack. The type of a declared parameter is a
/// [`Parameter`](trait@crate::Parameter): a number, a pointer, or a struct that derives this trait.
/// The compiler compares each parameter with the arguments in every image. If an image contradicts
/// a declared type, the program does not compile. Images contain:
///
/// | image | contains |
/// |---|---|
/// | for any GPU | the kernel's name; the number, offsets and sizes of its arguments |
/// | AMD code object | whether an argument is a pointer: an `f64` in a pointer's place is rejected, but a `u64` with an address is accepted |
/// | PTX | whether an argument is a floating-point number: an integer in such a number's place is rejected |
/// | for the CPU | nothing |
///
/// Images do not contain the type that a pointer points to, nor whether the kernel may write
/// through it. A declaration overrides types that are known from the source. Type names in
/// declarations are resolved in the module around the macro. If that module defines its own `f32`,
/// the declaration uses that type, and the compiler checks its layout.
///
/// # Kernels by name
///
/// To choose a kernel at run time, call the `named` function in its module:
///
/// ```
/// # mod kernels {
/// #     pub fn named(_: &str) -> Result<offload_gpu::NamedKernel, offload_gpu::CallError> { todo!() }
/// # }
/// # fn example(dtype: &str, n: i32, x: *const f32, y: *mut f32) -> Result<(), offload_gpu::CallError> {
/// let call = kernels::named(&format!("affine_{dtype}"))?.call((n, 2.0_f32, x, y))?;
/// # let _ = call;
/// # Ok(()) }
/// ```
///
/// `named` accepts the name of the kernel's function, the kernel's name in the source
/// (`scale<float, 3>`), or its symbol. [`NamedKernel`](crate::NamedKernel) accepts the same
/// arguments as the function, but compares them with the source at run time. Kernels without a
/// known signature have to be declared.
///
/// # Templates
///
/// Each instance of a kernel template has its own function. In addition, the template has a generic
/// function, and a trait of the same name, which the types of the instances implement:
///
/// ```text
/// template <typename T> __global__ void scale(int n, T a, T *y) { … }
/// template __global__ void scale<float>(int, float, float *);
/// template __global__ void scale<double>(int, double, double *);
/// ```
///
/// ```
/// # mod kernels {
/// #     pub trait scale {}
/// #     impl scale for f32 {}
/// #     pub fn scale<T: scale>(n: i32, a: T, y: *mut T) -> offload_gpu::Call<3, 16> { todo!() }
/// # }
/// # fn example(n: i32, y: *mut f32) {
/// let call = kernels::scale::<f32>(n, 2.0, y); // the same as kernels::scale_float(n, 2.0, y)
/// # let _ = call;
/// # }
/// fn scale<T: kernels::scale>(n: i32, a: T, y: *mut T) {
///     let call = kernels::scale::<T>(n, a, y);
///     # let _ = call;
/// }
/// ```
///
/// If the template has no instance for the arguments, the call does not compile, and the message
/// lists the instances. The generic function accepts the same arguments as the instance's function.
///
/// | template argument | in Rust |
/// |---|---|
/// | a type | the type of a parameter of that type; `bool` for `bool`; also `half::f16` for `__half` with the `half` feature |
/// | an integer, a `bool`, a constant of an `enum` | a constant: `reduce::<f32, 256>` |
/// | an argument with a default value | must be written |
/// | a pack of arguments, a pointer, a template, a type without a name | not available: the generic function lacks such instances |
///
/// The template's first type argument implements the trait; the other arguments are parameters of
/// the trait: `T: kernels::convert<U>`. If the template has no type arguments, `()` implements the
/// trait. Generic functions of the program may pass a value of the first type for a parameter of
/// that type. For any other type `U`, add the bound `U: offload_gpu::Argument<U>`. If there is an
/// instance for `bool` or for half-precision numbers, the trait has an associated type `T`: the
/// type in device memory, such as [`Bool`](crate::types::Bool).
///
/// The generic function omits instances whose arguments are the same in Rust, such as `scale<long>`
/// and `scale<long long>`. A template whose overloads differ in the number of parameters or in
/// template parameters has no generic function. An item of the program with the same name hides a
/// generic function.
///
/// # Types of the program
///
/// `use` replaces a kernel's struct with a type of the program:
///
/// ```text
/// mod kernels {
///     offload_gpu::include_kernels!("particles", use crate::Particle as Particle, use crate::Cell);
/// }
/// ```
///
/// Functions then take the program's type, behind pointers (`&Buffer<crate::Particle>`) and by
/// value. A type that is passed by value must derive [`Parameter`](trait@crate::Parameter). Other
/// structs of the macro that contain the type implement only `Copy`. Without `as`, the struct has
/// the same name as the type. `use crate::Particle as affine::Particle` replaces the struct in the
/// module `affine` of a pack; without a module name, the type replaces the struct in all modules.
/// In the macro's scope, the name of the struct is an alias of the type.
///
/// | the compiler compares | requirement |
/// |---|---|
/// | each field of the kernel's struct with the type's field of that name | the same offset and size |
/// | the size of the type | the same |
/// | the alignment of the type | the same; or greater, if structs that contain the type keep their layout |
///
/// The type may have further fields, such as named padding, but it must have all fields of the
/// kernel's struct, under the same names. The fields must be visible to the macro: public, or
/// private to a module around the macro's. If the source does not define the struct, nothing is
/// compared.
///
/// # Names
///
/// | source | Rust |
/// |---|---|
/// | `saxpy` | `saxpy` |
/// | `ns::scale<float *, 3>` | `ns_scale_float_ptr_3`: `*`, `&` and `-` become `ptr`, `ref` and `minus`; other signs become `_` |
/// | `over(int)` and `over(float *)` | `over_i32` and `over_ptr_mut_f32` |
/// | `match`, `f32`, `PACK`, `named` | `match_`, `f32_`, `PACK_`; the function of a kernel `named` is `named_` |
/// | a template `scale` and a kernel or a struct `scale` | the generic function `scale_` |
/// | `__offload_x` | `___offload_x`: the macro's own names begin with `__offload` |
/// | a parameter without a name | `arg1` for the first |
/// | a struct without a name, in the `a` field of `P` | `P_a` |
///
/// # Types
///
/// | source | Rust |
/// |---|---|
/// | `int`, `unsigned char`, `float` … | `i32`, `u8`, `f32` …, by their sizes on the device |
/// | `size_t`, `ptrdiff_t`, and other typedefs with these names or endings | `usize`, `isize`; on 32-bit hosts `u64`, `i64` |
/// | `bool` | `bool` as a parameter; [`Bool`](crate::types::Bool) in memory, where it may be any byte |
/// | an `enum` | its integer type; the module of the same name has the constants, such as `Mode::Fast` |
/// | `__half`, `_Float16` | [`F16`](crate::types::F16), the same in all modules |
/// | `__nv_bfloat16`, `__hip_bfloat16`, `__bf16` | [`Bf16`](crate::types::Bf16) |
/// | `__nv_fp8_e4m3`, `__nv_fp8_e5m2` and HIP's | [`F8E4M3`](crate::types::F8E4M3), [`F8E5M2`](crate::types::F8E5M2) … |
/// | `float4`, `uchar2`, `__half2` … with CUDA's layout | [`float4`](crate::types::float4), [`uchar2`](crate::types::uchar2), [`half2`](crate::types::half2) … |
/// | `T *`, `T &` | `*mut T`; `*const T` if `T` is `const` |
/// | `void *`, a pointer to a function | any pointer |
/// | a vector of 4 `float`s with a different layout | a struct with the `lanes: [f32; 4]` field |
/// | bit-fields | bytes, in the `bits` field |
/// | an empty struct `Abs` | a struct with the size that C++ gives it, and a constant `Abs` of this type |
/// | a struct behind a pointer | the same as by value; without fields if the struct has no definition, is a template that the source does not instantiate, or has different layouts on different targets |
///
/// # Records in memory
///
/// | a `struct` of the macro | implements |
/// |---|---|
/// | any | `Copy`, `Debug`, and `Default`: all zeros, with null for addresses |
/// | without unions and without classes that Rust cannot lay out | `PartialEq` |
/// | any, with the `run` feature | [`BufferItem`](crate::run::BufferItem): `device.buffer(&[kernels::Particle { … }])` |
/// | without padding and addresses, with the `run` feature | `bytemuck::Pod` and `Zeroable` |
///
/// # Records by value
///
/// A GPU gets a copy of a record's bytes. If the record is a class with a destructor or a copy
/// constructor, neither of these runs. On the CPU, the C++ calling convention treats some records
/// differently:
///
/// | source | a launch on the CPU |
/// |---|---|
/// | a class with its own destructor or copy constructor, or with virtual functions | passes the address of a copy, as C++ does. A program that declares the kernel itself must declare a pointer |
/// | an empty struct | passes nothing on x86-64, if it has at most 16 bytes; otherwise it is an error |
/// | a union, a vector, a `_Float16`, a zero-length array, or a struct that contains one of them or an empty struct | is an error that names the record, unless the record is so large that it is passed in memory. Use a pointer parameter instead |
///
/// # What is not checked
///
/// A launch is still `unsafe`. The program must ensure that pointers of the same type are not
/// swapped, and that the memory is large enough and stays valid until the kernel has finished. The
/// device's image must have the kernel ([`PackImage::has_kernel`](crate::PackImage::has_kernel)).
///
/// Functions for kernels from sources do not compile under `#![no_implicit_prelude]`, since their
/// error messages need the prelude, but functions for declared kernels do.
#[macro_export]
macro_rules! include_kernels {
    ($($tokens:tt)*) => { $crate::__expansion::include_kernels! { @ 5 $crate; $($tokens)* } };
}

/// Expands to the first items on systems whose linker defines symbols for the start and the end of
/// a section, and to the items after `else` on all others. `linked_packs` needs these symbols to
/// list the retained packs.
#[doc(hidden)]
#[macro_export]
macro_rules! if_packs_are_linked {
    (@ $systems:tt { $($item:item)* } else { $($other:item)* }) => {
        $(#[cfg $systems] $item)*
        $(#[cfg(not $systems)] $other)*
    };
    ({ $($item:item)* } else { $($other:item)* }) => {
        $crate::if_packs_are_linked! {
            @ (all(
                target_pointer_width = "64",
                target_endian = "little",
                any(
                    target_os = "linux",
                    target_os = "android",
                    target_os = "freebsd",
                    target_os = "netbsd",
                    target_os = "openbsd",
                    target_os = "illumos",
                ),
            ))
            { $($item)* } else { $($other)* }
        }
    };
    ($($item:item)*) => { $crate::if_packs_are_linked! {{ $($item)* } else {}} };
}
