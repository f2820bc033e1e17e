//! Tests `cargo offload test` on all pairs of the corpus in one program. The program's tests run in
//! parallel, then one after another. The findings must be the same as for each kernel alone.

use super::corpus::expected;
use super::{names, offload_test, package};
use offload_tests::prelude::*;

/// The tests of the program. Each launches one kernel. `TESTS` is replaced by the kernels' names.
const TESTS: &str = r#"
#[cfg(test)]
mod tests {
    use super::{Device, one};

    macro_rules! tests {
        ($($name:ident)*) => {$(
            #[test]
            fn $name() {
                one(stringify!($name), &Device::cpu());
            }
        )*};
    }

    tests! { TESTS }

    /// Ends the program.
    #[test]
    #[ignore]
    fn mask_wrong() {
        one("mask_wrong", &Device::cpu());
    }

    /// If no other test runs, each launch loads the image anew.
    #[test]
    #[ignore]
    fn ends_the_program() {
        one("barrier_right", &Device::cpu());
        std::process::exit(0);
    }
    #[test]
    #[ignore]
    fn many_loads() {
        for _ in 0..70 {
            one("barrier_right", &Device::cpu());
        }
    }
}
"#;

#[test(GCC.slow())]
fn findings_are_those_of_each_kernel_alone() {
    let expected = expected(32);
    let ends_the_program = |name: &str| {
        let checks = expected.get(name);
        checks.is_some_and(|of| ["stuck", "late", "stops"].iter().any(|it| of.contains_key(it)))
    };
    let tests: Vec<&str> =
        names().filter(|name| *name != "order" && !ends_the_program(name)).collect();
    let scenario = package("checks_together", &TESTS.replace("TESTS", &tests.join(" ")));
    let run = |options: &str, tests: &[&str], variables: &[(&str, &str)]| {
        let run = offload_test(&scenario, &format!("--bins {options}"));
        let run = run.args(tests.iter().map(|name| format!("tests::{name}")));
        run.envs(variables.iter().copied()).ends()
    };

    for (check, kinds) in
        [("memory,undefined", &["memory", "undefined", "any"][..]), ("races", &["races", "any"])]
    {
        let lines = |kernel: &str| -> Vec<usize> {
            let of_kernel = expected.get(kernel);
            kinds.iter().filter_map(|kind| of_kernel?.get(kind)).flatten().copied().collect()
        };
        // ThreadSanitizer does not detect accesses beyond a buffer, but it may report that they
        // race with other tests' accesses to that memory.
        let is_beyond =
            |name: &&str| expected.get(name).is_some_and(|it| it.contains_key("memory"));
        let tests: Vec<&str> =
            tests.iter().copied().filter(|name| check != "races" || !is_beyond(name)).collect();
        let wrong: BTreeSet<String> = tests
            .iter()
            .filter(|name| !lines(name).is_empty())
            .map(|name| (*name).to_owned())
            .collect();
        assert!(wrong.len() >= 10, "{wrong:?}");
        let found = ["--test-threads=8", "--test-threads=1"].map(|threads| {
            let printed = run(&format!("--check {check} -- --exact {threads}"), &tests, &[]);
            assert_eq!(printed.status.code(), Some(1), "{check} {threads}\n{printed}");
            findings(&printed.stdout)
        });
        // ThreadSanitizer remembers four accesses per address and forgets others at random. Of two
        // races at one address, it may report only one.
        let alike = found.clone().map(|all| {
            let lines = |it: Finding| if check == "races" { Vec::new() } else { it.lines };
            let alike = |it: Finding| (it.kernel.clone(), it.kind.clone(), lines(it));
            all.into_iter().map(alike).collect::<BTreeSet<_>>()
        });
        assert_eq!(alike[0], alike[1], "{check}");
        let kernels: BTreeSet<String> = found[0].iter().map(|it| it.kernel.clone()).collect();
        assert_eq!(kernels, wrong, "{check}");
        for finding in found.iter().flatten() {
            let lines = lines(&finding.kernel);
            let is_named = finding.lines.iter().any(|line| lines.contains(line));
            assert!(is_named, "{check}: {finding:?}, and not at {lines:?}");
            assert_eq!(finding.launched_by, format!("tests::{}", finding.kernel), "{check}");
        }
    }

    let printed = run("--check races -- --ignored --exact", &["many_loads"], &[]);
    assert_eq!(printed.status.code(), Some(0), "{printed}");
    assert!(
        printed.stdout.starts_with("1 test passed, checked for races\n\n0 findings"),
        "{printed}"
    );

    // One of these tests ends the program.
    let line = "--check memory -- --test-threads=1 --include-ignored --exact";
    let printed = run(line, &["barrier_right", "mask_wrong", "shift_right"], &[]);
    assert_eq!(printed.status.code(), Some(1), "{printed}");
    let expected = "error: a test program ended early: 2 of 3 tests have no result\n";
    assert!(printed.stdout.contains(expected), "{printed}");

    // The program ends without a finding, but findings may be missing.
    let printed = run("--check memory -- --ignored --exact", &["ends_the_program"], &[]);
    assert_eq!(printed.status.code(), Some(3), "{printed}");

    // The report must contain parameters' names, even if the build is only for the CPU.
    let printed = run("--check memory -- --exact", &["freed_wrong"], &[]);
    let expected = "\n   parameter 1, `x`, of 512 bytes, which were freed: read at offset 0\n";
    assert!(printed.stdout.contains(expected), "{printed}");

    let printed = run("--check races -- --exact", &["counter_wrong"], &[]);
    let expected = "\n   parameter 2, `n`, of 512 bytes: ";
    assert!(printed.stdout.contains(expected), "{printed}");

    let printed = run("--check races -- --exact", &["cas_loop"], &[]);
    assert_eq!(printed.status.code(), Some(0), "{printed}");

    // The program counts findings, so the command notices if a report was written to a different
    // file.
    let elsewhere = format!("log_path={}", scenario.folder.join("elsewhere").display());
    let variables = [("ASAN_OPTIONS", &*elsewhere)];
    let printed = run("--check memory -- --exact", &["global_read_wrong"], &variables);
    assert_eq!(printed.status.code(), Some(3), "{printed}");
    let expected = "tests::global_read_wrong launched the kernel global_read_wrong in process ";
    assert!(printed.stdout.contains(expected), "{printed}");
    let expected = ", which counted 1 findings but reported only 0. To get all reports, run";
    assert!(printed.stdout.contains(expected), "{printed}");
    assert!(
        printed.stdout.contains(
            "\n0 findings in 1 kernel launched on the CPU; because of the errors above, there may \
             be more findings\n"
        ),
        "{printed}"
    );
}

