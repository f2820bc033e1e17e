//! Driver libraries, loaded when a program requests devices.

use crate::text::{contains, joined};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::error::Error;
use core::ffi::c_void;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;
use libloading::Library;

/// Returns the address of the function with this name.
pub(super) type Find<'a> = dyn Fn(&str) -> Option<NonNull<c_void>> + 'a;

/// Loads the first of `names` that exists, and returns its table of functions. The system's loader
/// searches for the library: no variable of this crate sets a path. If the loader finds a stub
/// library, which exists only for linking and lacks functions, the next name is tried. Returns an
/// error message if no library can be loaded, or in a 32-bit program.
///
/// The library stays loaded until the program ends, since drivers start threads and register
/// functions that run at exit.
///
/// # Safety
/// Libraries with these names must be the real driver, whose functions have the types of `table`,
/// and the driver's code may run in this process.
pub(super) unsafe fn open<T>(
    names: &[&'static str],
    table: unsafe fn(&'static str, &Find<'_>) -> Result<T, &'static str>,
) -> Result<T, String> {
    // On other systems, the calling convention and the sizes of types differ.
    if cfg!(not(target_pointer_width = "64")) {
        return Err("only 64-bit programs can use it".to_string());
    }
    let mut broken = Vec::new();
    for name in names {
        // SAFETY: the caller guarantees that the library may be loaded and run.
        match unsafe { Library::new(*name) } {
            Ok(library) => {
                let library = ManuallyDrop::new(library);
                // SAFETY: the caller guarantees the types of the functions.
                match unsafe { table(name, &|function| address(&library, function.as_bytes())) } {
                    Ok(table) => return Ok(table),
                    Err(missing) => broken.push(format!(
                        "{name} has no function {missing}: it is too old, or a stub for linking"
                    )),
                }
            }
            Err(error) => {
                // The error's source contains the loader's message, if there is one.
                let reason = error.source().map_or_else(|| error.to_string(), ToString::to_string);
                if !is_not_found(name, &reason) {
                    broken.push(format!("{name} does not load: {reason}"));
                }
            }
        }
    }
    Err(if broken.is_empty() {
        format!("the system's loader finds no {}", joined(names, ", "))
    } else {
        joined(&broken, "; ")
    })
}

/// Returns the address of a function. The address is valid as long as the library is loaded.
///
/// This function has no type parameters: otherwise, rustc would compile it separately for each of a
/// driver's dozens of functions.
pub(super) fn address(library: &Library, name: &[u8]) -> Option<NonNull<c_void>> {
    // SAFETY: only the address of the symbol is taken.
    let symbol = unsafe { library.get::<*mut c_void>(name) };
    // For a pointer type, libloading returns the symbol's address; for other types, it returns the
    // value at that address.
    symbol.ok().and_then(|address| NonNull::new(*address))
}

/// Whether the loader reports that the file `name` is missing, rather than an error in the file.
fn is_not_found(name: &str, reason: &str) -> bool {
    // The messages of glibc and musl. If a library that `name` needs is missing, the message
    // contains that library's name instead.
    (contains(reason, "No such file") && contains(reason, &format!("{name}: ")))
        // macOS.
        || contains(reason, "(no such file)")
        // Windows: ERROR_MOD_NOT_FOUND.
        || contains(reason, "os error 126")
}

/// Declares a table of functions with these names. Functions after `optional` may be missing,
/// because only later versions of the library have them.
///
/// One calling convention is enough: this crate uses drivers only on 64-bit systems, which have
/// only one.
macro_rules! functions {
    (
        $(#[$attribute:meta])*
        struct $table:ident {
            $(fn $function:ident($($parameter:ty),* $(,)?) -> $result:ty;)*
            optional
            $(fn $late:ident($($late_parameter:ty),* $(,)?) -> $late_result:ty;)*
        }
    ) => {
        $(#[$attribute])*
        #[allow(non_snake_case)]
        pub(super) struct $table {
            /// The file name by which the library was found.
            #[allow(dead_code, reason = "not all tables are named in messages")]
            pub(super) name: &'static str,
            $(pub(super) $function: unsafe extern "C" fn($($parameter),*) -> $result,)*
            $(pub(super) $late: Option<unsafe extern "C" fn($($late_parameter),*) -> $late_result>,)*
        }

        impl $table {
            /// Looks up the functions in a library. The error is the name of a missing function.
            ///
            /// # Safety
            /// The functions that `find` returns must have these types.
            unsafe fn of(name: &'static str, find: &$crate::run::library::Find<'_>) -> core::result::Result<Self, &'static str> {
                use core::{ffi::c_void, mem::transmute, ptr::NonNull};
                Ok(Self {
                    name,
                    $(
                        // SAFETY: the caller guarantees the type of the function at this address,
                        // which is not null.
                        $function: unsafe {
                            transmute::<NonNull<c_void>, unsafe extern "C" fn($($parameter),*) -> $result>(
                                find(stringify!($function)).ok_or(stringify!($function))?,
                            )
                        },
                    )*
                    $(
                        $late: match find(stringify!($late)) {
                            // SAFETY: as above.
                            Some(address) => Some(unsafe {
                                transmute::<NonNull<c_void>, unsafe extern "C" fn($($late_parameter),*) -> $late_result>(address)
                            }),
                            None => None,
                        },
                    )*
                })
            }
        }
    };
}
pub(super) use functions;
