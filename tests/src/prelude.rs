//! The names that most tests use: `use offload_tests::prelude::*;`.

pub use crate::bytes::patched;
pub use crate::command_lines::{in_folder, run, succeeds};
pub use crate::data::{Random, assert_same_bytes, corpus, corpus_file, read, some_bytes};
pub use crate::registry::{CLANG, LLVM, NOTHING, needs};
pub use crate::tools::{Tool, cuda, llvm, llvm_bin, stderr, stdout, succeed};
pub use crate::{own, scratch};
pub use std::collections::{BTreeMap, BTreeSet};
pub use std::fs;
pub use std::path::{Path, PathBuf};
pub use std::process::Command;
