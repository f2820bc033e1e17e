//! The contents of images, as read by other tools: symbols, targets, versions, effects of options,
//! and the library for the program.

use offload_tests::judges::{assert_is_for, image_file_name};
use offload_tests::prelude::*;

/// Kernels in two files call a function in a third file. The package is built in two folders with
/// different names. One of them contains Cargo's target folder, as is Cargo's default. Both builds
/// must produce the same bytes.
#[test(COMPILERS.slow())]
fn several_files_make_one_program_in_any_folder() {
    const MAIN: &str = r#"let out = std::env::var("OUT_DIR").unwrap();
    std::fs::write(format!("{out}/triple.h"), "static __device__ inline float triple(float x) { return x * 3.0f; }\n").unwrap();
    Build::new()
        .files(["kernels/add.cu", "kernels/twice.cu", "kernels/scale.cu"])
        .include("include")
        .include(out)
        .archs(["gfx90a", "compute_80", "sm_80", "cpu"])
        .compile("several");"#;
    const INCLUDES: &str =
        "#include \"half.h\"\n#include \"triple.h\"\n__device__ float twice(float x);\n";
    let long = Scenario::new("build_several_in_a_folder_with_a_longer_name");
    let inside = long.folder.join("target");
    let twins = [Scenario::new("build_several"), long.own_target(inside)];
    for twin in &twins {
        let half = "static __device__ inline float half(float x) { return x / 2; }\n";
        twin.build_script(MAIN)
            .write("include/half.h", half)
            .write("kernels/twice.cu", "__device__ float twice(float x) { return x + x; }\n")
            .write("kernels/add.cu", INCLUDES.to_owned() + &kernel("add", "half(twice(y[i]))"))
            .write(
                "kernels/scale.cu",
                INCLUDES.to_owned() + &kernel("scale", "triple(twice(x[i]))"),
            );
    }
    for profile in ["debug", "release"] {
        for twin in &twins {
            twin.build().profile(profile).passes();
        }
        let images = ["gfx90a.hsaco", "compute_80.ptx", "sm_80.cubin", "cpu.so"];
        let images = images.map(|file| format!("several/{file}"));
        for file in images.iter().map(String::as_str).chain(["several.pack", "several.index"]) {
            let [one, other] = twins.each_ref().map(|twin| twin.output_bytes(profile, file));
            assert!(one == other, "{profile}: other bytes in another folder: {file}");
        }
        assert_are_whole(&twins[0], profile);
        assert_have_debug_information(&twins[0], profile);
    }
}

/// Asserts that the images contain both kernels, and that all symbols are defined.
fn assert_are_whole(scenario: &Scenario, profile: &str) {
    let image = |file: &str| scenario.output(profile, &format!("several/{file}"));
    let ptx = scenario.output_text(profile, "several/compute_80.ptx");
    assert!(!ptx.contains(".extern"), "something is not defined, {profile}:\n{ptx}");
    let cubin = symbols(&image("sm_80.cubin"));
    for name in ["add", "scale"] {
        let expect = |has: bool, file: &str| assert!(has, "no {name} in {file}, {profile}");
        expect(defines(&image("gfx90a.hsaco"), name, 'T'), "gfx90a.hsaco");
        expect(defines(&image("gfx90a.hsaco"), &format!("{name}.kd"), 'R'), "gfx90a.hsaco, as .kd");
        expect(defines(&image("cpu.so"), name, 'T'), "cpu.so");
        expect(ptx.contains(&format!(".visible .entry {name}(")), &ptx);
        let is_kernel = |it: &[String; 4]| {
            it[0] == "FUNC" && it[1] == "GLOBAL" && it[2] != "UND" && it[3] == name
        };
        expect(cubin.iter().any(is_kernel), "sm_80.cubin");
    }
    for file in ["gfx90a.hsaco", "sm_80.cubin", "cpu.so"] {
        // A weak symbol may stay undefined. If a symbol has a version, the linker found it in a
        // library.
        let mut open = symbols(&image(file));
        open.retain(|[_, binding, section, name]| {
            section == "UND" && binding != "WEAK" && !name.is_empty() && !name.contains('@')
        });
        assert!(open.is_empty(), "{file}, {profile}: {open:#?}");
    }
}

