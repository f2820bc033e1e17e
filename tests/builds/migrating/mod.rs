//! `docs/migrating.md`: the calls in its tables compile, and what its diffs leave is built and run.
//! The judges are rustc, nvcc, the linker, `cuobjdump` and `nm`.

mod diffs;
mod page;
mod tables;

offload_tests::tests! {
    ;
    diffs::tests(),
    tables::tests(),
}
