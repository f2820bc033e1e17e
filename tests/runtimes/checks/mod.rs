//! Tests CPU images that g++ and clang build with a check. A corpus contains pairs of kernels, one
//! right and one wrong. Correct programs that launch kernels in many ways must not cause reports.

mod builds;
mod candle;
mod command;
mod corpus;
mod orders;
mod plain;
mod rust;
mod together;

use offload_pack::checks::CheckedImage;
use offload_tests::prelude::*;
use std::process::Output;

/// The kernels of the corpus.
const KERNELS: &str = include_str!("program/kernels.cu");

/// A C++ compiler for the CPU's image.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Compiler {
    Gcc,
    Clang,
}

impl Compiler {
    fn name(self) -> &'static str {
        match self {
            Self::Gcc => "gcc",
            Self::Clang => "clang",
        }
    }

    fn path(self) -> String {
        match self {
            Self::Gcc => "g++".to_owned(),
            Self::Clang => {
                llvm_bin().join("clang++").to_str().expect("LLVM's folder is UTF-8").to_owned()
            }
        }
    }
}

/// The program that launches the corpus's kernels, built with the check `check`, or without a check
/// if `check` is empty.
struct Program {
    path: PathBuf,
    check: String,
    /// Keeps the scenario while the program is used, because dropping the scenario removes Cargo's
    /// build of the program.
    _scenario: Scenario,
}

impl Program {
    fn build(compiler: Compiler, check: &str) -> Self {
        Self::with_lanes(32, compiler, check)
    }

    fn with_lanes(lanes: u32, compiler: Compiler, check: &str) -> Self {
        let name = format!("checks_{}_{}_{lanes}", compiler.name(), check.replace(',', "_"));
        Self::of(package(&name, ""), compiler, check, lanes)
    }

    fn of(scenario: Scenario, compiler: Compiler, check: &str, lanes: u32) -> Self {
        let build = scenario.build().env("OFFLOAD_CPU_CHECK", check).env("CXX", compiler.path());
        build.env("OFFLOAD_CPU_LANES", lanes.to_string()).passes();
        Self {
            path: scenario.program("debug", scenario.name()),
            check: check.to_owned(),
            _scenario: scenario,
        }
    }

    /// Runs the program. If the program's image names a sanitizer's library, sets `LD_PRELOAD` to
    /// that library.
    fn run(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
        let bytes = fs::read(&self.path).expect("the program was built");
        let mut command = Command::new(&self.path);
        command.args(arguments).envs(variables.iter().copied()).env_remove("LD_PRELOAD");
        if let Some((checked, _)) = CheckedImage::all(&bytes).into_iter().next() {
            assert_eq!(checked.check.name(), self.check);
            let symbolizer = checked.symbolizer;
            let options = "detect_leaks=0:halt_on_error=0:ignore_noninstrumented_modules=1:suppress_equal_addresses=0";
            let options = if symbolizer.is_empty() {
                options.to_owned()
            } else {
                format!("{options}:external_symbolizer_path={symbolizer}")
            };
            command.env("LD_PRELOAD", checked.libraries);
            for name in ["ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"] {
                command.env(name, &options);
            }
        }
        processes::output(&mut command).expect("the program starts")
    }
}

/// Returns the program's package. `more` is added to its source.
fn package(name: &str, more: &str) -> Scenario {
    let names = names().collect::<Vec<_>>().join(" ");
    let main = include_str!("program/main.rs").replace("    KERNELS\n", &names) + more;
    let scenario = Scenario::without_sources(name);
    scenario
        .write("src/main.rs", main)
        .write("src/hosts.rs", include_str!("program/hosts.rs"))
        .write("kernels/kernels.cu", KERNELS)
        .pack("kernels", r#".file("kernels/kernels.cu").arch("cpu")"#);
    scenario
}

/// Returns a run of `cargo offload test` with these options, which are separated by spaces.
fn offload_test<'a>(scenario: &'a Scenario, options: &str) -> Run<'a> {
    let run = scenario.cargo(&["offload", "test"]).args(options.split_whitespace());
    run.path([own::folder()]).without(&["OFFLOAD_DEVICE", "CUDA_VISIBLE_DEVICES"])
}

/// Returns the names of all kernels of the corpus.
fn names() -> impl Iterator<Item = &'static str> {
    KERNELS
        .lines()
        .filter_map(|line| line.strip_prefix("KERNEL(")?.split_once(')'))
        .map(|(name, _)| name)
}