/// Asserts that the images have debug information in a dev build, and none in a release build.
fn assert_have_debug_information(scenario: &Scenario, profile: &str) {
    // ptxas writes only line information.
    let sections = [
        ("gfx90a.hsaco", ".debug_info"),
        ("sm_80.cubin", ".debug_line"),
        ("cpu.so", ".debug_info"),
    ];
    for (file, section) in sections {
        let image = scenario.output(profile, &format!("several/{file}"));
        let listed = stdout(&succeed(llvm("llvm-readelf").arg("-SW").arg(image)));
        assert_eq!(listed.contains(section), profile == "debug", "{file}, {profile}:\n{listed}");
    }
    let ptx = scenario.output_text(profile, "several/compute_80.ptx");
    assert_eq!(ptx.contains(".debug_info"), profile == "debug", "{profile}:\n{ptx}");
    // The debug information contains `OUT_DIR` in place of the real folder.
    assert_eq!(ptx.contains("OUT_DIR/"), profile == "debug", "{profile}:\n{ptx}");
}

/// Whether an image exports a symbol with this type letter in `nm`'s output.
fn defines(image: &Path, name: &str, letter: char) -> bool {
    let listing =
        stdout(&succeed(llvm("llvm-nm").args(["--dynamic", "--defined-only"]).arg(image)));
    listing.lines().any(|line| line.ends_with(&format!(" {letter} {name}")))
}

/// Returns the type, binding, section and name of each symbol.
fn symbols(image: &Path) -> Vec<[String; 4]> {
    let listing = stdout(&succeed(llvm("llvm-readelf").arg("-sW").arg(image)));
    let rows = listing.lines().map(|line| line.replace("[<other: 0x10>]", ""));
    rows.filter(|line| {
        line.trim_start().split_once(':').is_some_and(|(number, _)| number.parse::<u32>().is_ok())
    })
    .map(|line| {
        // The columns are number, value, size, type, binding, visibility, section and name. A
        // section's symbol may have no name.
        let word = |index: usize| line.split_whitespace().nth(index).unwrap_or("").to_owned();
        [word(3), word(4), word(6), word(7)]
    })
    .collect()
}