/// A finding as the command prints it, without details that differ from run to run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    kernel: String,
    kind: String,
    lines: Vec<usize>,
    launched_by: String,
}

fn findings(printed: &str) -> BTreeSet<Finding> {
    let blocks = printed.split("\n\n").filter_map(|block| {
        let (first, rest) = block.split_once('\n')?;
        let (_, first) = first.split_once(". ")?;
        let (kind, kernel) = first.rsplit_once(", in the kernel ")?;
        let line = |line: &str| {
            let line = line.trim_start().strip_prefix("kernels/kernels.cu:")?;
            line.split(' ').next()?.parse().ok()
        };
        let launched = rest.lines().find_map(|line| line.trim_start().strip_prefix("launched by "));
        Some(Finding {
            kernel: kernel.to_owned(),
            kind: kind.to_owned(),
            lines: rest.lines().filter_map(line).collect(),
            launched_by: launched.unwrap_or_default().to_owned(),
        })
    });
    blocks.collect()
}

/// ThreadSanitizer ends a program with 8128 threads, and the images of all modules are loaded.
#[test(GCC.slow())]
fn modules_that_run_at_once_share_the_threads() {
    let scenario = Scenario::without_sources("checks_modules");
    let names = ["a", "b", "c", "d", "e", "f"];
    for name in names {
        let source = "extern \"C\" __global__ void shift(int *y) {\n  __shared__ int all[1024];\n  \
                      all[threadIdx.x] = threadIdx.x;\n  __syncthreads();\n  \
                      y[blockIdx.x * 1024 + threadIdx.x] = all[1023 - threadIdx.x];\n}\n";
        scenario.write(&format!("kernels/{name}.cu"), source);
    }
    let test = |name: &str| {
        format!(
            "#[test]\nfn {name}() {{\nlet device = offload_gpu::run::Device::cpu();\n\
             let mut y = device.zeros::<i32>(4096).unwrap();\n\
             for _ in 0..3 {{\nunsafe {{ kernels::{name}::shift(&mut y).launch(&device, 4, 1024).unwrap() }};\n}}\n\
             assert_eq!(y.to_vec().unwrap()[4095], 0);\n}}\n"
        )
    };
    let tests: String = names.into_iter().map(test).collect();
    let files = names.map(|name| format!("kernels/{name}.cu"));
    scenario
        .write(
            "src/lib.rs",
            format!("pub mod kernels {{ offload_gpu::include_kernels!(\"k\"); }}\n{tests}"),
        )
        .build_script(&format!("Build::new().modules({files:?}).arch(\"cpu\").compile(\"k\");"));
    let run = offload_test(&scenario, "--lib --check races").env("CXX", "g++");
    let printed = run.passes();
    printed.has("6 tests passed, checked for races").has("0 findings in 1 kernel");
}
