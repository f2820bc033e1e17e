//! The content of images, as other tools read it: symbols, targets, versions, effects of options,
//! and the library for the program.

use offload_tests::data::read;
use offload_tests::registry::{CLANG, COMPILERS};
use offload_tests::scenario::{Scenario, kernel};
use offload_tests::tools::{cuda, llvm, stdout, succeed};
use std::path::Path;

offload_tests::tests! {
    COMPILERS => [options_reach_every_compiler],
    COMPILERS.slow() => [several_files_make_one_program, each_image_says_its_target],
    CLANG => [
        the_code_object_version_is_the_one_asked_for,
        a_nul_follows_every_ptx,
        the_library_is_for_the_host_program,
    ],
}

/// Kernels in two files call a function in a third.
fn several_files_make_one_program() {
    let scenario = Scenario::new("build_several");
    scenario.pack(
        "several",
        r#"
        .files(["kernels/add.cu", "kernels/twice.cu", "kernels/scale.cu"])
        .archs(["gfx90a", "gfx1100", "compute_80", "sm_80", "cpu"])
        "#,
    );
    let declaration = "__device__ float twice(float x);\n";
    scenario
        .write("kernels/twice.cu", "__device__ float twice(float x) { return x + x; }\n")
        .write("kernels/add.cu", declaration.to_owned() + &kernel("add", "twice(y[i])"))
        .write("kernels/scale.cu", declaration.to_owned() + &kernel("scale", "twice(x[i]) * 3.0f"));
    for profile in ["debug", "release"] {
        scenario.build().profile(profile).passes();
        let image = |file: &str| scenario.output(profile, &format!("several/{file}"));
        for name in ["add", "scale"] {
            for file in ["gfx90a.hsaco", "gfx1100.hsaco"] {
                assert!(defines(&image(file), name, 'T'), "no {name} in {file}, {profile}");
                assert!(
                    defines(&image(file), &format!("{name}.kd"), 'R'),
                    "no {name}.kd in {file}, {profile}"
                );
            }
            assert!(defines(&image("cpu.so"), name, 'T'), "no {name} in cpu.so, {profile}");
            let ptx = String::from_utf8(read(image("compute_80.ptx"))).expect("PTX is text");
            assert!(
                ptx.contains(&format!(".visible .entry {name}(")),
                "no {name} in {profile}:\n{ptx}"
            );
            assert!(!ptx.contains(".extern"), "something is not defined, {profile}:\n{ptx}");
            let cubin = symbols(&image("sm_80.cubin"));
            let kernel = |it: &&[String; 4]| {
                it[0] == "FUNC" && it[1] == "GLOBAL" && it[2] != "UND" && it[3] == name
            };
            assert!(cubin.iter().any(|it| kernel(&it)), "no {name}, {profile}: {cubin:#?}");
        }
        for file in ["gfx90a.hsaco", "gfx1100.hsaco", "sm_80.cubin", "cpu.so"] {
            // A weak symbol may stay undefined. A symbol with a version was found in a library by
            // the linker.
            let open: Vec<_> = symbols(&image(file))
                .into_iter()
                .filter(|[_, binding, section, name]| {
                    section == "UND" && binding != "WEAK" && !name.is_empty() && !name.contains('@')
                })
                .collect();
            assert!(open.is_empty(), "{file}, {profile}: {open:#?}");
        }
    }
}

/// Whether an image exports a symbol whose type `nm` shows as this letter.
fn defines(image: &Path, name: &str, letter: char) -> bool {
    let listing =
        stdout(&succeed(llvm("llvm-nm").args(["--dynamic", "--defined-only"]).arg(image)));
    listing.lines().any(|line| line.ends_with(&format!(" {letter} {name}")))
}

/// Returns type, binding, section and name of each symbol.
fn symbols(image: &Path) -> Vec<[String; 4]> {
    let listing = stdout(&succeed(llvm("llvm-readelf").arg("-sW").arg(image)));
    let rows = listing.lines().map(|line| line.replace("[<other: 0x10>]", ""));
    rows.filter(|line| {
        line.trim_start().split_once(':').is_some_and(|(number, _)| number.parse::<u32>().is_ok())
    })
    .map(|line| {
        // The columns are number, value, size, type, binding, visibility, section and name; a
        // section's symbol may have no name.
        let word = |index: usize| line.split_whitespace().nth(index).unwrap_or("").to_owned();
        [word(3), word(4), word(6), word(7)]
    })
    .collect()
}

