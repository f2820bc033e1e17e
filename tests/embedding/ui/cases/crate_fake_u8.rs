//! One way to go wrong. The bytes of a pack would be read as words, far past its end.
#![forbid(unsafe_code)]
#![allow(non_camel_case_types)]

type u8 = u64;

mod fake {
    pub mod __expansion {
        pub use offload_gpu::__expansion::*;

        pub const fn linked<F>(
            _: &str,
            _: &str,
            pack: &'static [u64],
            _: &[ModuleRecord],
        ) -> &'static [u64] {
            pack
        }
    }
}

static SAXPY: &[u8] =
    offload_gpu::include_offload!("saxpy", crate = crate::fake);
fn main() {
    println!("{:?}", SAXPY.last());
}
