//! Tests of targets: their spelling, and which entry serves which target.

use super::{GFX906, HOST, bundler, reading, written};
use offload_tests::registry::LLVM;
use offload_tests::side_by_side::Whose;

offload_tests::tests! {
    LLVM => [compatibility_is_explained],
    LLVM.slow() => [wrong_targets, which_entry_serves],
}

fn wrong_targets() {
    const WRONG: &str = " host host-x86_64-unknown-linux hip-amdgcn-amd-amdhsa HOST,,GFX906 HOST,HOST \
        HOST,GFX906,GFX906 foo-x-y-z-w hip-x-y-z-w HIP-amdgcn-amd-amdhsa--gfx906 \
        cuda-nvptx64-nvidia-cuda--sm_70 sycl-spir64-unknown-unknown- \
        HOST,openmp-xxx-amd-amdhsa--gfx906 GFX906,GFX906:xnack+ HOST,GFX906:xnack+,GFX906 \
        HOST,GFX906:sramecc+,GFX906:xnack+ GFX906,openmp-amdgcn-amd-amdhsa--gfx906 \
        HOST,host-i386-pc-linux-gnu- HOST,host-i386-pc-linux-gnu-,GFX906";
    for targets in WRONG.split(' ') {
        let count = targets.split(',').count();
        let (inputs, outputs) = (" -input=one".repeat(count), " -output=x".repeat(count));
        for rest in [format!("{inputs} -output=x"), format!(" -unbundle -input=one{outputs}")] {
            bundler(&format!("-type=bc -targets={targets}{rest}")).assert_same().failure("");
        }
    }
}

fn which_entry_serves() {
    let mut provided = [
        "hip-amdgcn-amd-amdhsa--gfx906",
        "hip-amdgcn-amd-amdhsa--gfx90a:xnack+",
        "hip-amdgcn-amd-amdhsa--gfx9-generic",
        "openmp-amdgcn-amd-amdhsa--gfx908",
        "openmp-nvptx64-nvidia-cuda--sm_70",
        "hipv4-amdgcn-amd-amdhsa--gfx942",
    ];
    const REQUESTED: &str = "hip-amdgcn-amd-amdhsa--gfx906 hipv4-amdgcn-amd-amdhsa--gfx906 \
        hip-amdgcn-amd-amdhsa-unknown-gfx906:xnack+ hip-amdgcn-amd-amdhsa--gfx90a \
        hip-amdgcn-amd-amdhsa--gfx90a:xnack- hip-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack+ \
        hip-amdgcn-amd-amdhsa--gfx900 hip-amdgcn-amd-amdhsa--gfx908 \
        openmp-amdgcn-amd-amdhsa--gfx906 openmp-amdgcn-amd-amdhsa--gfx942:sramecc- \
        openmp-nvptx64-nvidia-cuda--sm_70 openmp-nvptx64-nvidia-cuda--sm_80 \
        openmp-amdgcn-amd-amdpal--gfx908 host-aarch64-unknown-linux-gnu-";
    // Each target fits at most one entry. If a tool took a wrong entry, it would take this entry in
    // one of the two orders, whether a right one is there or not.
    let mut found = 0;
    for _ in 0..2 {
        provided.reverse();
        let inputs: String = (0..6).map(|number| format!(" -input=entry{number}")).collect();
        let line = format!("-type=bc -targets=HOST,{} -input=host", provided.join(","));
        let case = bundler(&format!("{line}{inputs} -output=x"));
        let bundle = written(
            &provided
                .iter()
                .enumerate()
                .fold(case, |case, (number, entry)| case.file(format!("entry{number}"), *entry)),
        );
        for target in REQUESTED.split(' ') {
            for option in ["", "-hip-openmp-compatible"] {
                let line = format!("-type=bc -unbundle {option} -targets={target} -output=y");
                found += u32::from(reading(bundle.clone(), &line).assert_same().succeeded());
            }
        }
    }
    // In each order, `found` counts two for each target that fits without
    // `-hip-openmp-compatible`, and one for each that fits only with this option.
    assert!(found > 24, "{found} of them fit");
}

/// LLVM has `-debug-only` only in builds with assertions, which no distribution ships, so the
/// expected texts come from LLVM's tests.
fn compatibility_is_explained() {
    let fat = "hip-amdgcn-amd-amdhsa--gfx90a:xnack+";
    let line = format!("-type=bc -targets=HOST,GFX906,{fat} -input=host -input=one -input=two");
    let bundle = written(&bundler(&format!("{line} -output=x")));
    for (target, entry, expected) in [
        (GFX906, GFX906, "Compatible: Exact match: \t"),
        (
            "hip-amdgcn-amd-amdhsa--gfx906:xnack+",
            GFX906,
            "Compatible: Target IDs are compatible \t",
        ),
        (GFX906, HOST, "Incompatible: Kind/Triple mismatch \t"),
        ("hip-amdgcn-amd-amdhsa--gfx908", GFX906, "Incompatible: Processor mismatch \t"),
        (
            "hip-amdgcn-amd-amdhsa--gfx90a",
            fat,
            "Incompatible: CodeObject has more features than target \t",
        ),
        (
            "hip-amdgcn-amd-amdhsa--gfx90a:sramecc+",
            fat,
            "Incompatible: Value of CodeObject's non-ANY feature is not matching with Target feature's ANY value \t",
        ),
        (
            "hip-amdgcn-amd-amdhsa--gfx90a:xnack-",
            fat,
            "Incompatible: Value of CodeObject's non-ANY feature is not matching with Target feature's non-ANY value \t",
        ),
    ] {
        let options =
            "-type=bc -unbundle -allow-missing-bundles -debug-only=CodeObjectCompatibility";
        let line = format!("{options} -targets={target} -output=y");
        let said = reading(bundle.clone(), &line).run(Whose::Ours).stderr;
        let pair = format!("[CodeObject: {entry}]\t:\t[Target: ");
        let line = said.lines().find(|line| line.contains(&pair));
        assert_eq!(line, Some(&*format!("{expected}{pair}{target}]")), "{said}");
    }
}
