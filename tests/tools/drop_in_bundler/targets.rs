//! Tests of the spelling of targets, and of the reasons why an entry does not fit a target.

use super::{GFX906, HOST, bundler, reading, written};
use offload_tests::registry::LLVM;
use offload_tests::side_by_side::Whose;

#[test(LLVM.slow())]
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

/// Only LLVM builds with assertions have `-debug-only`, and no distribution ships such builds. So
/// the expected texts come from LLVM's tests.
#[test(LLVM)]
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
