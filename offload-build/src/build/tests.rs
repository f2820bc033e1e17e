//! Tests a whole build without a compiler: its sources are PTX files, which are used as images.

use crate::Build;
use crate::Module;
use crate::toolchain::Cargo;
use std::fs;
use std::path::PathBuf;

/// Returns the environment of a build script whose `OUT_DIR` and package are in this folder.
fn cargo_in(folder: PathBuf) -> Cargo {
    let mut cargo = Cargo::outside("x86_64-unknown-linux-gnu", true);
    cargo.out_dir = folder.join("out");
    cargo.manifest_dir = folder;
    cargo.target_arch = "x86_64".to_owned();
    cargo.target_os = "linux".to_owned();
    cargo.target_pointer_width = "64".to_owned();
    cargo.target_endian = "little".to_owned();
    cargo
}

#[test]
fn thirty_images_without_compilers() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path();
    fs::create_dir_all(folder.join("out")).unwrap();
    let mut build = Build::new();
    for number in [70, 80, 90] {
        let ptx = format!(
            ".version 7.8\n.target sm_{number}\n.address_size 64\n.visible .entry f()\n{{\n ret;\n}}\n"
        );
        fs::write(folder.join(format!("f_{number}.ptx")), ptx).unwrap();
        build.arch(format!("compute_{number}"));
    }
    for module in 0..10 {
        let sources = [70, 80, 90].map(|number| folder.join(format!("f_{number}.ptx")));
        build.module(Module::new(format!("module_{module}")).files(sources));
    }
    let pack = build.compile_for("thirty_images", &cargo_in(folder.to_owned())).unwrap();
    assert_eq!(pack.images().count(), 30);
}
