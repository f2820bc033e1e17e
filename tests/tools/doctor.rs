//! Tests that `cargo offload doctor` reports the same compilers and runtimes that a build would
//! find.

use crate::{assert_prints, json, list, string};
use offload_tests::hidden;
use offload_tests::own::run;
use offload_tests::prelude::*;
use offload_tests::scenario::rust_compiler;
use offload_tests::tools::oldest;
use serde_json::Value;

/// Returns the command `cargo offload doctor` with LLVM 22's clang and CUDA's ptxas.
fn doctor(arguments: &[&str]) -> Command {
    let mut command = bare(arguments);
    command
        .env("OFFLOAD_CLANG", llvm_bin().join("clang"))
        .env("OFFLOAD_PTXAS", cuda("ptxas").get_program());
    command
}

const VARIABLES: &str =
    "OFFLOAD_CLANG OFFLOAD_PTXAS OFFLOAD_RUSTC OFFLOAD_COMPILER_LAUNCHER NVCC CUDACXX HIPCC CXX";

/// Returns the command `cargo offload doctor` without variables that name compilers.
fn bare(arguments: &[&str]) -> Command {
    let mut command = own::offload(&["doctor"]);
    command.args(arguments);
    for name in VARIABLES.split(' ') {
        command.env_remove(name);
    }
    command
}

#[track_caller]
fn tool<'a>(record: &'a Value, name: &str) -> &'a Value {
    let tool = list(&record["tools"]).iter().find(|tool| tool["name"] == name);
    tool.unwrap_or_else(|| panic!("no {name} in {record}"))
}

#[track_caller]
fn targets<'a>(record: &'a Value, name: &str) -> Vec<&'a str> {
    list(&tool(record, name)["targets"]).iter().map(string).collect()
}

#[track_caller]
fn assert_has(field: &Value, text: &str) {
    assert!(string(field).contains(text), "{text:?} is not in {field}");
}