fn each_image_says_its_target() {
    // The flags as llvm-readelf names them: processor, xnack, sramecc. `xnack` without a sign means
    // any setting.
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
    scenario.pack("add", &format!(r#".file("kernels/add.cu").archs({all:?})"#));
    scenario.kernel("add", "1.0f");
    scenario.build().release().passes();
    let image = |target: &str, extension: &str| {
        scenario.output("release", &format!("add/{}.{extension}", target.replace(':', "_")))
    };
    for (target, flags) in AMD {
        let header = stdout(&succeed(llvm("llvm-readelf").arg("-h").arg(image(target, "hsaco"))));
        let line = header
            .lines()
            .find(|line| line.trim_start().starts_with("Flags:"))
            .expect("a header has flags");
        assert_eq!(
            line.split_once(", ").expect("flags have names").1,
            flags,
            "{target}:\n{header}"
        );
        assert!(header.contains("EM_AMDGPU"), "{target}: not for AMD's GPUs:\n{header}");
        assert!(header.contains("AMDGPU - HSA"), "{target}: for another runtime:\n{header}");
    }
    for target in CUBINS {
        let text = stdout(&succeed(cuda("cuobjdump").arg("-elf").arg(image(target, "cubin"))));
        let number = target.trim_start_matches("sm_");
        assert!(text.contains(&format!(" sm={number},")), "{target}:\n{text}");
    }
    for target in PTX {
        let text = String::from_utf8(read(image(target, "ptx"))).expect("PTX is text");
        let name = target.replace("compute_", "sm_");
        assert!(text.lines().any(|line| line == format!(".target {name}")), "{target}:\n{text}");
    }
}

fn the_code_object_version_is_the_one_asked_for() {
    let scenario = Scenario::new("build_versions");
    scenario.build_script(
        r#"for version in [5, 6] {
        Build::new()
            .file("kernels/add.cu")
            .archs(["gfx90a", "gfx1100"])
            .code_object_version(version)
            .compile(&format!("v{version}"));
    }"#,
    );
    scenario.kernel("add", "1.0f");
    scenario.build().passes();
    for (version, abi) in [(5, "3"), (6, "4")] {
        for target in ["gfx90a", "gfx1100"] {
            let image = scenario.output("debug", &format!("v{version}/{target}.hsaco"));
            let header = stdout(&succeed(llvm("llvm-readelf").arg("-h").arg(image)));
            let line = header.lines().find(|line| line.trim_start().starts_with("ABI Version:"));
            assert_eq!(
                line.and_then(|line| line.split_whitespace().last()),
                Some(abi),
                "{target}:\n{header}"
            );
        }
        let text = scenario.output_text("debug", &format!("v{version}.index"));
        assert_eq!(text.matches(&format!(" code-object {version}\n")).count(), 2, "{text}");
    }
}

/// Tests PTX of every length modulo 8, the pack's alignment.
fn a_nul_follows_every_ptx() {
    let scenario = Scenario::new("build_ptx_ends");
    scenario.build_script(
        r#"for length in 0..8 {
        Build::new()
            .file("kernels/pad.cu")
            .define("PAD", format!("\"{}\"", "x".repeat(length)).as_str())
            .archs(["compute_80", "compute_90"])
            .compile(&format!("pad{length}"));
    }"#,
    );
    scenario.write(
        "kernels/pad.cu",
        "extern \"C\" __global__ void pad(int *out) {\n  asm volatile(\"// comment\" PAD);\n  *out = 1;\n}\n",
    );
    scenario.build().release().passes();
    let mut texts = Vec::new();
    for length in 0..8 {
        let name = format!("pad{length}");
        let pack = read(scenario.output("release", &format!("{name}.pack")));
        let index = scenario.index("release", &name);
        assert_eq!(index.images().count(), 2);
        for image in index.images() {
            let (start, end) = (image.offset as usize, (image.offset + image.size) as usize);
            let text = &pack[start..end];
            assert!(text.starts_with(b"//\n// Generated by LLVM"), "{name} is cut at the start");
            assert!(text.ends_with(b"\n"), "{name} is cut at the end");
            assert!(!text.contains(&0), "{name}: a NUL inside the text for {}", image.target);
            assert_eq!(
                pack.get(end),
                Some(&0),
                "{name}: no NUL behind the {} bytes for {}",
                image.size,
                image.target
            );
            if image.target == "compute_80" {
                texts.push(String::from_utf8(text.to_vec()).expect("PTX is text"));
            }
        }
    }
    // Checks that the test covers every length: the lengths of the texts have all eight remainders
    // modulo 8.
    let mut residues: Vec<usize> = texts.iter().map(|text| text.trim_end().len() % 8).collect();
    residues.sort_unstable();
    assert_eq!(residues, [0, 1, 2, 3, 4, 5, 6, 7]);
}

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
    // The header causes no compiler warnings.
    scenario.build().passes().lacks("warning");
    let image = |file: &str| scenario.output("debug", &format!("options/{file}"));
    assert!(defines(&image("gfx90a.hsaco"), "renamed", 'T'));
    assert!(defines(&image("cpu.so"), "renamed", 'T'));
    assert!(
        String::from_utf8_lossy(&read(image("compute_80.ptx")))
            .contains(".visible .entry renamed(")
    );
    assert!(symbols(&image("sm_80.cubin")).iter().any(|[_, _, _, name]| name == "renamed"));
}

/// The build script sets Cargo's variables as if it built for other hosts, since this machine has
/// no standard library for these hosts.
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
        if let Err(error) = Build::new().file("kernels/add.cu").archs(["gfx90a"]).try_compile(&format!("{os}_{arch}")) {
            println!("cargo::warning={error}");
        }
    }"#,
    );
    scenario.kernel("add", "1.0f");
    scenario
        .build()
        .passes()
        .once("this host is")
        .has("macOS (x86_64, aarch64); this host is x86_64-unknown-none");
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
        assert!(
            map.contains(&format!("\n{underscore}{} in offload.o\n", index.symbol)),
            "{pack}: {map}"
        );
        let (bytes, offset) = (read(&library), index.library_offset as usize);
        assert!(bytes[offset..].starts_with(b"__CLANG_OFFLOAD_BUNDLE__"), "{pack}");
    }
}
