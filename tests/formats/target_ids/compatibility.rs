//! Compares the bundle entry selected for a target with LLVM 22's `clang-offload-bundler`.

use super::{some_target, words};
use offload_format::bundle::{BundleBuilder, Compatibility, EntryId};
use offload_format::target::TargetTriple;
use offload_tests::bundler::{bundler, targets};
use offload_tests::prelude::*;

/// Whether `-unbundle` finds a target in a bundle with one entry.
fn unbundle(folder: &Path, provided: &str, requested: &str, options: &str) -> bool {
    let mut builder = BundleBuilder::new();
    builder.entry(provided, 1).unwrap_or_else(|error| panic!("{provided}: {error}"));
    scratch::write(folder.join("bundle"), builder.layout().to_vec(&[b"x"]));
    let options = format!("-type=bc -unbundle -input=bundle -output=out {options}");
    let output = bundler(folder, &options).arg(targets([requested])).output().unwrap();
    let (found, message) = (output.status.success(), stderr(&output));
    assert!(
        found || message.contains("Can't find bundles for"),
        "{provided} {requested}: {message}"
    );
    found
}

fn our_answer(provided: &str, requested: &str, hip_openmp_compatible: bool) -> Compatibility {
    let [provided, requested] = [provided, requested].map(|id| EntryId::parse_strict(id).unwrap());
    provided.provides_for(&requested, hip_openmp_compatible)
}

/// Tests triples in which one or two fields are replaced by similar values, some of which mean the
/// same.
#[test(LLVM.slow())]
fn triples_that_go_together() {
    const ALIKE: [&[&str]; 4] = [
        &[
            "arm64 aarch64 arm64e arm64_32 aarch64_32 aarch64v8a aarch64_be",
            "arm thumb armv7 thumbv7 armv7a armv7r thumbv7m armv7k armeb thumbeb armebv7",
            "i386 i686 x86_64 amd64 x86_64h",
            "mips mipsr6 mipsel mips64 mipsn32 mips64r6",
            "powerpc ppc powerpcspe powerpc64 ppc64le",
            "spirv spirv1.5 spirv1.6 spirv64 spirv64v1.1",
            "amdgcn r600 spirv64",
            "nvptx nvptx64",
        ],
        &["pc unknown w64 apple", "amd mesa nvidia unknown", "scei sie"],
        &[
            "linux linux6.1 freebsd freebsd14 unknown none",
            "windows win32 mingw32 cygwin uefi",
            "macosx14.0 macos macosx13.0 darwin ios ios17 tvos visionos xros1",
            "amdhsa amdhsa1.2 amdpal mesa3d",
            "wasi wasip1 wasip2",
            "cuda nvcl",
        ],
        &[
            "gnu gnu2.36 gnux32 gnueabi gnueabihf musl muslx32 unknown",
            "msvc msvc19.33 gnu cygnus itanium",
            "android android21 androideabi androideabi21 gnu",
            "simulator macabi unknown foo",
            "elf coff macho gnuelf gnu unknown",
        ],
    ];
    let folder = scratch::folder("target-ids-triples");
    let mut random = Random::new(2);
    let mut answers = BTreeMap::new();
    for round in 0..400 {
        let groups: [Vec<&str>; 4] = ALIKE.map(|groups| words(random.pick(groups)));
        let mut fields: [&str; 4] = [0, 1, 2, 3].map(|at| random.pick(&groups[at]));
        let provided = fields.join("-");
        for _ in 0..=round % 2 {
            let at = random.below(4);
            fields[at] = random.pick(&groups[at]);
        }
        let requested = fields.join("-");
        let (a, b) = (format!("openmp-{provided}"), format!("openmp-{requested}"));
        // Skip two known differences. LLVM drops a part of the triple next to `windows`, but this
        // library keeps that part. LLVM treats two vendors as equal, but only in one direction.
        let is_windows = |it: &String| it.contains("win32") || it.contains("windows");
        let is_other = ["elf", "foo"].iter().any(|it| groups[3].contains(it));
        if [&provided, &requested].into_iter().any(is_windows)
            && (is_other || provided.contains("apple"))
        {
            continue;
        }
        let found = unbundle(&folder, &a, &b, "");
        let expected = if found { Compatibility::Exact } else { Compatibility::KindOrTriple };
        assert_eq!(our_answer(&a, &b, false), expected, "{a} {b}");
        let [provided, requested] = [provided, requested]
            .map(|text| EntryId::parse(&format!("x-{text}")).unwrap().triple().to_string());
        let [provided, requested] =
            [&provided, &requested].map(|text| TargetTriple::parse(text).unwrap());
        assert_eq!(provided.is_compatible_with(&requested), found);
        assert_eq!(requested.is_compatible_with(&provided), found);
        *answers.entry(found).or_insert(0) += 1;
    }
    assert!(answers[&true] > 50, "{answers:?}");
    assert!(answers[&false] > 50, "{answers:?}");
}

#[test(LLVM.slow())]
fn code_objects_that_serve_a_target() {
    let folder = scratch::folder("target-ids-code-objects");
    let mut random = Random::new(3);
    let mut answers = BTreeMap::new();
    for _ in 0..600 {
        let processors = random.pick(&[
            &["gfx906", "gfx90a", ""][..],
            &["gfx90a"],
            &["gfx906"],
            &["gfx900", "gfx9-generic"],
            &["gfx1030"],
        ]);
        let hsa = "amdgcn-amd-amdhsa-";
        let (triples, processors) = match random.below(8) {
            0 => (&["nvptx64-nvidia-cuda-"][..], &["sm_70", "sm_80", "sm_70"][..]),
            1 => (&["spirv64-amd-amdhsa-"][..], &["amdgcnspirv", "gfx906"][..]),
            _ => (&[hsa, hsa, hsa, "amdgcn-amd-amdhsa1.2-", "amdgcn-amd-amdpal-"][..], processors),
        };
        let mut some_id = || {
            let kind = random.pick(&["hip", "hipv4", "hipv4", "openmp"]);
            let target = some_target(&mut random, processors);
            // Features without a processor do not form a target ID. LLVM drops such features, but
            // we refuse to write them.
            let target = if target.starts_with(':') { "" } else { &target };
            format!("{kind}-{}-{target}", random.pick(triples))
        };
        let (provided, requested) = (some_id(), some_id());
        let hip_openmp = random.below(3) == 0;
        let options = if hip_openmp { "-hip-openmp-compatible" } else { "" };
        let ours = our_answer(&provided, &requested, hip_openmp);
        let found = unbundle(&folder, &provided, &requested, options);
        assert_eq!(ours.is_compatible(), found, "{provided} for {requested} {options}: {ours}");
        *answers.entry(ours.to_string()).or_insert(0) += 1;
    }
    assert_eq!(answers.len(), 7, "all answers are seen: {answers:?}");
}
