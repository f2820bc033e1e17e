//! `include_offload!`, `include_kernels!`, and the condition for the systems on which
//! `linked_packs` lists packs.

/// Embeds a pack of GPU images, and evaluates to a [`KernelPack`](crate::KernelPack).
///
/// ```no_run
/// # macro_rules! include_offload { ($($token:tt)*) => {
/// #     offload_gpu::__expansion::not_built("saxpy", "this is an example", &[
/// #         offload_gpu::__expansion::ModuleRecord { name: "saxpy", first: 0, count: 0, registered: None }])
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
/// Use it as the initializer of a `static`: a `const` cannot refer to bytes that a linker provides.
/// A `const` can hold a module or a kernel of such a static. The macro works in libraries,
/// programs, tests, benches, examples and doctests, under `#![forbid(unsafe_code)]` and
/// `#![no_std]`, in the editions 2021 and 2024.
///
/// | | made by | how the bytes get into the program | for |
/// |---|---|---|---|
/// | `include_offload!("saxpy")` | the package's build script, `offload_build::Build::compile("saxpy")` | as a static library, past the compiler | packs of any size |
/// | `include_offload!(path = "saxpy.hipfb")` | whatever made the file | through the compiler, as `include_bytes!` | files of up to some megabytes |
///
/// For large files, let a build script make a pack: `Build::new().file("kernels.hipfb")` accepts
/// supplied images. This needs offload-build's feature `containers`, and `compression` if the file
/// is compressed.
///
/// # A pack of the build script
///
/// The name is the argument of `compile` in build.rs. The bytes do not pass through the compiler.
/// The build script has put them into a static library, and the expansion refers to them by a
/// symbol of this library. ROCm's and LLVM's tools find the bytes in the section `.hip_fatbin` if
/// all targets are AMD's, otherwise in `.llvm.offloading`. The symbol's name contains the hash of
/// the pack's content. Several crates can therefore have packs with the same name, and equal packs
/// are linked once. A pack that no code uses is not linked.
///
/// A pack of 64 MiB or more is not copied into the crate's library (`.rlib`): the linker reads it
/// from `OUT_DIR`. Programs and dynamic libraries need nothing more for this. A `staticlib` for a
/// program in another language contains the pack only if the pack is smaller than 64 MiB. For a
/// larger pack, the link of that program needs `-L <OUT_DIR>/offload -loffload_<name>_<hash>`,
/// which `cargo rustc -- --print native-static-libs` prints.
///
/// # A file
///
/// A file is embedded by its path, with the feature `files` of this crate.
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
/// The path is relative to the source file, or absolute, or starts with `$OUT_DIR/` or
/// `$CARGO_MANIFEST_DIR/`. Cargo builds the crate again when the file changes. The file can have
/// one of these formats:
///
/// | file | lies in | aligned to |
/// |---|---|---|
/// | offload bundles, also compressed ones (`clang-offload-bundler`, `hipcc --genco`) | `.hip_fatbin` | 4096 |
/// | offload binaries (`llvm-offload-binary`, `clang-offload-packager`) | `.llvm.offloading` | 8 |
/// | fatbins (`fatbinary`, `nvcc -fatbin`) | `.nv_fatbin` | 8 |
/// | an AMD code object, a cubin | no section of its own | 4096 |
/// | PTX, which gets a NUL at its end | no section of its own | 8 |
///
/// The macro does not list the images of compressed files and fatbins: `select` returns an error
/// with the reason, and `bytes()` returns the whole file. Images that no driver loads, such as
/// objects that are not linked, are in `bytes()`, but `images()` does not list them.
///
/// # Options
///
/// Options follow the name or the path, in any order.
///
/// | option | means | for |
/// |---|---|---|
/// | `section = ".my_kernels"` | the section, in place of that in the table above: a name that means nothing to linkers, loaders and runtimes, behind a period. On macOS `"segment,section"` | files |
/// | `align = 65536` | the alignment in bytes, a power of two from 8 on | files |
/// | `retain` | it is in the program even if nothing uses it, as long as the crate is linked (a dependency is if anything names it, `use kernels as _;`); and `linked_packs` lists it | both |
/// | `crate = ::gpu::offload_gpu` | where this crate is, for expansions in a crate that does not depend on it: this crate or a re-export of it | both |
/// | `compressed` | it is a [`KernelPack<Compressed>`](crate::Compressed) also in builds in which build.rs does not compress it | packs of build.rs |
/// | `unsafe(cpu)` | code in the file may run in this program, on the CPU | files |
/// | `register` | HIP's runtime takes the kernels over when the program starts | both, for AMD |
///
/// The code of an image for the CPU runs in the program. In a pack of the build script, the build
/// compiled this code. A file can come from anywhere, and the functions that load it are safe. The
/// CPU therefore refuses the images of a file, unless the option `unsafe(cpu)` says that the file
/// is trusted: constructors, destructors and kernels of these images may run in this program. Under
/// `forbid(unsafe_code)`, the compiler refuses this option.
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
/// `register`, the program contains the same data as objects of hipcc and clang. A structure in
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
/// The option works on Linux, for packs whose targets are all AMD's, and for files of bundles. The
/// linker needs `libamdhip64.so`, from a folder that build.rs names
/// (`cargo::rustc-link-search=native=/opt/rocm/lib`). Without this library, the program does not
/// start. With this option, the pack is always in the program, even if no code uses it. If no image
/// fits the GPU, ROCm 5.2 ends the process at the first launch. To detect this case before the
/// launch, call `select`, which returns an error. Use `register` only for host code that launches
/// kernels through HIP's runtime, as code from hipcc does.
///
/// A linker can also link device code: with `-C linker=clang -C link-arg=--offload-link`,
/// clang-linker-wrapper extracts relocatable images from an offload binary, links them, and
/// registers the result. Use this for device code of several languages or libraries that has to be
/// linked together. `llvm-offload-binary` makes this offload binary from objects (`clang -c`).
/// Embed the file with `path` and `retain` in the program's own crate: the wrapper does not search
/// libraries whose symbols are not used.
///
/// # Environment variables
///
/// | variable | means |
/// |---|---|
/// | `OFFLOAD_FROM_DISK=1` | development builds (those with `debug_assertions`) read packs of build scripts from `OUT_DIR` when the program asks for them first, and do not link them. After a change of a kernel, `cargo build --lib` of the package with the kernels is enough: programs need not be linked again. They are not in the program then, with `retain` either, and `linked_packs` does not list them. What cannot be read is an error of `select`, with the path. A kernel with other parameters than when the program was compiled is an error, too. Such a program runs on the machine that built it, and its crate needs std. Release builds, files by their paths and packs with `register` are embedded as ever |
///
/// If the variable changes, Cargo builds the crate again. The build script's own variables are on
/// the front page of `offload_build`.
///
/// # Errors
///
/// A missing pack or file, or a damaged file, causes a compile error at the literal. So does an
/// option that does not fit the pack or file. The message lists the packs that exist. If a pack was
/// not built, because `OFFLOAD_SKIP` was set or the build was for docs.rs, the program compiles.
/// The pack's `select` then reports why.
///
/// For a pack of a build script, the macro reads only a small index and a few bytes of the library,
/// whatever the size of the pack.
///
/// This macro needs the feature `macros` of this crate, which is on by default; with `path`, also
/// `files`.
#[macro_export]
macro_rules! include_offload {
    // The macro passes on tokens, not a literal. A literal that the macro passes on would lose its
    // place in the user's source, and errors should point at that place.
    ($($tokens:tt)*) => { $crate::__expansion::include_offload!(@ 4 $crate; $($tokens)*) };
}

