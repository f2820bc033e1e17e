//! Edits that must cause a recompilation of an image, and edits that must not.

use offload_tests::prelude::*;
use offload_tests::scenario::Watched;

#[test(COMPILERS.slow())]
fn a_second_build_compiles_nothing() {
    const MAIN: &str = r#"Build::new().file("kernels/add.cu").archs(["gfx90a", "compute_80", "sm_80", "cpu"]).compile("add");"#;
    let scenario = Scenario::new("build_twice");
    scenario.build_script(MAIN).kernel("add", "1.0f");
    let watched = Watched::new(&scenario);
    let build = || watched.set(scenario.build()).arg("-v");
    let all: &[(&str, usize)] = &[("clang", 8), ("ptxas", 1), ("c++", 2)];

    build().passes();
    watched.compilations().assert_counts(all, "the first build");

    build().passes().found_fresh("build_twice");
    watched.log().assert_none("a build without a change");

    // The script runs again, finds all images current, and writes only the index. Each run writes
    // the index, because removed packs must disappear from the index.
    let folder = scenario.out_dir("debug").join("offload");
    let before = scratch::times(&folder);
    scenario.touch_build_script();
    build().passes().ran_the_build_script();
    watched.log().assert_none("a second run of the script");
    // After a change of a variable that no compiler reads, the script runs again, but no compiler
    // does.
    scenario.build_script(&format!("println!(\"cargo::rerun-if-env-changed=AGAIN\"); {MAIN}"));
    build().passes();
    build().env("AGAIN", "1").passes().ran_the_build_script();
    watched.log().assert_none("a variable");
    let mut after = scratch::times(&folder);
    after.retain(|path, time| before.get(path) != Some(time));
    let written: Vec<_> = after.into_keys().collect();
    assert_eq!(written, [folder.join("add.index")], "written again without a change");

    for time in ["asked for", "asked for again"] {
        build().env("OFFLOAD_REBUILD", "1").passes();
        watched.compilations().assert_counts(all, time);
    }
    build().passes();
    watched.compilations().assert_none("no longer asked for");
}

