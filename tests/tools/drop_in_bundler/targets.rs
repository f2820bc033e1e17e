//! Tests of targets: their spelling, and which entry serves which target.

use super::{GFX906, HOST, bundler};
use offload_tests::registry::LLVM;
use offload_tests::side_by_side::Whose;

offload_tests::tests! {
    LLVM => [wrong_targets, spellings_of_targets, which_entry_serves, compatibility_is_explained],
}

fn wrong_targets() {
    let inputs = |targets: &str| {
        let count = targets.split(',').count();
        let (inputs, outputs) = (" -input=one".repeat(count), " -output=x".repeat(count));
        [
            format!("-type=bc -targets={targets}{inputs} -output=x"),
            format!("-type=bc -unbundle -targets={targets} -input=one{outputs}"),
        ]
    };
    let lists = [
        "",
        "host",
        "host-x86_64-unknown-linux",
        "hip-amdgcn-amd-amdhsa",
        &format!("{HOST},,{GFX906}"),
        &format!("{HOST},{HOST}"),
        &format!("{HOST},{GFX906},{GFX906}"),
        "foo-x-y-z-w",
        "hip-x-y-z-w",
        "HIP-amdgcn-amd-amdhsa--gfx906",
        "cuda-nvptx64-nvidia-cuda--sm_70",
        "sycl-spir64-unknown-unknown-",
        &format!("{HOST},openmp-xxx-amd-amdhsa--gfx906"),
        &format!("{GFX906},{GFX906}:xnack+"),
        &format!("{HOST},{GFX906}:xnack+,{GFX906}"),
        &format!("{HOST},{GFX906}:sramecc+,{GFX906}:xnack+"),
        &format!("{GFX906},openmp-amdgcn-amd-amdhsa--gfx906"),
        &format!("{HOST},host-i386-pc-linux-gnu-"),
        &format!("{HOST},host-i386-pc-linux-gnu-,{GFX906}"),
    ];
    for targets in lists {
        for line in inputs(targets) {
            assert!(!bundler(&line).assert_same().succeeded(), "{line}");
        }
    }
}

fn spellings_of_targets() {
    for target in [
        "hip-amdgcn-amd-amdhsa--gfx906",
        "hip-amdgcn-amd-amdhsa-unknown-gfx906",
        "hip-amdgcn-amd-amdhsa-",
        "hip-amdgcn-amd-amdhsa--",
        "hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-",
        "hipv4-amdgcn-amd-amdhsa--gfx9-4-generic:xnack+",
        "hip-amdgcn-amd-amdpal--gfx906",
        "hip-spirv64-amd-amdhsa-unknown-amdgcnspirv",
        "hip-amdgcn---",
        "hip-amdgcn-x-y-z-",
    ] {
        let line = format!("-type=bc -targets={target} -input=one -output=x");
        assert!(bundler(&line).assert_same().succeeded(), "{line}");
    }
    for target in [
        "openmp-nvptx64-nvidia-cuda--sm_70",
        "openmp-nvptx64-nvidia-cuda-unknown-sm_90a",
        "host-x86_64--linux-gnu",
        "host-arm64-apple-darwin-",
        "host-x86_64-pc-win32-",
        "host-x86_64-pc-mingw32-",
    ] {
        let (host, device) = if target.starts_with("host") {
            (target, "openmp-nvptx64-nvidia-cuda--sm_70")
        } else {
            (HOST, target)
        };
        let line = format!("-type=ii -targets={host},{device} -input=host -input=one -output=x");
        assert!(bundler(&line).assert_same().succeeded(), "{line}");
    }
}

fn which_entry_serves() {
    let provided = [
        "hip-amdgcn-amd-amdhsa--gfx906",
        "hip-amdgcn-amd-amdhsa--gfx90a:xnack+",
        "hip-amdgcn-amd-amdhsa--gfx9-generic",
        "openmp-amdgcn-amd-amdhsa--gfx908",
        "openmp-nvptx64-nvidia-cuda--sm_70",
        "hipv4-amdgcn-amd-amdhsa--gfx942",
    ];
    let requested = [
        "hip-amdgcn-amd-amdhsa--gfx906",
        "hipv4-amdgcn-amd-amdhsa--gfx906",
        "hip-amdgcn-amd-amdhsa-unknown-gfx906:xnack+",
        "hip-amdgcn-amd-amdhsa--gfx90a",
        "hip-amdgcn-amd-amdhsa--gfx90a:xnack-",
        "hip-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack+",
        "hip-amdgcn-amd-amdhsa--gfx900",
        "hip-amdgcn-amd-amdhsa--gfx908",
        "openmp-amdgcn-amd-amdhsa--gfx906",
        "openmp-amdgcn-amd-amdhsa--gfx942:sramecc-",
        "openmp-nvptx64-nvidia-cuda--sm_70",
        "openmp-nvptx64-nvidia-cuda--sm_80",
        "openmp-amdgcn-amd-amdpal--gfx908",
        "host-aarch64-unknown-linux-gnu-",
    ];
    let mut found = 0;
    for entry in provided {
        let line = format!("-type=bc -targets={HOST},{entry} -input=host -input=one -output=x");
        let bundle = bundler(&line).run(Whose::Llvm).file("x").to_vec();
        for target in requested {
            for option in ["", "-hip-openmp-compatible"] {
                let line =
                    format!("-type=bc -unbundle {option} -targets={target} -input=x -output=y");
                found +=
                    usize::from(bundler(&line).file("x", bundle.clone()).assert_same().succeeded());
            }
        }
    }
    // `found` counts successes: two for each pair that fits without `-hip-openmp-compatible`, and
    // one for each pair that fits only with this option.
    assert!(found > 12, "{found} of them fit");
}

/// LLVM has `-debug-only` only in builds with assertions, which no distribution ships, so the
/// expected texts come from LLVM's tests.
fn compatibility_is_explained() {
    let targets = format!("{HOST},{GFX906},hip-amdgcn-amd-amdhsa--gfx90a:xnack+");
    let line = format!("-type=bc -targets={targets} -input=host -input=one -input=two -output=x");
    let bundle = bundler(&line).run(Whose::Llvm).file("x").to_vec();
    let explain = |target: &str, entry: &str| {
        let line = format!(
            "-type=bc -unbundle -allow-missing-bundles -debug-only=CodeObjectCompatibility -targets={target} -input=x -output=y"
        );
        let ran = bundler(&line).file("x", bundle.clone()).run(Whose::Ours);
        let entry = format!("[CodeObject: {entry}]\t:\t[Target: ");
        let said = ran.stderr.lines().find(|line| line.contains(&entry)).map(str::to_owned);
        said.unwrap_or_else(|| panic!("{entry} is in {}", ran.stderr))
    };
    let fat = "hip-amdgcn-amd-amdhsa--gfx90a:xnack+";
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
        let said = explain(target, entry);
        assert_eq!(said, format!("{expected}[CodeObject: {entry}]\t:\t[Target: {target}]"));
    }
}
