//! offload-format without std: a static library with its own panic handler and allocator, in a C program.

use offload_tests::data::{corpus, read};
use offload_tests::package::Package;
use offload_tests::scratch::workspace;
use offload_tests::test;
use offload_tests::tools::{Tool, stdout, succeed};
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    offload_tests::run(vec![test("a_library_without_std", &[Tool::Gcc], a_library_without_std)])
}

/// The features that do not need std.
const FEATURES: [&str; 2] = ["", "object"];

fn a_library_without_std() {
    for features in FEATURES {
        let package = Package::new("offload-no-std");
        let manifest = format!(
            "[package]\nname = \"offload-no-std\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
             [lib]\ncrate-type = [\"staticlib\"]\n\n[profile.release]\npanic = \"abort\"\n\n\
             [features]\nobject = [\"offload-format/object\"]\n\n\
             [dependencies]\noffload-format = {{ path = \"{}\", features = [\"containers\"] }}\n",
            workspace().join("offload-format").display()
        );
        package.write("Cargo.toml", manifest);
        package.write("src/lib.rs", read(workspace().join("tests/no_std/lib.rs")));
        package.write("main.c", read(workspace().join("tests/no_std/main.c")));
        succeed(&mut package.cargo(&["build", "--release", "--offline", "--features", features]));
        let library = package.target.join("release/liboffload_no_std.a");
        let program = package.folder.join("program");
        succeed(Command::new("gcc").current_dir(&package.folder).arg("main.c").arg(&library).arg("-o").arg(&program));

        // Nothing of std was linked in.
        let symbols = stdout(&succeed(Command::new("nm").arg("-C").arg(&library)));
        assert!(symbols.contains("code_object_size"), "nm lists symbols");
        let of_std = symbols.lines().find(|line| line.contains(" std::") || line.contains("<std::"));
        assert_eq!(of_std, None, "features: {features}");

        for (file, expected, places) in [
            ("bundle/basic.bc", "9 1", 1),
            ("bundle/concat.bc", "9 2", 1),
            ("compressed/concat_padded.ccob", "-2 2", 1),
            ("offload_binary/multi.bin", "-2 2", 1),
            ("malformed/oob_first.bc", "-2 0", 1),
            ("fat_file/hip_nordc.o", "-2 0", 1),
            ("archive/lib.a", "-2 0", 2),
        ] {
            let folder = file.split('/').next().expect("a path has a first part");
            let path = corpus(folder).into_iter().find(|path| path.ends_with(file)).expect("a file of the corpus");
            let found = stdout(&succeed(Command::new(&program).arg(path)));
            let places = if features == "object" { places } else { 0 };
            assert_eq!(found.trim(), format!("{expected} {places}"), "{file}, features: {features}");
        }
    }
}
