//! Tests the examples as a new user sees them: copied out of the repository, and built and run with
//! the commands in their READMEs. Stand-ins simulate GPUs. Without a stand-in, an example finds no
//! GPU, except in tests that need a real one.

mod amd;
mod documents;
mod launchers;
mod nvidia;
mod rust_kernels;
mod without_a_gpu;

use crate::guide::page::commands;
use offload_tests::prelude::*;
use offload_tests::stand_ins::cuda_driver;

const ALL: [&str; 10] = [
    "cuda-vector-add",
    "hip-vector-add",
    "kernel-tests",
    "kernels-by-name",
    "module-library",
    "one-source",
    "several-gpus",
    "read-a-bundle",
    "rust-kernels",
    LAUNCHERS,
];

/// The example without prebuilt images, which needs nvcc.
const LAUNCHERS: &str = "cuda-launchers";

/// A copy of an example. Its images are prebuilt. Only an example with a static library needs a GPU
/// compiler.
struct Example {
    name: &'static str,
    scenario: Scenario,
    /// The commands of each `console` block of its README, with their output.
    blocks: Vec<Vec<(String, String)>>,
}

impl Example {
    fn new(name: &'static str) -> Self {
        Self::copied(name, name)
    }

    fn copied(name: &'static str, to: &str) -> Self {
        let scenario = Scenario::example(name, to);
        // The README's commands use programs in `target`, but tests build into another folder.
        let link = scenario.folder.join("target");
        scratch::symlink(&scenario.target, link).expect("the folder can be written");
        let readme = scenario.text("README.md");
        let block = |rest: &str| {
            let (block, _) = rest.split_once("```").expect("a block of code ends");
            commands(&block.lines().collect::<Vec<_>>())
        };
        let blocks: Vec<_> = readme.split("```console\n").skip(1).map(block).collect();
        assert!(!blocks.is_empty(), "{name}: the README has no commands");
        Self { name, scenario, blocks }
    }

    /// Runs the commands in one block of the README. After the replacements, their output must be
    /// what the README shows. A command that prints an error must exit with status 1.
    #[track_caller]
    fn follow(&self, block: usize, variables: &[(&str, &str)], replacements: &[(&str, &str)]) {
        for (command, shown) in &self.blocks[block] {
            let printed = self.run(command, variables);
            let mut text = printed.text();
            for (from, to) in replacements {
                text = text.replace(from, to);
            }
            assert_eq!(text, *shown, "{}: $ {command}", self.name);
            let status = i32::from(shown.contains("error: "));
            assert_eq!(printed.status.code(), Some(status), "{}: $ {command}", self.name);
        }
    }

    /// Runs a command line. Removes warnings about prebuilt images from the build's output.
    fn run(&self, line: &str, variables: &[(&str, &str)]) -> Printed {
        let words: Vec<&str> = line.split(' ').collect();
        let run = match words[..] {
            ["cargo", verb, ref rest @ ..] => {
                self.scenario.cargo(&[&[verb, "--quiet"], rest].concat())
            }
            [program, ref rest @ ..] => self.scenario.tool(program).args(rest),
            [] => panic!("an empty command in the README of {}", self.name),
        };
        let prebuilt = if self.name == LAUNCHERS { "never" } else { "only" };
        let mut printed = run
            // This machine's settings for GPUs and ROCm must not affect the example.
            .without(&["ROCM_PATH", "HIP_PATH", "CUDA_VISIBLE_DEVICES"])
            .without(&["ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"])
            .path(HIP_OF_THE_BINDING.clone())
            // A prebuilt set cannot contain a static library, so always compile the example that
            // has one.
            .env("OFFLOAD_PREBUILT", prebuilt)
            .env("OFFLOAD_CLANG", "/no/such/clang")
            .envs(variables.iter().copied())
            .ends();
        let is_warning =
            |line: &str| line.starts_with("warning: ") && line.contains("@0.1.0: pack \"");
        let others = printed.stderr.lines().filter(|line| !is_warning(line));
        printed.stderr = others.map(|line| line.to_owned() + "\n").collect();
        printed
    }

