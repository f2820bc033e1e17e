//! Tests the program of `cargo xtask gpu` without a GPU. Its checks must pass on the CPU, on the
//! stand-in for NVIDIA's driver and on AMD's HIP runtime. Each injected fault must cause the right
//! finding.

use offload_tests::intel;
use offload_tests::prelude::*;
use offload_tests::processes;
use offload_tests::stand_ins::{Outcome, Staged, cuda_driver, hsa, kernels_that_run};
use serde_json::Value;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

const HIP: Needs = needs(&[Tool::Llvm22, Tool::Gcc, Tool::Cuda, Tool::Hip5]).slow();

/// The program with a few images, and the kernels that stand-ins run for it.
static PROGRAM: LazyLock<Program> = LazyLock::new(|| {
    let scenario = Scenario::in_place("gpu");
    let build = scenario.build().arg("--locked");
    build
        .env("GPU_CHECKS_TARGETS", "sm_90,sm_120a,compute_75,gfx90a,gfx90a:xnack+,spirv64")
        .env("GPU_CHECKS_RANDOM", "40")
        .passes();
    let out = scenario.out_dir_of("gpu-checks", "debug");
    let kernels = |name: &str| scratch::workspace().join(format!("gpu/kernels/{name}.cu"));
    let mut sources: Vec<PathBuf> =
        ["affine", "header", "math", "halves", "runtime"].map(kernels).into();
    sources.extend(["random.cu", "pairs.cu"].map(|name| out.join(name)));
    let folder = scratch::folder("gpu_checks");
    let runs = kernels_that_run(&folder, &sources);
    let driver = cuda_driver("gpu_checks_driver", &[]);
    Program { path: scenario.program("debug", "gpu-checks"), folder, runs, driver }
});

struct Program {
    path: PathBuf,
    folder: PathBuf,
    runs: String,
    driver: PathBuf,
}

impl Program {
    /// Returns the program on a fake H100.
    fn on_nvidia(&self) -> Staged {
        self.on(&self.driver, "9.0").with("HIP_VISIBLE_DEVICES", "-1")
    }

    fn on(&self, libraries: &Path, gpu: &str) -> Staged {
        Staged::new(&self.path, libraries).with("FAKE_GPU", gpu).with("FAKE_RUNS", &self.runs)
    }

    /// Runs `gpu-checks all`. Returns its outcome and the rows of its JSON file.
    fn all(&self, name: &str, staged: &Staged, more: &[&str]) -> (Outcome, Vec<Value>) {
        let json = self.folder.join(format!("{name}.json"));
        let file = json.to_str().expect("the target folder's name is UTF-8");
        let outcome =
            staged.run(&[&["all", "--json", file], more].concat(), &self.folder.join(name));
        let text = fs::read_to_string(&json).expect("the program writes its file");
        let parsed: Value = serde_json::from_str(&text).expect("the file is JSON");
        let rows = parsed["checks"].as_array().expect("there are checks").clone();
        (outcome, rows)
    }

    /// Returns the names of all checks.
    fn checks(&self) -> Vec<String> {
        let list = Staged::new(&self.path, &self.folder).run(&["list"], &self.folder.join("list"));
        let lines = list.succeeds().stdout.lines();
        let names = lines.map(|line| line.split('\t').next().expect("a line has a name"));
        names.map(str::to_owned).collect()
    }

    /// Runs one check on a fake GPU with an injected fault. The check must have a finding. Returns
    /// the finding's text.
    #[track_caller]
    fn finds(&self, name: &str, fault: &str, check: &str) -> String {
        let staged = self.on_nvidia().with("FAKE_FAULT", fault);
        let (outcome, rows) =
            self.all(name, &staged, &["--device", "cuda:0", "--only", check, "--seconds", "100"]);
        assert_eq!(outcome.status, Some(1), "{outcome:#?}");
        let [row] = &rows[..] else { panic!("{rows:#?}") };
        let text = |field: &str| row[field].as_str().expect("it is text").to_owned();
        assert_eq!(text("result"), "finding", "{row:#}");
        text("text")
    }
}

