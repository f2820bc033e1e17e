//! Tests of the command lines: `cargo offload` with its commands, and our `clang-offload-bundler`,
//! `llvm-offload-binary` and `clang-offload-packager` compared with LLVM's.

mod doctor;
mod drop_in_bundler;
mod drop_in_clang;
mod drop_in_packager;
mod faults;
mod inside;
mod kernel_packs;
mod ls;
mod pack;
mod select;
mod size;
mod verify;

use offload_tests::data::read;
use offload_tests::own::Ran;
use offload_tests::scratch;
use std::path::{Path, PathBuf};

fn main() -> std::process::ExitCode {
    offload_tests::registry::run([
        doctor::tests(),
        drop_in_bundler::tests(),
        drop_in_clang::tests(),
        drop_in_packager::tests(),
        faults::tests(),
        inside::tests(),
        kernel_packs::tests(),
        ls::tests(),
        pack::tests(),
        select::tests(),
        size::tests(),
        verify::tests(),
    ])
}

/// Returns the path of a file of the corpus.
fn corpus_path(file: &str) -> PathBuf {
    scratch::workspace().join("tests/corpus").join(file)
}

/// Returns the bytes of a file of the corpus.
fn corpus_bytes(file: &str) -> Vec<u8> {
    read(corpus_path(file))
}

/// Returns the text of a path.
fn text(path: &Path) -> &str {
    path.to_str().expect("paths of tests are text")
}

/// Asserts that the command ended with status 1, and that standard error contains each of these
/// texts.
#[track_caller]
fn assert_fails(ran: &Ran, texts: &[&str]) {
    assert_eq!(ran.code, 1, "{ran:?}");
    for text in texts {
        assert!(ran.stderr.contains(text), "no {text:?} in\n{}", ran.stderr);
    }
}
