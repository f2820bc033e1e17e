//! Contexts, memory and streams of other crates.

offload_tests::tests! {}
