//! The unsafe parts of macro expansions. For `include_offload!`, these are library symbols,
//! sections, registration with HIP's runtime, and trust in a file. For `include_kernels!`, they are
//! calls on the CPU and values of structs.
//!
//! These parts are macros of this crate, not code in the expansion. They name types of this crate
//! and of `core` through `$crate`, so the program may have its own `u8`, `core` or `offload_gpu`.
//! The user's crate compiles under `#![forbid(unsafe_code)]`, because the unsafe code is in another
//! crate's macro.
//!
//! Only expansions call these macros. The build script or the procedural macro has checked the
//! values that they pass: symbols and libraries of a pack, and names of sections that contain plain
//! bytes.

use crate::pack::{Form, KernelPack};

/// Allows a pack's images for the CPU to be loaded. The macro's option `unsafe(cpu)` expands to
/// this call in the user's `unsafe` block.
///
/// Only files that are embedded by their paths need the option. For a pack of build.rs, this build
/// compiled all images for the CPU, and build.rs can link any code into the program anyway.
///
/// # Safety
/// The code of these images may run in this process. It runs when the safe functions of `run` load
/// and unload the images.
#[allow(unsafe_code)] // Nothing here is an unsafe operation, but `run` relies on the condition.
pub const unsafe fn trusted<F: Form>(pack: KernelPack<F>) -> KernelPack<F> {
    pack.with_trust()
}

/// Declares a static reference to a pack's bytes, which a static library defines under a symbol.
#[doc(hidden)]
#[macro_export]
macro_rules! pack_symbol {
    ($pack:ident: $size:literal, $symbol:literal, $library:literal $(, modifiers = $modifiers:literal)?) => {
        // SAFETY: the symbol's name contains a hash of the pack's content, and the build script
        // wrote as many bytes as the index states. If the program links, the bytes therefore have
        // this type.
        #[link(name = $library, kind = "static" $(, modifiers = $modifiers)?)]
        unsafe extern "C" {
            #[link_name = $symbol]
            safe static LINKED: [$crate::__expansion::core::primitive::u8; $size];
        }
        // Code refers to the pack through this static, which rustc exports: the library's symbol is
        // invisible to other shared objects. A shared object needs the pack if it links this crate
        // as a `dylib` and inlines a function that contains the expansion.
        static $pack: &[$crate::__expansion::core::primitive::u8; $size] = &LINKED;
    };
}

/// Makes Cargo rebuild the crate when `OFFLOAD_FROM_DISK` changes.
#[doc(hidden)]
#[macro_export]
macro_rules! track_from_disk {
    () => {
        const _: $crate::__expansion::core::option::Option<
            &$crate::__expansion::core::primitive::str,
        > = $crate::__expansion::core::option_env!("OFFLOAD_FROM_DISK");
    };
}