fn scenario(name: &str) -> Scenario {
    let scenario = Scenario::new(name);
    scenario.pack("a", r#".file("a.cu").archs(["cpu"])"#);
    scenario.write("a.cu", "extern \"C\" __global__ void a(float *x) { x[threadIdx.x] = 1.0f; }\n");
    scenario
}

/// Checks that `cargo build` succeeds for each target that doctor reports as buildable, and fails
/// for all other targets.
#[test(COMPILERS.slow())]
fn a_build_does_as_it_says() {
    let targets = "gfx1100 gfx90a:xnack- gfx9999 sm_90a sm_70 compute_70 cpu hopper amdgcnspirv native gfx600";
    let targets: Vec<&str> = targets.split(' ').collect();
    let ran = run(&mut doctor(&[&["--json"][..], &targets].concat()));
    assert_eq!(ran.code, 1, "{ran:?}");
    let record = json(&ran);
    let scenario = scenario("doctor_targets");
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for (target, verdict) in targets.iter().zip(list(&record["targets"])) {
        assert_eq!(verdict["target"], *target);
        let build = || {
            let build = scenario.build().env("OFFLOAD_PTXAS", cuda("ptxas").get_program());
            build.env("OFFLOAD_ARCH", target)
        };
        // This build uses the dev profile, so it must also refuse targets that need optimization.
        let Some(why) = verdict["refusal"].as_str().or(verdict["unoptimized"].as_str()) else {
            build().passes();
            good.push(*target);
            continue;
        };
        // The build must report the same reason, except that its targets come from OFFLOAD_ARCH
        // instead of the command line.
        let why = why.lines().next().expect("a reason has a line");
        let failed = build().fails();
        let failed = failed.has(&why.replace("the command line", "OFFLOAD_ARCH"));
        bad.push(*target);
        if *target == "gfx600" {
            failed
                .has(
                    "crashed (error in backend: Cannot select): this is a bug in clang, not in \
                      the source.\n",
                )
                .has("clang's report is in ")
                .has(".crash.txt")
                .lacks("InstalledDir");
            assert!(verdict["refusal"].is_null(), "{verdict}");
            build().release().passes();
        }
    }
    assert_eq!(bad, ["gfx9999", "sm_70", "hopper", "amdgcnspirv", "native", "gfx600"], "{good:?}");
    // doctor must exit with status 0 if all targets in its arguments can be built.
    assert_eq!(run(&mut doctor(&good)).code, 0);
}

/// Checks that Cargo builds a fifth of the targets that clang and ptxas list, and all that need
/// optimization, in the profile that doctor reports.
#[test(COMPILERS.slow())]
fn what_is_listed_is_built() {
    listed_targets_are_built(5);
}

/// Checks that Cargo builds every target that clang and ptxas list.
#[test(COMPILERS.on_request("takes 40 s; `cargo xtask test --all --test tools -- doctor --ignored` runs it"))]
fn all_that_is_listed_is_built() {
    listed_targets_are_built(1);
}

/// Builds every `step`th target that doctor lists.
fn listed_targets_are_built(step: usize) {
    const UNOPTIMIZED: [&str; 3] = ["gfx600", "gfx601", "gfx602"];
    let record = json(&run(&mut doctor(&["--json"])));
    let listed = [targets(&record, "clang"), targets(&record, "ptxas")].concat();
    assert!(listed.len() > 80, "{listed:?}");
    let some = listed.iter().enumerate();
    let some = some.filter(|(at, name)| at % step == 0 || UNOPTIMIZED.contains(name));
    let record = json(&run(doctor(&["--json"]).args(some.map(|(_, name)| name))));
    let verdicts = list(&record["targets"]);
    let refused: Vec<_> = verdicts.iter().filter(|verdict| !verdict["refusal"].is_null()).collect();
    assert!(refused.is_empty(), "{refused:?}");
    let (optimized, all): (Vec<&Value>, Vec<&Value>) =
        verdicts.iter().partition(|verdict| !verdict["unoptimized"].is_null());
    let names = |verdicts: &[&Value]| -> Vec<String> {
        verdicts.iter().map(|it| string(&it["target"]).to_owned()).collect()
    };
    assert_eq!(names(&optimized), UNOPTIMIZED);
    let scenario = scenario(&format!("doctor_listed_{step}"));
    let build = |verdicts: &[&Value]| {
        let build = scenario.build().env("OFFLOAD_PTXAS", cuda("ptxas").get_program());
        build.env("OFFLOAD_ARCH", names(verdicts).join(","))
    };
    build(&all).passes();
    build(&optimized).release().passes();
}

/// Tests programs that are not executable, because some tools lose the executable bit when they
/// unpack wheels.
#[test(COMPILERS)]
fn a_program_without_its_mode() {
    let folder = scratch::folder("doctor_mode");
    let [ptxas, nvcc, clang] = ["bin/ptxas", "bin/nvcc", "clang"].map(|it| folder.join(it));
    [&ptxas, &nvcc, &clang].into_iter().for_each(|path| scratch::write(path, "no program"));
    let mut named = bare(&["--json"]);
    let named = json(&run(named.env("OFFLOAD_PTXAS", &ptxas).env("OFFLOAD_CLANG", &clang)));
    let cure = format!("make the program executable:\n  chmod +x '{}'", ptxas.display());
    let problem = format!(
        "OFFLOAD_PTXAS names {}, which cannot be used: it is not executable; {cure}",
        ptxas.display()
    );
    assert_eq!(tool(&named, "ptxas")["problem"], problem);
    let problem = "it is not executable; make the program executable:\n  chmod +x ";
    assert_has(&tool(&named, "clang")["problem"], problem);

    let mut command = bare(&["--json", "sm_90"]);
    command.env("OFFLOAD_CLANG", llvm_bin().join("clang"));
    command.env("CUDA_HOME", &folder).env("PATH", "/usr/bin:/bin");
    let found = json(&run(&mut command));
    let record = tool(&found, "ptxas");
    assert_has(&record["looked"], &format!("{} is not executable", ptxas.display()));
    assert_eq!(record["install"], *cure);
    let record = tool(&found, "nvcc");
    assert_has(&record["looked"], &format!("{} is not executable", nvcc.display()));
    assert_has(&record["install"], &format!("chmod +x '{}'", nvcc.display()));
    assert_eq!(found["targets"][0]["refusal"], "no ptxas was found");
}

#[test(COMPILERS)]
fn what_compilers_say_of_themselves() {
    let ran = run(&mut doctor(&["--json"]));
    assert_eq!(ran.code, 0, "{ran:?}");
    let record = json(&ran);
    let clang = tool(&record, "clang");
    assert_eq!(clang["path"], *llvm_bin().join("clang").to_string_lossy());
    let version = stdout(&succeed(Command::new(llvm_bin().join("clang")).arg("--version")));
    assert_eq!(clang["version"], *version.lines().next().expect("a version is a line"));
    let known = targets(&record, "clang");
    for name in
        ["gfx90a", "gfx942", "gfx1201", "gfx12-generic", "compute_80", "compute_90a", "spirv64"]
    {
        assert!(known.contains(&name), "no {name} in {known:?}");
    }
    let at = |name: &str| known.iter().position(|known| *known == name);
    let cases = [["gfx90a", "gfx1030"], ["gfx1201", "compute_80"], ["compute_80", "compute_100"]];
    for [earlier, later] in cases {
        assert!(at(earlier) < at(later), "{earlier} comes before {later} in {known:?}");
    }
    let help = stdout(&succeed(cuda("ptxas").arg("--help")));
    let ptxas = targets(&record, "ptxas");
    assert!(ptxas.len() > 10, "{ptxas:?}");
    for name in &ptxas {
        assert!(help.contains(&format!("'{name}'")), "ptxas does not know {name}");
    }
    assert_eq!(targets(&record, "C++ compiler"), ["cpu"]);
}

/// Checks that doctor lists the targets of an old clang. Unless an option switches this off, an old
/// clang searches for ROCm's libraries before it lists anything.
#[test(needs(&[Tool::Oldest]))]
fn an_old_clang_lists_its_gpus() {
    let clang = oldest("usr/lib/llvm-15/bin/clang");
    let record = json(&run(bare(&["--json"]).env("OFFLOAD_CLANG", clang)));
    let targets = targets(&record, "clang");
    for name in ["gfx90a", "gfx1030", "compute_80"] {
        assert!(targets.contains(&name), "no {name} in {targets:?}");
    }
}

#[test(needs(&[Tool::Gcc, Tool::OwnMounts]))]
fn a_machine_without_compilers() {
    let tools = scratch::folder("doctor_nothing").join("path");
    let without =
        |arguments: &[&str]| run(&mut hidden::without_compilers(&bare(arguments), &tools));
    let ran = without(&["--json", "gfx90a", "sm_90", "cpu"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    let record = json(&ran);
    for (name, place) in [
        (
            "clang",
            "OFFLOAD_CLANG is not set; no clang or clang-15 to clang-30 in PATH, none in /usr/lib/llvm-*/bin",
        ),
        (
            "ptxas",
            "CUDA_HOME, CUDA_PATH, CUDA_ROOT and CUDA_TOOLKIT_ROOT_DIR are not set; none in PATH",
        ),
        ("compiler launcher", "OFFLOAD_COMPILER_LAUNCHER is not set"),
    ] {
        let tool = tool(&record, name);
        assert!(tool["path"].is_null(), "{tool}");
        assert!(tool["targets"].as_array().is_some_and(Vec::is_empty), "{tool}");
        assert_has(&tool["looked"], place);
    }
    // A target's refusal must contain only the reason. The searched folders and the help are
    // printed once, with the compilers.
    let refusals: Vec<&str> =
        list(&record["targets"]).iter().map(|it| string(&it["refusal"])).collect();
    assert_eq!(refusals, ["no clang was found", "no ptxas was found", ""]);
    for (name, text) in [
        // clang must be 16 or newer, because sm_90 is among the targets.
        ("clang", "install clang and lld, 16 or newer (newer GPUs need newer versions):\n  "),
        ("clang", "\nor name one in OFFLOAD_CLANG"),
        ("ptxas", "\n  pip3 install --upgrade --no-deps --target "),
        ("Rust", "\n  rustup toolchain install nightly --component rust-src"),
    ] {
        assert_has(&tool(&record, name)["install"], text);
    }
    // Without arguments, doctor must fail if it finds no GPU compiler, even if there is a C++
    // compiler.
    let ran = without(&[]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert_prints(&ran, &["\n  clang             not found\n"]);
}

/// Checks that doctor lists the targets for which this machine can build kernel crates in Rust, and
/// what is missing for other targets.
#[test(needs(&[Tool::RustGpu, Tool::Llvm22, Tool::Cuda, Tool::Gcc]))]
fn a_rust_for_kernels() {
    let scenario = Scenario::new("doctor_rust");
    let rustc = rust_compiler(&scenario);
    let record = json(&run(doctor(&["--json"]).env("OFFLOAD_RUSTC", &rustc)));
    let rust = tool(&record, "Rust");
    assert_eq!(rust["path"], *rustc.to_string_lossy());
    assert_has(&rust["version"], "rustc 1.");
    assert!(rust["problem"].is_null() && rust["install"].is_null(), "{rust}");
    let known = targets(&record, "Rust");
    for name in ["gfx90a", "gfx1100", "sm_90", "compute_80"] {
        assert!(known.contains(&name), "no {name} in {known:?}");
    }
    assert!(!known.contains(&"generic"), "{known:?}");

    // Without lld, nothing can be linked for AMD.
    let mut command = doctor(&["--json"]);
    command.env("OFFLOAD_RUSTC", &rustc).env("OFFLOAD_CLANG", "/nowhere/clang");
    let record = json(&run(&mut command));
    assert_has(&tool(&record, "Rust")["problem"], "OFFLOAD_CLANG names /nowhere/clang");
    let known = targets(&record, "Rust");
    assert!(known.contains(&"compute_80") && !known.contains(&"gfx90a"), "{known:?}");

    // Without the sources of `core`, nothing can be compiled.
    let folder = scenario.folder.join("other");
    let other = format!(
        "case \"$*\" in *sysroot*) echo '{}';; *) exec '{}' \"$@\";; esac",
        folder.display(),
        rustc.display()
    );
    let other = scenario.script("other/rustc", &other);
    let record = json(&run(doctor(&["--json"]).env("OFFLOAD_RUSTC", other)));
    let rust = tool(&record, "Rust");
    assert!(rust["path"].is_null() && targets(&record, "Rust").is_empty(), "{rust}");
    assert_has(&rust["looked"], "has no sources of core (rust-src)");
    assert_has(&rust["install"], &folder.join("lib/rustlib/src/rust/library").to_string_lossy());
}

#[test(GCC)]
fn a_variable_that_names_nothing() {
    let mut command = bare(&["--json"]);
    command.env("OFFLOAD_CLANG", "/nowhere/clang").env("OFFLOAD_COMPILER_LAUNCHER", "sccachee");
    let record = json(&run(&mut command));
    let problem = "OFFLOAD_CLANG names /nowhere/clang, which cannot be used: there is no such file";
    assert_has(&tool(&record, "clang")["problem"], problem);
    let problem = "PATH has no such program: sccachee";
    assert_has(&tool(&record, "compiler launcher")["problem"], problem);
}

#[test]
fn runtimes_are_where_the_loader_looks() {
    let folder = scratch::folder("doctor_runtimes");
    let library = folder.join("libcuda.so.1");
    scratch::write(&library, "");
    let mut command = bare(&["--json"]);
    command.env("LD_LIBRARY_PATH", &folder).env("OCL_ICD_VENDORS", folder.join("none"));
    let record = json(&run(&mut command));
    let runtimes = list(&record["runtimes"]);
    let names: Vec<&str> = runtimes.iter().map(|it| string(&it["name"])).collect();
    assert_eq!(
        names,
        ["CUDA driver", "HIP runtime", "HSA runtime", "OpenCL loader", "OpenCL driver"]
    );
    assert_eq!(runtimes[0]["path"], *library.to_string_lossy());
    let looked = string(&runtimes[0]["looked"]);
    assert!(looked.starts_with("libcuda.so.1 in LD_LIBRARY_PATH, "), "{looked}");
}

/// Checks that doctor finds OpenCL's loader and its drivers without loading any, and prints how to
/// install what is missing.
#[test]
fn the_loader_of_opencl_and_its_drivers() {
    let runtimes = |library_path: &Path, vendors: &Path| -> Vec<(Value, Value, Value)> {
        let mut command = bare(&["--json"]);
        command.env("LD_LIBRARY_PATH", library_path).env("OCL_ICD_VENDORS", vendors);
        let record = json(&run(&mut command));
        let opencl = list(&record["runtimes"]).iter();
        let opencl = opencl.filter(|it| string(&it["name"]).starts_with("OpenCL "));
        opencl.map(|it| (it["name"].clone(), it["path"].clone(), it["install"].clone())).collect()
    };
    let folder = scratch::folder("doctor_opencl");
    let (loader, driver) = (folder.join("libOpenCL.so.1"), folder.join("libdriver.so"));
    for library in [&loader, &driver] {
        scratch::write(library, "");
    }
    let vendors = folder.join("vendors");
    scratch::write(vendors.join("a.icd"), "libdriver.so\n");
    scratch::write(vendors.join("b.icd"), format!("{}\n", driver.display()));
    scratch::write(vendors.join("c.icd"), "/nowhere/libdriver.so\n");
    scratch::write(vendors.join("d.txt"), "libdriver.so\n");
    let (is_there, nothing) = (|path: &Path| Value::from(path.to_string_lossy()), Value::Null);
    let here = |name: &str, path: &Path| (name.into(), is_there(path), nothing.clone());
    assert_eq!(
        runtimes(&folder, &vendors),
        [
            here("OpenCL loader", &loader),
            here("OpenCL driver", &driver),
            here("OpenCL driver", &driver),
            ("OpenCL driver".into(), nothing.clone(), nothing.clone()),
        ]
    );
    // The variable may also name a file instead of a folder of drivers.
    assert_eq!(runtimes(&folder, &vendors.join("a.icd"))[1..], [here("OpenCL driver", &driver)]);
    let [_, (_, path, install)] = &runtimes(&folder, &folder)[..] else { panic!("two are listed") };
    assert!(path.is_null());
    assert_has(install, "install OpenCL's loader, and Intel's driver for its GPUs");
    let page = fs::read_to_string(workspace().join("docs/guide/src/reference/spirv.md"));
    let page = page.expect("the page can be read");
    let (_, commands) = page.split_once("```text\n").expect("commands that install a driver");
    commands.lines().take(4).for_each(|command| assert_has(install, command));
}

#[test(COMPILERS.slow())]
fn what_people_see() {
    let ran = run(&mut doctor(&["sm_90a", "sm_70"]));
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""), "{ran:?}");
    let clang = llvm_bin().join("clang");
    assert_prints(
        &ran,
        &[
            &format!("\nCompilers\n  clang             {}\n    version         ", clang.display()),
            "\n    makes           code objects for AMD, with lld; PTX for NVIDIA; SPIR-V, from clang 22 on\n",
            "\n    looked for      OFFLOAD_CLANG; otherwise clang in PATH; clang-30 to ",
            "\n    builds for      gfx600 ",
            "\nRuntimes, needed to run programs\n  CUDA driver       ",
            "\nGPUs of this machine (the target 'native')\n",
            "Value 'sm_70' is not defined for option 'gpu-name'\n",
        ],
    );
    let start =
        "Targets\n  sm_90a            can be built\n  sm_70             cannot be built\n    ";
    assert!(ran.stdout.starts_with(start), "{}", ran.stdout);
    assert!(ran.stdout.lines().all(|line| line.trim_end() == line), "{}", ran.stdout);
}
