//! Tests of the example `saxpy`, from `cargo build` to the result: with all GPU compilers, with
//! some, and with none.

mod command_line;
mod compiled;
mod prebuilt_set;

use offload_format::offload_binary::{OffloadBinary, OffloadKind};
use offload_tests::prelude::*;
use std::env::consts::ARCH;

/// A target of the example's build script.
struct Target {
    name: &'static str,
    /// The image's file name in `OUT_DIR`. In the prebuilt set, the name has the prefix `saxpy.`.
    file: &'static str,
    /// The image's kind as the example prints it. `llvm_kind` is LLVM's name for the same kind.
    kind: &'static str,
    llvm_kind: &'static str,
    /// LLVM's name for the programming model.
    producer: &'static str,
}

const fn target([name, file, kind, llvm_kind, producer]: [&'static str; 5]) -> Target {
    Target { name, file, kind, llvm_kind, producer }
}

const TARGETS: [Target; 8] = [
    target(["gfx90a", "gfx90a.hsaco", "code object", "elf", "hip"]),
    target(["gfx942", "gfx942.hsaco", "code object", "elf", "hip"]),
    target(["gfx1100", "gfx1100.hsaco", "code object", "elf", "hip"]),
    target(["gfx12-generic", "gfx12-generic.hsaco", "code object", "elf", "hip"]),
    target(["sm_80", "sm_80.cubin", "cubin", "cubin", "cuda"]),
    target(["sm_90", "sm_90.cubin", "cubin", "cubin", "cuda"]),
    target(["compute_80", "compute_80.ptx", "PTX", "ptx", "cuda"]),
    target(["cpu", "cpu.so", "shared object", "elf", "none"]),
];

impl Target {
    fn triple(&self) -> String {
        match self.producer {
            "hip" => "amdgcn-amd-amdhsa".to_owned(),
            "cuda" => "nvptx64-nvidia-cuda".to_owned(),
            _ => format!("{ARCH}-unknown-linux-gnu"),
        }
    }

    /// Returns the string `arch` in the target's offload binary; `None` for the CPU.
    fn arch(&self) -> Option<&'static str> {
        (self.name != "cpu").then_some(self.name)
    }

    fn offload_kind(&self) -> OffloadKind {
        match self.producer {
            "hip" => OffloadKind::HIP,
            "cuda" => OffloadKind::CUDA,
            _ => OffloadKind::NONE,
        }
    }
}

/// A built copy of the example.
pub struct Built {
    scenario: Scenario,
    /// The profile's folder: `debug` or `release`.
    profile: &'static str,
    build: Printed,
}

impl Built {
    fn new(name: &str, profile: &'static str, configure: impl FnOnce(Run<'_>) -> Run<'_>) -> Self {
        let scenario = Scenario::copy_of("examples/saxpy", name);
        let build = configure(scenario.build().profile(profile)).passes();
        Self { scenario, profile, build }
    }

    fn compiled(name: &str, profile: &'static str) -> Self {
        Self::new(name, profile, |build| build.env("OFFLOAD_PREBUILT", "never"))
    }

    pub fn program(&self) -> PathBuf {
        self.scenario.program(self.profile, self.scenario.name())
    }

    /// Returns a run of the program that finds no GPU, even if this machine has one.
    fn start(&self, args: &[&str]) -> Run<'_> {
        without_gpu(self.scenario.start(self.profile)).args(args)
    }

    /// Returns a target's image from the folder that matches its origin, `compiled` or `prebuilt`.
    fn image(&self, target: &Target, origin: &str) -> Vec<u8> {
        match origin {
            "prebuilt" => prebuilt(target.file),
            _ => read(self.scenario.output(self.profile, &format!("saxpy/{}", target.file))),
        }
    }

    /// Checks that the program contains exactly these images, in order, prints their origins, and
    /// computes the right result.
    fn check(&self, origin: impl Fn(&Target) -> &'static str) {
        let images: Vec<Vec<u8>> =
            TARGETS.iter().map(|target| self.image(target, origin(target))).collect();

        let section = section(&self.program(), ".llvm.offloading");
        let embedded: Vec<_> = OffloadBinary::in_a_row(&section)
            .flat_map(|binary| binary.expect("it is sound").1.images())
            .collect();
        assert_eq!(embedded.len(), TARGETS.len());
        for ((target, image), embedded) in TARGETS.iter().zip(&images).zip(embedded) {
            assert_eq!(embedded.arch(), target.arch());
            assert_eq!(embedded.triple(), Some(&*target.triple()), "{}", target.name);
            assert_eq!(embedded.offload_kind, target.offload_kind(), "{}", target.name);
            assert!(embedded.data == image, "{}: the image is not the file's", target.name);
        }

        let printed = self.start(&[]).ends();
        let row = |(target, image): (&Target, &Vec<u8>)| {
            format!("{} {} {} {}", target.name, target.kind, image.len(), origin(target))
        };
        let rows: Vec<String> = TARGETS.iter().zip(&images).map(row).collect();
        assert_eq!(rows_below(&printed.stdout, "target kind bytes origin"), rows);
        assert_runs_on_cpu(&printed);
    }
}

