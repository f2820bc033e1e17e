//! The names that most tests use: `use offload_tests::prelude::*;`.

pub use crate::bytes::patched;
pub use crate::command_lines::{in_folder, run, succeeds};
pub use crate::data::{
    Random, archive_symbols, assert_as_checked_in, assert_same_bytes, corpus, corpus_file,
    corpus_path, read, some_bytes,
};
pub use crate::registry::{CLANG, COMPILERS, GCC, LLVM, NOTHING, NVCC, Needs, Test, needs};
pub use crate::scenario::{Printed, Run, Scenario, kernel};
pub use crate::scratch::{self, workspace};
pub use crate::tools::{self, Tool, cuda, llvm, llvm_bin, rocm, stderr, stdout, succeed};
pub use crate::{data, own, processes};
pub use std::collections::{BTreeMap, BTreeSet};
pub use std::env;
pub use std::ffi::{OsStr, OsString};
pub use std::fs;
pub use std::path::{Path, PathBuf};
pub use std::process::Command;
pub use std::sync::LazyLock;
