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

/// What a variable that counts has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holds {
    /// A list of folders in which headers are looked for.
    IncludeFolders,
    Other,
}

/// Those that count for every compiler.
pub(crate) const COUNTED: [(&str, Holds); 18] = [
    ("CPATH", Holds::IncludeFolders),
    ("C_INCLUDE_PATH", Holds::IncludeFolders),
    ("CPLUS_INCLUDE_PATH", Holds::IncludeFolders),
    ("OBJC_INCLUDE_PATH", Holds::IncludeFolders),
    ("OBJCPLUS_INCLUDE_PATH", Holds::IncludeFolders),
    ("COMPILER_PATH", Holds::Other),
    ("LIBRARY_PATH", Holds::Other),
    ("GCC_EXEC_PREFIX", Holds::Other),
    ("SOURCE_DATE_EPOCH", Holds::Other),
    ("SDKROOT", Holds::Other),
    ("MACOSX_DEPLOYMENT_TARGET", Holds::Other),
    ("CCC_OVERRIDE_OPTIONS", Holds::Other),
    ("QA_OVERRIDE_GCC3_OPTIONS", Holds::Other),
    ("INCLUDE", Holds::IncludeFolders),
    ("LIB", Holds::Other),
    ("LIBPATH", Holds::Other),
    ("CL", Holds::Other),
    ("_CL_", Holds::Other),
];

/// Those in which nvcc looks for flags: they count where it compiles.
pub(crate) const NVCC_FLAGS: [&str; 2] = ["NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"];

/// Those that no step gets.
pub(super) const WITHHELD: [&str; 2] = ["DEPENDENCIES_OUTPUT", "SUNPRO_DEPENDENCIES"];
