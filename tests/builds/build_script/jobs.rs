//! How many compilers run at a time, and which image's steps run first.

use offload_tests::registry::COMPILERS;
use offload_tests::scenario::{Scenario, Watched};

offload_tests::tests! {
    COMPILERS => [the_longest_chain_starts_first],
    COMPILERS.slow() => [one_job_is_one_compiler, a_cap_is_one_for_all_packs],
}

fn one_job_is_one_compiler() {
    let archs = r#"["gfx90a", "gfx1100", "compute_80", "sm_80", "cpu"]"#;
    let scenario = Scenario::new("build_one_job");
    scenario.pack("ab", &format!(r#".files(["kernels/a.cu", "kernels/b.cu"]).archs({archs})"#));
    let watched = Watched::new(&scenario);
    scenario.kernel("a", "1.0f").kernel("b", "1.0f");
    watched.set(scenario.build()).arg("-j1").passes();
    let calls = watched.log();
    assert!(calls.0.len() > 15, "{calls:#?}");
    assert!(!calls.overlap(), "two compilers at a time:\n{calls:#?}");

    // With four jobs, the same build runs several compilers at a time.
    scenario.kernel("a", "2.0f").kernel("b", "2.0f");
    watched.set(scenario.build()).arg("-j4").passes();
    let calls = watched.log();
    assert!(calls.overlap(), "never two compilers at a time:\n{calls:#?}");
}

fn a_cap_is_one_for_all_packs() {
    let scenario = Scenario::new("build_capped");
    scenario.build_script(
        r#"println!("cargo::rerun-if-changed=build.rs");
    Build::new().file("kernels/a.cu").max_parallel(1).archs(["gfx90a", "gfx1100", "compute_80", "cpu"]).compile("a");"#,
    );
    let watched = Watched::new(&scenario);
    let build = |jobs: &str| watched.set(scenario.build()).arg("-j4").env("OFFLOAD_JOBS", jobs);
    // An empty variable counts as unset.
    for (jobs, value) in [("", "1.0f"), ("1", "2.0f")] {
        scenario.kernel("a", value);
        build(jobs).passes();
        let calls = watched.log();
        assert!(calls.0.len() > 8, "{calls:#?}");
        assert!(!calls.overlap(), "two at a time:\n{calls:#?}");
    }
    // Images do not depend on `OFFLOAD_JOBS`, so no compiler runs when its value changes.
    build("3").passes();
    watched.log().assert_none("another number of jobs");
    scenario.kernel("a", "3.0f");
    build("none")
        .fails()
        .has("OFFLOAD_JOBS is 'none'; it is how many compilers may run at a time: 1 or more");
}

fn the_longest_chain_starts_first() {
    let scenario = Scenario::new("build_longest");
    scenario
        .pack("a", r#".file("kernels/a.cu").archs(["cpu", "gfx90a", "sm_80"])"#)
        .kernel("a", "1.0f");
    let watched = Watched::new(&scenario);
    watched.set(scenario.build()).arg("-j1").passes();
    let calls = watched.compilations();
    // The steps for one target are a chain. The chain with the most remaining steps runs first, so
    // three steps come before two. Equal chains keep the order of the list.
    let kind = |call: &String| {
        ["sm_80", "gfx90a"].into_iter().find(|target| call.contains(target)).unwrap_or("cpu")
    };
    let kinds: Vec<&str> = calls.0.iter().map(kind).collect();
    // Descriptions of kernels come last.
    let expected = ["sm_80", "cpu", "gfx90a", "sm_80", "cpu", "gfx90a", "sm_80", "gfx90a", "sm_80"];
    assert_eq!(kinds, expected, "{calls:#?}");
}
