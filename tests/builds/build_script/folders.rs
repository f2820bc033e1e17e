//! Packages and target folders that are moved, in other places, or with unusual names.

use offload_tests::data::read;
use offload_tests::registry::{CLANG, COMPILERS};
use offload_tests::scenario::{Scenario, Watched, kernel};
use offload_tests::scratch;
use offload_tests::tools::{llvm, llvm_bin, stdout, succeed};
use std::fs;
use std::path::{Path, PathBuf};

offload_tests::tests! {
    CLANG => [
        a_moved_work_folder_stays_fresh,
        the_same_bytes_wherever_cargo_builds,
        tools_may_be_given_by_bare_names,
        a_kernel_with_control_characters_in_its_name,
    ],
    COMPILERS => [folders_with_spaces_and_other_letters, a_header_with_a_tab_in_its_name],
    COMPILERS.slow() => [the_same_inputs_make_the_same_bytes_in_any_folder],
}

/// Moves a package together with its target folder.
fn a_moved_work_folder_stays_fresh() {
    let mut scenario = Scenario::new("build_moved");
    scenario
        .pack("add", r#".file("kernels/add.cu").include("include").archs(["gfx90a", "cpu"])"#)
        .write("kernels/add.cu", format!("#include \"value.h\"\n{}", kernel("add", "VALUE")))
        .write("include/value.h", "#define VALUE 1.0f\n");
    let watched = Watched::new(&scenario);
    let there = scenario.folder.join("there");
    fs::create_dir_all(&there).expect("the folder can be made");
    for name in ["Cargo.toml", "Cargo.lock", "build.rs", "src", "kernels", "include"] {
        fs::rename(scenario.folder.join(name), there.join(name)).expect("it can be moved");
    }
    let mut build = |folder: &Path| {
        scenario.target = folder.join("built");
        watched.set(scenario.build()).current_dir(folder).arg("-v").passes()
    };
    build(&there);
    assert!(!watched.compilations().0.is_empty());
    let here = there.with_file_name("here, with a longer name");
    fs::rename(&there, &here).expect("the folder can be moved");
    build(&here).found_fresh("build_moved");
    scratch::write(here.join("build.rs"), read(here.join("build.rs")));
    build(&here).ran_the_build_script();
    watched.compilations().assert_none("another place");
}

/// clang writes a TAB unchanged into its dependency files; c++ writes a backslash before it.
fn a_header_with_a_tab_in_its_name() {
    let scenario = Scenario::new("build_tab");
    let archs = ["gfx90a", "sm_80", "compute_80", "cpu"];
    scenario
        .pack("add", &format!(".file(\"kernels/add.cu\").include(\"in\\tclude\").archs({archs:?})"))
        .write("kernels/add.cu", format!("#include \"a\tvalue.h\"\n{}", kernel("add", "VALUE")))
        .write("in\tclude/a\tvalue.h", "#define VALUE 1.0f\n");
    let build = || scenario.build().arg("-v").passes();
    let images = || {
        let index = scenario.index("debug", "add");
        let library = read(scenario.output("debug", &format!("lib{}.a", index.library)));
        let image = |offset: u64, size: u64| {
            library[(index.library_offset + offset) as usize..][..size as usize].to_vec()
        };
        index.images().map(|it| image(it.offset, it.size)).collect::<Vec<_>>()
    };
    build();
    build().found_fresh("build_tab");
    let before = images();
    scenario.write("in\tclude/a\tvalue.h", "#define VALUE 2.0f\n");
    build();
    let after = images();
    assert_eq!((before.len(), after.len()), (4, 4));
    for (number, arch) in archs.iter().enumerate() {
        assert!(before[number] != after[number], "the edit did not reach {arch}");
    }
}

/// Tests a name that a C source gives to a kernel with `__asm__`. Programs use the same name, also
/// after the build script has run for the second time.
fn a_kernel_with_control_characters_in_its_name() {
    let scenario = Scenario::without_sources("build_control");
    let source = "extern \"C\" __global__ void a(float *y) __asm__(\"a\\tb\\\\n\");\n\
                  __global__ void a(float *y) { *y = 1; }\n";
    scenario
        .pack("odd", r#".file("kernels/odd.cu").archs(["gfx90a"])"#)
        .write("kernels/odd.cu", source)
        .write(
            "src/main.rs",
            "static ODD: offload_gpu::KernelPack = offload_gpu::include_offload!(\"odd\");\n\
         const A: offload_gpu::Kernel = ODD.kernel(\"a\\tb\\\\n\");\n\
         fn main() { println!(\"{:?}\", A.name()); }\n",
        );
    for _ in 0..2 {
        assert_eq!(scenario.run().passes().stdout, "\"a\\tb\\\\n\"\n");
        scenario.touch_build_script();
    }
}

fn folders_with_spaces_and_other_letters() {
    let mut scenario = Scenario::new("build_strange");
    scenario
        .pack(
            "add",
            r#"
        .file("kernels/größe 1.cu")
        .include("include dir/ü")
        .archs(["gfx90a", "sm_80", "compute_80", "cpu"])"#,
        )
        .write("kernels/größe 1.cu", format!("#include \"wert $1#.h\"\n{}", kernel("add", "VALUE")))
        .write("include dir/ü/wert $1#.h", "#define VALUE 1.0f\n");
    let folder = scenario.folder.with_file_name("build strange $(ls) 'größe'");
    let _ = fs::remove_dir_all(&folder);
    fs::rename(&scenario.folder, &folder).expect("the folder can be moved");
    scenario.target = folder.join("gebaut für alle");
    let build = || scenario.build().current_dir(&folder).arg("-v").passes();
    build();
    build().found_fresh("build_strange");
    // The edit of the header reaches every image only if the build has read the dependency files of
    // all compilers.
    let images = || {
        let all = scratch::times(&scenario.target.join("debug/build")).into_iter();
        let is_image = |path: &Path| {
            path.extension()
                .is_some_and(|it| ["hsaco", "cubin", "ptx", "so"].iter().any(|image| it == *image))
                && path.parent().is_some_and(|folder| folder.ends_with("add"))
        };
        all.filter(|(path, _)| is_image(path)).map(|(path, _)| read(&path)).collect::<Vec<_>>()
    };
    let before = images();
    scratch::write(folder.join("include dir/ü/wert $1#.h"), "#define VALUE 2.0f\n");
    build();
    let after = images();
    assert_eq!((before.len(), after.len()), (4, 4));
    assert!(
        before.iter().zip(&after).all(|(before, after)| before != after),
        "an image did not change"
    );
}

fn the_same_inputs_make_the_same_bytes_in_any_folder() {
    const CALLS: &str = r#"
        .files(["kernels/add.cu", "kernels/scale.cu"])
        .include("include")
        .archs(["gfx90a", "gfx1100", "compute_80", "sm_80", "cpu"])"#;
    const IMAGES: [&str; 5] =
        ["gfx90a.hsaco", "gfx1100.hsaco", "compute_80.ptx", "sm_80.cubin", "cpu.so"];
    let twins = ["build_twin", "build_twin_in_a_folder_with_a_longer_name"].map(Scenario::new);
    for twin in &twins {
        twin.pack("twin", CALLS)
            .write(
                "include/factor.h",
                "static __device__ inline float factor(float x) { return x * 3.0f; }\n",
            )
            .write(
                "kernels/add.cu",
                "#include \"factor.h\"\n".to_owned() + &kernel("add", "factor(y[i])"),
            )
            .write(
                "kernels/scale.cu",
                "#include \"factor.h\"\n".to_owned() + &kernel("scale", "factor(x[i])"),
            );
    }
    for profile in ["debug", "release"] {
        for twin in &twins {
            twin.build().profile(profile).passes();
        }
        let [one, two] = [&twins[0], &twins[1]].map(|twin| |file: &str| twin.output(profile, file));
        let differ: Vec<&str> = IMAGES
            .into_iter()
            .filter(|file| {
                let file = format!("twin/{file}");
                read(one(&file)) != read(two(&file))
            })
            .collect();
        assert!(
            differ.is_empty(),
            "{profile}: other bytes in another folder: {differ:?}, {}",
            one("twin").display()
        );
        assert!(
            read(one("twin.pack")) == read(two("twin.pack")),
            "{profile}: other packs of the same images"
        );
        // The images of the debug profile have debug information, and those of the other profile
        // have none.
        for file in ["gfx90a.hsaco", "sm_80.cubin", "cpu.so"] {
            let sections =
                stdout(&succeed(llvm("llvm-readelf").arg("-SW").arg(one(&format!("twin/{file}")))));
            // ptxas writes only line information.
            let section = if file == "sm_80.cubin" { ".debug_line" } else { ".debug_info" };
            assert_eq!(
                sections.contains(section),
                profile == "debug",
                "{file}, {profile}:\n{sections}"
            );
        }
        let ptx = twins[0].output_text(profile, "twin/compute_80.ptx");
        assert_eq!(ptx.contains(".debug_info"), profile == "debug", "{profile}:\n{ptx}");
    }
}

/// Tests that images have the same bytes whether Cargo's target folder is in the package, as it is
/// by default, or elsewhere.
fn the_same_bytes_wherever_cargo_builds() {
    const MAIN: &str = r#"let out = std::env::var("OUT_DIR").unwrap();
    std::fs::write(format!("{out}/value.h"), "static __device__ inline float value(float x) { return x * 3.0f; }\n").unwrap();
    Build::new().file("kernels/add.cu").include(out).archs(["gfx90a", "compute_80", "cpu"]).compile("add");"#;
    let mut scenario = Scenario::new("build_target_folder");
    scenario
        .build_script(MAIN)
        .write("kernels/add.cu", format!("#include \"value.h\"\n{}", kernel("add", "value(y[i])")));
    let mut build = |folder: PathBuf| {
        scenario.target = folder;
        scenario.build().passes();
        ["gfx90a.hsaco", "compute_80.ptx", "cpu.so"]
            .map(|file| read(scenario.output("debug", &format!("add/{file}"))))
    };
    let elsewhere = build(scratch::folder("build_target_elsewhere"));
    let inside = build(scratch::target_dir().join("offload-tests/build_target_folder/target"));
    // Debug information contains `OUT_DIR` in place of the real folder.
    assert!(
        String::from_utf8_lossy(&inside[1]).contains("OUT_DIR/"),
        "the PTX names a header in another way"
    );
    for (index, (inside, elsewhere)) in inside.iter().zip(&elsewhere).enumerate() {
        assert!(
            inside == elsewhere,
            "image {index} differs with the folder that Cargo builds into"
        );
    }
}

fn tools_may_be_given_by_bare_names() {
    let scenario = Scenario::new("build_bare");
    scenario
        .pack("add", r#".file("kernels/add.cu").archs(["gfx90a", "cpu"])"#)
        .kernel("add", "1.0f");
    let build = || {
        scenario
            .build()
            .path([llvm_bin()])
            .env("OFFLOAD_CLANG", "clang")
            .env("CXX", "g++")
            .arg("-v")
            .passes()
    };
    build();
    build().found_fresh("build_bare");
}
