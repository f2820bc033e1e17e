//! Tests of a kernel crate's surroundings: the crate's workspace, Cargo's configuration, and flags
//! and macros in build.rs. The program's compiler compiles the kernels for the CPU.

use offload_tests::prelude::*;

const KERNELS: &str = r#"#![no_std]

use offload_kernel::{barrier, kernel};

kernel! {
    /// Writes what surrounds the crate.
    pub unsafe fn facts(y: *mut u32) {
        let facts = [
            u32::from(cfg!(debug_assertions)),
            number(env!("CARGO_PKG_DESCRIPTION")),
            types::TEXT,
            number(option_env!("KERNEL_NUMBER").unwrap_or("0")),
        ];
        for (at, fact) in facts.into_iter().enumerate() {
            unsafe { *y.add(at) = fact };
        }
    }

    /// Needs a stack for each thread.
    pub unsafe fn meet(y: *mut u32) {
        barrier();
        unsafe { *y = 1 };
        barrier();
    }

    /// Panics.
    pub unsafe fn fail(y: *mut u32) {
        assert!(y.is_null(), "it fails");
    }
}

const fn number(text: &str) -> u32 {
    (text.as_bytes()[0] - b'0') as u32
}
"#;

const TYPES: &str = "#![no_std]
pub const TEXT: u32 = (env!(\"CARGO_PKG_DESCRIPTION\").as_bytes()[0] - b'0') as u32;
";

const PROGRAM: &str = r#"use offload_gpu::run::Device;

mod kernels {
    offload_gpu::include_kernels!("pack");
}

fn main() {
    let cpu = Device::cpu();
    let mut y = cpu.buffer(&[0_u32; 4]).unwrap();
    match std::env::args().nth(1).as_deref() {
        Some("meet") => unsafe { kernels::meet(&mut y).launch(&cpu, 1, 2).unwrap() },
        Some("fail") => unsafe { kernels::fail(&mut y).launch(&cpu, 1, 1).unwrap() },
        _ => unsafe { kernels::facts(&mut y).launch(&cpu, 1, 1).unwrap() },
    }
    println!("{:?}", y.to_vec().unwrap());
}
"#;

/// Returns the manifest of a workspace. Its members inherit `text` as their description.
fn workspace(tables: &str, text: u32, rest: &str) -> String {
    format!("[workspace]\n{tables}\n[workspace.package]\ndescription = \"{text}\"\n\n{rest}")
}

const MEMBER: &str = "version = \"0.1.0\"\nedition = \"2024\"\ndescription.workspace = true\n";

/// The kernel crate is in a separate workspace, and one of its dependencies is in the program's
/// workspace. Both inherit a field from their workspace. The build must notice changes in both
/// workspaces without an edit of the build script.
#[test(GCC.slow())]
fn a_member_of_another_workspace() {
    let scenario = Scenario::without_sources("rust_member");
    let name = scenario.name();
    let package = scenario.text("Cargo.toml").replace("[workspace]\n", "");
    let of_program = |text| {
        workspace("members = [\"types\"]\nexclude = [\n  \"gpu\",\n  \"kit\",\n]\n", text, &package)
    };
    let of_kernels =
        |text, rest: &str| workspace("members = [\"kernels\"]\nresolver = \"3\"\n", text, rest);
    // Cargo must find only the scenario's workspaces, so link this repository's crate into them.
    let source = scratch::workspace().join("offload-kernel/src");
    fs::create_dir_all(scenario.folder.join("kit")).expect("the scratch folder can be written");
    scratch::symlink(source, scenario.folder.join("kit/src")).expect("it is empty");
    scenario
        .write("Cargo.toml", of_program(1))
        .write("src/main.rs", PROGRAM)
        .write(
            "kit/Cargo.toml",
            "[package]\nname = \"offload-kernel\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
        )
        .write("types/Cargo.toml", format!("[package]\nname = \"types\"\n{MEMBER}"))
        .write("types/src/lib.rs", TYPES)
        .write("gpu/Cargo.toml", of_kernels(1, ""))
        .write(
            "gpu/kernels/Cargo.toml",
            format!(
                "[package]\nname = \"kernels\"\n{MEMBER}\n[dependencies]\n\
                 offload-kernel = {{ path = \"../../kit\" }}\ntypes = {{ path = \"../../types\" }}\n"
            ),
        )
        .write("gpu/kernels/src/lib.rs", KERNELS)
        // Cargo ignores this file, and uses the workspace's lock file.
        .write("gpu/kernels/Cargo.lock", "left over\n")
        .pack("pack", ".rust_crate(\"gpu/kernels\").arch(\"cpu\")");
    let build = || scenario.build().without(&["OFFLOAD_RUSTC"]);
    let time = || scenario.output_time("debug", "pack/cpu.so");
    let run = |argument: &str| scenario.start("debug").arg(argument).ends();
    let facts = || {
        build().passes();
        run("").text().trim().to_owned()
    };
    assert_eq!(facts(), "[0, 1, 1, 0]");
    let signatures = scenario.output_text("debug", "pack/cpu.signatures");
    assert!(signatures.contains("place gpu/kernels/src/lib.rs:"), "{signatures}");
    assert!(scenario.folder.join("gpu/Cargo.lock").is_file());

    // A panic's message contains the file's path, relative to the program's package.
    let line = 1 + KERNELS.lines().position(|line| line.contains("it fails")).expect("it is there");
    run("fail").has(&format!("it panics at gpu/kernels/src/lib.rs:{line}: it fails"));
    // build.rs can define the size of a thread's stack.
    assert_eq!(run("meet").text(), "[1, 0, 0, 0]\n");
    let define = ".define(\"OFFLOAD_CPU_STACK\", \"(1ull << 47)\")";
    scenario.pack("pack", &format!(".rust_crate(\"gpu/kernels\").arch(\"cpu\"){define}"));
    build().passes();
    run("meet").has("no memory for the stacks of the block's threads: 1 of ");
    // The build reads the kernels' parameters from debug information, whatever debug information a
    // flag requests.
    scenario.pack(
        "pack",
        ".rust_crate(\"gpu/kernels\").arch(\"cpu\").flag(\"-C\").flag(\"debuginfo=0\").flag(\"-Cstrip=symbols\")",
    );
    assert_eq!(facts(), "[0, 1, 1, 0]");
    // build.rs decides whether there is debug information. If there is debug information, the
    // object contains the compilation unit's name.
    let has_debug_info = |calls: &str| {
        scenario.pack("pack", &format!(".rust_crate(\"gpu/kernels\").arch(\"cpu\"){calls}"));
        build().passes();
        let object = scenario.output_bytes("debug", "pack/work/cpu.crate.o");
        object.windows(11).any(|it| it == b"/@/kernels.")
    };
    assert!(has_debug_info(".debug(true)"));
    assert!(!has_debug_info(""));
    scenario.pack("pack", ".rust_crate(\"gpu/kernels\").arch(\"cpu\").define(\"X\", None)");
    build().fails().has("The crate accepts only the macro OFFLOAD_CPU_STACK");
    scenario.pack("pack", ".rust_crate(\"gpu/kernels\").arch(\"cpu\")");
    assert_eq!(facts(), "[0, 1, 1, 0]");

    scenario.write("gpu/Cargo.toml", of_kernels(2, ""));
    assert_eq!(facts(), "[0, 2, 1, 0]", "the manifest of the kernels' workspace");
    scenario.write("Cargo.toml", of_program(3));
    assert_eq!(facts(), "[0, 2, 3, 0]", "the manifest of the workspace of a dependency");
    // `cargo package` rewrites the program's manifest, so no prebuilt set contains it.
    let record = scenario.output_text("debug", "pack/work/cpu.record");
    let mut inputs = record.lines().filter(|line| line.ends_with(" Cargo.toml"));
    assert!(inputs.next().is_some_and(|line| line.starts_with("system ")), "{record}");
    let assertions = "[profile.release]\ndebug-assertions = true\n";
    // A profile in the program's Cargo configuration does not apply to kernels.
    scenario.write(".cargo/config.toml", assertions).touch_build_script();
    assert_eq!(facts(), "[0, 2, 3, 0]", "the profile in the program's configuration");
    scenario.write("gpu/Cargo.toml", of_kernels(2, assertions));
    assert_eq!(facts(), "[1, 2, 3, 0]", "the profile of the kernels' workspace");
    let configuration = "gpu/kernels/.cargo/config.toml";
    scenario.write(configuration, "[env]\nKERNEL_NUMBER = \"4\"\n");
    assert_eq!(facts(), "[1, 2, 3, 4]", "configuration that comes");
    scenario.write(configuration, "[env]\nKERNEL_NUMBER = \"5\"\n");
    assert_eq!(facts(), "[1, 2, 3, 5]", "configuration that changes");
    fs::remove_file(scenario.folder.join(configuration)).expect("it was written");
    assert_eq!(facts(), "[1, 2, 3, 0]", "configuration that goes");
    let script = "fn main() { println!(\"cargo::rustc-env=KERNEL_NUMBER=6\"); }\n";
    scenario.write("gpu/kernels/build.rs", script);
    assert_eq!(facts(), "[1, 2, 3, 6]", "a build script that comes");

    fs::remove_file(scenario.folder.join("gpu/kernels/build.rs")).expect("it was written");
    assert_eq!(facts(), "[1, 2, 3, 0]", "a build script that goes");

    // Cargo uses the `Cargo.lock` of the workspace, not that of the crate.
    let made = time();
    scenario.write("gpu/kernels/Cargo.lock", "left over, and edited\n");
    build().passes();
    assert_eq!(time(), made, "a file that Cargo does not read");
    build().arg("-v").passes().found_fresh(name);
    let lock = scenario.text("gpu/Cargo.lock");
    scenario.write("gpu/Cargo.lock", format!("{lock}\n"));
    build().passes();
    assert_ne!(time(), made, "Cargo.lock of the workspace");
}
