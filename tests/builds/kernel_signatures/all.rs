//! Tests that a program gets a function for each kernel in a pack. `cuobjdump` and `llvm-readelf`
//! list the kernels in the images, and rustc checks the functions.

use offload_tests::judges::{image_file_name, kernel_symbols};
use offload_tests::prelude::*;

/// The start of a program. The program's other functions call the functions of all modules. They
/// are compiled but never run.
const START: &str = r#"mod kernels {
    offload_gpu::include_kernels!("PACK");
}

fn any<T>() -> T {
    unreachable!()
}

/// Accepts a function's result; constants do not have this type.
fn is_call<const N: usize, const BYTES: usize>(_: impl FnOnce() -> offload_gpu::Call<N, BYTES>) {}

fn main() {}
"#;

/// Builds a scenario's pack, and checks the pack's images for `target`. Also builds a program that
/// calls each kernel's function with arguments of the source's types. Returns the number of
/// functions in each module.
pub fn assert_each_kernel_has_a_function(
    scenario: &Scenario,
    pack: &str,
    target: &str,
) -> Vec<(String, usize)> {
    scenario.build().passes().lacks("different parameters");
    let (mut program, mut counts) = (START.replace("PACK", pack), Vec::new());
    for module in scenario.index("debug", pack).modules {
        let signatures = &module.signatures;
        let kernels = &signatures.kernels;
        let symbols: BTreeSet<String> =
            kernels.iter().map(|kernel| kernel.symbol.clone()).collect();
        let image = scenario
            .output("debug", &format!("{pack}/{}.{}", module.name, image_file_name(target)));
        assert_eq!(symbols, kernel_symbols(&image), "{} for {target}", module.name);
        let names: BTreeSet<&str> = kernels.iter().map(|kernel| kernel.name.as_str()).collect();
        assert!(!names.is_empty() && names.len() == kernels.len(), "{}: {names:?}", module.name);
        let calls = kernels.iter().map(|kernel| {
            let arguments = kernel
                .parameters
                .iter()
                .map(|parameter| format!("super::any::<{}>()", parameter.ty));
            format!(
                "super::is_call(|| {}({}));\n",
                kernel.name,
                arguments.collect::<Vec<_>>().join(", ")
            )
        });
        program += &format!(
            "#[allow(dead_code, non_camel_case_types, unused_imports)]\nmod calls_of_{0} {{\n\
             use super::kernels::{0}::*;\ntype void = std::ffi::c_void;\nuse offload_gpu::types::{{Bf16 as bf16, F16 as f16}};\n\
             fn calls() {{\n{1}}}\n}}\n",
            module.name,
            calls.collect::<String>()
        );
        counts.push((module.name.clone(), kernels.len()));
    }
    scenario.write("src/main.rs", program);
    scenario.build().passes();
    counts
}

#[test(COMPILERS.slow())]
fn kernels_of_examples_and_tests_have_functions() {
    let scenario = Scenario::new("signatures_all");
    let mut files = vec![
        workspace().join("tests/builds/kernel_header/kernels.cu"),
        workspace().join("tests/builds/kernel_signatures/types.cu"),
        workspace().join("tests/embedding/ui/calls/kernels.cu"),
    ];
    files.extend(scratch::files_with(&workspace().join("examples"), "cu"));
    let mut sources = Vec::new();
    for file in files {
        let text = read(&file);
        // Skip sources that launch kernels with `<<<`, because they are for nvcc.
        if String::from_utf8_lossy(&text).contains("<<<") {
            continue;
        }
        let source = format!("kernels/m{}.cu", sources.len());
        scenario.write(&source, text);
        sources.push(source);
    }
    assert!(sources.len() >= 10, "{sources:?}");
    for target in ["gfx90a", "sm_80"] {
        scenario.build_script(&format!(
            "Build::new().modules({sources:?}).arch({target:?}).opt_level(0).compile(\"pack\");"
        ));
        let counts = assert_each_kernel_has_a_function(&scenario, "pack", target);
        assert_eq!(counts.len(), sources.len());
    }
}