/// Asserts that no check of a device has a finding, and that exactly the checks in `skipped` were
/// skipped.
#[track_caller]
fn assert_right(rows: &[Value], device: &str, skipped: &[&str]) {
    let of_device = rows.iter().filter(|row| row["device"] == device);
    let mut count = 0;
    for row in of_device {
        count += 1;
        let check = row["check"].as_str().expect("it is text");
        let expected = if skipped.contains(&check) { "skipped" } else { "ok" };
        assert_eq!(row["result"], expected, "{row:#}");
    }
    assert!(count >= 14, "{count} checks ran on {device}");
}

#[test(COMPILERS.slow())]
fn all_checks_pass_on_the_cpu_and_the_stand_in_for_nvidia() {
    let (outcome, rows) = PROGRAM.all("nvidia", &PROGRAM.on_nvidia(), &[]);
    assert_eq!(outcome.status, Some(0), "{outcome:#?}");
    // The check `examples` is skipped, because the folder of this program does not contain the
    // examples.
    assert_right(&rows, "cuda:0", &["examples"]);
    assert_right(&rows, "cpu", &["examples"]);
    for name in PROGRAM.checks() {
        assert!(rows.iter().any(|row| row["check"] == *name), "{name} did not run");
    }
}

#[test(HIP)]
fn all_checks_pass_on_amds_runtime() {
    let libraries = hsa::libraries("gpu_checks_runtime");
    let staged = PROGRAM.on(&libraries, "gfx90a:sramecc+:xnack-");
    // Leave out the check `pairs`, which would restart the runtime for each wrong kernel.
    let chosen = PROGRAM.checks().into_iter().filter(|check| check != "pairs");
    let chosen: Vec<String> = chosen.flat_map(|check| ["--only".to_owned(), check]).collect();
    let mut options = vec!["--device", "hip:0"];
    options.extend(chosen.iter().map(String::as_str));
    let (outcome, rows) = PROGRAM.all("amd", &staged, &options);
    assert_eq!(outcome.status, Some(0), "{outcome:#?}");
    assert_right(&rows, "hip:0", &["examples"]);
    // A wrong result from this runtime must also be a finding.
    let staged = staged.with("FAKE_FAULT", "wrong:saxpy");
    let (outcome, _) =
        PROGRAM.all("amd_wrong", &staged, &["--device", "hip:0", "--only", "readme"]);
    assert_eq!(outcome.status, Some(1), "{outcome:#?}");
}

/// Runs the checks one by one, because programs use a CPU through OpenCL only if it is requested by
/// name.
#[test(needs(&[Tool::Llvm22, Tool::Gcc, Tool::Cuda, Tool::IntelOpenCl]).slow())]
fn all_checks_pass_on_intels_runtime() {
    let staged = Staged::new(&PROGRAM.path, &PROGRAM.folder);
    let staged = intel::variables()
        .into_iter()
        .fold(staged, |staged, (name, value)| staged.with(name, value));
    let mut passed = Vec::new();
    for name in PROGRAM.checks() {
        let log = PROGRAM.folder.join(format!("intel-{name}"));
        let outcome = staged.run(&["run", &name, "--device", "opencl:0"], &log);
        match outcome.status {
            Some(0) => passed.push(name),
            status => assert_eq!(status, Some(2), "{name}: {outcome:#?}"),
        }
    }
    let expected =
        "readme header math halves arguments limits shared-memory threads memory fork late pairs";
    assert_eq!(passed.join(" "), expected);
}

#[test(needs(&[Tool::Llvm22, Tool::Gcc, Tool::Cuda, Tool::AnyGpu]))]
fn all_checks_pass_on_the_gpus_of_this_machine() {
    let folder = scratch::folder("gpu_checks_real");
    let json = folder.join("result.json");
    let mut command = Command::new(&PROGRAM.path);
    command.args(["all", "--json"]).arg(&json);
    let output = processes::output(&mut command).expect("the program starts");
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
}

