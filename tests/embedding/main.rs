//! Tests of packs in programs: the bytes that `include_offload!` embeds, the packs that linkers
//! keep, and the macro's errors.
//!
//! - `built_packs`: packs that a build script creates, in a package's crates and in packages that
//!   depend on it
//! - `editor`: how editors expand the macro
//! - `include_offload`: the macro's options, files embedded by path, and every kind of crate
//! - `link_matrix`: packs in all kinds of crates, in every profile, with every linker
//! - `ui`: the macro's error messages

#[macro_use]
extern crate offload_tests;

mod built_packs;
mod editor;
mod include_offload;
mod link_matrix;
mod linked_program;
mod sources;
mod ui;

fn main() -> std::process::ExitCode {
    offload_tests::registry::run()
}
