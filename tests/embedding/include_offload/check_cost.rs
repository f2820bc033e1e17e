//! Tests that `cargo check` does not read or write more bytes for a larger image. Linux counts the
//! bytes of the compiler and its child processes.

use super::image;
use crate::sources::{FORBID, pack};
use offload_tests::prelude::*;

#[test]
fn checking_costs_no_more_for_a_larger_image() {
    const LARGE: usize = 64 << 20;
    let scenario = Scenario::without_sources("include_cost");
    scenario
        .pack("large", r#".file("src/files/large.hsaco").archs(["gfx90a"])"#)
        .write("src/lib.rs", format!("{FORBID}{}", pack("A", "\"large\"")));
    let wrapper = scenario.script(
        "wrapper",
        "\"$@\" || exit\ncase \" $* \" in *' --crate-name include_cost '*) cat /proc/$$/io > io ;; esac",
    );
    let cost = |more: usize| {
        let mut bytes = image("saxpy.gfx90a.hsaco");
        bytes.resize(bytes.len() + more, 1);
        scenario.write("src/files/large.hsaco", bytes);
        // The dependencies are already compiled, so Cargo uses the wrapper only for this package.
        scenario.check().arg("--lib").env("RUSTC_WORKSPACE_WRAPPER", &wrapper).passes();
        let io = scenario.text("io");
        let number = |name: &str| {
            let line = io.lines().find_map(|line| line.strip_prefix(name)).expect("Linux counts");
            line.trim_start_matches(':').trim().parse::<usize>().expect("a number")
        };
        number("rchar") + number("wchar")
    };
    let (small, large) = (cost(0), cost(LARGE));
    assert!(small > 0, "nothing was counted");
    let is_as_cheap = large < small + (1 << 20);
    assert!(is_as_cheap, "{small} bytes for a small image, {large} for one of {LARGE} more");
}
