//! Machines without ptxas or without a writable folder.

use super::{each_once, message};
use offload_tests::prelude::*;

/// A file has the name of the output folder, so even root cannot write there.
#[test(GCC)]
fn an_out_dir_that_cannot_be_written() {
    let scenario = Scenario::new("errors_out_dir");
    scenario
        .build_script(
            r#"let out = std::env::var("OUT_DIR").unwrap();
    let _ = std::fs::remove_dir_all(format!("{out}/offload"));
    std::fs::write(format!("{out}/offload"), "").unwrap();
    Build::new().file("kernels/add.cu").archs(["gfx90a"]).compile("add");"#,
        )
        .kernel("add", "y[i]");
    let printed = scenario.build().fails();
    let checked = message(&printed, "add").and_then(|message| {
        each_once(&message, ["could not make the folder ", "/out/offload\n", "caused by: "])
    });
    assert_eq!(checked, Ok(()), "{printed}");
}

/// A machine without CUDA, where `PATH` contains no ptxas, and no variable names one.
#[test(needs(&[Tool::Llvm22, Tool::Gcc, Tool::Cuda, Tool::HideablePtxas]).slow())]
fn no_ptxas() {
    let scenario =
        Scenario::add("errors_no_ptxas", r#".archs(["gfx90a", "sm_80", "compute_80", "sm_90"])"#);
    let build = || {
        let build = scenario.build().without(&["CUDA_HOME"]).path_without("ptxas");
        build.home(&scenario.folder.join("nobody"))
    };
    let in_every_message = [
        "no image for sm_80, sm_90: no ptxas was found (",
        "none in PATH",
        "none among Python's packages (nvidia/cu13/bin), none in ~/.local/share/offload)",
        "install the CUDA toolkit and set CUDA_HOME",
        "name ptxas in OFFLOAD_PTXAS",
        "or list PTX",
    ];
    const ALL_UNSET: &str = "(OFFLOAD_PTXAS, CUDA_HOME, CUDA_PATH, CUDA_ROOT and CUDA_TOOLKIT_ROOT_DIR are not set; none in PATH, ";
    for (env, cuda_home, prebuilt) in [
        (None, ALL_UNSET, "no prebuilt image: the package has no prebuilt set in prebuilt/"),
        (
            Some(("CUDA_HOME", "/nowhere")),
            "no bin/ptxas in CUDA_HOME=/nowhere",
            "the package has no prebuilt set",
        ),
        (Some(("OFFLOAD_PREBUILT", "never")), ALL_UNSET, "no prebuilt image: OFFLOAD_PREBUILT"),
    ] {
        let printed = build().envs(env).fails();
        let sentences = in_every_message.into_iter().chain([cuda_home, prebuilt]);
        let checked = message(&printed, "add").and_then(|message| each_once(&message, sentences));
        assert_eq!(checked, Ok(()), "{printed}");
    }
    // If no variable is set, a build must find the ptxas that the command in the message installs.
    // Here, scripts replace the files in pip's packages.
    let home = scenario.folder.join("home");
    let with_home = |targets| build().home(&home).env("OFFLOAD_ARCH", targets);
    let installed = |targets, package: &str| {
        let message = with_home(targets).fails().stderr;
        assert!(!message.contains("export "), "{message}");
        let (_, rest) = message.split_once("--target \"$HOME/").expect("pip's option");
        let (folder, rest) = rest.split_once('"').expect("the end of the folder");
        assert!(rest.starts_with(&format!(" {package}\n")), "{message}");
        format!("home/{folder}/nvidia")
    };
    let folder = installed("sm_80", "nvidia-cuda-nvcc");
    let ptxas = cuda("ptxas").get_program().to_owned();
    scenario
        .script(&format!("{folder}/cu13/bin/ptxas"), &format!("exec '{}' \"$@\"", ptxas.display()));
    with_home("sm_80").passes();
    // Do the same for an architecture that CUDA 13 no longer supports.
    let folder = installed("sm_70", "nvidia-cuda-nvcc-cu12");
    let script = "case \"$*\" in */dev/null*) ;; *) echo 'the ptxas of CUDA 12' >&2; exit 1;; esac";
    scenario.script(&format!("{folder}/cuda_nvcc/bin/ptxas"), script);
    with_home("sm_70").fails().has("the ptxas of CUDA 12");
    with_home("sm_80").passes();
    // Targets that need no ptxas must build without it.
    build().env("OFFLOAD_ARCH", "gfx90a compute_80").passes();
}
