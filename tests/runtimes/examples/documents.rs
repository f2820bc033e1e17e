//! Tests of the examples' documents and manifests, and of the files that are copied into several
//! examples.

use super::ALL;
use offload_tests::prelude::*;

/// Returns the text of a file in `examples`.
pub fn text_of(path: &str) -> String {
    let path = scratch::workspace().join("examples").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn readmes_say_first_what_the_examples_need() {
    let list = text_of("README.md");
    let workspace = text_of("Cargo.toml");
    for name in ALL {
        let readme = text_of(&format!("{name}/README.md"));
        assert!(readme.starts_with("Needs Rust 1.89 or newer"), "{name}");
        assert!(list.contains(&format!("| [{name}]({name}) | ")), "{name} is not in the list");
        assert!(workspace.contains(&format!("\"{name}\"")), "{name} is not in the workspace");
    }
    let folders = fs::read_dir(scratch::workspace().join("examples"))
        .expect("the folder can be read")
        .flatten();
    for folder in folders.filter(|entry| entry.path().join("Cargo.toml").is_file()) {
        let name = folder.file_name();
        let has_test = name == "saxpy" || ALL.iter().any(|it| **it == *name);
        assert!(has_test, "{} has no test here", name.display());
    }
}

/// A user may copy a single example, so each example has its own copy of shared files.
#[test]
fn what_examples_share_is_the_same() {
    let kernel = |example: &str| text_of(&format!("{example}/kernels/vector_add.cu"));
    for other in ["several-gpus", "hip-vector-add"] {
        assert!(kernel("cuda-vector-add") == kernel(other), "the kernel of {other} differs");
    }
}
