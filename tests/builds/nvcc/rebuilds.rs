//! Tests when nvcc starts, and how many nvcc processes run in parallel. A log of nvcc's calls shows
//! both.

use super::{FACTOR, package};
use offload_tests::prelude::*;

/// A toolkit whose nvcc logs when it starts and ends. The real nvcc does the work.
pub struct LoggingToolkit<'a> {
    scenario: &'a Scenario,
    pub root: PathBuf,
}

impl<'a> LoggingToolkit<'a> {
    pub fn new(scenario: &'a Scenario) -> Self {
        // The log is outside the kernels' folders, because the build cannot store a folder's state
        // if the folder changes while compilers run.
        let log = scenario.folder.join("toolkit/calls");
        let nvcc = cuda("nvcc").get_program().to_owned();
        scenario.script(
            "toolkit/bin/nvcc",
            &format!(
                "case \" $* \" in *' --version '*|*' --dryrun '*) exec '{nvcc}' \"$@\";; esac\n\
                 echo start >> '{log}'\n'{nvcc}' \"$@\"\nstatus=$?\necho end >> '{log}'\nexit $status",
                log = log.display(),
                nvcc = nvcc.display()
            ),
        );
        Self { scenario, root: scenario.folder.join("toolkit") }
    }

    /// Returns the starts and ends that were logged since the last call.
    pub fn calls(&self) -> String {
        let log = self.scenario.folder.join("toolkit/calls");
        let text = fs::read_to_string(&log).unwrap_or_default();
        let _ = fs::remove_file(log);
        text
    }
}

#[test(NVCC.slow())]
fn only_what_changed_is_compiled_by_nvcc() {
    let scenario = package("vendor_rebuilds", "");
    scenario.build_script(
        r#"println!("cargo::rerun-if-env-changed=AGAIN");
    Build::new()
        .modules(["kernels/half.cu", "kernels/called.cu"])
        .compiler(Compiler::Nvcc)
        .archs(["sm_80", "sm_90", "compute_90"])
        .compile("pack");"#,
    );
    let toolkit = LoggingToolkit::new(&scenario);
    let build = |again: &str| {
        let build = scenario.build().arg("-j1").env("CUDA_HOME", &toolkit.root);
        build.env("AGAIN", again).passes();
        toolkit.calls()
    };
    // With one job, one nvcc runs at a time.
    let calls = build("1");
    assert!(calls.matches("start").count() >= 6, "six images: {calls}");
    assert!(!calls.contains("start\nstart"), "two at once:\n{calls}");
    assert_eq!(build("2"), "", "nothing changed");

    let times = || {
        ["half.sm_80", "half.sm_90", "called.sm_80"]
            .map(|image| scenario.output_time("debug", &format!("pack/{image}.cubin")))
    };
    let before = times();
    scenario.write("kernels/factor.h", FACTOR.replace("2.5", "7.5"));
    assert!(!build("2").is_empty(), "a header changed");
    let after = times();
    assert!(before[0] != after[0], "the header is in half.cu, not compiled again for sm_80");
    assert!(before[1] != after[1], "the header is in half.cu, not compiled again for sm_90");
    assert!(before[2] == after[2], "the header is not in called.cu, compiled again for sm_80");
}
