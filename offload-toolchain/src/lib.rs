//! The lower half of offload-build: it finds and starts compilers, knows which files they read,
//! hashes and writes files, and talks to Cargo.
//!
//! This half is a crate of its own because it does not need offload-format: Cargo compiles both at
//! the same time. Its interface has no promises: offload-build requires one exact version. Users
//! see only [`error::Error`] and [`error::ErrorKind`], which offload-build exports.
#![deny(unsafe_code)]
// Only offload-build calls these functions.
#![allow(missing_docs, missing_debug_implementations)]

#[doc(hidden)]
pub mod cargo;
#[doc(hidden)]
pub mod compilers;
pub mod error;
#[doc(hidden)]
pub mod exec;
#[doc(hidden)]
pub mod files;
#[doc(hidden)]
pub mod hash;
#[doc(hidden)]
pub mod read_files;

// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
