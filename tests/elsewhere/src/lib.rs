//! Packs in a library, which programs on any host check: `cargo xtask elsewhere` builds this
//! package for other hosts and runs its tests there.

use offload::KernelPack;

/// Images for GPUs of both vendors, in two modules.
pub static MIXED: KernelPack = offload::include_offload!("mixed", retain);
/// Images only for AMD's GPUs, in the section that HIP programs have.
pub static AMD: KernelPack = offload::include_offload!("amd", retain);

/// Kernels for the CPU, and a function for each.
pub mod on_cpu {
    offload::include_kernels!(
        "on_cpu",
        extern "C" {
            pub fn block_sum(n: i32, x: *const f32, sums: *mut f32);
            pub fn large_frames(out: *mut i32);
            pub fn registers(out: *mut f64);
            pub fn lanes(out: *mut i32);
            pub fn saxpy(n: i32, a: f32, x: *const f32, y: *mut f32);
        }
    );
}
