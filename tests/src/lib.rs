//! Code that this package's tests share: tools that may be missing, packages in scratch folders,
//! and expected files. The functions panic on failure, which fails the test.
//!
//! A test lists the tools that it needs. If one is missing, the test is shown as ignored, with the
//! reason. With `OFFLOAD_REQUIRE=all`, the test fails instead. `cargo xtask test --all` sets this
//! variable after it has installed everything. Set-up cannot install a GPU or a terminal. On
//! machines without a GPU or without a terminal, tests that need the missing one are ignored, and
//! never fail.

pub mod bundler;
pub mod bytes;
pub mod cache_server;
pub mod command_lines;
pub mod containers;
pub mod counting;
pub mod data;
pub mod hidden;
pub mod intel;
pub mod jit_link;
pub mod judges;
pub mod own;
pub mod prelude;
pub mod processes;
pub mod published;
pub mod random_kernels;
pub mod registry;
pub mod scenario;
pub mod scratch;
pub mod side_by_side;
pub mod spirv;
pub mod stand_ins;
pub mod tools;
pub mod visit;

pub use offload_tests_attribute::test;