#[test(COMPILERS.slow())]
fn each_image_says_its_target() {
    // The flags as llvm-readelf prints them: processor, xnack, sramecc. `xnack` without a sign
    // means any setting.
    const AMD: [(&str, &str); 5] = [
        ("gfx90a:xnack-", "gfx90a, xnack-, sramecc"),
        ("gfx942", "gfx942, xnack, sramecc"),
        ("gfx1100", "gfx1100"),
        ("gfx12-generic", "gfx12-generic, generic_v1"),
        ("gfx9-4-generic:sramecc+:xnack-", "gfx9-4-generic, xnack-, sramecc+, generic_v1"),
    ];
    const CUBINS: [&str; 4] = ["sm_75", "sm_80", "sm_90a", "sm_100"];
    const PTX: [&str; 4] = ["compute_75", "compute_90", "compute_90a", "compute_100"];
    let all: Vec<&str> = AMD.map(|it| it.0).into_iter().chain(CUBINS).chain(PTX).collect();
    let scenario = Scenario::new("build_headers");
    scenario.kernel("add", "1.0f").build_script(&format!(
        r#"let mut build = Build::new();
    build.file("kernels/add.cu");
    build.clone().archs({all:?}).compile("add");
    build.archs(["gfx90a", "gfx1100"]);
    for version in [5, 6] {{
        build.code_object_version(version).compile(&format!("v{{version}}"));
    }}"#
    ));
    scenario.build().passes();
    let image = |target: &str| {
        scenario.output("debug", &format!("add/{}", image_file_name(&target.replace(':', "_"))))
    };
    let header_of = |image: &Path| stdout(&succeed(llvm("llvm-readelf").arg("-h").arg(image)));
    for (target, flags) in AMD {
        let header = header_of(&image(target));
        let is_flags = |line: &&str| line.trim_start().starts_with("Flags:");
        let line = header.lines().find(is_flags).and_then(|line| line.split_once(", "));
        assert_eq!(line.expect("a header has flags").1, flags, "{target}:\n{header}");
        assert!(header.contains("EM_AMDGPU"), "{target}: not for AMD's GPUs:\n{header}");
        assert!(header.contains("AMDGPU - HSA"), "{target}: for another runtime:\n{header}");
    }
    for target in CUBINS.into_iter().chain(PTX) {
        assert_is_for("add", target, &image(target));
    }
    for (version, abi) in [(5, "3"), (6, "4")] {
        for target in ["gfx90a", "gfx1100"] {
            let image = scenario.output("debug", &format!("v{version}/{target}.hsaco"));
            let header = header_of(&image);
            let line = header.lines().find(|line| line.trim_start().starts_with("ABI Version:"));
            let found = line.and_then(|line| line.split_whitespace().last());
            assert_eq!(found, Some(abi), "{target}:\n{header}");
        }
        let text = scenario.output_text("debug", &format!("v{version}.index"));
        assert_eq!(text.matches(&format!(" code-object {version}\n")).count(), 2, "{text}");
    }
}