#[test(COMPILERS.slow())]
fn a_wrong_result_is_a_finding() {
    let text = PROGRAM.finds("wrong", "wrong:saxpy", "readme");
    assert_eq!(
        text,
        "README's y: 232 of 1000 values are wrong; the first is element 768: 2.0, not 5.0"
    );
}

#[test(COMPILERS.slow())]
fn a_refused_image_is_a_finding() {
    let text = PROGRAM.finds("refused", "refuse:PTX", "select");
    let start = "select accepts the compute_75 PTX of affine (PTX for 7.5 and up, compiled by the driver), and the driver \
                 does not: cuModuleLoadData returned CUDA_ERROR_NO_BINARY_FOR_GPU (209)\n";
    assert!(text.starts_with(start), "{text}");
}

#[test(COMPILERS.slow())]
fn an_image_that_select_refuses_and_the_driver_runs_is_a_finding() {
    let text = PROGRAM.finds("accepted", "accept:cubin", "select");
    let first = text.lines().next().expect("there is a finding");
    assert!(first.starts_with("select refuses the sm_120a cubin of variants ("), "{text}");
    assert!(first.ends_with("), and the driver runs it"), "{text}");
}

#[test(COMPILERS.slow())]
fn a_kernel_that_hangs_is_a_finding() {
    let staged = PROGRAM.on_nvidia().with("FAKE_FAULT", "hang:saxpy");
    let more = ["--device", "cuda:0", "--only", "readme", "--limit", "1"];
    let (outcome, rows) = PROGRAM.all("hang", &staged, &more);
    assert_eq!(outcome.status, Some(1), "{outcome:#?}");
    assert_eq!(rows[0]["text"], "the check took longer than 1 s and printed nothing", "{rows:#?}");
}

#[test(COMPILERS.slow())]
fn a_driver_that_dies_is_a_finding() {
    let text = PROGRAM.finds("dies", "die:cuMemcpyDtoH_v2", "readme");
    assert_eq!(text, "the check died by signal 6 (SIGABRT) and printed nothing");

    // The result that the check has already printed must not be lost.
    let text = PROGRAM.finds("dies_late", "die:cuDevicePrimaryCtxRelease_v2", "readme");
    let start = "the check died by signal 6 (SIGABRT), after its result: the sm_90 cubin computed";
    assert!(text.starts_with(start), "{text}");

    // If a driver ends the process that lists devices, the devices of that driver are missing, but
    // the checks of other devices must run.
    let staged = PROGRAM.on_nvidia().with("FAKE_FAULT", "die:cuInit");
    let (outcome, rows) = PROGRAM.all("dies_early", &staged, &["--only", "readme"]);
    assert_eq!(outcome.status, Some(1), "{outcome:#?}");
    let of = |check: &str| {
        rows.iter().find(|row| row["check"] == check).expect("it ran")["text"].clone()
    };
    assert_eq!(
        of("devices"),
        "the process that lists the devices died by signal 6 (SIGABRT) and printed nothing"
    );
    assert_eq!(of("readme"), "the cpu shared object computed 1000 and 1048653 elements");
}

#[test(COMPILERS.slow())]
fn an_error_of_an_earlier_launch_is_a_finding() {
    let text = PROGRAM.finds("later", "later:saxpy", "readme");
    assert_eq!(
        text,
        "cuda:0 (Fake GPU 9.0): could not copy 4000 bytes from the GPU: cuMemcpyDtoH_v2 returned CUDA_ERROR_LAUNCH_FAILED \
         (719): unspecified launch failure\n\
         The cause is probably a kernel that was launched before this call. `cargo offload test` checks kernels on the CPU."
    );
}

