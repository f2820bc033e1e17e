//! Tests of compressed packs: drivers must receive the original images.

use super::{PROGRAM, on_gpus, run};
use offload_tests::prelude::*;
use offload_tests::stand_ins::described;

#[test(COMPILERS)]
fn compressed_images_are_inflated_for_the_driver() {
    for (gpu, kind, file) in [("8.0", "cubin", "sm_80.cubin"), ("9.0", "PTX", "compute_80.ptx")] {
        let outcome = run(&on_gpus(gpu), &["compressed"]);
        outcome.succeeds();
        // Although 8 threads request one module, the run time must decompress and load it only
        // once. The other modules must not be loaded.
        let file = PROGRAM.scenario.output("debug", &format!("compressed/second.{file}"));
        let load = format!("cuLibraryLoadData: GPU 0, {kind}, {}", described(&read(file)));
        assert_eq!(outcome.logged("LoadData"), [load], "{outcome:#?}");
    }
    run(&on_gpus(""), &["compressed"]).succeeds().prints("cpu: [2]\n");
}
