//! One way to go wrong. The module contains only types with the names that expansions use.
#![forbid(unsafe_code)]
#![allow(dead_code)]

mod fake {
    pub mod __expansion {
        pub use offload_gpu::__expansion::{ImageRecord, Limits, ModuleRecord, Origin, PackImageKind, linked};

        pub struct LinkedPack(&'static str, &'static [u8]);
    }
}

static SAXPY: offload_gpu::KernelPack =
    offload_gpu::include_offload!("saxpy", crate = crate::fake);
fn main() {
    println!("{SAXPY:?}");
}
