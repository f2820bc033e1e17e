//! Packs in a library, which programs check on any host. `cargo xtask elsewhere` builds this
//! package for other hosts and runs its tests there.

use offload_gpu::KernelPack;
use std::fs;

/// Images for GPUs of both vendors, in two modules.
pub static MIXED: KernelPack = offload_gpu::include_offload!("mixed", retain);
/// Images for AMD's GPUs only, in the section that HIP programs use.
pub static AMD: KernelPack = offload_gpu::include_offload!("amd", retain);

/// Kernels for the CPU, and a launch function for each kernel.
pub mod on_cpu {
    offload_gpu::include_kernels!(
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

/// Whether an embedded pack equals the file that the build script wrote.
pub fn is_whole(pack: &KernelPack) -> bool {
    let file = format!("{}/{}.pack", env!("OFFLOAD_ELSEWHERE_OUT"), pack.name());
    fs::read(file).is_ok_and(|bytes| pack.bytes() == bytes)
}

/// Counts the complete packs, for tests/program.c, which links this crate as a static library.
// SAFETY: no other item of the program has this name.
#[unsafe(no_mangle)]
pub extern "C" fn offload_elsewhere_whole() -> usize {
    [&MIXED, &AMD, &on_cpu::PACK].into_iter().filter(|pack| is_whole(pack)).count()
}

/// Counts the listed packs, for tests/program.c.
// SAFETY: no other item of the program has this name.
#[unsafe(no_mangle)]
pub extern "C" fn offload_elsewhere_listed() -> usize {
    offload_gpu::linked_packs().count()
}
