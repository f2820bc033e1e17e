//! The object form of the offload bundle: `__CLANG_OFFLOAD_BUNDLE__<id>` sections in a host object.
