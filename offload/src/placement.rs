//! The unsafe parts of `include_offload!`'s expansion: symbols of libraries, sections, and
//! registration with HIP's runtime.
//!
//! They are macros of this crate, and not tokens of the procedural macro. Each therefore names this
//! crate's own types and those of `core` through `$crate`, even if the surrounding program has its
//! own `u8`, `core` or `offload`. Since another crate's macro has the unsafe code, all of it
//! compiles under the user's `#![forbid(unsafe_code)]`.
//!
//! Only the procedural macro calls them. The procedural macro passes values that it has checked:
//! symbols and libraries of a pack's index, and names of sections in which bytes are only bytes.

/// Declares the bytes of a pack, which are under a symbol of its static library, as a reference.
#[doc(hidden)]
#[macro_export]
macro_rules! pack_symbol {
    ($pack:ident: $size:literal, $symbol:literal, $library:literal $(, modifiers = $modifiers:literal)?) => {
        // SAFETY: the symbol's name has the hash of the pack's content, and the build script wrote
        // its library with as many bytes as its index records. The linked bytes therefore have this
        // type; otherwise the program does not link.
        #[link(name = $library, kind = "static" $(, modifiers = $modifiers)?)]
        unsafe extern "C" {
            #[link_name = $symbol]
            safe static LINKED: [$crate::__expansion::core::primitive::u8; $size];
        }
        // Other shared objects do not see the symbol. Where a function with the expansion is
        // inlined into a crate that links this one as a `dylib`, it refers to this static, which
        // rustc exports.
        static $pack: &[$crate::__expansion::core::primitive::u8; $size] = &LINKED;
    };
}

/// Puts a file's bytes into a static, aligned, in a section of that name for ELF and COFF, and of
/// that for Mach-O; or in none of its own. `used` keeps it.
#[doc(hidden)]
#[macro_export]
macro_rules! placed_file {
    ([$($section:literal, $macho:literal)?] [$($used:ident)?] $file:ident: $size:literal, $align:literal, $content:expr) => {
        #[repr(C, align($align))]
        struct Aligned([$crate::__expansion::core::primitive::u8; $size]);
        $(
            // SAFETY: bytes are nothing but bytes in this section: the procedural macro has checked
            // its name.
            #[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = $section))]
            #[cfg_attr(target_vendor = "apple", unsafe(link_section = $macho))]
        )?
        $(#[$used])?
        static $file: Aligned = Aligned($content);
    };
}

/// The entry of a pack in the program's list. The entry refers to the pack, so the list has only
/// packs that are in the program anyway.
#[doc(hidden)]
#[macro_export]
macro_rules! list_pack {
    ($room:literal, $pack:expr, $name:literal) => {
        $crate::if_packs_are_linked! {
            // SAFETY: the section is a list of entries, and this is one.
            #[used]
            #[unsafe(link_section = "offload_packs_1")]
            static LISTED: $crate::__expansion::Entry<$room> = $crate::__expansion::Entry::new(&$pack, $name);
        }
    };
}

/// Defines, as clang's objects do, the data by which HIP's runtime registers a pack's bundles
/// before `main`: a wrapper for each bundle in this section, and a constructor that passes them
/// with the names of the kernels.
#[doc(hidden)]
#[macro_export]
macro_rules! register_bundles {
    ($segment:literal, $pack:expr; $(
        $wrapper:ident, $handle:ident, $registered:ident: $bundle:literal, $count:literal [$($at:literal $name:literal $c_name:literal)*];
    )*) => {
        #[cfg(not(target_os = "linux"))]
        $crate::__expansion::core::compile_error!("include_offload!: `register` is there for Linux alone");
        $(
            // SAFETY: the runtime reads wrappers in this section, and this is one, of a bundle that
            // is whole.
            #[used]
            #[unsafe(link_section = $segment)]
            static $wrapper: $crate::__expansion::Wrapper = $crate::__expansion::Wrapper::new(&$pack[$bundle]);
            static $handle: $crate::__expansion::core::sync::atomic::AtomicPtr<*mut $crate::__expansion::core::ffi::c_void> =
                $crate::__expansion::core::sync::atomic::AtomicPtr::new($crate::__expansion::core::ptr::null_mut());
            static $registered: $crate::__expansion::Kernels = {
                // Only the addresses count.
                static ADDRESSES: [$crate::__expansion::core::primitive::u8; $count] = [0; $count];
                $crate::__expansion::Kernels { names: &[$($name),*], addresses: &ADDRESSES }
            };
        )*
        // SAFETY: these are the functions of HIP's runtime and of C, as their headers declare them.
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
        // program. The wrappers, names and addresses are statics, so that they stay as long as the
        // program. Constructors run before `main`, or inside `dlopen`, where the runtime serializes
        // registration, as it must for hipcc's own shared objects; and `atexit` is called as
        // clang's constructors do.
        extern "C" fn register() {
            unsafe {
                $(
                    let handle = __hipRegisterFatBinary(&raw const $wrapper);
                    $handle.store(handle, $crate::__expansion::core::sync::atomic::Ordering::Release);
                    $(
                        __hipRegisterFunction(
                            handle,
                            (&raw const $registered.addresses[$at]).cast(),
                            $c_name.as_ptr(),
                            $c_name.as_ptr(),
                            // No limit on the threads of a block; nothing is asked back.
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

/// The function that calls a kernel for the CPU with its arguments, each at its offset: an
/// `Option<Invoke>`.
#[cfg(feature = "run")]
#[doc(hidden)]
#[macro_export]
macro_rules! cpu_call {
    ($($offset:expr, $ty:ty;)*) => {{
        // SAFETY (of a call): the function is the kernel of the image for the CPU, whose parameters
        // have these types, and each argument is at its offset in the `Call`.
        unsafe fn invoke(
            function: *const $crate::__expansion::core::ffi::c_void,
            arguments: *const $crate::__expansion::core::primitive::u8,
        ) {
            let _ = arguments;
            // SAFETY: the caller answers for the function's type.
            let function = unsafe {
                $crate::__expansion::core::mem::transmute::<
                    *const $crate::__expansion::core::ffi::c_void,
                    unsafe extern "C" fn($($ty),*),
                >(function)
            };
            // SAFETY: the caller answers for the arguments.
            unsafe { function($(arguments.add($offset).cast::<$ty>().read_unaligned()),*) }
        }
        $crate::__expansion::core::option::Option::Some(invoke as $crate::__expansion::Invoke)
    }};
}

/// Without the feature `run`, nothing calls functions of the CPU.
#[cfg(not(feature = "run"))]
#[doc(hidden)]
#[macro_export]
macro_rules! cpu_call {
    ($($tokens:tt)*) => {
        $crate::__expansion::core::option::Option::None
    };
}
