//! The number of compilers that run in parallel, and the order of the images' steps.

use offload_tests::registry::COMPILERS;
use offload_tests::scenario::{Calls, Run, Scenario, Watched};

const CALLS: &str = r#".file("kernels/a.cu").archs(["cpu", "gfx90a", "sm_80"])"#;

#[test(COMPILERS.slow())]
fn as_many_compilers_run_as_there_are_jobs() {
    let scenario = Scenario::new("build_jobs");
    scenario.pack("a", CALLS);
    let watched = Watched::new(&scenario);
    let build = |jobs: &str| watched.set(scenario.build()).arg(jobs);
    let build_changed = |value: &str, run: Run<'_>| {
        scenario.kernel("a", value);
        run.passes();
        watched.log()
    };
    let expect_one_at_a_time = |calls: &Calls, why: &str| {
        assert!(calls.0.len() > 8, "{why}: {calls:#?}");
        assert!(!calls.overlap(), "{why}: two at a time:\n{calls:#?}");
    };

    let calls = build_changed("1.0f", build("-j1"));
    expect_one_at_a_time(&calls, "one job");
    // The steps for a target form a chain. The chain with the most remaining steps runs first, so a
    // chain of three steps starts before a chain of two. Equal chains keep the list's order.
    let kind = |call: &String| {
        ["sm_80", "gfx90a"].into_iter().find(|target| call.contains(target)).unwrap_or("cpu")
    };
    let work = calls.of_compilations();
    let kinds: Vec<&str> = work.0.iter().map(kind).collect();
    // The steps that describe the kernels run last.
    let expected = ["sm_80", "cpu", "gfx90a", "sm_80", "cpu", "gfx90a", "sm_80", "gfx90a", "sm_80"];
    assert_eq!(kinds, expected, "{work:#?}");

    let calls = build_changed("2.0f", build("-j4"));
    assert!(calls.overlap(), "never two compilers at a time:\n{calls:#?}");

    let calls = build_changed("3.0f", build("-j4").env("OFFLOAD_JOBS", "1"));
    expect_one_at_a_time(&calls, "OFFLOAD_JOBS");
    // Images do not depend on `OFFLOAD_JOBS`, so no compiler runs when it changes.
    build("-j4").env("OFFLOAD_JOBS", "3").passes();
    watched.log().assert_none("another number of jobs");

    scenario.pack("a", &format!("{CALLS}.max_parallel(1)"));
    // An empty variable counts as unset.
    let calls = build_changed("4.0f", build("-j4").env("OFFLOAD_JOBS", ""));
    expect_one_at_a_time(&calls, "max_parallel");
    scenario.kernel("a", "5.0f");
    build("-j4").env("OFFLOAD_JOBS", "none").fails().has(
        "OFFLOAD_JOBS is 'none', but must be the number of compilers that may run at once, at \
         least 1",
    );
}
