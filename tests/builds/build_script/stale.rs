//! Tests each cause of a stale image separately. (`model/` tests random combinations.)

use crate::{NVCC_AND_CLANG, variables_of_cargo};
use offload_tests::prelude::*;
use offload_tests::scenario::Watched;
use std::os::unix::fs::symlink;

/// Returns a source whose kernel uses the `VALUE` macro, which a header defines.
fn with_header(include: &str) -> String {
    format!("{include}\n{}", kernel("add", "VALUE"))
}

/// The compilers for `compute_80` and for the CPU. Each row has the compiler's name (also the
/// pack's name), the calls that select the compiler, and the image's file.
const KINDS: [(&str, &str, &str); 3] = [
    ("clang", r#".arch("compute_80")"#, "clang/compute_80.ptx"),
    ("gcc", r#".arch("cpu")"#, "gcc/cpu.so"),
    ("nvcc", r#".arch("compute_80").compiler(Compiler::Nvcc)"#, "nvcc/compute_80.ptx"),
];

/// Returns a package that compiles `kernels/add.cu` with these calls, once for each of the
/// [`KINDS`]. The package's folder contains a script that starts the tests' nvcc.
fn package(name: &str, calls: &str) -> Scenario {
    let scenario = Scenario::new(name);
    let packs = KINDS.map(|(kind, own, _)| {
        format!("Build::new().file(\"kernels/add.cu\"){calls}{own}.compile({kind:?});\n    ")
    });
    scenario.build_script(&packs.concat());
    let nvcc = cuda("nvcc").get_program().display().to_string();
    scenario.script("nvcc.sh", &format!("exec '{nvcc}' \"$@\""));
    scenario
}

/// Builds with the script in `NVCC`, and with variables that name folders in the package.
/// Returns the images of the [`KINDS`].
#[track_caller]
fn images(scenario: &Scenario, folders: &[(&str, &str)]) -> [Vec<u8>; 3] {
    let folders = folders.iter().map(|(name, folder)| (*name, scenario.folder.join(folder)));
    let build = scenario.build().env("NVCC", scenario.folder.join("nvcc.sh"));
    build.without(&["CPATH", "CPLUS_INCLUDE_PATH"]).envs(folders).passes();
    KINDS.map(|(_, _, file)| read(scenario.output("debug", file)))
}

/// Asserts that the two images differ for each of the [`KINDS`].
#[track_caller]
fn assert_differ(one: &[Vec<u8>; 3], other: &[Vec<u8>; 3], why: &str) {
    for (number, (kind, ..)) in KINDS.iter().enumerate() {
        assert!(one[number] != other[number], "{kind}: {why}");
    }
}

/// Adds and removes headers that an `#include` or a `__has_include` of the source finds.
#[test(NVCC_AND_CLANG.slow())]
fn headers_that_come_and_go() {
    let scenario = package("stale_headers", r#".include("inc1").include("inc2")"#);
    let images = || images(&scenario, &[]);
    let remove = |path: &str| fs::remove_file(scenario.folder.join(path)).expect("it is there");
    scenario
        .write("kernels/add.cu", with_header("#include <val.h>"))
        .write("inc1/other.h", "")
        .write("inc2/val.h", "#define VALUE 1.0f\n");
    let first = images();
    scenario.write("inc1/val.h", "#define VALUE 7.0f\n");
    assert_differ(&images(), &first, "a header before another in the folders of build.rs");
    // The new header is in the source's own folder. The build does not report this folder to Cargo,
    // so touch the build script.
    scenario.write("kernels/add.cu", with_header("#include \"val.h\""));
    let first = images();
    scenario.write("kernels/val.h", "#define VALUE 9.0f\n").touch_build_script();
    assert_differ(&images(), &first, "a header beside the source");
    remove("kernels/val.h");
    assert!(images() == first, "the header beside the source is gone again");

    let ask = |name: &str| {
        format!("#if __has_include({name})\n#define VALUE 1.0f\n#else\n#define VALUE 2.0f\n#endif")
    };
    scenario.write("kernels/add.cu", with_header(&ask("<opt.h>")));
    let first = images();
    scenario.write("inc1/opt.h", "");
    assert_differ(&images(), &first, "a header that __has_include asks for");
    remove("inc1/opt.h");
    assert!(images() == first, "the header that __has_include asks for is gone again");
    // A macro contains the header's name.
    let source = with_header(&format!("#define NAME <any.h>\n{}", ask("NAME")));
    scenario.write("kernels/add.cu", source);
    let first = images();
    scenario.write("inc1/any.h", "");
    assert_differ(&images(), &first, "a header whose name a macro has");
}

#[test(NVCC_AND_CLANG.slow())]
fn variables_that_compilers_read() {
    let scenario = package("stale_variables", "");
    for (folder, value) in [("one", "1.0f"), ("two", "2.0f")] {
        scenario
            .write(&format!("{folder}/c.h"), format!("#define VALUE {value}\n"))
            .write(&format!("{folder}-plus/plus.h"), format!("#define PLUS {value}\n"));
    }
    let source =
        format!("#include <c.h>\n#include <plus.h>\n{}", kernel("add", "VALUE + x[i] * PLUS"));
    scenario.write("kernels/add.cu", source);
    let build = |c: &str, plus: &str| {
        let written = ("DEPENDENCIES_OUTPUT", "dependencies");
        images(&scenario, &[("CPATH", c), ("CPLUS_INCLUDE_PATH", plus), written])
    };
    let mut before = build("one", "one-plus");
    let mut expect_other = |c: &str, plus: &str, why: &str| {
        let images = build(c, plus);
        assert_differ(&images, &before, why);
        before = images;
    };
    expect_other("two", "one-plus", "CPATH");
    expect_other("two", "two-plus", "CPLUS_INCLUDE_PATH");
    scenario.write("two/c.h", "#define VALUE 3.0f\n");
    expect_other("two", "two-plus", "a header in a folder of CPATH");
    scenario.write("two-plus/plus.h", "#define PLUS 3.0f\n");
    expect_other("two", "two-plus", "a header in a folder of CPLUS_INCLUDE_PATH");
    // No compiler writes the additional dependency file that `DEPENDENCIES_OUTPUT` requests.
    let written = fs::read_to_string(scenario.folder.join("dependencies")).unwrap_or_default();
    assert!(!written.contains("add.cu"), "{written}");
}

/// Edits each file that a flag of build.rs or of a variable names. Each pack has its own compiler.
#[test(NVCC_AND_CLANG.slow())]
fn files_that_flags_name_are_inputs() {
    let scenario = Scenario::new("named_in_flags");
    let flags = |words: &str| words.split(' ').map(|word| format!(".flag({word:?})")).collect();
    let of_clang: String = flags(
        "@kernels/flags.txt -include kernels/value.h -Xclang -mlink-builtin-bitcode -Xclang kernels/lib.bc",
    );
    let of_nvcc: String = flags("--options-file kernels/options.txt");
    let library = |value: &str| {
        scenario.write("lib.cpp", format!("extern \"C\" float value() {{ return {value}; }}\n"));
        let target = ["--target=nvptx64-nvidia-cuda", "-O1", "-emit-llvm", "-c"];
        let files = ["lib.cpp", "-o", "kernels/lib.bc"];
        scenario.tool(llvm_bin().join("clang")).args(target).args(files).passes();
    };
    let declaration = "extern \"C\" __device__ float value();\n";
    scenario
        .build_script(&format!(
            "Build::new().file(\"kernels/add.cu\").arch(\"compute_80\"){of_clang}.compile(\"clang\");
    Build::new().file(\"kernels/nvcc.cu\").arch(\"compute_80\").compiler(Compiler::Nvcc){of_nvcc}.compile(\"nvcc\");
    Build::new().file(\"kernels/cxx.cu\").arch(\"cpu\").compile(\"cxx\");"
        ))
        .write("kernels/cxx.txt", "-DVALUE=2.0f\n")
        .write("kernels/cxx.cu", with_header(""))
        .write("first/other.h", "")
        .write("second/scale.h", "#define SCALE 2.0f\n")
        .write("kernels/flags.txt", "-DFACTOR=2.0f\n")
        .write("kernels/value.h", "#define VALUE 2.0f\n")
        .write("kernels/options.txt", "-DVALUE=2.0f\n")
        .write(
            "kernels/add.cu",
            format!("{declaration}{}", kernel("add", "x[i] * FACTOR + y[i] * VALUE + value()")),
        )
        .write("kernels/nvcc.cu", "#include <scale.h>\n".to_owned() + &kernel("add", "VALUE * SCALE"));
    library("2.0f");
    let built = || {
        let folders = ["first", "second"].map(|name| scenario.folder.join(name));
        let folders = folders.map(|folder| format!("-I{}", folder.display())).join(" ");
        let build = scenario.build().env("NVCC_APPEND_FLAGS", folders);
        build.env("CXXFLAGS", "@kernels/cxx.txt").passes();
        ["clang/compute_80.ptx", "nvcc/compute_80.ptx", "cxx/cpu.so"]
            .map(|file| read(scenario.output("debug", file)))
    };
    let mut before = built();
    let mut expect_other = |pack: usize, why: &str| {
        let images = built();
        for (number, image) in images.iter().enumerate() {
            assert_eq!(*image != before[number], number == pack, "{why}, pack {number}");
        }
        before = images;
    };
    scenario.write("kernels/flags.txt", "-DFACTOR=3.0f\n");
    expect_other(0, "a response file");
    scenario.write("kernels/value.h", "#define VALUE 3.0f\n");
    expect_other(0, "-include");
    library("3.0f");
    expect_other(0, "-mlink-builtin-bitcode");
    scenario.write("kernels/options.txt", "-DVALUE=3.0f\n");
    expect_other(1, "--options-file");
    scenario.write("first/scale.h", "#define SCALE 3.0f\n");
    expect_other(1, "a header in a folder of NVCC_APPEND_FLAGS");
    scenario.write("kernels/cxx.txt", "-DVALUE=3.0f\n");
    expect_other(2, "a response file in CXXFLAGS");
}

#[test(CLANG)]
fn assembly_that_takes_in_files() {
    let scenario = Scenario::new("assembly_inputs");
    let text = ".amdgcn_target \"amdgcn-amd-amdhsa--gfx90a\"\n.section .rodata\n.globl table\ntable:\n\
                .incbin \"kernels/table.bin\"\n.include \"kernels/more.s\"\n";
    scenario
        .pack("add", r#".file("kernels/add.s").arch("gfx90a")"#)
        .write("kernels/add.s", text)
        .write("kernels/table.bin", "first")
        .write("kernels/more.s", ".byte 1\n");
    let built = || {
        scenario.build().passes();
        read(scenario.output("debug", "add/gfx90a.hsaco"))
    };
    let first = built();
    scenario.write("kernels/table.bin", "other");
    let second = built();
    assert!(first != second, ".incbin");
    scenario.write("kernels/more.s", ".byte 2\n");
    assert!(built() != second, ".include");
}

/// Two files change after a compiler has read them, but before the build ends. An older file
/// replaces the header, and an editor saves the source.
#[test(CLANG.slow())]
fn edits_while_a_compiler_runs_are_not_lost() {
    let scenario = Scenario::new("build_edited");
    scenario
        .pack("add", r#".file("kernels/add.cu").include("inc").arch("compute_80")"#)
        .write("kernels/add.cu", with_header("#include <val.h>"))
        .write("older.h", "#define VALUE 7.0f\n")
        .write("inc/val.h", "#define VALUE 1.0f\n");
    let clang = scenario.script(
        "clang",
        &format!(
            "'{clang}' \"$@\" || exit $?\ncase \"$*\" in *-###*) exit;; *-emit-llvm*) ;; *) exit;; esac\n\
             cd '{folder}'\ntest ! -f older.h || mv older.h inc/val.h\n\
             test ! -f saved.cu || {{ cat saved.cu > kernels/add.cu; rm saved.cu; }}",
            clang = llvm_bin().join("clang").display(),
            folder = scenario.folder.display(),
        ),
    );
    let ptx = || {
        scenario.build().env("OFFLOAD_CLANG", &clang).passes();
        scenario.output_text("debug", "add/compute_80.ptx")
    };
    let first = ptx();
    assert!(!scenario.folder.join("older.h").exists(), "the header was not replaced");
    // Cargo does not notice the replaced header, because its modification time is older.
    scenario.touch_build_script();
    assert_ne!(ptx(), first, "the image is of the header that is gone");

    scenario.kernel("add", "1.0f").write("saved.cu", kernel("new_name", "1.0f"));
    assert!(ptx().contains(".entry add("));
    assert!(scenario.text("kernels/add.cu").contains("new_name"), "the source was not saved");
    let second = ptx();
    assert!(second.contains(".entry new_name("), "the image is older than its source:\n{second}");
}

#[test(COMPILERS)]
fn folders_of_builds_in_path_do_not_count() {
    let scenario = Scenario::add("path_of_builds", r#".arch("sm_80")"#);
    scenario.build().release().env("OFFLOAD_PREBUILT", "update").passes();
    // ptxas is missing, so the build script reports the folders in PATH to Cargo.
    let deps = scenario.target.join("debug/deps");
    let build = || {
        let run = scenario.build().arg("-v").path([deps.clone()]);
        run.without(&["CUDA_HOME"]).passes()
    };
    build();
    // PATH contains the folder `deps`, which each build changes. The next build must be fresh
    // nevertheless.
    fs::write(deps.join("path_of_builds.tmp"), "").expect("the target folder can be written");
    let printed = build();
    fs::remove_file(deps.join("path_of_builds.tmp")).expect("it is there");
    printed.found_fresh("path_of_builds");
}

#[test(CLANG)]
fn a_folder_with_the_target_folder_is_not_watched() {
    let calls = r#".include(".").include(std::env::var("OUT_DIR").unwrap()).flag("-Inot-there").arch("compute_80")"#;
    let scenario = Scenario::add("include_of_all", calls);
    let (target, link) = (scenario.folder.join("target"), scenario.folder.join("link"));
    fs::create_dir_all(&target).expect("the folder can be made");
    symlink(&target, &link).expect("a link can be made");
    let scenario = scenario.own_target(link);
    scenario.build().passes();
    fs::write(scenario.target.join("changes"), "").expect("the target folder can be written");
    scenario.build().arg("-v").passes().found_fresh("include_of_all");
}

/// A link called `clang`, like the links in ccache's folder, leads to a program that starts the
/// next clang in PATH.
#[test(CLANG.slow())]
fn a_compiler_behind_a_masquerade() {
    let scenario = Scenario::add("masquerade", r#".arch("compute_80")"#);
    let log = scenario.folder.join("log");
    let real = |name: &str, define: &str| {
        let program = scenario.script(
            name,
            &format!(
                "case \"$1\" in --version) echo 'clang version 22.0.0 ({define})'; exit;; esac\n\
                 echo {define} >> '{}'\nexec '{}' -D{define} \"$@\"",
                log.display(),
                llvm_bin().join("clang").display()
            ),
        );
        scenario.write("which", program.display().to_string());
    };
    real("one/clang", "FIRST");
    let which = scenario.folder.join("which");
    let launch = format!("exec \"$(cat '{}')\" \"$@\"", which.display());
    let cache = scenario.script("cache/launcher", &launch);
    symlink(&cache, scenario.folder.join("cache/clang")).expect("a link can be made");
    let build = || {
        let _ = fs::remove_file(&log);
        scenario.touch_build_script();
        scenario.build().env("OFFLOAD_CLANG", scenario.folder.join("cache/clang")).passes();
        fs::read_to_string(&log).unwrap_or_default().lines().count()
    };
    assert!(build() > 0);
    // Each build queries the linker, but this build compiles nothing.
    let asks = build();
    real("two/clang", "SECOND");
    assert!(build() > asks, "another compiler behind the link");
    assert_eq!(build(), asks);
}

/// Starts two build scripts in one `OUT_DIR`. This happens if a user kills only Cargo: the first
/// build script is still running when the next build starts the second.
#[test(CLANG.slow())]
fn two_scripts_in_one_out_dir() {
    let scenario = Scenario::add("two_scripts", r#".archs(["compute_80", "gfx90a"])"#);
    let watched = Watched::new(&scenario);
    watched.set(scenario.build()).passes();
    watched.log();
    let script = scenario.build_script_program("debug");
    let out_dir = scenario.out_dir("debug");
    let start = || {
        let run = watched.set(scenario.tool(&script)).envs(variables_of_cargo(&scenario, &out_dir));
        let run = run.env("OFFLOAD_REBUILD", "1").env("OFFLOAD_JOBS", "1");
        run.command().spawn().expect("the build script starts")
    };
    let mut scripts = [start(), start()];
    for script in &mut scripts {
        assert!(script.wait().expect("it ends").success());
    }
    let calls = watched.log();
    assert!(!calls.overlap(), "compilers of both ran at once: {calls:?}");
}

/// Returns PTX that contains a kernel with this name.
fn ptx(name: &str) -> String {
    format!(".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry {name}() {{ ret; }}\n")
}

#[test(NOTHING.slow())]
fn packs_of_several_threads() {
    let scenario = Scenario::new("threads");
    scenario.build_script(
        r#"Build::new().file("kernels/image.ptx").arch("compute_80").compile("lock");
    std::thread::scope(|scope| {
        for number in 0..8 {
            scope.spawn(move || {
                for round in 0..8 {
                    Build::new().file("kernels/image.ptx").arch("compute_80").compile(&format!("pack_{number}_{round}"));
                }
            });
        }
    });"#,
    );
    scenario.write("kernels/image.ptx", ptx("add"));
    for _ in 0..3 {
        scenario.touch_build_script();
        let _ = fs::remove_dir_all(scenario.folder.join("out"));
        scenario.build().passes();
    }
}

/// Creates a link at the path where the build writes a temporary file. The file behind the link
/// must not change.
#[test]
fn a_link_in_the_place_of_a_file() {
    let scenario = Scenario::new("planted_link");
    scenario.pack("add", r#".file("kernels/image.ptx").arch("compute_80")"#);
    scenario.write("kernels/image.ptx", ptx("add"));
    scenario.build().passes();
    let precious = scenario.folder.join("precious");
    fs::write(&precious, "as it was").expect("the folder can be written");
    let pack = scenario.output("debug", "add.pack");
    for name in ["add.pack.part", "add.index.part"] {
        symlink(&precious, pack.with_file_name(name)).expect("a link can be made");
    }
    scenario.write("kernels/image.ptx", ptx("more"));
    scenario.build().passes();
    assert_eq!(fs::read_to_string(&precious).expect("it is there"), "as it was");
}
