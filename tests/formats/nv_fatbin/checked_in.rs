//! Tests reading fatbins of the corpus: one of CUDA 12, and LTO-IR. The dumps of `golden` have
//! their kinds, names and options.

use super::{corpus, images, prebuilt, unpacked};
use offload_tests::prelude::*;

offload_tests::tests! {
    NOTHING => [nvfatbin_of_cuda_12, lto_ir],
}

fn nvfatbin_of_cuda_12() {
    let unpacked = unpacked(&corpus("lz4_12.4.fatbin"));
    assert_same_bytes(&unpacked["elf:80"], &prebuilt("saxpy.sm_80.cubin"), "sm_80");
    assert_same_bytes(&unpacked["elf:90"], &prebuilt("saxpy.sm_90.cubin"), "sm_90");
}

fn lto_ir() {
    let theirs = corpus("lto.fatbin");
    let image = images(&theirs)[1];
    assert_eq!((image.arch(), image.compute_capability()), (None, 80));
    assert!(image.options().starts_with(b"-ftz=0 "), "{image:?}");
}
