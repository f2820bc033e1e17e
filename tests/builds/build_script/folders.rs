//! Packages and target folders that are moved, are in unusual places, or have unusual names.

use offload_tests::judges::image_file_name;
use offload_tests::prelude::*;
use offload_tests::scenario::Watched;

/// Moves a package together with its target folder.
#[test(CLANG.slow())]
fn a_moved_work_folder_stays_fresh() {
    let source = format!("#include \"value.h\"\n{}", kernel("add", "VALUE"));
    let calls = r#".include("include").archs(["gfx90a", "cpu"])"#;
    let mut scenario = Scenario::of("build_moved", "add.cu", calls, source);
    scenario.write("include/value.h", "#define VALUE 1.0f\n");
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

/// Tests a kernel name that the source sets with `__asm__`. The program must find the kernel by
/// this name, even after the build script has run again.
#[test(CLANG)]
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

/// The header's name also contains a TAB. clang writes the TAB unchanged into its dependency files,
/// but c++ escapes it with a backslash.
#[test(COMPILERS.slow())]
fn tools_by_bare_names_in_folders_with_spaces_and_other_letters() {
    const HEADER: &str = "include dir/ü\tü/wert\t$1#.h";
    let mut scenario = Scenario::new("build_strange");
    let archs = ["gfx90a", "sm_80", "compute_80", "cpu"];
    let calls =
        format!(r#".file("kernels/größe 1.cu").include("include dir/ü\tü").archs({archs:?})"#);
    let source = format!("#include \"wert\t$1#.h\"\n{}", kernel("add", "VALUE"));
    scenario
        .pack("add", &calls)
        .write("kernels/größe 1.cu", source)
        .write(HEADER, "#define VALUE 1.0f\n");
    let folder = scenario.folder.with_file_name("build strange $(ls) 'größe'");
    let _ = fs::remove_dir_all(&folder);
    fs::rename(&scenario.folder, &folder).expect("the folder can be moved");
    scenario.target = folder.join("gebaut für alle");
    // The variables contain bare tool names.
    let build = || {
        let build = scenario.build().path([llvm_bin()]).env("OFFLOAD_CLANG", "clang");
        build.env("CXX", "g++").current_dir(&folder).arg("-v").passes()
    };
    build();
    build().found_fresh("build_strange");
    // An edit of the header reaches every image only if the build reads the dependency files of all
    // compilers.
    let images = || {
        archs.map(|arch| scenario.output_bytes("debug", &format!("add/{}", image_file_name(arch))))
    };
    let before = images();
    scratch::write(folder.join(HEADER), "#define VALUE 2.0f\n");
    build();
    for ((arch, before), after) in archs.iter().zip(before).zip(images()) {
        assert!(before != after, "the edit did not reach {arch}");
    }
}
