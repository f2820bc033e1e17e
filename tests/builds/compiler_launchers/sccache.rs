//! sccache, with a separate cache and server for each test.

use super::{forget, package};
use offload_tests::cache_server::CacheServer;
use offload_tests::prelude::*;
use offload_tests::tools::sccache;
use std::thread;
use std::time::Duration;

const CACHE: Needs = needs(&[Tool::Llvm22, Tool::Gcc, Tool::Cuda, Tool::Sccache]);

/// A compiler cache with its server.
struct Sccache(CacheServer);

impl Sccache {
    fn new(scenario: &Scenario) -> Self {
        Self(CacheServer::start(scenario))
    }

    /// Returns the variables with which a build uses the cache.
    fn variables(&self) -> impl Iterator<Item = (&'static str, OsString)> {
        self.0.variables().into_iter().chain([("OFFLOAD_COMPILER_LAUNCHER", sccache().into())])
    }

    /// Asserts the numbers of hits and misses since the last call. The server replies before it
    /// counts a request, so the last request may be uncounted for a short time.
    #[track_caller]
    fn expect(&self, hits: u64, misses: u64) {
        let mut counted = self.counts();
        for _ in 0..100 {
            if counted.0 + counted.1 >= hits + misses {
                break;
            }
            thread::sleep(Duration::from_millis(100));
            counted = self.counts();
        }
        assert_eq!(counted, (hits, misses), "hits and misses");
        self.0.ask(&["--zero-stats"]);
    }

    fn counts(&self) -> (u64, u64) {
        let output = self.0.ask(&["--show-stats", "--stats-format", "json"]);
        let stats: serde_json::Value =
            serde_json::from_slice(&output.stdout).expect("sccache prints JSON");
        let sum = |name: &str| {
            let counts = stats["stats"][name]["counts"].as_object().expect("it counts by language");
            counts.values().map(|count| count.as_u64().expect("a count is a number")).sum()
        };
        (sum("cache_hits"), sum("cache_misses"))
    }
}

#[test(CACHE.slow())]
fn a_second_build_is_all_hits() {
    let scenario =
        package("launcher_hits", r#"["gfx90a", "gfx1100", "sm_80", "compute_90", "cpu"]"#);
    let sccache = Sccache::new(&scenario);
    let pack = || read(scenario.output("debug", "add.pack"));
    // sccache does not support ptxas with `-g`, so the build has no debug information.
    let build = || scenario.build().env("CARGO_PROFILE_DEV_DEBUG", "false");
    build().passes();
    let plain = pack();

    // sccache counts five runs: one compiler for each of the four GPU targets, and ptxas. sccache
    // does not cache the LLVM IR for the CPU's image.
    for (hits, misses) in [(0, 5), (5, 0)] {
        forget(&scenario);
        build().envs(sccache.variables()).passes();
        sccache.expect(hits, misses);
        assert!(pack() == plain, "another pack than without a launcher");
    }

    // A launcher is not an input of images. A build without a launcher keeps the images from a
    // build with one.
    let made = || scenario.output_time("debug", "add/gfx90a.hsaco");
    let before = made();
    scenario.touch_build_script();
    build().passes();
    assert_eq!(made(), before, "compiled again because there is no launcher now");
}

#[test(CACHE.slow())]
fn a_header_counts_under_a_cache() {
    let scenario = package("launcher_header", r#"["gfx90a", "compute_80", "cpu"]"#);
    let sccache = Sccache::new(&scenario);
    let ptx = || {
        scenario.build().envs(sccache.variables()).passes();
        scenario.output_text("debug", "add/compute_80.ptx")
    };
    // The PTX notations for 1.0f and 2.0f.
    let (one, two) = ("0f3F800000", "0f40000000");
    assert!(ptx().contains(one));
    forget(&scenario);
    assert!(ptx().contains(one));
    sccache.expect(2, 2);
    // After a build from the cache, Cargo must track the header just as after a build with the
    // compiler.
    scenario.write("include/value.h", "#define VALUE 2.0f\n");
    assert!(ptx().contains(two));
    sccache.expect(0, 2);
    scenario.write("include/value.h", "#define VALUE 1.0f\n");
    assert!(ptx().contains(one));
    sccache.expect(2, 0);
}

#[test(CACHE)]
fn an_error_is_the_compilers_own() {
    let scenario = package("launcher_error", r#"["gfx90a"]"#);
    scenario.write("include/value.h", "#define VALUE undefined_name\n");
    let sccache = Sccache::new(&scenario);
    scenario
        .build()
        .envs(sccache.variables())
        .fails()
        .once("error: use of undeclared identifier 'undefined_name'")
        .has("include/value.h:1:15: ")
        // The message must show the command that ran.
        .has("the command was\n    ")
        .has("/scripts/sccache /");
}
