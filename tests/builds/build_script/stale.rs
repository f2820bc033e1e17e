//! No image is stale: tries each cause of an old image, one at a time. (`model/` tests random
//! combinations.)

use offload_tests::registry::{CLANG, COMPILERS, NOTHING};
use offload_tests::scenario::{Scenario, Watched, kernel};
use offload_tests::tools::{cuda, llvm_bin};
use std::fs;

offload_tests::tests! {
    CLANG => [
        files_that_flags_name_are_inputs,
        assembly_that_takes_in_files,
        a_file_that_is_replaced_by_an_older_one_during_compilation,
        a_rebuild_can_be_forced,
        a_folder_with_the_target_folder_is_not_watched,
    ],
    COMPILERS.slow() => [a_header_that_shadows_another, a_header_that_is_asked_for, variables_that_compilers_read],
    COMPILERS => [
        an_options_file_of_nvcc,
        an_input_that_no_compiler_tells_of,
        folders_of_builds_in_path_do_not_count,
    ],
    NOTHING => [packs_of_several_threads, a_link_in_the_place_of_a_file],
    CLANG.slow() => [a_compiler_behind_a_masquerade, two_scripts_in_one_out_dir],
}

/// Returns a source whose kernel has the value that a header defines.
fn with_header(include: &str) -> String {
    format!("{include}\n{}", kernel("add", "VALUE"))
}

