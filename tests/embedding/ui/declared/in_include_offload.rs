//! `include_offload!` embeds only a pack, and accepts no declarations.

static CALLS: offload_gpu::KernelPack = offload_gpu::include_offload!("calls", extern { fn saxpy(n: i32); });

fn main() {
    let _ = &CALLS;
}
