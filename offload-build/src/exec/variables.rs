//! The environment variables that compilers read by themselves.
//!
//! | variables | documented by | here |
//! |---|---|---|
//! | `CPATH`, `C_INCLUDE_PATH`, `CPLUS_INCLUDE_PATH`, `OBJC_INCLUDE_PATH`, `OBJCPLUS_INCLUDE_PATH` | GCC, clang | count |
//! | `COMPILER_PATH`, `LIBRARY_PATH`, `GCC_EXEC_PREFIX`, `SOURCE_DATE_EPOCH` | GCC; clang reads them, too | count |
//! | `SDKROOT`, `MACOSX_DEPLOYMENT_TARGET` | clang | count |
//! | `CCC_OVERRIDE_OPTIONS`, `QA_OVERRIDE_GCC3_OPTIONS` | clang's sources | count |
//! | `NVCC_PREPEND_FLAGS`, `NVCC_APPEND_FLAGS` | nvcc | count |
//! | `INCLUDE`, `LIB`, `LIBPATH`, `CL`, `_CL_` | Visual Studio's compiler | count |
//! | `DEPENDENCIES_OUTPUT`, `SUNPRO_DEPENDENCIES` | GCC, clang: a second dependency file | withheld |
//!
//! Where one counts, Cargo runs the build script again when it changes, and images that were made with another value are made
//! again. (GCC 12 manual, "Environment Variables Affecting GCC"; clang 22 man page; nvcc 13.5 documentation.)

/// Those that count.
pub(crate) const COUNTED: [&str; 18] = [
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "OBJC_INCLUDE_PATH",
    "OBJCPLUS_INCLUDE_PATH",
    "COMPILER_PATH",
    "LIBRARY_PATH",
    "GCC_EXEC_PREFIX",
    "SOURCE_DATE_EPOCH",
    "SDKROOT",
    "MACOSX_DEPLOYMENT_TARGET",
    "CCC_OVERRIDE_OPTIONS",
    "QA_OVERRIDE_GCC3_OPTIONS",
    "INCLUDE",
    "LIB",
    "LIBPATH",
    "CL",
    "_CL_",
];

/// Of those, the lists of folders in which headers are looked for.
pub(crate) const INCLUDE_LISTS: [&str; 6] =
    ["CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "OBJC_INCLUDE_PATH", "OBJCPLUS_INCLUDE_PATH", "INCLUDE"];

/// Those that no step gets.
pub(super) const WITHHELD: [&str; 2] = ["DEPENDENCIES_OUTPUT", "SUNPRO_DEPENDENCIES"];