/// Embeds a pack of the build script and declares a function for each kernel. The pack is embedded
/// as by [`include_offload!`](crate::include_offload), and the parameters have the types of the
/// kernel's source.
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
/// Put the macro call into a module of your own. The name and the options are the same as in
/// `include_offload!` for packs. The build script has written the code for a call with the name
/// alone. Options and declared kernels need the feature `macros` of this crate, which is on by
/// default, and a parser of Rust (`syn`); a file in place of the name needs `files`. In that
/// module, the macro declares these items:
///
/// | item | is |
/// |---|---|
/// | `PACK` | the pack, a [`KernelPack`](crate::KernelPack) |
/// | a function for each kernel | it takes the arguments of a launch, each an [`Argument`](crate::Argument), and returns a [`Call`](crate::Call). Its signature has `n: impl n_1_4<i32>` for parameter 1, `int n`: any `Argument<i32>`. Its documentation is the comment above the kernel |
/// | a generic function and a trait for each template | it calls the instance with these types: `scale::<f32>`. See [Templates](#templates) |
/// | a `struct` for each record | unless a [type of the program](#types-of-the-program) takes its place, with the fields, the size and the alignment that the device's compiler has; a union or a class that Rust cannot lay out has its bytes. See [Records in memory](#records-in-memory) |
/// | a `mod` for each `enum` of a parameter, field or pointer | with a constant for each name of a value. An item of yours with the name of the `mod` takes its place |
/// | `named` | a function that finds a kernel by a name that the program chooses when it runs: a [`NamedKernel`](crate::NamedKernel). See [Kernels by name](#kernels-by-name) |
/// | a constant for each kernel whose parameters are not known | a [`Kernel`](crate::Kernel) |
/// | a `mod` for each module that has its own name | the same, of that module |
///
/// Signatures come from the debug information that clang writes of CUDA, HIP, OpenCL C and C
/// sources. The build compares them with the arguments that each image for a GPU records. If an
/// image has other arguments, for example because an `#ifdef` widens a parameter, the build prints
/// a warning. A call of the kernel then does not compile. The signatures of kernels that nvcc
/// compiles are unknown, unless build.rs calls `clang_signatures(true)`. The signatures of kernels
/// in supplied images are unknown, too. If there are images for the CPU alone, clang reads the
/// source as the C++ compiler does.
///
/// Builds without clang (`OFFLOAD_SKIP=1`, docs.rs, or the target `cpu` alone) use the signatures
/// of the package's prebuilt set. If no signature is known, the macro is a compile error with the
/// reason, unless rustdoc runs or the program declares kernels.
///
/// For a kernel without a known signature, the macro declares
/// a constant, unless the program declares the kernel.
///
/// # Declared kernels
///
/// If the signature of a kernel is unknown, the program can declare the function, with Rust's
/// types:
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
/// `mod affine { … }` names the module of the pack. A declared parameter is a
/// [`Parameter`](trait@crate::Parameter): numbers, pointers, and structs that derive it. The
/// compiler compares each parameter with the arguments that every image records. If an image's
/// record contradicts a declared type, the program does not compile. Images record these facts:
///
/// | an image | records |
/// |---|---|
/// | of each GPU | the kernel's name; number, offset and size of its arguments |
/// | AMD's code objects | whether an argument is a pointer: an `f64` in its place is refused, an address in a `u64` is not |
/// | PTX | floating-point numbers: an integer in their place is refused |
/// | for the CPU | nothing |
///
/// No image records whether the kernel may write through a pointer, nor the type that the pointer
/// points to. If the types of a kernel are known from its source, a declaration replaces them.
/// Types in declarations are names of the module around the macro. If that module has its own
/// `f32`, a declaration has that type, and the compiler checks its layout.
///
/// # Kernels by name
///
/// Programs that choose a kernel when they run have the function `named` in each module of kernels:
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
/// The name is that of the kernel's function, its name in the source (`scale<float, 3>`), or its
/// symbol. [`NamedKernel`](crate::NamedKernel) takes what the function takes, and compares it with
/// the source when the program runs. Kernels without a known signature have to be declared.
///
/// # Templates
///
/// The instances of a kernel template have one generic function beside their own functions, and a
/// trait of the same name, which the types of the instances implement:
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
/// If there is no such instance, the call does not compile, and the message lists the instances.
/// The function takes what the function of the instance takes.
///
/// | an argument of the template | is in Rust |
/// |---|---|
/// | a type | the type of a parameter of that type; `bool` for `bool`; also `half::f16` for `__half` with the feature `half` |
/// | an integer, a `bool`, a constant of an `enum` | a constant: `reduce::<f32, 256>` |
/// | one with a default value | always written |
/// | a pack of arguments, a pointer, a template, a type without a name | nothing: the generic function has no such instance |
///
/// The trait is for the template's first type, and takes the other arguments: `T:
/// kernels::convert<U>`. Without a type it is for `()`. In functions over types, a value of the
/// first type may be passed for a parameter of that type; for another type, add the bound `U:
/// offload_gpu::Argument<U>`. If an instance is for `bool` or halves, the trait has the type `T`
/// in the memory of kernels, such as [`Bool`](crate::types::Bool).
///
/// The generic function lacks instances whose arguments are the same in Rust, such as
/// `scale<long>` and `scale<long long>`. If a template has overloads with another number of
/// parameters or other template parameters, there is no generic function. An item of the program
/// with the name of a generic function hides it.
///
/// # Types of the program
///
/// `use` puts a type of the program in place of the struct that a kernel has:
///
/// ```text
/// mod kernels {
///     offload_gpu::include_kernels!("particles", use crate::Particle as Particle, use crate::Cell);
/// }
/// ```
///
/// Functions then take the program's type, behind pointers (`&Buffer<crate::Particle>`) and by
/// value; a type that is passed by value derives [`Parameter`](trait@crate::Parameter). Other
/// structs have the type as a field. They are then `Copy` alone. Without `as`, the struct has the
/// type's name; `use crate::Particle as affine::Particle` is for the module `affine` of a pack,
/// and without a module, all modules with such a struct have the type. In the macro's scope, the
/// name of the struct is an alias of the type.
///
/// | the compiler compares | right is |
/// |---|---|
/// | each field of the kernel's struct with the type's field of the same name in Rust | the same offset and size |
/// | the size of the type | the same |
/// | its alignment | the same, or greater, if a struct with the type as a field keeps its layout |
///
/// A type may have other fields, such as padding with a name. A field that it names otherwise is an
/// error. The macro has to see all fields: they are public, or in a module around the macro's. A
/// struct without a definition in the source is compared with nothing.
///
/// # Names
///
/// | the source has | Rust has |
/// |---|---|
/// | `saxpy` | `saxpy` |
/// | `ns::scale<float *, 3>` | `ns_scale_float_ptr_3`: `*`, `&` and `-` are the words `ptr`, `ref` and `minus`, other signs an `_` |
/// | `over(int)` and `over(float *)` | `over_i32` and `over_ptr_mut_f32` |
/// | `match`, `f32`, `PACK`, `named` | `match_`, `f32_`, `PACK_`; the function of a kernel `named` is `named_` |
/// | a template `scale` beside a kernel or a struct `scale` | the generic function `scale_` |
/// | `__offload_x` | `___offload_x`: the macro's own names begin with `__offload` |
/// | a parameter without a name | `arg1` for the first |
/// | a struct without a name, in the field `a` of `P` | `P_a` |
///
/// # Types
///
/// | the source has | Rust has |
/// |---|---|
/// | `int`, `unsigned char`, `float` … | `i32`, `u8`, `f32` …, by their sizes on the device |
/// | `size_t`, `ptrdiff_t`, and other typedefs with these or their names' ends | `usize`, `isize`; `u64`, `i64` on hosts with pointers of 32 bits |
/// | `bool` | `bool` as a parameter; [`Bool`](crate::types::Bool) in memory, where it may be any byte |
/// | an `enum` | its integer; the module of its name has its constants, `Mode::Fast`, of this type |
/// | `__half`, `_Float16` | [`F16`](crate::types::F16), the same in all modules |
/// | `__nv_bfloat16`, `__hip_bfloat16`, `__bf16` | [`Bf16`](crate::types::Bf16) |
/// | `__nv_fp8_e4m3`, `__nv_fp8_e5m2` and HIP's | [`F8E4M3`](crate::types::F8E4M3), [`F8E5M2`](crate::types::F8E5M2) … |
/// | `float4`, `uchar2`, `__half2` … with CUDA's layout | [`float4`](crate::types::float4), [`uchar2`](crate::types::uchar2), [`half2`](crate::types::half2) … |
/// | `T *`, `T &` | `*mut T`; `*const T` if `T` is `const` |
/// | `void *`, a pointer to a function | any pointer |
/// | another vector of 4 `float`s | a struct with the field `lanes: [f32; 4]` |
/// | bit-fields | their bytes, in the field `bits` |
/// | an empty struct `Abs` | a struct with the bytes that C++ gives it, and the constant `Abs`, its value |
/// | a struct behind a pointer | the same as by value. A struct without a definition has no fields, and so has a template that nothing in the source instantiates, and a struct whose layout differs between targets |
///
/// # Records in memory
///
/// | a `struct` of the macro | is |
/// |---|---|
/// | each | `Copy` and `Debug`, and `Default`: a value of zeros, with null for addresses |
/// | one without unions and classes that Rust cannot lay out | `PartialEq` |
/// | each, with the feature `run` | a [`BufferItem`](crate::run::BufferItem): `device.buffer(&[kernels::Particle { … }])` |
/// | one without padding and addresses, with the feature `run` | also `bytemuck::Pod` and `Zeroable` |
///
/// # Records by value
///
/// GPUs get the bytes of each record, also of a class with a destructor or a copy constructor. No
/// constructor and no destructor of the copy runs. On the CPU, C++ passes some records in its own
/// way:
///
/// | the source has | a launch on the CPU |
/// |---|---|
/// | a class with its own destructor or copy constructor, or with virtual functions | passes the address of a copy, as C++ does. If only the program declares the kernel, it must declare a pointer |
/// | an empty struct | passes nothing on x86-64, if it has at most 16 bytes; otherwise it is an error |
/// | a union, a vector, a `_Float16`, an array without elements, or a struct with one of them or with an empty struct | is an error that names the record, unless the record is so large that it is in memory. Let the kernel take a pointer |
///
/// # What is not checked
///
/// The program has to make sure that two pointers of one type are not swapped. The memory at the
/// pointers must be long enough and live until the kernel has run. The image of a device must have
/// the kernel ([`PackImage::has_kernel`](crate::PackImage::has_kernel)). A launch is therefore
/// still `unsafe`.
///
/// Functions of kernels from sources do not compile under `#![no_implicit_prelude]`: the
/// compiler's messages about them need the prelude. Declared kernels do.
#[macro_export]
macro_rules! include_kernels {
    ($($tokens:tt)*) => { $crate::__expansion::include_kernels! { @ 4 $crate; $($tokens)* } };
}

/// Selects items by the system: the first items, or those after `else`. The first items are used
/// where the linker defines symbols for the start and the end of a section. On these systems,
/// `linked_packs` lists the retained packs. The items after `else` are for all other systems.
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
