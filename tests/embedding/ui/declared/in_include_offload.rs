//! Declarations beside a pack alone.

static CALLS: offload::KernelPack = offload::include_offload!("calls", extern { fn saxpy(n: i32); });

fn main() {
    let _ = &CALLS;
}
