//! Compares builds after random edits with clean builds. The edits change headers, flags, variables
//! and compilers. After each edit, the next build must generate the same image as a clean build.
//!
//! `OFFLOAD_TEST_SEQUENCES` sets the number of edit sequences for each of the four tests with the
//! stand-in. About a tenth of all sequences also run through Cargo.

mod world;

use crate::variables_of_cargo;
use offload_tests::prelude::*;
use std::sync::OnceLock;
use world::{Noticed, StandIn, World};

tests!(direct_tests());

/// The number of edits in a sequence.
const EDITS: usize = 6;

/// The build script, which reads its settings from a file.
const SCRIPT: &str = r#"println!("cargo::rerun-if-changed=request");
    let request = std::fs::read_to_string("request").unwrap();
    let mut build = Build::new();
    build.file("kernels/main.cu").include("inc1").include("inc2");
    for line in request.lines() {
        match line.split_once(' ').unwrap() {
            ("arch", arch) => build.arch(arch),
            ("flag", flag) => build.flag(flag),
            (_, _) => build.compiler(Compiler::Nvcc),
        };
    }
    build.compile("model");"#;

/// Returns the tests that run the build script as Cargo does. The tests with the stand-in are split
/// in four, to use more processors.
fn direct_tests() -> Vec<Test> {
    let stand_in = NOTHING.slow();
    let tests = [
        (1, "stand_in_one", stand_in, Kind::Wrapped),
        (2, "stand_in_two", stand_in, Kind::StandIn),
        (3, "stand_in_three", stand_in, Kind::StandIn),
        (4, "stand_in_four", stand_in, Kind::StandIn),
        // These tests use real compilers, which report the files that they read.
        (6, "clang", CLANG.slow(), Kind::Clang),
        (7, "gcc", GCC.slow(), Kind::Gcc),
        (8, "nvcc", NVCC.slow(), Kind::Nvcc),
    ];
    let test = |(seed, name, needs, kind): (u64, &'static str, Needs, Kind)| {
        Test::new(module_path!(), name, needs, move || direct(name, seed, kind))
    };
    tests.map(test).into()
}

/// Returns the number of sequences in a test.
fn sequences(kind: Kind) -> usize {
    let (variable, default) = if kind.is_stand_in() {
        ("OFFLOAD_TEST_SEQUENCES", 20)
    } else {
        ("OFFLOAD_TEST_SEQUENCES_REAL", 1)
    };
    env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test(NOTHING.slow())]
fn stand_in_through_cargo() {
    let model = Model::new("model-cargo", Kind::Wrapped);
    let clean = model.scenario.folder.join("clean");
    for sequence in 0..(sequences(Kind::Wrapped) * 4).div_ceil(9) {
        let mut random = Random::new(5 << 32 | sequence as u64);
        let mut world = model.world();
        for edit in 0..=EDITS {
            let noticed = if edit == 0 { Noticed::Later } else { world.edit(&mut random) };
            if noticed == Noticed::Later {
                model.scenario.touch_build_script();
            }
            let build = model.scenario.build().env("OFFLOAD_CLANG", model.stand_in().start_with());
            let build = build.without(&["CPATH", "CPLUS_INCLUDE_PATH"]).envs(&world.variables);
            let built = build.ends().status.success();
            let image = || read(model.scenario.output("debug", "model/compute_80.ptx"));
            let found = built.then(image);
            compare(&model, &world, found, &clean, sequence);
        }
    }
}

/// A test's compiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    StandIn,
    /// The stand-in, started by a script.
    Wrapped,
    Clang,
    Gcc,
    Nvcc,
}

impl Kind {
    fn is_stand_in(self) -> bool {
        matches!(self, Kind::StandIn | Kind::Wrapped)
    }
}

/// A package, and the program of its build script.
struct Model {
    scenario: Scenario,
    script: PathBuf,
    kind: Kind,
}

impl Model {
    fn new(name: &str, kind: Kind) -> Self {
        let scenario = Scenario::new(name);
        // With the stand-in, the script runs thousands of times, so optimize the script.
        if kind.is_stand_in() {
            scenario.manifest("workspace", "\n[profile.dev.build-override]\nopt-level = 1");
        }
        scenario.write("request", "arch compute_80\n").build_script(SCRIPT);
        // The first build compiles only the build script. Because of this variable, the script
        // compiles nothing.
        scenario.build().env("OFFLOAD_SKIP", "1").passes();
        let script = scenario.build_script_program("debug");
        Self { scenario, script, kind }
    }

