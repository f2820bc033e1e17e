//! The command lines: `cargo offload`, and drop-ins for LLVM's `clang-offload-bundler`,
//! `clang-offload-packager` and `llvm-offload-binary` (with the `drop-in` feature). The library
//! contains the programs' code, and is not meant for other crates. Each program's `main` only calls
//! one of its functions.
//!
//! | module | contains |
//! |---|---|
//! | `offload` | the commands of `cargo offload`, for people |
//! | `cargo_offload` | `cargo offload test`: runs tests and checks their kernels |
//! | `bundler`, `packager` | the drop-ins, with LLVM 22's options, messages and exit statuses |
//! | `describe` | descriptions of a file's device code, as text and JSON |
//! | `llvm_args` | the grammar of LLVM's command lines |
//! | `compress` | compression of bundles while they are hashed |
//! | `text` | output for terminals |
//! | `unpack` | files inside wheels and other archives |
//! | `files` | memory-mapped inputs, and outputs that appear whole or not at all |
//!
//! docs/llvm-differences.md in the repository lists the intended differences between the drop-ins
//! and LLVM 22.

mod bundler;
mod cargo_offload;
mod compress;
mod describe;
mod files;
mod llvm_args;
mod offload;
mod packager;
mod text;
mod unpack;

pub use self::offload::main as cargo_offload;
pub use bundler::run as clang_offload_bundler;
pub use packager::run as llvm_offload_binary;

// Run the README's examples as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
