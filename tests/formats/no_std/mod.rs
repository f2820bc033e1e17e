//! Tests offload-gpu and offload-format without std: in a static library that has its own panic
//! handler and allocator, and is linked into a C program.

use offload_tests::prelude::*;

/// The features that do not need std.
const FEATURES: [&str; 2] = ["", "object"];

const MANIFEST: &str = r#"[package]
name = "offload-no-std"
version = "0.1.0"
edition = "2024"

[workspace]

[lib]
crate-type = ["staticlib"]

[profile.release]
panic = "abort"
opt-level = 0

[features]
object = ["offload-format/object"]

[dependencies]
offload-gpu = { path = "CRATES/offload-gpu", default-features = false, features = ["files"] }
offload-format = { path = "CRATES/offload-format", features = ["containers"] }
"#;

#[test(GCC.slow())]
fn a_library_without_std() {
    let ptx = corpus_file("image/saxpy.compute_80.ptx");
    for features in FEATURES {
        let scenario = Scenario::without_sources("offload-no-std");
        let sources = workspace().join("tests/formats/no_std");
        scenario
            .write("Cargo.toml", MANIFEST.replace("CRATES", &workspace().display().to_string()))
            .write("src/lib.rs", read(sources.join("lib.rs")))
            .write("src/saxpy.ptx", &ptx)
            .write("main.c", read(sources.join("main.c")));
        scenario.build().release().args(["--features", features]).passes();
        let library = scenario.target.join("release/liboffload_no_std.a");
        let program = scenario.folder.join("program");
        scenario.tool("gcc").arg("main.c").arg(&library).arg("-o").arg(&program).passes();

        // No part of std may be linked.
        let symbols = stdout(&succeed(Command::new("nm").arg("-C").arg(&library)));
        assert!(symbols.contains("pack_image_size"), "nm lists symbols");
        let mut lines = symbols.lines();
        let of_std = lines.find(|line| line.contains(" std::") || line.contains("<std::"));
        assert_eq!(of_std, None, "features: {features}");

        // Without arguments, the program prints two sizes: of the image selected from the library's
        // pack, and of a kernel's arguments.
        let sizes = stdout(&succeed(&mut Command::new(&program)));
        assert_eq!(sizes.trim(), format!("{} 24", ptx.len()));

        for (file, expected, places) in [
            ("bundle/basic.bc", "9 1", 1),
            ("bundle/concat.bc", "9 2", 1),
            ("compressed/concat_padded.ccob", "-2 2", 1),
            ("offload_binary/multi.bin", "-2 2", 1),
            ("malformed/oob_first.bc", "-2 0", 1),
            ("fat_file/hip_nordc.o", "-2 0", 1),
            ("archive/lib.a", "-2 0", 2),
        ] {
            let path = workspace().join("tests/corpus").join(file);
            let found = stdout(&succeed(Command::new(&program).arg(path)));
            let places = if features == "object" { places } else { 0 };
            let expected = format!("{expected} {places}");
            assert_eq!(found.trim(), expected, "{file}, features: {features}");
        }
    }
}
