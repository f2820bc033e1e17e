//! `docs/migrating.md`: the calls in its tables compile, and the kept lines of its diffs are built
//! and run. rustc, nvcc, the linker, `cuobjdump` and `nm` check the results.

mod diffs;
mod page;
mod tables;

offload_tests::tests! {
    ;
    diffs::tests(),
    tables::tests(),
}
