//! Code that the tests of this package share: tools that may be missing, packages in scratch
//! folders, files to compare with.
//!
//! A test says which tools it needs. Where one is missing, the test is shown as ignored, with the
//! reason; with `OFFLOAD_REQUIRE=all` (as `cargo xtask test` sets it once it has installed
//! everything) it fails. A GPU or a terminal is what no set-up installs: a test that needs one is
//! never more than ignored.

pub mod counting;
pub mod data;
pub mod hidden;
pub mod jit_link;
pub mod judges;
pub mod own;
pub mod published;
pub mod random_kernels;
pub mod registry;
pub mod scenario;
pub mod scratch;
pub mod side_by_side;
pub mod stand_ins;
pub mod tools;
pub mod visit;