fn prebuilt_folder() -> PathBuf {
    scratch::workspace().join("examples/saxpy/prebuilt")
}

/// Returns an image from the repository's prebuilt set.
fn prebuilt(file: &str) -> Vec<u8> {
    read(prebuilt_folder().join(format!("saxpy.{file}")))
}

/// Returns the bytes of a program's section.
fn section(program: &Path, name: &str) -> Vec<u8> {
    let (dump, rest) = (program.with_extension("section"), program.with_extension("rest"));
    let what = format!("{name}={}", dump.display());
    succeed(Command::new("objcopy").args(["--dump-section", &what]).arg(program).arg(rest));
    read(dump)
}

/// Hides all GPUs from a program.
fn without_gpu(run: Run<'_>) -> Run<'_> {
    run.env("CUDA_VISIBLE_DEVICES", "").env("HIP_VISIBLE_DEVICES", "-1")
}

#[track_caller]
fn assert_runs_on_cpu(printed: &Printed) {
    assert!(printed.status.success(), "{printed}");
    assert_lists_the_cpu_first(printed);
    for [no_driver, no_gpu] in [
        ["  no CUDA driver: ", "  the CUDA driver, libcuda.so.1, finds no GPU\n"],
        ["  no HIP runtime: ", "finds no GPU\n"],
    ] {
        let is_said = [no_driver, no_gpu].iter().any(|text| printed.stdout.contains(text));
        assert!(is_said, "neither {no_driver:?} nor {no_gpu:?} in\n{printed}");
    }
    let last = "Ran the cpu shared object on cpu: all 1048576 elements are right.";
    assert_eq!(printed.stdout.lines().last(), Some(last));
    assert_eq!(printed.stderr, "");
}

#[track_caller]
fn assert_lists_the_cpu_first(printed: &Printed) {
    let row = format!("cpu linux {ARCH} the CPU cpu shared object made for this CPU");
    assert_eq!(
        rows_below(&printed.stdout, "device product target image reason")[0],
        row,
        "{printed}"
    );
}

/// Returns the lines from a table's header to the next empty line, without column padding.
fn rows_below(text: &str, header: &str) -> Vec<String> {
    let mut lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    assert!(lines.any(|line| line == header), "no table '{header}' in\n{text}");
    lines.take_while(|line| !line.is_empty()).collect()
}

/// A part of the line that a build prints if it uses prebuilt images.
const PREBUILT_LINE: &str = " from prebuilt/, because ";

/// A build that finds no GPU compiler, because the variables name programs that do not exist.
static PREBUILT: LazyLock<Built> = LazyLock::new(|| {
    let nowhere = [("OFFLOAD_CLANG", "/no/such/clang"), ("OFFLOAD_PTXAS", "/no/such/ptxas")];
    Built::new("saxpy-prebuilt", "release", |build| {
        build.env("OFFLOAD_PREBUILT", "only").envs(nowhere)
    })
});
