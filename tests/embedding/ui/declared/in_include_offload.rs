//! `include_offload!` embeds only a pack, and accepts no declarations.

static CALLS: offload::KernelPack = offload::include_offload!("calls", extern { fn saxpy(n: i32); });

fn main() {
    let _ = &CALLS;
}