/// Puts a file's bytes into an aligned static, in a named section if names are given. The first
/// name is for ELF and COFF, the second for Mach-O. With `used`, the program contains the static
/// even if no code refers to it.
#[doc(hidden)]
#[macro_export]
macro_rules! placed_file {
    ([$($section:literal, $macho:literal)?] [$($used:ident)?] $file:ident: $size:literal, $align:literal, $content:expr) => {
        #[repr(C, align($align))]
        struct Aligned([$crate::__expansion::core::primitive::u8; $size]);
        $(
            // SAFETY: the bytes have no special meaning in this section, whose name the procedural
            // macro has checked.
            #[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = $section))]
            #[cfg_attr(target_vendor = "apple", unsafe(link_section = $macho))]
        )?
        $(#[$used])?
        static $file: Aligned = Aligned($content);
    };
}

/// Adds a pack to the program's list. The entry keeps the pack in the program, so only packs with
/// `retain` are listed.
#[doc(hidden)]
#[macro_export]
macro_rules! list_pack {
    ($pack:expr, $name:literal) => {
        $crate::if_packs_are_linked! {
            // SAFETY: the section contains entries, and this static is one.
            #[used]
            #[unsafe(link_section = "offload_packs_1")]
            static LISTED: $crate::__expansion::LinkedPack = $crate::__expansion::LinkedPack::new(&$pack, $name);
        }
    };
}

/// Registers a pack's bundles with HIP's runtime before `main`, as objects from clang do. The
/// section `.hipFatBinSegment` contains a wrapper for each bundle. A constructor passes the
/// wrappers and the names of the kernels to the runtime.
#[doc(hidden)]
#[macro_export]
macro_rules! register_bundles {
    ($segment:literal, $pack:expr; $(
        $wrapper:ident, $handle:ident, $registered:ident: $bundle:literal, $count:literal [$($at:literal $name:literal $c_name:literal)*];
    )*) => {
        #[cfg(not(target_os = "linux"))]
        $crate::__expansion::core::compile_error!(
            "include_offload!: `register` is supported only on Linux"
        );
        $(
            // SAFETY: the runtime reads wrappers in this section, and this static is the wrapper of
            // a complete bundle.
            #[used]
            #[unsafe(link_section = $segment)]
            static $wrapper: $crate::__expansion::Wrapper = $crate::__expansion::Wrapper::new(&$pack[$bundle]);
            static $handle: $crate::__expansion::core::sync::atomic::AtomicPtr<*mut $crate::__expansion::core::ffi::c_void> =
                $crate::__expansion::core::sync::atomic::AtomicPtr::new($crate::__expansion::core::ptr::null_mut());
            static $registered: $crate::__expansion::Kernels = {
                // The address of each byte identifies a kernel; its value is unused.
                static ADDRESSES: [$crate::__expansion::core::primitive::u8; $count] = [0; $count];
                $crate::__expansion::Kernels { names: &[$($name),*], addresses: &ADDRESSES }
            };
        )*
        // SAFETY: the declarations match the headers of HIP's runtime and of the C library.
        #[link(name = "amdhip64")]
        unsafe extern "C" {
            fn __hipRegisterFatBinary(
                wrapper: *const $crate::__expansion::Wrapper,
            ) -> *mut *mut $crate::__expansion::core::ffi::c_void;
            fn __hipUnregisterFatBinary(handle: *mut *mut $crate::__expansion::core::ffi::c_void);
            fn __hipRegisterFunction(
                handle: *mut *mut $crate::__expansion::core::ffi::c_void,
                host_function: *const $crate::__expansion::core::ffi::c_void,
                device_function: *const $crate::__expansion::core::ffi::c_char,
                device_name: *const $crate::__expansion::core::ffi::c_char,
                thread_limit: $crate::__expansion::core::primitive::u32,
                thread: *mut $crate::__expansion::core::ffi::c_void,
                block: *mut $crate::__expansion::core::ffi::c_void,
                block_size: *mut $crate::__expansion::core::ffi::c_void,
                grid_size: *mut $crate::__expansion::core::ffi::c_void,
                warp_size: *mut $crate::__expansion::core::ffi::c_int,
            );
            fn atexit(function: extern "C" fn()) -> $crate::__expansion::core::ffi::c_int;
        }
        // SAFETY of both functions: clang 22 puts these calls, with these arguments, into every HIP
        // program. The wrappers, names and addresses are statics, so they live as long as the
        // program. Constructors run before `main` or inside `dlopen`; the runtime serializes
        // registration, as hipcc's own shared objects require. clang's constructors call `atexit`
        // in the same way.
        extern "C" fn register() {
            unsafe {
                $(
                    let handle = __hipRegisterFatBinary(&raw const $wrapper);
                    $handle.store(handle, $crate::__expansion::core::sync::atomic::Ordering::Release);
                    $(
                        __hipRegisterFunction(
                            handle,
                            (&raw const $registered.addresses[$at]).cast(),
                            $c_name.as_ptr().cast(),
                            $c_name.as_ptr().cast(),
                            // `MAX` means no limit on the threads of a block. Null pointers request
                            // no results.
                            $crate::__expansion::core::primitive::u32::MAX,
                            $crate::__expansion::core::ptr::null_mut(),
                            $crate::__expansion::core::ptr::null_mut(),
                            $crate::__expansion::core::ptr::null_mut(),
                            $crate::__expansion::core::ptr::null_mut(),
                            $crate::__expansion::core::ptr::null_mut(),
                        );
                    )*
                )*
                atexit(unregister);
            }
        }
        extern "C" fn unregister() {
            unsafe {
                $(
                    let handle = $handle.swap(
                        $crate::__expansion::core::ptr::null_mut(),
                        $crate::__expansion::core::sync::atomic::Ordering::AcqRel,
                    );
                    if !handle.is_null() {
                        __hipUnregisterFatBinary(handle);
                    }
                )*
            }
        }
        #[used]
        #[unsafe(link_section = ".init_array")]
        static REGISTER: extern "C" fn() = register;
    };
}

/// Evaluates to the `Variable` with this symbol in a module. The expansion sets the types of the
/// variable and of its items.
#[doc(hidden)]
#[macro_export]
macro_rules! new_variable {
    ($module:expr, $symbol:expr) => {
        // SAFETY: the expansion derives both types from one type in the source. The second is the
        // item type of the first.
        unsafe { $crate::__expansion::Variable::new($module, $symbol) }
    };
}

/// Implements the traits of a struct that an expansion declares: the argument traits, `Default`,
/// and the buffer traits. `plain` marks a struct without padding and addresses, and `bytes` marks
/// any other struct.
#[doc(hidden)]
#[macro_export]
macro_rules! impl_record {
    ($form:ident $record:ident) => {
        $crate::impl_argument_of_record!($record);

        /// Returns the value whose bytes are all 0.
        impl $crate::__expansion::core::default::Default for $record {
            fn default() -> Self {
                // SAFETY: the fields are numbers, addresses, bytes, and arrays and structs of
                // these, for which zeros are valid values.
                unsafe { $crate::__expansion::core::mem::zeroed() }
            }
        }

        $crate::impl_buffer_item!($form $record);
    };
}

/// Evaluates to the `OverrideField` of a field: its size, its offset, and its layout if known. The
/// macro's code contains the field's name only once, so that a missing field causes a single error.
#[doc(hidden)]
#[macro_export]
macro_rules! override_field {
    ($ty:ident, $field:ident) => {{
        let value = $crate::__expansion::core::mem::MaybeUninit::<$ty>::uninit();
        let start = value.as_ptr();
        // SAFETY: the field's address is inside the value. The value is not read.
        let (field, offset) = unsafe {
            let field = &raw const (*start).$field;
            (field, field.byte_offset_from(start))
        };
        use $crate::__expansion::UnknownField as _;
        $crate::__expansion::OverrideField::new(field, offset, |probe| probe.layout())
    }};
}

/// Implements the buffer traits for a struct that an expansion declares.
#[cfg(feature = "run")]
#[doc(hidden)]
#[macro_export]
macro_rules! impl_buffer_item {
    (plain $record:ident) => {
        // SAFETY: the fields are numbers, and arrays and structs of these, without padding. The
        // fields are at the offsets that C gives them.
        unsafe impl $crate::__expansion::bytemuck::Zeroable for $record {}
        // SAFETY: as above.
        unsafe impl $crate::__expansion::bytemuck::Pod for $record {}
        $crate::impl_item_of_cudarc!($record);
    };
    (bytes $record:ident$(<$ty:ident>)?) => {
        // SAFETY: any bytes are valid values of numbers, addresses, bytes, and arrays and structs
        // of these.
        unsafe impl$(<$ty: 'static>)? $crate::__expansion::bytemuck::Zeroable for $record$(<$ty>)? {}
        // SAFETY: as above.
        unsafe impl$(<$ty: 'static>)? $crate::__expansion::BufferItem for $record$(<$ty>)? {}
    };
}

/// Implements the traits for values in cudarc's buffers.
#[cfg(feature = "cudarc")]
#[doc(hidden)]
#[macro_export]
macro_rules! impl_item_of_cudarc {
    ($record:ident) => {
        // SAFETY: the value is plain data, with the same layout as in kernels.
        unsafe impl $crate::__expansion::cudarc::DeviceRepr for $record {}
        // SAFETY: zeros are valid numbers.
        unsafe impl $crate::__expansion::cudarc::ValidAsZeroBits for $record {}
    };
}

/// Implements nothing without the `cudarc` feature.
#[cfg(all(feature = "run", not(feature = "cudarc")))]
#[doc(hidden)]
#[macro_export]
macro_rules! impl_item_of_cudarc {
    ($record:ident) => {};
}

/// Implements nothing: without the `run` feature, there are no buffers.
#[cfg(not(feature = "run"))]
#[doc(hidden)]
#[macro_export]
macro_rules! impl_buffer_item {
    ($($tokens:tt)*) => {};
}