#[test(CLANG.slow())]
fn the_environment_names_the_targets() {
    let scenario = Scenario::add("build-env", r#".archs(["gfx90a", "compute_80"])"#);
    let watched = Watched::new(&scenario);
    let build = |variables: &[(&str, &str)]| {
        watched.set(scenario.build()).envs(variables.iter().copied()).passes();
        scenario.targets("add")
    };
    let pack = || read(scenario.output("debug", "add.pack"));

    assert_eq!(build(&[]), ["gfx90a", "compute_80"]);
    let own = pack();
    let list = [("OFFLOAD_ARCH", "gfx1100,compute_75;cpu compute_90, gfx1100")];
    let listed = ["gfx1100", "compute_75", "cpu", "compute_90"];
    assert_eq!(build(&list), listed);
    let other = pack();
    assert!(own != other);
    // The target's name lists its features in canonical order, whatever their order in the
    // variable.
    assert_eq!(build(&[("OFFLOAD_ARCH", "gfx90a:xnack-:sramecc+")]), ["gfx90a:sramecc+:xnack-"]);
    // The package's own variable has priority over the variable for all packages. An empty variable
    // counts as unset.
    let both = [("OFFLOAD_ARCH_build_env", "gfx942"), ("OFFLOAD_ARCH", "gfx1100")];
    assert_eq!(build(&both), ["gfx942"]);
    assert_eq!(build(&[("OFFLOAD_ARCH_build_env", ""), ("OFFLOAD_ARCH", "gfx942")]), ["gfx942"]);

    // After a return to the earlier value, the build reuses the existing images.
    watched.log();
    assert_eq!(build(&[]), ["gfx90a", "compute_80"]);
    watched.compilations().assert_none("the first list again");
    assert!(pack() == own);
    assert_eq!(build(&list), listed);
    watched.compilations().assert_none("the second list again");
    assert!(pack() == other);
}

#[test(CLANG.slow())]
fn only_what_a_change_reaches_is_compiled() {
    let main = |calls: &str| {
        format!(
            r#"let mut build = Build::new();
    build.include("include").archs(["compute_80", "cpu"]);
    build.clone().file("kernels/with.cu").input("kernels/table.txt").compile("with");
    build.file("kernels/without.cu"){calls}.compile("without");"#
        )
    };
    let scenario = Scenario::new("build_changes");
    let conditional =
        "#if defined(OFFLOAD_CPU)\n#include \"cpu only.h\"\n#endif\n#include \"used one.h\"\n";
    scenario
        .build_script(&main(".define(\"VALUE\", \"1.0f\")"))
        .write("include/used one.h", "#define USED 1.0f\n")
        .write("include/cpu only.h", "#define CPU_ONLY 1\n")
        .write("include/unused.h", "#define UNUSED 1.0f\n")
        .write("kernels/table.txt", "1")
        .write("kernels/with.cu", conditional.to_owned() + &kernel("with", "USED"))
        .kernel("without", "VALUE");
    let watched = Watched::new(&scenario);
    let build = || {
        watched.set(scenario.build()).passes();
        watched.compilations()
    };
    let every_image: &[(&str, usize)] = &[("clang", 3), ("c++", 2)];
    // Each command writes into a folder with its pack's name, so the log shows which packs are
    // compiled.
    let expect = |pack: &str, counts: &[(&str, usize)], why: &str| {
        let calls = build();
        calls.assert_counts(counts, why);
        let of_others = calls.0.iter().find(|call| !call.contains(&format!("/offload/{pack}/")));
        assert_eq!(of_others, None, "{why}");
    };

    build().assert_counts(&[("clang", 6), ("c++", 4)], "the first build");
    scenario.write("include/used one.h", "#define USED 2.0f\n");
    expect("with", every_image, "a header that one pack includes");
    scenario.write("include/cpu only.h", "#define CPU_ONLY 2\n");
    expect("with", &[("c++", 2)], "the CPU's header");
    scenario.write("include/unused.h", "#define UNUSED 2.0f\n");
    build().assert_none("a header that nothing includes");
    scenario.write("kernels/table.txt", "2");
    expect("with", every_image, "an input that no compiler tells of");
    scenario.build_script(&main(".define(\"VALUE\", \"2.0f\")"));
    expect("without", every_image, "a definition");
    scenario.build_script(&main(".define(\"VALUE\", \"2.0f\").flag(\"-DMORE\")"));
    expect("without", every_image, "an option");
    scenario.kernel("without", "VALUE + 1.0f");
    expect("without", every_image, "a source");

    // An image that was changed or removed must be rebuilt.
    fs::remove_file(scenario.output("debug", "with/cpu.so")).expect("the image is there");
    let ptx = scenario.output("debug", "without/compute_80.ptx");
    fs::write(&ptx, b"damaged").expect("the image can be written");
    scenario.touch_build_script();
    build().assert_counts(&[("clang", 2), ("c++", 2)], "two images that were damaged");
    assert!(String::from_utf8_lossy(&read(&ptx)).contains(".visible .entry without("));
}

/// After a change of PATH, the script runs again, but compiles only if it finds a different
/// compiler.
#[test(CLANG.slow())]
fn another_compiler_in_path_is_noticed() {
    let scenario = Scenario::add("build_path", r#".archs(["gfx90a"])"#);
    let log = scenario.folder.join("log");
    for folder in ["one", "two"] {
        // Each build queries this compiler, for example for its version. Leave these queries out of
        // the log.
        let text = format!(
            "case \"$1\" in --version|-print-*) ;; *) echo {folder} >> '{}';; esac\nexec '{}' \"$@\"",
            log.display(),
            llvm_bin().join("clang").display()
        );
        scenario.script(&format!("{folder}/clang"), &text);
    }
    fs::create_dir_all(scenario.folder.join("empty")).expect("the folder can be made");
    let build = |folders: &[&str]| {
        let folders = folders.iter().map(|folder| scenario.folder.join(folder));
        let printed = scenario.build().arg("-v").without(&["OFFLOAD_CLANG"]).path(folders).passes();
        let calls = fs::read_to_string(&log).unwrap_or_default();
        let _ = fs::remove_file(&log);
        let calls: Vec<String> = calls.lines().map(str::to_owned).collect();
        (printed.count("/build-script-build`") > 0, calls)
    };
    let expect_calls_of = |compiler: &str, folders: &[&str]| {
        let (ran, calls) = build(folders);
        assert!(ran, "the script did not run");
        assert!(calls.len() > 2, "{calls:?}");
        assert!(calls.iter().all(|call| call == compiler), "{calls:?}");
    };
    expect_calls_of("one", &["one"]);
    assert_eq!(build(&["one"]), (false, vec![]), "the same PATH");
    assert_eq!(build(&["empty", "one"]), (true, vec![]), "another PATH with the same compiler");
    expect_calls_of("two", &["two", "one"]);
}

/// The build identifies a compiler by its file, not by its name. The test also includes a header
/// that the build script writes in each run.
#[test(CLANG.slow())]
fn another_compiler_behind_the_same_name_is_noticed() {
    let scenario = Scenario::new("build_compiler");
    scenario
        .build_script(
            r##"let out = std::env::var("OUT_DIR").unwrap();
    std::fs::write(format!("{out}/value.h"), "#define VALUE 1.0f").unwrap();
    Build::new().file("kernels/add.cu").include(out).archs(["cpu"]).compile("add");"##,
        )
        .write(
            "kernels/add.cu",
            format!("#include \"value.h\"\n{}", kernel("add", "VALUE * FACTOR")),
        );
    let build = |factor: &str| {
        let compiler = scenario.folder.join("compiler");
        if !factor.is_empty() {
            scenario.script("compiler", &format!("exec g++ -DFACTOR={factor} \"$@\""));
        }
        let printed = scenario.build().env("CXX", &compiler).arg("-v").passes();
        (read(scenario.output("debug", "add/cpu.so")), printed)
    };
    let (first, _) = build("2");
    // The script has written the header into `OUT_DIR`, but the next build must not run the script
    // again.
    build("").1.found_fresh("build_compiler");
    let (second, _) = build("3");
    assert!(first != second, "the image is still the old compiler's");
}

/// A build script may continue after `try_compile` fails. Cargo must nevertheless run the script
/// again.
#[test(CLANG)]
fn a_failure_that_is_handled_is_not_final() {
    let scenario = Scenario::new("build_handled");
    scenario
        .build_script(
            r#"if let Err(error) = Build::new().file("kernels/add.cu").include("include").archs(["gfx90a"]).try_compile("add") {
        println!("cargo::warning=no kernels: {}", error.to_string().lines().next().unwrap());
    }"#,
        )
        .write("kernels/add.cu", format!("#include \"value.h\"\n{}", kernel("add", "VALUE")));
    scenario.write("include/value.h", "#define VALUE undeclared\n");
    scenario.build().passes().has("no kernels: ");
    scenario.write("include/value.h", "#define VALUE 1.0f\n");
    scenario.build().passes().lacks("no kernels");
    assert_eq!(scenario.targets("add"), ["gfx90a"]);
}
