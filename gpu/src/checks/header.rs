//! The kernel header's corpus.

use crate::report::{Result, Run};

pub mod kernels {
    offload_gpu::include_kernels!("header");
}

pub fn run(run: &mut Run) -> Result<String> {
    let _ = run;
    crate::report::skip("not written yet")
}
