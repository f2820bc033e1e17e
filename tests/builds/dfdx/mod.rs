//! The unchanged kernels of the published crate `dfdx`, from the registry's sources. clang and g++
//! compile each file with only this kit's header, for NVIDIA's and AMD's GPUs and for the CPU. Each
//! kernel gets a Rust function. nvcc compiles the same files.
//!
//! Each kernel file includes dfdx's own `atomicAdd(__half *, __half)`, for GPUs older than sm_70.

mod launches;

use crate::kernel_signatures::assert_each_kernel_has_a_function;
use offload_tests::prelude::*;
use offload_tests::tools::dfdx;

const NEEDS: Needs = needs(&[Tool::Dfdx, Tool::Llvm22, Tool::Cuda, Tool::Gcc]);

const NVCC: Needs = needs(&[Tool::Dfdx, Tool::Llvm22, Tool::Cuda, Tool::Gcc, Tool::Nvcc]);

const ALL: &str =
    "takes 3 minutes on 2 cores; `cargo xtask test --all --test builds -- dfdx --ignored` runs it";

/// The targets that clang and g++ compile for, with the kit's header.
const TARGETS: [&str; 3] = ["gfx90a", "sm_80", "cpu"];

/// The modules for the default tests, with their numbers of kernels.
const SOME: [(&str, usize); 3] = [("dropout", 6), ("max_to", 9), ("sgd", 4)];

#[test(NEEDS.slow())]
fn some_of_dfdx_has_functions() {
    for target in TARGETS {
        let name = format!("dfdx_functions_{target}");
        let counts = functions(&name, target, "", |module| SOME.iter().any(|it| it.0 == module));
        assert_eq!(counts, SOME.map(|(module, kernels)| (module.to_owned(), kernels)), "{target}");
    }
}

#[test(NEEDS.on_request(ALL))]
fn all_of_dfdx_has_functions() {
    for target in TARGETS {
        let counts = functions(&format!("dfdx_functions_all_{target}"), target, "", |_| true);
        assert_eq!(counts.iter().map(|it| it.1).sum::<usize>(), KERNELS, "{target}: {counts:?}");
    }
}

#[test(NVCC.on_request(ALL))]
fn all_of_dfdx_by_nvcc() {
    let calls = ".compiler(Compiler::Nvcc).clang_signatures(true)";
    let counts = functions("dfdx_functions_nvcc", "sm_80", calls, |_| true);
    assert_eq!(counts.iter().map(|it| it.1).sum::<usize>(), KERNELS, "{counts:?}");
}

/// The number of kernels in all modules. Three kernels are in a header, so every module contains
/// them.
const KERNELS: usize = 493;

/// Returns the crate's `.cu` files by stem.
fn sources() -> BTreeMap<String, PathBuf> {
    let stem = |path: PathBuf| Some((path.file_stem()?.to_str()?.to_owned(), path));
    let files = scratch::files_with(&folder().join("src"), "cu").into_iter();
    let sources: BTreeMap<String, PathBuf> = files.filter_map(stem).collect();
    assert_eq!(sources.len(), 49, "{sources:?}");
    sources
}

fn folder() -> PathBuf {
    dfdx().expect("Tool::Dfdx was checked")
}

/// Builds the selected modules for a target, and checks the functions of their kernels. Returns
/// each module with its number of kernels.
fn functions(
    name: &str,
    target: &str,
    calls: &str,
    is_wanted: impl Fn(&str) -> bool,
) -> Vec<(String, usize)> {
    let mut modules = sources();
    modules.retain(|module, _| is_wanted(module));
    let paths: Vec<PathBuf> = modules.into_values().collect();
    let scenario = Scenario::new(name);
    scenario.build_script(&format!(
        r#"Build::new()
        .modules({paths:?})
        .include({:?}){calls}
        .opt_level(1)
        .arch("{target}")
        .compile("dfdx");"#,
        folder().join("src/tensor_ops/utilities"),
    ));
    assert_each_kernel_has_a_function(&scenario, "dfdx", target)
}
