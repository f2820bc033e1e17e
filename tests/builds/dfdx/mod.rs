//! The kernels of the published crate `dfdx`, unchanged from the registry's sources: an image of
//! each file by clang, for both vendors' GPUs and the CPU, with this kit's header alone, and a
//! function in Rust of each kernel.

use crate::kernel_signatures::assert_each_kernel_has_a_function;
use offload_tests::prelude::*;
use offload_tests::tools::dfdx;

const NEEDS: Needs = needs(&[Tool::Dfdx, Tool::Llvm22, Tool::Cuda, Tool::Gcc]);

offload_tests::tests! {
    NEEDS.slow() => [some_of_dfdx_has_functions],
}

/// Modules for the tests that do not run on request, each with its number of kernels.
const SOME: [(&str, usize); 3] = [("axpy", 3), ("dropout", 6), ("sgd", 4)];

fn some_of_dfdx_has_functions() {
    functions("dfdx_functions", "sm_80", &SOME);
}

/// Returns the `.cu` files of the crate by their stems.
fn sources() -> BTreeMap<String, PathBuf> {
    let mut folders = vec![folder().join("src")];
    let mut sources = BTreeMap::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the crate has it").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "cu") {
                let stem = path.file_stem().expect("the file has a name").to_string_lossy();
                sources.insert(stem.into_owned(), path);
            }
        }
    }
    assert_eq!(sources.len(), 49, "{sources:?}");
    sources
}

fn folder() -> PathBuf {
    dfdx().expect("Tool::Dfdx was checked")
}

/// Builds modules for a target, and checks the functions of their kernels and the kernels' number.
fn functions(name: &str, target: &str, modules: &[(&str, usize)]) {
    let sources = sources();
    let paths: Vec<&PathBuf> = modules.iter().map(|(module, _)| &sources[*module]).collect();
    let scenario = Scenario::new(name);
    scenario.build_script(&format!(
        r#"Build::new()
        .modules({paths:?})
        .include({:?})
        .arch("{target}")
        .compile("dfdx");"#,
        folder().join("src/tensor_ops/utilities"),
    ));
    let expected = modules.iter().map(|(module, kernels)| ((*module).to_owned(), *kernels));
    let counts = assert_each_kernel_has_a_function(&scenario, "dfdx", target);
    assert_eq!(counts, expected.collect::<Vec<_>>());
}
