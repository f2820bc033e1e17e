//! Tests of builds with all compilers: LLVM's tools must find the right images in the program.

use super::{Built, PREBUILT_LINE, TARGETS, assert_runs_on_cpu, without_gpu};
use offload_tests::prelude::*;

static RELEASE: LazyLock<Built> = LazyLock::new(|| Built::compiled("saxpy-compiled", "release"));

#[test(COMPILERS.slow())]
fn everything_is_compiled_in_the_release_profile() {
    RELEASE.check(|_| "compiled");
    RELEASE.build.lacks(PREBUILT_LINE);
    assert_llvm_finds_the_images(&RELEASE, &RELEASE.program());
}

#[test(COMPILERS.slow())]
fn a_stripped_program_keeps_its_images() {
    let stripped = RELEASE.scenario.folder.join("stripped");
    succeed(Command::new("strip").arg("-o").arg(&stripped).arg(RELEASE.program()));
    let symbols = stdout(&succeed(llvm("llvm-readelf").arg("-S").arg(&stripped)));
    assert!(!symbols.contains(".symtab"), "it is not stripped: {symbols}");
    assert_llvm_finds_the_images(&RELEASE, &stripped);
    assert_runs_on_cpu(&without_gpu(RELEASE.scenario.tool(&stripped)).ends());
}

/// Asserts that `llvm-objdump` lists all images of a finished program in order, and that
/// `llvm-offload-binary` extracts each.
fn assert_llvm_finds_the_images(built: &Built, program: &Path) {
    // Use a copy in a separate folder, because the tools write files beside their input.
    let name = program.file_name().expect("a program has a name").to_string_lossy();
    let folder = built.scenario.folder.join(format!("llvm-{name}"));
    fs::create_dir_all(&folder).expect("the scratch folder can be written");
    fs::copy(program, folder.join("program")).expect("the program can be copied");

    let mut objdump = llvm("llvm-objdump");
    objdump.args(["--offloading", "program"]).current_dir(&folder);
    let listing = stdout(&succeed(&mut objdump));
    let listed: Vec<&str> =
        listing.lines().filter(|line| !line.is_empty()).map(str::trim_end).skip(1).collect();
    let mut expected = Vec::new();
    for (index, target) in TARGETS.iter().enumerate() {
        expected.push(format!("OFFLOADING IMAGE [{index}]:"));
        let (arch, triple) = (target.arch().unwrap_or(""), target.triple());
        for (name, value) in [
            ("kind", target.llvm_kind),
            ("arch", arch),
            ("triple", &triple),
            ("producer", target.producer),
        ] {
            expected.push(format!("{name:<15} {value}").trim_end().to_owned());
        }
    }
    assert_eq!(listed, expected);

    for target in &TARGETS {
        let triple = || format!("triple={}", target.triple());
        let which = target.arch().map_or_else(triple, |arch| format!("arch={arch}"));
        let image = format!("--image=file={},{which}", target.file);
        succeed(llvm("llvm-offload-binary").args(["program", &image]).current_dir(&folder));
        let same = read(folder.join(target.file)) == built.image(target, "compiled");
        assert!(same, "{}: what LLVM finds in the program is not what was compiled", target.name);
    }
}