    fn world(&self) -> World {
        let compiler = self.kind.is_stand_in().then(|| self.stand_in());
        let lines = match self.kind {
            Kind::StandIn | Kind::Wrapped | Kind::Clang => "arch compute_80\n",
            Kind::Gcc => "arch cpu\n",
            Kind::Nvcc => "arch compute_80\ncompiler nvcc\n",
        };
        World::new(&self.scenario.folder, compiler, lines)
    }

    fn stand_in(&self) -> StandIn {
        StandIn {
            program: stand_in(),
            folder: self.scenario.folder.join("compilers"),
            is_wrapped: self.kind == Kind::Wrapped,
        }
    }

    /// Runs the script with this `OUT_DIR`. Returns the image, or `None` if the script fails.
    fn run(&self, world: &World, out_dir: &Path) -> Option<Vec<u8>> {
        fs::create_dir_all(out_dir).expect("the target folder can be written");
        let mut command = Command::new(&self.script);
        command.current_dir(&world.folder).env_clear();
        command.env("PATH", env::var_os("PATH").unwrap_or_default());
        command.envs(variables_of_cargo(&self.scenario, out_dir)).envs(&world.variables);
        match self.kind {
            Kind::StandIn | Kind::Wrapped => {
                command.env("OFFLOAD_CLANG", self.stand_in().start_with())
            }
            Kind::Clang => command.env("OFFLOAD_CLANG", llvm_bin().join("clang")),
            Kind::Gcc => command.env("CXX", "g++"),
            Kind::Nvcc => command.env("NVCC", cuda("nvcc").get_program()).env("NVCC_CCBIN", "g++"),
        };
        let output = processes::output(&mut command).expect("the build script starts");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!text.contains("panicked at"), "{text}");
        let image = if self.kind == Kind::Gcc { "cpu.so" } else { "compute_80.ptx" };
        output.status.success().then(|| read(out_dir.join("offload/model").join(image)))
    }
}

/// Returns the stand-in's program, and compiles it at the first call.
fn stand_in() -> PathBuf {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    let compile = || {
        let folder = scratch::folder("model-compiler");
        let source = scratch::workspace().join("tests/builds/model/compiler.rs");
        let program = folder.join("compiler");
        let mut rustc = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        rustc.args(["--edition=2024", "-O", "-Cstrip=symbols", "-Cpanic=abort"]);
        succeed(rustc.arg("-o").arg(&program).arg(source));
        program
    };
    PROGRAM.get_or_init(compile).clone()
}

/// Runs the build script as Cargo does, after each edit in the sequences. Asserts that each image
/// equals that of a clean build.
fn direct(name: &str, seed: u64, kind: Kind) {
    let model = Model::new(&format!("model-{name}"), kind);
    let (out_dir, clean) = (model.scenario.folder.join("out"), model.scenario.folder.join("clean"));
    for sequence in 0..sequences(kind) {
        let mut random = Random::new(seed << 32 | sequence as u64);
        let mut world = model.world();
        let _ = fs::remove_dir_all(&out_dir);
        for edit in 0..=EDITS {
            if edit > 0 {
                world.edit(&mut random);
            }
            let found = model.run(&world, &out_dir);
            compare(&model, &world, found, &clean, sequence);
        }
    }
}

fn compare(model: &Model, world: &World, found: Option<Vec<u8>>, clean: &Path, sequence: usize) {
    // Remove the results of the previous clean build, except this kit's headers, which are always
    // the same.
    for name in ["model", "model.index", "probes.cache"] {
        let path = clean.join("offload").join(name);
        let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    }
    let expected = model.run(world, clean);
    let text = |image: &Option<Vec<u8>>| {
        image.as_deref().map(|image| String::from_utf8_lossy(image).into_owned())
    };
    assert!(
        found == expected,
        "sequence {sequence}, in {}: after {:#?}\nthe image is\n{:?}\nand that of a clean build\n{:?}",
        world.folder.display(),
        world.history,
        text(&found),
        text(&expected)
    );
}