/// Tests PTX of every length modulo 8, because a pack aligns its images to 8 bytes.
#[test(CLANG.slow())]
fn a_nul_follows_every_ptx() {
    let scenario = Scenario::new("build_ptx_ends");
    scenario.build_script(
        r#"let mut build = Build::new();
    for length in 0..8 {
        let mut module = Module::new(&format!("pad{length}"));
        let text = format!("\"{}\"", "x".repeat(length));
        build.module(module.file("kernels/pad.cu").define("PAD", text.as_str()));
    }
    build.arch("compute_80").compile("pads");"#,
    );
    scenario.write(
        "kernels/pad.cu",
        "extern \"C\" __global__ void pad(int *out) {\n  asm volatile(\"// comment\" PAD);\n  *out = 1;\n}\n",
    );
    scenario.build().release().passes();
    let pack = scenario.output_bytes("release", "pads.pack");
    let mut residues = Vec::new();
    for (number, image) in scenario.index("release", "pads").images().enumerate() {
        let (start, end) = (image.offset as usize, (image.offset + image.size) as usize);
        let text = std::str::from_utf8(&pack[start..end]).expect("PTX is text");
        assert!(text.starts_with("//\n// Generated by LLVM"), "{number} is cut at the start");
        assert!(text.ends_with('\n'), "{number} is cut at the end");
        assert!(!text.contains('\0'), "{number}: a NUL inside the text");
        assert_eq!(pack.get(end), Some(&0), "{number}: no NUL behind the {} bytes", image.size);
        residues.push(text.trim_end().len() % 8);
    }
    // The texts' lengths must cover all eight remainders.
    residues.sort_unstable();
    assert_eq!(residues, [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test(COMPILERS.slow())]
fn options_reach_every_compiler() {
    let scenario = Scenario::new("build_options");
    scenario.pack(
        "options",
        r#"
        .file("kernels/options.cu")
        .include("include")
        .include("more include")
        .define("KERNEL_NAME", "renamed")
        .define("PLAIN", None)
        .define("TEXT", "\"a b\"")
        .define("LAST", "1")
        .flag("-ULAST")
        .flag("-DLAST=2")
        .flag_for("amd", "-ffast-math")
        .archs(["gfx90a", "compute_80", "sm_80", "cpu"])
        "#,
    );
    scenario.write("include/one.h", "#define ONE 1\n").write("more include/two.h", "#define TWO 2\n").write(
        "kernels/options.cu",
        "#include \"one.h\"\n#include <two.h>\n\
             #if ONE != 1 || TWO != 2 || PLAIN != 1 || LAST != 2\n#error \"an option is missing\"\n#endif\n\
             static_assert(sizeof(TEXT) == 4, \"a blank in a definition\");\n"
            .to_owned()
            + &kernel("KERNEL_NAME", "1.0f"),
    );
    // The header must not cause compiler warnings.
    scenario.build().passes().lacks("warning");
    let image = |file: &str| scenario.output("debug", &format!("options/{file}"));
    assert!(defines(&image("gfx90a.hsaco"), "renamed", 'T'));
    assert!(defines(&image("cpu.so"), "renamed", 'T'));
    let ptx = scenario.output_text("debug", "options/compute_80.ptx");
    assert!(ptx.contains(".visible .entry renamed("), "{ptx}");
    assert!(symbols(&image("sm_80.cubin")).iter().any(|[_, _, _, name]| name == "renamed"));
}

/// Sets Cargo's variables in the build script as for other hosts, because this machine lacks the
/// standard libraries of these hosts.
#[test(LLVM)]
fn the_library_is_for_the_host_program() {
    let scenario = Scenario::new("build_hosts");
    scenario.build_script(
        r#"let hosts = [
        ("linux", "x86_64", "x86_64-unknown-linux-gnu"),
        ("linux", "aarch64", "aarch64-unknown-linux-gnu"),
        ("windows", "x86_64", "x86_64-pc-windows-msvc"),
        ("windows", "aarch64", "aarch64-pc-windows-msvc"),
        ("macos", "x86_64", "x86_64-apple-darwin"),
        ("macos", "aarch64", "aarch64-apple-darwin"),
        ("none", "x86_64", "x86_64-unknown-none"),
    ];
    for (os, arch, target) in hosts {
        for (name, value) in [("CARGO_CFG_TARGET_OS", os), ("CARGO_CFG_TARGET_ARCH", arch), ("TARGET", target)] {
            // SAFETY: no other thread exists at this time.
            unsafe { std::env::set_var(name, value) };
        }
        if let Err(error) = Build::new().file("kernels/saxpy.hsaco").archs(["gfx90a"]).try_compile(&format!("{os}_{arch}")) {
            println!("cargo::warning={error}");
        }
    }"#,
    );
    let image = scratch::workspace().join("tests/corpus/image/saxpy.gfx90a.hsaco");
    scenario
        .write("kernels/saxpy.hsaco", read(image))
        .build()
        .passes()
        .once("packs can be embedded only in 64-bit programs")
        .has("macOS (x86_64, aarch64), not for x86_64-unknown-none");
    for (pack, format) in [
        ("linux_x86_64", "elf64-x86-64"),
        ("linux_aarch64", "elf64-littleaarch64"),
        ("windows_x86_64", "COFF-x86-64"),
        ("windows_aarch64", "COFF-ARM64"),
        ("macos_x86_64", "Mach-O 64-bit x86-64"),
        ("macos_aarch64", "Mach-O arm64"),
    ] {
        let index = scenario.index("debug", pack);
        let library = scenario.output("debug", &format!("lib{}.a", index.library));
        let header = stdout(&succeed(llvm("llvm-readobj").arg("--file-headers").arg(&library)));
        assert!(header.contains(&format!("Format: {format}\n")), "{pack}: {header}");
        let map = stdout(&succeed(llvm("llvm-nm").arg("--print-armap").arg(&library)));
        let underscore = if pack.starts_with("macos") { "_" } else { "" };
        let line = format!("\n{underscore}{} in offload.o\n", index.symbol);
        assert!(map.contains(&line), "{pack}: {map}");
        let (bytes, offset) = (read(&library), index.library_offset as usize);
        assert!(bytes[offset..].starts_with(b"__CLANG_OFFLOAD_BUNDLE__"), "{pack}");
    }
}
