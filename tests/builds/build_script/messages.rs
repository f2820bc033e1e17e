//! A build's messages: warnings appear once, errors name their module, and a build that compiles
//! nothing prints nothing.

use offload_pack::pack_index::Index;
use offload_tests::prelude::*;
use offload_tests::scenario::patch_options;

/// Compilers print a warning again for each target. The user must see the whole warning once.
#[test(CLANG.slow())]
fn warnings_are_shown_once() {
    let calls = r#".archs(["gfx90a", "gfx1100", "compute_80", "cpu"])"#;
    let source = kernel("add", "1.0f") + "#warning \"look here\"\n";
    let scenario = Scenario::of("build_warnings", "add.cu", calls, source);
    let by_clang = "kernels/add.cu:6:2: warning: \"look here\" [-W#warnings]";
    let printed = scenario.build().passes();
    printed.once(by_clang).once("6 | #warning").lacks(" generated");
    scenario
        .build()
        .env("CXX", "g++")
        .env("OFFLOAD_REBUILD", "1")
        .passes()
        .once(by_clang)
        .once("kernels/add.cu:6:2: warning: #warning \"look here\"")
        // Each of the two compilers quotes the source line once.
        .times(2, "6 | #warning")
        .lacks(" generated");
}

/// Kernel compilers must get no warning options except those in build.rs or the environment.
#[test(CLANG.slow())]
fn warnings_of_the_cpu_are_those_by_default() {
    let scenario = Scenario::new("build_warnings_cpu");
    let pack = |flags: &str| {
        let calls = format!(r#".file("kernels/add.cu").archs(["gfx90a", "cpu"]){flags}"#);
        scenario.pack("add", &calls);
    };
    let text = kernel("add", "1.0f").replace("int i", "int unused;\n  int i");
    scenario.write("kernels/add.cu", format!("{text}#warning \"look here\"\n"));
    for cxx in ["g++".into(), llvm_bin().join("clang++")] {
        pack("");
        let printed = scenario.build().env("CXX", &cxx).passes();
        printed.has("look here").lacks("unused");
        pack(r#".flag_for("cpu", "-Wall")"#);
        scenario.build().env("CXX", &cxx).passes().has("[-Wunused-variable]");
    }
    pack("");
    // The build does not start the launcher that CXX names, so the launcher need not exist.
    for (name, value) in
        [("CXXFLAGS", "-Wunused-variable"), ("CXX", "ccache g++ -Wunused-variable")]
    {
        scenario.build().env(name, value).passes().has("[-Wunused-variable]");
    }
}

/// No image contains a template kernel until a source instantiates the template.
#[test(CLANG.slow())]
fn a_template_without_instances() {
    let template =
        "template <class T> __global__ void __launch_bounds__(256) scale(T *x) { x[0] *= 2; }\n";
    let calls = r#".archs(["gfx90a", "compute_80", "cpu"])"#;
    let scenario = Scenario::of("build_template", "scale.cu", calls, template);
    let instance = "template __global__ void scale<float>(";
    scenario.build().passes().each_once([
        "pack \"scale\": the images of the module \"scale\" for gfx90a, compute_80 contain no \
         kernels. ",
        instance,
    ]);
    scenario.write("kernels/scale.cu", format!("{template}{instance}float *);\n"));
    scenario.build().passes().lacks("contain no kernels");
}

/// Compilers also print remarks, and details for `-v`. Users who request this output must see it
/// next to the warnings of the same compiler.
#[test(CLANG.slow())]
fn what_compilers_print_besides_is_shown_on_request() {
    let scenario = Scenario::new("build_chatter");
    scenario.pack(
        "add",
        r#".file("kernels/add.cu").archs(["gfx90a", "cpu"]).flag("-v")
        .flag_for("amd", "-Rpass=inline")"#,
    );
    let text = kernel("add", "twice(1.0f)")
        .replace("extern", "static __device__ float twice(float x) { return 2 * x; }\nextern");
    scenario.write("kernels/add.cu", text + "#warning \"look here\"\n");
    let build = || scenario.build().env("CXX", "g++");
    let printed = build().passes();
    printed
        .once(": warning: \"look here\" [-W#warnings]")
        .once(": warning: #warning \"look here\"");
    printed.lacks("remark: ").lacks("-cc1").lacks("COLLECT_GCC").lacks("search starts here");
    // clang and g++ each print a line with the location, and two lines that quote the source.
    printed.times(6, "warning: build_chatter@");
    let all = build().arg("-vv").env("OFFLOAD_REBUILD", "1").passes();
    all.each_once([
        "offload-build: compiler output for add/work/gfx90a.0.bc\n",
        "] | COLLECT_GCC=",
    ]);
    all.times(2, "| #include <...> search starts here:");
}

/// An option of one module must not apply to another module with the same targets.
#[test(CLANG)]
fn each_modules_options_are_asked_about() {
    const MAIN: &str = r#"let plain = Module::new("plain").file("kernels/add.cu").clone();
    let mut other = Module::new("other").file("kernels/add.cu").clone();
    other.flag("--no-such-option");
    let modules = if std::env::var("FIRST").unwrap() == "plain" { [plain, other] } else { [other, plain] };
    println!("cargo::rerun-if-env-changed=FIRST");
    Build::new().module(&modules[0]).module(&modules[1]).archs(["gfx90a"]).compile("pack");"#;
    let scenario = Scenario::new("build_refusals");
    scenario.build_script(MAIN).kernel("add", "1.0f");
    for first in ["plain", "other"] {
        let printed = scenario.build().env("FIRST", first).fails();
        printed.once("unknown argument: '--no-such-option'").has("no image for gfx90a: ");
        printed.lacks("the command was");
    }
}

#[test(CLANG)]
fn two_packs_of_one_name_are_refused() {
    let scenario = Scenario::new("build_same_name");
    let script = r#"let mut build = Build::new();
    build.file("kernels/add.cu").archs(["gfx90a"]);
    build.compile("add");
    build.define("MORE", None).compile("add");"#;
    scenario.build_script(script).kernel("add", "1.0f");
    let message = "build.rs makes the pack 'add' twice: the second would replace the first";
    scenario.build().fails().has(message);
}

/// Tests builds without any compiler, as on docs.rs, in editors and for `cargo package`.
#[test(GCC.slow())]
fn nothing_is_built_for_docs_rs() {
    let calls = r#".archs(["gfx90a", "native", "sm_80", "all-major", "cpu"])"#;
    let scenario = Scenario::add("build_skipped", calls);
    scenario.write(
        "src/lib.rs",
        "pub static ADD: offload_gpu::KernelPack = offload_gpu::include_offload!(\"add\");\n",
    );
    // rustc links with `cc`, so the tools folder also needs `cc`.
    let path = env::var_os("PATH").expect("PATH is set");
    for name in ["cc", "cargo", "rustc", "rustdoc", "ld"] {
        if let Some(real) = env::split_paths(&path).map(|it| it.join(name)).find(|it| it.is_file())
        {
            // Each tool is a script instead of a link, because rustup's programs behave differently
            // under different names.
            scenario.script(&format!("tools/{name}"), &format!("exec '{}' \"$@\"", real.display()));
        }
    }
    let why = |run: Run<'_>, variable: (&str, &str)| {
        run.without(&["CUDA_HOME", "OFFLOAD_CLANG"])
            .env("PATH", scenario.folder.join("tools"))
            .env(variable.0, variable.1)
            .passes();
        match Index::parse(&scenario.output_text("debug", "add.index")) {
            Ok(Index::Absent { why, .. }) => why,
            other => panic!("{other:?}"),
        }
    };
    const SKIP: (&str, &str) = ("OFFLOAD_SKIP", "1");
    const DOCS_RS: (&str, &str) = ("DOCS_RS", "1");
    assert_eq!(why(scenario.check(), SKIP), "OFFLOAD_SKIP was set");
    assert_eq!(why(scenario.check(), DOCS_RS), "docs.rs has no GPU compilers");
    assert_eq!(why(scenario.cargo(&["doc", "--no-deps"]), DOCS_RS), "docs.rs has no GPU compilers");

    // This checkout's crates replace the published ones.
    let package = scenario.cargo(&["package", "--allow-dirty"]).args(patch_options());
    assert_eq!(why(package, SKIP), "OFFLOAD_SKIP was set");
}
