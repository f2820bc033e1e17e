//! One way to go wrong. HIP's runtime would read a bundle at an address that is none.
#![forbid(unsafe_code)]
#![allow(dead_code)]

mod fake {
    pub mod __expansion {
        pub use offload_gpu::__expansion::*;

        pub struct Wrapper {
            _start: [u32; 2],
            _bundle: usize,
            _unused: usize,
        }

        impl Wrapper {
            pub const fn new(_: &u8) -> Self {
                Self { _start: [0x4849_5046, 1], _bundle: 4096, _unused: 0 }
            }
        }

        pub struct Kernels {
            pub names: &'static [&'static str],
            pub addresses: &'static [u8],
        }

        pub struct ModuleRecord {
            pub name: &'static str,
            pub images: &'static [ImageRecord],
            pub stream: Option<IndexStream>,
            pub registered: Option<&'static Kernels>,
        }

        pub const fn linked<F>(_: &str, _: &str, _: &'static [u8], _: &[ModuleRecord]) {}
    }
}

static SAXPY: () = offload_gpu::include_offload!(
    "saxpy", register, crate = crate::fake
);
fn main() {
    println!("{SAXPY:?}");
}
