//! `OFFLOAD_SKIP=1` and docs.rs: no compiler starts, the program builds, and `select` reports that
//! the pack was not built.

use super::{MIXED, with_pack};
use crate::sources::{FORBID, pack};
use offload_tests::prelude::*;

#[test(CLANG)]
fn nothing_is_compiled_when_told_to_skip() {
    let scenario = Scenario::without_sources("embed_skip");
    let main = r#"
use offload_gpu::{ComputeCapability, DeviceInfo};
fn main() {
    println!("{} images in {} bytes, {:?}", KERNELS.images().len(), KERNELS.bytes().len(), KERNELS.absent());
    let a100 = DeviceInfo::cuda(ComputeCapability { major: 8, minor: 0 }, 12080);
    for device in [DeviceInfo::parse("gfx90a").unwrap(), a100, DeviceInfo::cpu()] {
        println!("{}", KERNELS.select(&device).unwrap_err());
    }
}
"#;
    with_pack(&scenario)
        .write("src/main.rs", format!("{FORBID}{}{main}", pack("KERNELS", "\"kernels\"")));
    let log = scenario.folder.join("calls");
    let compiler =
        scenario.script("compiler", &format!("echo \"$0 $*\" >> '{}'\nexit 1", log.display()));
    let run = |variable: &str, value: &str| {
        let compilers = ["OFFLOAD_CLANG", "OFFLOAD_PTXAS", "CXX"].map(|name| (name, &compiler));
        MIXED.set(scenario.run()).envs(compilers).without(&["DOCS_RS"]).env(variable, value)
    };
    for (variable, why) in
        [("OFFLOAD_SKIP", "OFFLOAD_SKIP was set"), ("DOCS_RS", "docs.rs has no GPU compilers")]
    {
        let printed = run(variable, "1").passes();
        assert!(!log.exists(), "{variable}: a compiler was started");
        let mut expected = format!("0 images in 0 bytes, Some({why:?})\n");
        for device in ["gfx90a", "sm_80 (CUDA driver 12.8)", "the CPU"] {
            expected += &format!("no image for {device}: the pack was not built: {why}\n");
        }
        assert_eq!(printed.stdout, expected, "{variable}");
    }
    // The value 0 counts as unset. So this build starts the script that replaces the compilers, and
    // fails.
    run("OFFLOAD_SKIP", "0").fails();
    assert!(log.exists(), "no compiler was started");
}
