//! Where the build searches for CUDA toolkits, and its messages if it finds none, or if two
//! variables name different toolkits. Cargo and `cuobjdump` check the results.

use super::{ONE_IMAGE, cuda_home, package};
use crate::NVCC_AND_CLANG;
use offload_tests::judges::assert_is_for;
use offload_tests::prelude::*;
use std::os::unix::fs::symlink;

/// Tests the folders in which pip installs a toolkit, in an active virtual environment.
#[test(NVCC_AND_CLANG.slow())]
fn a_toolkit_among_pythons_packages_is_found() {
    let scenario = package("vendor_python", "");
    scenario.build_script(
        r#"Build::new().file("kernels/half.cu").compiler(Compiler::Nvcc).archs(["sm_80"]).compile("pack");
    Build::new().file("kernels/plain.cu").archs(["sm_80"]).compile("by_clang");"#,
    );
    let packages = scenario.folder.join("venv/lib/python3.11/site-packages/nvidia");
    fs::create_dir_all(&packages).expect("the folder can be made");
    symlink(cuda_home(), packages.join("cu13")).expect("a link can be made");
    let build = scenario.build().without(&["CUDA_HOME"]).path_without("nvcc");
    build.env("VIRTUAL_ENV", scenario.folder.join("venv")).passes();
    for pack in ["pack", "by_clang"] {
        assert_is_for(pack, "sm_80", &scenario.output("debug", &format!("{pack}/sm_80.cubin")));
    }
}

/// Tests a machine without CUDA.
#[test(GCC)]
fn without_a_toolkit_the_places_are_listed() {
    if Path::new("/usr/local/cuda").exists() || Path::new("/opt/cuda").exists() {
        return;
    }
    let scenario = package("vendor_not_there", ONE_IMAGE);
    let nowhere = scenario.folder.join("nowhere");
    let build = scenario.build().path_without("nvcc").env("CUDA_HOME", &nowhere).home(&nowhere);
    build.fails().has(&format!(
        "no image for sm_80: no nvcc was found (NVCC, CUDACXX, CUDA_PATH, CUDA_ROOT and CUDA_TOOLKIT_ROOT_DIR are not set; \
         no bin/nvcc in CUDA_HOME={}, none in PATH, none in /usr/local/cuda*, /opt/cuda, none among Python's packages \
         (nvidia/cu13/bin), none in ~/.local/share/offload)",
        nowhere.display()
    ))
    .has("to compile it, install nvcc and the parts that it needs:\n")
    .has("nvidia-cuda-nvcc nvidia-nvvm nvidia-cuda-crt nvidia-cuda-runtime nvidia-cuda-cccl\n")
    .has("  or install the whole CUDA toolkit and set CUDA_HOME or NVCC");
}

#[test(NVCC)]
fn two_toolkits_that_disagree_are_an_error() {
    let scenario = package("vendor_disagree", ONE_IMAGE);
    // This stand-in for nvcc reports its own folder as the toolkit's folder, so it belongs to a
    // different toolkit.
    let other = scenario.folder.join("other");
    let nvcc = scenario.script(
        "other/bin/nvcc",
        &format!(
            "case \"$1\" in\n--version) echo 'Cuda compilation tools, release 12.1, V12.1.105' ;;\n\
             *) echo '#$ TOP={}' >&2 ;;\nesac",
            other.display()
        ),
    );
    let [other, home] = [other, cuda_home()].map(|it| it.canonicalize().expect("it is there"));
    let printed = scenario.build().env("NVCC", &nvcc).fails();
    printed.has("two variables name different CUDA toolkits:\n");
    let line = format!(
        "NVCC={} belongs to {} (release 12.1, V12.1.105)\n",
        nvcc.display(),
        other.display()
    );
    let named = cuda_home();
    printed
        .has(&line)
        .has(&format!("CUDA_HOME={} belongs to {} (release 13.", named.display(), home.display()))
        .has("Unset one of them, or let both name the same toolkit");
}

#[test(NVCC)]
fn one_toolkit_with_two_names_is_one() {
    let scenario = package("vendor_same_toolkit", ONE_IMAGE);
    let same = scenario.folder.join("same");
    symlink(cuda_home(), &same).expect("a link can be made");
    scenario.build().env("CUDA_PATH", &same).passes();
    // `off` is not a path. The value hides the installed toolkit.
    scenario.build().env("NVCC", "off").fails().has("NVCC is `off`");
}

/// Tests a target that every nvcc 13 supports, and a target that no nvcc supports.
#[test(NVCC.slow())]
fn targets_that_nvcc_knows_are_built() {
    let scenario = package("vendor_if_known", "");
    let calls = r#".file("kernels/plain.cu").compiler(Compiler::Nvcc)"#;
    scenario.build_script(&format!(
        r#"let mut build = Build::new();
    build{calls}.archs(["sm_80"]).archs_if_known(["sm_120a", "sm_999"]);
    println!("cargo::warning=version {{:?}}", build.toolkit_version());
    println!("cargo::warning=recent {{}}", build.toolkit_version() >= offload_build::ToolkitVersion::Is(12, 8));
    println!("cargo::warning=skipped {{}}", build.is_skipped());
    for target in build.resolve().targets() {{
        println!("cargo::warning=target {{}}", target);
    }}
    let pack = build.compile("pack");
    for image in pack.images() {{
        println!("cargo::warning=image for {{}}", image.target());
    }}"#
    ));
    let build = |variable: &str, value: &str| scenario.build().env(variable, value).passes();
    let printed = scenario.build().arg("-vv").passes();
    printed
        .has("version Is(13, ")
        .has("recent true")
        .has("skipped false")
        .has("image for sm_80\n")
        .has("image for sm_120a\n");
    printed.lacks("target sm_999").has("leaving out sm_999, which ");
    let skipped = build("OFFLOAD_SKIP", "1");
    skipped
        .has("version NotAsked")
        .has("recent false")
        .has("skipped true")
        .has("target sm_80\n")
        .lacks("sm_120a");
    // The list in `OFFLOAD_ARCH` replaces all lists in build.rs.
    build("OFFLOAD_ARCH", "sm_90").has("image for sm_90\n").lacks("sm_120a");
    let unknown = "build.rs lists targets only in .archs_if_known, but no nvcc was found that \
                   supports any of them";
    let foreign = "build.rs lists 'gfx90a' in .archs_if_known, which is only for NVIDIA's GPUs, \
                   because nvcc decides whether a target is known";
    for (target, expected) in [("sm_999", unknown), ("gfx90a", foreign)] {
        scenario.pack("pack", &format!(r#"{calls}.archs_if_known(["{target}"])"#));
        scenario.build().fails().once(expected);
    }
}