#[test(COMPILERS.slow())]
fn what_no_time_is_left_for_is_not_run() {
    let more = ["--device", "cuda:0", "--only", "readme", "--seconds", "0"];
    let (outcome, rows) = PROGRAM.all("no_time", &PROGRAM.on_nvidia(), &more);
    // Status 3 means that no check ran on a GPU.
    assert_eq!(outcome.status, Some(3), "{outcome:#?}");
    assert_eq!(rows[0]["result"], "not run", "{rows:#?}");
}

#[test(COMPILERS.slow())]
fn checks_end_with_the_program_that_has_started_them() {
    let log = PROGRAM.folder.join("interrupted");
    let _ = fs::remove_file(&log);
    let mut command = Command::new(&PROGRAM.path);
    command.args(["all", "--device", "cuda:0", "--only", "readme"]);
    command.env("LD_LIBRARY_PATH", &PROGRAM.driver).env("FAKE_GPU", "9.0");
    command.env("FAKE_RUNS", &PROGRAM.runs).env("FAKE_FAULT", "hang:saxpy").env("FAKE_LOG", &log);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut all = command.spawn().expect("the program starts");
    // Count the program's child processes that run a check. Their environment contains the log's
    // path.
    let count = || {
        let is_one = |folder: &PathBuf| {
            let read = |name| fs::read(folder.join(name)).unwrap_or_default();
            String::from_utf8_lossy(&read("environ")).contains(log.to_str().expect("UTF-8"))
                && read("cmdline").windows(5).any(|part| part == b"\0run\0")
        };
        let entries = fs::read_dir("/proc").expect("/proc is there").flatten();
        entries.map(|entry| entry.path()).filter(is_one).count()
    };
    let begun = || fs::read_to_string(&log).unwrap_or_default().contains("PrimaryCtxRetain");
    while count() != 1 || !begun() {
        assert_eq!(all.try_wait().expect("it is a child"), None, "the program waits for its check");
        thread::sleep(Duration::from_millis(20));
    }
    all.kill().expect("it is a child");
    all.wait().expect("it is a child");
    // The check's kernel hangs, so the check ends only if it notices that its parent has ended.
    for _ in 0..1000 {
        if count() == 0 {
            return;
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("the check is still there");
}

#[test(COMPILERS.slow())]
fn wrong_kernels_run_under_compute_sanitizer() {
    // This fake tool reports a memcheck error in one kernel, and a racecheck error in another.
    let tools = scratch::folder("gpu_checks_sanitizer");
    let script = "tool=$2 && shift 2 && \"$@\" || exit 1\nfor name; do :; done\n\
                  case $tool:$name in\n\
                  memcheck:freed_wrong) echo '========= ERROR SUMMARY: 3 errors' ;;\n\
                  racecheck:blocks_wrong) echo '========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)' ;;\n\
                  racecheck:*) echo '========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)' ;;\n\
                  initcheck:*) echo '========= Error: Target application terminated' ;;\n\
                  *) echo '========= ERROR SUMMARY: 0 errors' ;;\nesac\n";
    scratch::write_script(tools.join("compute-sanitizer"), script);
    let path = format!("{}:{}", tools.display(), env::var("PATH").unwrap_or_default());
    let staged = PROGRAM.on_nvidia().with("PATH", path);
    let (outcome, rows) =
        PROGRAM.all("sanitizer", &staged, &["--device", "cuda:0", "--only", "pairs"]);
    assert_eq!(outcome.status, Some(0), "{outcome:#?}");
    let figures = &rows[0]["figures"];
    assert_eq!(figures["tool"], "compute-sanitizer");
    let told = &figures["wrong ones"];
    assert_eq!(told["freed_wrong"], "found by memcheck: 3 errors");
    let found = "found by racecheck: 1 hazard displayed (1 error, 0 warnings)";
    assert_eq!(told["blocks_wrong"], found);
    let not_found =
        "not found; initcheck ended with status 0: ========= Error: Target application terminated";
    assert_eq!(told["counter_wrong"], not_found);
}
