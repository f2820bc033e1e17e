//! Sources with ROCm's headers and its libraries for devices. LLVM 22's `llvm-readelf` and the
//! times of files are used as checks.

use offload_tests::data::read;
use offload_tests::judges::assert_is_for;
use offload_tests::registry::{Needs, needs};
use offload_tests::scenario::Scenario;
use offload_tests::tools::{Tool, rocm};
use std::fs;

const HIP: Needs = needs(&[Tool::Rocm, Tool::Hip5, Tool::Gcc, Tool::Llvm22]);

offload_tests::tests! {
    HIP => [an_image_has_functions_of_rocms_libraries, another_rocm_is_noticed],
}

/// Returns a package with the pack "sine" for these targets.
fn package(name: &str, archs: &str) -> Scenario {
    let scenario = Scenario::new(name);
    scenario.pack("sine", &format!(r#".file("kernels/sine.hip").archs({archs})"#)).write(
        "kernels/sine.hip",
        "#include <hip/hip_runtime.h>\n\
         extern \"C\" __global__ void sine(float *x) { *x = sinf(*x) * warpSize; }\n",
    );
    scenario
}

/// Builds images that contain functions of ROCm's libraries. Their code object version is the
/// newest that the libraries have.
fn an_image_has_functions_of_rocms_libraries() {
    let scenario = package("static_rocm_image", r#"["gfx90a", "gfx1030"]"#);
    scenario.build().env("ROCM_PATH", rocm()).passes();
    for target in ["gfx90a", "gfx1030"] {
        assert_is_for("sine", target, &scenario.output("debug", &format!("sine/{target}.hsaco")));
    }
}

/// clang treats ROCm's headers as system headers and does not list them in dependency files. The
/// build watches one file in their place: `hip_version.h`.
fn another_rocm_is_noticed() {
    let scenario = package("static_another_rocm", r#"["gfx90a"]"#);
    let root = scenario.folder.join("rocm");
    scenario.tool("cp").arg("-rs").arg(rocm()).arg(&root).passes();
    let version = root.join("include/hip/hip_version.h");
    let header = read(&version);
    let write = |more: &str| {
        // The file is a link to ROCm's own file, which must not change, so the link is removed
        // first.
        fs::remove_file(&version).expect("it is there");
        fs::write(&version, [&*header, more.as_bytes()].concat())
            .expect("the scratch folder can be written");
    };
    write("");
    let build = || {
        scenario.build().env("ROCM_PATH", &root).passes();
        scenario.output_time("debug", "sine/gfx90a.hsaco")
    };
    let first = build();
    assert_eq!(build(), first);
    write("// Another version.\n");
    assert!(build() != first, "not compiled again with the headers of another ROCm");
}
