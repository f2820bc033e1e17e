//! `register`: what clang's objects have, so that HIP's runtime takes the bundles over before `main`.

use offload_format::host_object::SectionNames;
use offload_format::pack_index::IndexModule;
use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote};
use std::collections::BTreeSet;
use std::ffi::CString;

/// The wrappers of the bundles in `pack`, a place of bytes, and the constructor that hands them over.
pub(super) fn tokens(expansion: &TokenStream, modules: &[IndexModule], pack: &TokenStream) -> TokenStream {
    let bundles = modules.iter().enumerate().filter_map(|(number, module)| Some((number, module, module.bundle?)));
    let (mut items, mut calls) = (Vec::new(), Vec::new());
    let segment = SectionNames::HIP_FATBIN_SEGMENT.name;
    for (number, module, bundle) in bundles {
        let [wrapper, handle, registered] =
            ["WRAPPER", "HANDLE", "REGISTERED"].map(|name| format_ident!("{name}_{number}"));
        let bundle = Literal::u64_unsuffixed(bundle);
        let names = kernels(module);
        let count = Literal::usize_unsuffixed(names.len());
        items.push(quote! {
            #[used]
            #[unsafe(link_section = #segment)]
            static #wrapper: #expansion::Wrapper =
                #expansion::Wrapper::new(&#pack[#bundle]);
            static #handle: ::core::sync::atomic::AtomicPtr<*mut ::core::ffi::c_void> =
                ::core::sync::atomic::AtomicPtr::new(::core::ptr::null_mut());
            static #registered: #expansion::Kernels = {
                // Only the addresses count.
                static ADDRESSES: [u8; #count] = [0; #count];
                #expansion::Kernels { names: &[#(#names),*], addresses: &ADDRESSES }
            };
        });
        let functions = names.iter().enumerate().filter_map(|(at, name)| {
            let (at, name) = (Literal::usize_unsuffixed(at), Literal::c_string(&CString::new(*name).ok()?));
            Some(quote! {
                __hipRegisterFunction(
                    handle,
                    (&raw const #registered.addresses[#at]).cast(),
                    #name.as_ptr(),
                    #name.as_ptr(),
                    // No limit on the threads of a block; nothing is asked back.
                    ::core::primitive::u32::MAX,
                    ::core::ptr::null_mut(),
                    ::core::ptr::null_mut(),
                    ::core::ptr::null_mut(),
                    ::core::ptr::null_mut(),
                    ::core::ptr::null_mut(),
                );
            })
        });
        calls.push((
            quote! {
                let handle = __hipRegisterFatBinary(&raw const #wrapper);
                #handle.store(handle, ::core::sync::atomic::Ordering::Release);
                #(#functions)*
            },
            quote! {
                let handle = #handle.swap(::core::ptr::null_mut(), ::core::sync::atomic::Ordering::AcqRel);
                if !handle.is_null() {
                    __hipUnregisterFatBinary(handle);
                }
            },
        ));
    }
    let (register, unregister): (Vec<_>, Vec<_>) = calls.into_iter().unzip();
    // SAFETY of the expansion: these are the calls that clang 22 puts into every HIP program, with what it passes. The
    // wrappers, names and addresses are statics, so that they stay as long as the program. Constructors run before
    // `main`, or inside `dlopen`, where the runtime serializes registration, as it must for hipcc's own shared objects;
    // and `atexit` is called as clang's constructors do.
    quote! {
        #[cfg(not(target_os = "linux"))]
        ::core::compile_error!("include_offload!: `register` is there for Linux alone");
        #(#items)*
        #[link(name = "amdhip64")]
        unsafe extern "C" {
            fn __hipRegisterFatBinary(
                wrapper: *const #expansion::Wrapper,
            ) -> *mut *mut ::core::ffi::c_void;
            fn __hipUnregisterFatBinary(handle: *mut *mut ::core::ffi::c_void);
            fn __hipRegisterFunction(
                handle: *mut *mut ::core::ffi::c_void,
                host_function: *const ::core::ffi::c_void,
                device_function: *const ::core::ffi::c_char,
                device_name: *const ::core::ffi::c_char,
                thread_limit: ::core::primitive::u32,
                thread: *mut ::core::ffi::c_void,
                block: *mut ::core::ffi::c_void,
                block_size: *mut ::core::ffi::c_void,
                grid_size: *mut ::core::ffi::c_void,
                warp_size: *mut ::core::ffi::c_int,
            );
            fn atexit(function: extern "C" fn()) -> ::core::ffi::c_int;
        }
        extern "C" fn register() {
            unsafe {
                #(#register)*
                atexit(unregister);
            }
        }
        extern "C" fn unregister() {
            unsafe {
                #(#unregister)*
            }
        }
        #[used]
        #[unsafe(link_section = ".init_array")]
        static REGISTER: extern "C" fn() = register;
    }
}

/// The kernels of a module's images, each once.
fn kernels(module: &IndexModule) -> Vec<&str> {
    let all: BTreeSet<&str> =
        module.images.iter().flat_map(|image| image.kernels.iter().flatten()).map(|it| &**it).collect();
    all.into_iter().collect()
}
