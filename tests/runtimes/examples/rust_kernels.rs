//! Tests of the example whose kernels are written in Rust: the program, and the script that
//! compiles the kernels.

use super::{DRIVER, Example, HIDDEN, NO_GPU, on_gpus, read_log};
use offload_tests::prelude::*;
use offload_tests::tools::folder_of;

offload_tests::tests! {
    GCC => [rust_kernels],
    needs(&[Tool::Llvm22, Tool::RustGpu]) => [rust_kernels_from_source],
}

fn rust_kernels() {
    let example = Example::new("rust-kernels");
    let log = DRIVER.join("rust-kernels.log");
    example.follow(0, &on_gpus("9.0", &log), &[("Fake GPU 9.0", "NVIDIA H100 80GB HBM3")]);
    assert!(read_log(&log).contains(&"cuLaunchKernel: 40 blocks of 256 threads".to_owned()));
    example.follow(1, &HIDDEN, &NO_GPU);
}

/// The script produces the kernels that are checked in, if the compiler is the one that made them.
fn rust_kernels_from_source() {
    let example = Example::copied("rust-kernels", "rust-kernels-from-source");
    let folder = &example.scenario.folder;
    let images = ["saxpy.compute_80.ptx", "saxpy.gfx90a.hsaco"];
    let read = |image: &str| data::read(folder.join("images").join(image));
    let before = images.map(read);
    fs::remove_dir_all(folder.join("images")).expect("the copy has images");

    let rust = folder_of("OFFLOAD_TEST_RUST_GPU").expect("Tool::RustGpu was checked");
    let libraries = rust.join("usr/lib/x86_64-linux-gnu");
    let rustc = rust.join("usr/bin/rustc");
    // Cargo would download the dependencies of `core`, but Rust's sources contain them in the
    // folder `vendor`.
    let home = scratch::folder("rust-kernels-cargo-home");
    let vendor = rust.join("usr/lib/rustlib/src/rust/library/vendor");
    let config = format!(
        "[source.crates-io]\nreplace-with = \"vendored\"\n[source.vendored]\ndirectory = \"{}\"\n",
        vendor.display()
    );
    scratch::write(home.join("config.toml"), config);
    let mut script = Command::new("sh");
    // Cargo sets variables for tests, which must not reach another Cargo.
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_") || text.starts_with("RUST") && text != "RUSTUP_HOME" {
            script.env_remove(&name);
        }
    }
    script
        .arg("kernels/build.sh")
        .current_dir(folder)
        .env("CARGO", env::var_os("CARGO").unwrap_or("cargo".into()))
        .env("CARGO_HOME", home)
        .env("CARGO_NET_OFFLINE", "true")
        .env("CARGO_TARGET_DIR", scratch::target_dir().join("rust-kernels-target"))
        .env("RUSTC", &rustc)
        .env("RUSTC_BOOTSTRAP", "1")
        .env("LD_LIBRARY_PATH", &libraries)
        .env("LLD", llvm_bin().join("ld.lld"));
    succeed(&mut script);

    let after = images.map(read);
    let ptx = String::from_utf8_lossy(&after[0]);
    for line in [".target sm_80\n", ".visible .entry saxpy("] {
        assert!(ptx.contains(line), "no {line:?} in\n{ptx}");
    }
    let image = folder.join("images").join(images[1]);
    let header = stdout(&succeed(llvm("llvm-readelf").arg("--file-header").arg(image)));
    assert!(header.contains("gfx90a"), "{header}");
    let version =
        stdout(&succeed(Command::new(&rustc).arg("--version").env("LD_LIBRARY_PATH", &libraries)));
    if version.starts_with("rustc 1.96.0 ") {
        assert!(before == after, "the images are not what kernels/build.sh makes today");
    }
}
