//! Signatures of kernels: what the build reads from sources, and the functions that programs get of it. Judges: clang, whose
//! images record offsets and sizes of all arguments, and rustc, which lays out the structs.

use offload_tests::data::{assert_as_checked_in, read};
use offload_tests::registry::CLANG;
use offload_tests::scenario::Scenario;
use offload_tests::scratch::workspace;
use std::path::PathBuf;

offload_tests::tests! {
    CLANG => [a_change_of_a_source_changes_its_signatures, a_kernel_that_differs_between_images_cannot_be_called],
    CLANG.slow() => [every_type_has_a_counterpart],
}

fn data(name: &str) -> PathBuf {
    workspace().join("tests/builds/kernel_signatures").join(name)
}

fn with_source(name: &str, source: &[u8]) -> Scenario {
    let scenario = Scenario::new(name);
    scenario.write("kernels/types.cu", source);
    scenario.build_script(
        r#"Build::new().file("kernels/types.cu").archs(["gfx90a", "gfx1100", "compute_80"]).compile("pack");"#,
    );
    scenario
}

/// The lines of signatures in the pack's index.
fn signatures(scenario: &Scenario) -> String {
    let modules = scenario.index("debug", "pack").modules;
    modules.iter().map(|module| module.signatures.to_string()).collect()
}

fn every_type_has_a_counterpart() {
    let scenario = with_source("signatures_types", &read(data("types.cu")));
    scenario.write("src/main.rs", read(data("main.rs")));
    let printed = scenario.build().passes();
    assert!(!printed.stderr.contains("other parameters"), "{printed}");
    assert_as_checked_in(&data("types.txt"), &signatures(&scenario));
    assert_as_checked_in(&data("main.txt"), &scenario.run().passes().stdout);
}

fn a_change_of_a_source_changes_its_signatures() {
    let source = "// One.\nextern \"C\" __global__ void k(float *x, int n) { x[n] = 1; }";
    let scenario = with_source("signatures_change", source.as_bytes());
    scenario.build().passes();
    let first = signatures(&scenario);
    assert!(first.contains("comment One.\nparameter x *mut f32\nparameter n i32\n"), "{first}");
    scenario.write("kernels/types.cu", source.replace("One", "Two").replace("int n", "long n"));
    scenario.build().passes();
    let second = signatures(&scenario);
    assert!(second.contains("comment Two.\nparameter x *mut f32\nparameter n i64\n"), "{second}");
}

fn a_kernel_that_differs_between_images_cannot_be_called() {
    let source = "#ifdef __AMDGCN__\ntypedef long wide;\n#else\ntypedef int wide;\n#endif\n\
                  extern \"C\" __global__ void k(float *x, wide n, int m) { x[n] = m; }\n\
                  extern \"C\" __global__ void same(float *x) { *x = 1; }";
    let scenario = with_source("signatures_differ", source.as_bytes());
    let printed = scenario.build().passes();
    printed.once("the kernel k has other parameters in the image for compute_80 than in its source");
    printed.once(
        "kernels/types.cu:6 has (x: *mut f32, n: i64, m: i32): 3 parameters; bytes of each: 8 at 0, 8 at 8, 4 at 16",
    );
    printed.once("the image for compute_80 has 3 parameters; bytes of each: 8 at 0, 4 at 8, 4 at 12");
    let main = |call: &str| {
        format!("mod kernels {{ offload::include_kernels!(\"pack\"); }}\nfn main() {{ let _ = kernels::{call}; }}")
    };
    scenario.write("src/main.rs", main("same(std::ptr::null_mut::<f32>())"));
    scenario.build().passes();
    scenario.write("src/main.rs", main("k(std::ptr::null_mut::<f32>(), 1, 2)"));
    let printed = scenario.build().fails();
    printed.once("error[E0277]: the kernel `k` has other parameters in some image: a call cannot be right for all");
    assert!(printed.stderr.contains("= note: the image for compute_80 has 3 parameters"), "{printed}");
}