    /// Runs a command line, which must succeed.
    #[track_caller]
    fn passes(&self, line: &str, variables: &[(&str, &str)]) -> Printed {
        self.exits(0, line, variables)
    }

    /// Runs a command line, which must exit with status 1.
    #[track_caller]
    fn fails(&self, line: &str, variables: &[(&str, &str)]) -> Printed {
        self.exits(1, line, variables)
    }

    #[track_caller]
    fn exits(&self, status: i32, line: &str, variables: &[(&str, &str)]) -> Printed {
        let printed = self.run(line, variables);
        assert_eq!(printed.status.code(), Some(status), "{variables:?} {printed}");
        printed
    }

    fn prebuilt(&self, file: &str) -> Vec<u8> {
        read(self.scenario.folder.join("prebuilt").join(file))
    }
}

/// A folder with a script `hipconfig`, which prints a version for which cubecl-hip-sys has
/// bindings. cubecl-hip-sys does not build if `hipconfig` prints an unknown version. `None` if this
/// machine has no `hipconfig`.
pub static HIP_OF_THE_BINDING: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
    let path = env::var_os("PATH")?;
    if !env::split_paths(&path).any(|folder| folder.join("hipconfig").is_file()) {
        return None;
    }
    let folder = scratch::folder("examples-hipconfig");
    scratch::write_script(folder.join("hipconfig"), "echo 7.14.60850-0");
    Some(folder)
});

/// A folder with the stand-in for NVIDIA's driver.
static DRIVER: LazyLock<PathBuf> = LazyLock::new(|| cuda_driver("examples-cuda-driver", &[]));

/// Returns the variables that make a program find fake NVIDIA GPUs, and a new log file for the
/// stand-in.
fn on_gpus<'a>(capabilities: &'a str, log: &'a Path) -> Vec<(&'a str, &'a str)> {
    let _ = fs::remove_file(log);
    vec![
        ("LD_LIBRARY_PATH", utf8(&DRIVER)),
        ("FAKE_GPU", capabilities),
        // Slow loading reveals threads that do not wait for the thread that loads the image.
        ("FAKE_SLOW", "50"),
        ("FAKE_LOG", utf8(log)),
    ]
}

fn utf8(path: &Path) -> &str {
    path.to_str().expect("the target folder's name is UTF-8")
}

/// Returns a log's lines. Asserts that none reports misuse.
#[track_caller]
fn read_log(log: &Path) -> Vec<String> {
    let lines: Vec<String> =
        fs::read_to_string(log).unwrap_or_default().lines().map(str::to_owned).collect();
    assert!(!lines.iter().any(|line| line.contains("misuse")), "{lines:#?}");
    lines
}

/// The variables that hide all GPUs.
const HIDDEN: [(&str, &str); 2] = [("CUDA_VISIBLE_DEVICES", ""), ("HIP_VISIBLE_DEVICES", "-1")];

/// Replacements in the output on a machine with a driver but no GPU. The READMEs show the more
/// common message, which reports that there is no driver.
const NO_GPU: [(&str, &str); 5] = [
    (
        "the CUDA driver, libcuda.so.1, finds no GPU",
        "no CUDA driver: the system's loader finds no libcuda.so.1",
    ),
    (NO_AMD_GPU, NO_HIP),
    ("the HIP runtime, libamdhip64.so.5, finds no GPU", NO_HIP),
    ("OpenCL (libOpenCL.so.1) lists no GPU except those that CUDA or HIP serves", NO_OPENCL),
    ("OpenCL (libOpenCL.so) lists no GPU except those that CUDA or HIP serves", NO_OPENCL),
];
const NO_AMD_GPU: &str = "the HIP runtime, libamdhip64.so, finds no GPU";
const NO_HIP: &str = "no HIP runtime: the system's loader finds no libamdhip64.so, libamdhip64.so.7, libamdhip64.so.6, \
                      libamdhip64.so.5";
const NO_OPENCL: &str = "no OpenCL: the system's loader finds no libOpenCL.so.1, libOpenCL.so";