/// The compilers for `compute_80` and for the CPU: each with its name, the calls that select it,
/// and the file name of its image.
const KINDS: [(&str, &str, &str); 3] = [
    ("clang", r#".archs(["compute_80"])"#, "compute_80.ptx"),
    ("gcc", r#".archs(["cpu"])"#, "cpu.so"),
    ("nvcc", r#".archs(["compute_80"]).compiler(Compiler::Nvcc)"#, "compute_80.ptx"),
];

/// Builds with the tests' nvcc as `NVCC`; returns the image `file` of the pack `add`.
fn image(scenario: &Scenario, file: &str) -> Vec<u8> {
    scenario.build().env("NVCC", cuda("nvcc").get_program()).passes();
    offload_tests::data::read(scenario.output("debug", &format!("add/{file}")))
}

fn a_header_that_shadows_another() {
    for (kind, calls, file) in KINDS {
        let scenario = Scenario::new(&format!("shadow-{kind}"));
        scenario
            .pack(
                "add",
                &format!(r#".file("kernels/add.cu").include("inc1").include("inc2"){calls}"#),
            )
            .write("kernels/add.cu", with_header("#include <val.h>"))
            .write("inc1/other.h", "")
            .write("inc2/val.h", "#define VALUE 1.0f\n");
        let first = image(&scenario, file);
        scenario.write("inc1/val.h", "#define VALUE 7.0f\n");
        let second = image(&scenario, file);
        assert!(first != second, "{kind}: a header before another in the folders of build.rs");
        // The header is in the source's own folder. The build does not report this folder to Cargo,
        // so the test touches the build script.
        scenario.write("kernels/add.cu", with_header("#include \"val.h\""));
        let third = image(&scenario, file);
        scenario.write("kernels/val.h", "#define VALUE 9.0f\n").touch_build_script();
        assert!(image(&scenario, file) != third, "{kind}: a header beside the source");
        fs::remove_file(scenario.folder.join("kernels/val.h")).expect("it is there");
        assert!(image(&scenario, file) == third, "{kind}: the header is gone again");
    }
}

fn a_header_that_is_asked_for() {
    for (kind, calls, file) in KINDS {
        let scenario = Scenario::new(&format!("asked-{kind}"));
        let ask = |name: &str| {
            format!(
                "#if __has_include({name})\n#define VALUE 1.0f\n#else\n#define VALUE 2.0f\n#endif"
            )
        };
        scenario
            .pack("add", &format!(r#".file("kernels/add.cu").include("inc"){calls}"#))
            .write("inc/other.h", "")
            .write("kernels/add.cu", with_header(&ask("<opt.h>")));
        let first = image(&scenario, file);
        scenario.write("inc/opt.h", "");
        assert!(image(&scenario, file) != first, "{kind}: a header that __has_include asks for");
        fs::remove_file(scenario.folder.join("inc/opt.h")).expect("it is there");
        assert!(image(&scenario, file) == first, "{kind}: it is gone again");
        // A macro contains the header's name.
        scenario.write(
            "kernels/add.cu",
            with_header(&format!("#define NAME <any.h>\n{}", ask("NAME"))),
        );
        let first = image(&scenario, file);
        scenario.write("inc/any.h", "");
        assert!(image(&scenario, file) != first, "{kind}: a header whose name a macro has");
    }
}

fn files_that_flags_name_are_inputs() {
    let ptx = |scenario: &Scenario| {
        String::from_utf8(image(scenario, "compute_80.ptx")).expect("PTX is text")
    };
    let scenario = Scenario::new("named_in_flags");
    let pack = |flags: &str| {
        scenario.pack("add", &format!(r#".file("kernels/add.cu").arch("compute_80"){flags}"#));
    };
    scenario.write("kernels/add.cu", with_header("#ifndef VALUE\n#define VALUE 1.0f\n#endif"));

    scenario.write("kernels/flags.txt", "-DVALUE=2.0f\n");
    pack(r#".flag("@kernels/flags.txt")"#);
    let first = ptx(&scenario);
    scenario.write("kernels/flags.txt", "-DVALUE=3.0f\n");
    assert_ne!(ptx(&scenario), first, "a response file");

    scenario.write("kernels/value.h", "#define VALUE 4.0f\n");
    pack(r#".flag("-include").flag("kernels/value.h")"#);
    let first = ptx(&scenario);
    scenario.write("kernels/value.h", "#define VALUE 5.0f\n");
    assert_ne!(ptx(&scenario), first, "-include");

    let library = |value: &str| {
        let text = format!("extern \"C\" float value() {{ return {value}; }}\n");
        scenario.write("lib.cpp", text);
        let args = [
            "--target=nvptx64-nvidia-cuda",
            "-O1",
            "-emit-llvm",
            "-c",
            "lib.cpp",
            "-o",
            "kernels/lib.bc",
        ];
        scenario.tool(llvm_bin().join("clang")).args(args).passes();
    };
    library("6.0f");
    scenario.write(
        "kernels/add.cu",
        with_header("extern \"C\" __device__ float value();\n#define VALUE value()"),
    );
    let words = ["-Xclang", "-mlink-builtin-bitcode", "-Xclang", "kernels/lib.bc"];
    pack(&words.map(|word| format!(".flag({word:?})")).concat());
    let first = ptx(&scenario);
    library("7.0f");
    assert_ne!(ptx(&scenario), first, "-mlink-builtin-bitcode");
}

fn an_options_file_of_nvcc() {
    let scenario = Scenario::new("nvcc_options_file");
    scenario
        .pack(
            "add",
            r#".file("kernels/add.cu").arch("compute_80").compiler(Compiler::Nvcc).flag("--options-file").flag("kernels/o.txt")"#,
        )
        .write("kernels/add.cu", with_header(""))
        .write("kernels/o.txt", "-DVALUE=2.0f\n");
    let first = image(&scenario, "compute_80.ptx");
    scenario.write("kernels/o.txt", "-DVALUE=3.0f\n");
    assert!(image(&scenario, "compute_80.ptx") != first);
}

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
        offload_tests::data::read(scenario.output("debug", "add/gfx90a.hsaco"))
    };
    let first = built();
    scenario.write("kernels/table.bin", "other");
    let second = built();
    assert!(first != second, ".incbin");
    scenario.write("kernels/more.s", ".byte 2\n");
    assert!(built() != second, ".include");
}

fn an_input_that_no_compiler_tells_of() {
    let scenario = Scenario::new("named_input");
    scenario
        .pack(
            "add",
            r#".file("kernels/add.cu").input("kernels/table.txt").archs(["compute_80", "cpu"])"#,
        )
        .kernel("add", "1.0f")
        .write("kernels/table.txt", "1");
    let watched = Watched::new(&scenario);
    let build = || {
        watched.set(scenario.build()).passes();
        watched.compilations()
    };
    build().assert_counts(&[("clang", 3), ("c++", 2)], "the first build");
    build().assert_none("nothing changed");
    scenario.write("kernels/table.txt", "2");
    build().assert_counts(&[("clang", 3), ("c++", 2)], "the input changed");
}

fn variables_that_compilers_read() {
    for (kind, calls, file) in KINDS {
        let scenario = Scenario::new(&format!("variables-{kind}"));
        scenario
            .pack("add", &format!(r#".file("kernels/add.cu"){calls}"#))
            .write("kernels/add.cu", with_header("#include <val.h>"))
            .write("one/val.h", "#define VALUE 1.0f\n")
            .write("two/val.h", "#define VALUE 2.0f\n");
        let image = |variables: &[(&str, &str)]| {
            let variables =
                variables.iter().map(|(name, folder)| (*name, scenario.folder.join(folder)));
            let build = scenario.build().env("NVCC", cuda("nvcc").get_program());
            build.without(&["CPATH", "CPLUS_INCLUDE_PATH"]).envs(variables).passes();
            offload_tests::data::read(scenario.output("debug", &format!("add/{file}")))
        };
        for name in ["CPATH", "CPLUS_INCLUDE_PATH"] {
            let one = image(&[(name, "one")]);
            assert!(image(&[(name, "two")]) != one, "{kind}: {name}");
            scenario.write("two/val.h", "#define VALUE 3.0f\n");
            let edited = image(&[(name, "two")]);
            scenario.write("two/val.h", "#define VALUE 2.0f\n");
            assert!(image(&[(name, "two")]) != edited, "{kind}: a header in a folder of {name}");
        }
        // No compiler writes the dependency file that `DEPENDENCIES_OUTPUT` requests in addition.
        // (The file may exist because the `cc` crate runs g++ on a separate file.)
        scenario.kernel("add", "8.0f");
        image(&[("DEPENDENCIES_OUTPUT", "dependencies")]);
        let written = fs::read_to_string(scenario.folder.join("dependencies")).unwrap_or_default();
        assert!(!written.contains("add.cu"), "{kind}: {written}");
    }
}

fn a_file_that_is_replaced_by_an_older_one_during_compilation() {
    let scenario = Scenario::new("replaced_by_older");
    scenario
        .pack("add", r#".file("kernels/add.cu").include("inc").arch("compute_80")"#)
        .write("kernels/add.cu", with_header("#include <val.h>"))
        .write("older.h", "#define VALUE 7.0f\n")
        .write("inc/val.h", "#define VALUE 1.0f\n");
    let (new, place) = (scenario.folder.join("older.h"), scenario.folder.join("inc/val.h"));
    let clang = scenario.script(
        "clang",
        &format!(
            "'{}' \"$@\" || exit $?\ncase \"$*\" in *-###*) ;; *-emit-llvm*) test ! -f '{new}' || mv '{new}' '{place}';; esac",
            llvm_bin().join("clang").display(),
            new = new.display(),
            place = place.display(),
        ),
    );
    let ptx = || {
        scenario.build().env("OFFLOAD_CLANG", &clang).passes();
        scenario.output_text("debug", "add/compute_80.ptx")
    };
    let first = ptx();
    assert!(!new.exists(), "the header was not replaced");
    scenario.touch_build_script();
    assert_ne!(ptx(), first, "the image is of the header that is gone");
}

fn a_rebuild_can_be_forced() {
    let scenario = Scenario::new("forced_rebuild");
    scenario.pack("add", r#".file("kernels/add.cu").arch("compute_80")"#).kernel("add", "1.0f");
    let watched = Watched::new(&scenario);
    let build = |force: Option<&str>| {
        watched.set(scenario.build()).envs(force.map(|value| ("OFFLOAD_REBUILD", value))).passes();
        watched.compilations()
    };
    let all: &[(&str, usize)] = &[("clang", 3)];
    build(None).assert_counts(all, "the first build");
    build(None).assert_none("nothing changed");
    build(Some("1")).assert_counts(all, "asked for");
    build(Some("1")).assert_counts(all, "asked for again");
    build(None);
    build(None).assert_none("no more");
}

fn folders_of_builds_in_path_do_not_count() {
    let scenario = Scenario::new("path_of_builds");
    scenario.pack("add", r#".file("kernels/add.cu").arch("sm_80")"#).kernel("add", "1.0f");
    let ptxas = cuda("ptxas").get_program().to_owned();
    scenario
        .build()
        .release()
        .env("OFFLOAD_PTXAS", ptxas)
        .env("OFFLOAD_PREBUILT", "update")
        .passes();
    // Now ptxas is missing, so the build script reports the folders of PATH to Cargo.
    let deps = scenario.target.join("debug/deps");
    let build = || {
        let run = scenario.build().arg("-v").path([deps.clone()]);
        run.without(&["OFFLOAD_PTXAS", "CUDA_HOME"]).passes()
    };
    build();
    // Each build changes the folder `deps`, which is in PATH here. The next build must still be
    // fresh.
    fs::write(deps.join("path_of_builds.tmp"), "").expect("the target folder can be written");
    let printed = build();
    fs::remove_file(deps.join("path_of_builds.tmp")).expect("it is there");
    printed.found_fresh("path_of_builds");
}

fn a_folder_with_the_target_folder_is_not_watched() {
    let scenario = Scenario::new("include_of_all");
    let target = scenario.folder.join("target");
    let scenario = scenario.own_target(target);
    scenario
        .pack(
            "add",
            r#".file("kernels/add.cu").include(".").flag("-Inot-there").arch("compute_80")"#,
        )
        .kernel("add", "1.0f");
    scenario.build().passes();
    fs::write(scenario.target.join("changes"), "").expect("the target folder can be written");
    scenario.build().arg("-v").passes().found_fresh("include_of_all");
}

/// Like ccache's folder: a link called `clang` leads to a program that starts the next clang in
/// PATH.
fn a_compiler_behind_a_masquerade() {
    let scenario = Scenario::new("masquerade");
    scenario.pack("add", r#".file("kernels/add.cu").arch("compute_80")"#).kernel("add", "1.0f");
    let log = scenario.folder.join("log");
    let real = |name: &str, define: &str| {
        scenario.script(
            name,
            &format!(
                "case \"$1\" in --version) echo 'clang version 22.0.0 ({define})'; exit;; esac\n\
                 echo {define} >> '{}'\nexec '{}' -D{define} \"$@\"",
                log.display(),
                llvm_bin().join("clang").display()
            ),
        )
    };
    real("one/clang", "FIRST");
    let cache = scenario.script(
        "cache/launcher",
        &format!("exec \"$(cat '{0}/which')\" \"$@\"", scenario.folder.display()),
    );
    std::os::unix::fs::symlink(&cache, scenario.folder.join("cache/clang"))
        .expect("a link can be made");
    scenario.write("which", scenario.folder.join("one/clang").display().to_string());
    let build = || {
        let _ = fs::remove_file(&log);
        scenario
            .touch_build_script()
            .build()
            .env("OFFLOAD_CLANG", scenario.folder.join("cache/clang"))
            .passes();
        fs::read_to_string(&log).unwrap_or_default().lines().filter(|line| !line.is_empty()).count()
    };
    assert!(build() > 0);
    // The build queries the linker each time, and compiles nothing.
    let asks = build();
    real("two/clang", "SECOND");
    scenario.write("which", scenario.folder.join("two/clang").display().to_string());
    assert!(build() > asks, "another compiler behind the link");
    assert_eq!(build(), asks);
}

/// Starts two build scripts in one `OUT_DIR`. This happens if somebody ends only Cargo: its build
/// script still runs when the next build starts another.
fn two_scripts_in_one_out_dir() {
    let scenario = Scenario::new("two_scripts");
    scenario
        .pack("add", r#".file("kernels/add.cu").archs(["compute_80", "gfx90a"])"#)
        .kernel("add", "1.0f");
    let watched = Watched::new(&scenario);
    watched.set(scenario.build()).passes();
    watched.log();
    let script = scenario.build_script_program("debug");
    let out_dir = scenario.out_dir("debug");
    let host = "x86_64-unknown-linux-gnu";
    let start = || {
        let run = watched
            .set(scenario.tool(&script))
            .env("OFFLOAD_REBUILD", "1")
            .env("OFFLOAD_JOBS", "1")
            .env("OUT_DIR", &out_dir);
        let run =
            run.env("CARGO_MANIFEST_DIR", &scenario.folder).env("CARGO_PKG_NAME", "two_scripts");
        let run = run
            .env("CARGO_PKG_VERSION", "0.1.0")
            .env("TARGET", host)
            .env("HOST", host)
            .env("OPT_LEVEL", "0");
        let run = run.env("CARGO_CFG_TARGET_ARCH", "x86_64").env("CARGO_CFG_TARGET_OS", "linux");
        let mut command = run
            .env("CARGO_CFG_TARGET_POINTER_WIDTH", "64")
            .env("CARGO_CFG_TARGET_ENDIAN", "little")
            .command();
        command.spawn().expect("the build script starts")
    };
    let mut scripts = [start(), start()];
    for script in &mut scripts {
        assert!(script.wait().expect("it ends").success());
    }
    let calls = watched.log();
    assert!(!calls.overlap(), "compilers of both ran at once: {calls:?}");
}

fn packs_of_several_threads() {
    let scenario = Scenario::new("threads");
    scenario.build_script(
        r#"std::thread::scope(|scope| {
        for number in 0..8 {
            scope.spawn(move || {
                for round in 0..8 {
                    Build::new().file("kernels/image.ptx").arch("compute_80").compile(&format!("pack_{number}_{round}"));
                }
            });
        }
    });"#,
    );
    scenario.write(
        "kernels/image.ptx",
        ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry add() { ret; }\n",
    );
    for _ in 0..3 {
        scenario.touch_build_script();
        let _ = fs::remove_dir_all(scenario.folder.join("out"));
        scenario.build().passes();
    }
}

/// Puts a link in the place where the build writes a temporary file. The file to which the link
/// leads must not change.
fn a_link_in_the_place_of_a_file() {
    let scenario = Scenario::new("planted_link");
    scenario.pack("add", r#".file("kernels/image.ptx").arch("compute_80")"#);
    let ptx = |name: &str| {
        let text = format!(
            ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry {name}() {{ ret; }}\n"
        );
        scenario.write("kernels/image.ptx", text);
    };
    ptx("add");
    scenario.build().passes();
    let precious = scenario.folder.join("precious");
    fs::write(&precious, "as it was").expect("the folder can be written");
    let pack = scenario.output("debug", "add.pack");
    for name in ["add.pack.part", "add.index.part"] {
        std::os::unix::fs::symlink(&precious, pack.with_file_name(name))
            .expect("a link can be made");
    }
    ptx("more");
    scenario.build().passes();
    assert_eq!(fs::read_to_string(&precious).expect("it is there"), "as it was");
}
