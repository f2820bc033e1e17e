//! Target triples, bundle entry IDs and target IDs beside LLVM 22: how they are written, which serves which, and what may
//! stand together.
//!
//! Everything is generated, the same in every run. Where we differ on purpose (docs/llvm-differences.md) a test says so.

use offload_format::bundle::{Bundle, BundleBuilder, Compatibility, Composition, EntryId};
use offload_format::target::amdgpu::{PROCESSORS, Processor};
use offload_format::target::{NvidiaArch, TargetId, TargetTriple};
use offload_tests::data::Random;
use offload_tests::registry::LLVM;
use offload_tests::scratch;
use offload_tests::tools::{llvm, stderr, succeed};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Output;

offload_tests::tests! {
    LLVM => [
        every_known_name_in_its_place,
        generated_triples,
        names_of_gpus,
        what_the_tool_refuses,
        triples_that_go_together,
        code_objects_that_serve_a_target,
        targets_that_may_not_stand_together,
        archives_with_conflicts,
        target_ids_that_clang_takes,
        target_ids_that_clang_refuses,
    ],
}

// ------------------------------------------------------------------------------------------------------------ spellings

const ARCHITECTURES: &str = "aarch64 aarch64_32 aarch64_be amd64 amdgcn amdil amdil64 arc arm arm64 arm64_32 arm64e \
    arm64ec armeb armebv7 armv4t armv5te armv6 armv6hl armv6m armv7 armv7a armv7aeb armv7k armv7s armv8.1m.main armv8a \
    armv9.6a avr bpf bpf_be bpf_le bpfeb bpfel csky dxil dxilv1.3 dxilv1.9 hexagon hsail hsail64 i386 i486 i586 i686 i786 \
    i886 i986 kalimba kalimba4 lanai loongarch32 loongarch64 m68k mips mips64 mips64eb mips64el mips64r6 mips64r6el \
    mipsallegrex mipsallegrexel mipseb mipsel mipsisa32r6 mipsisa32r6el mipsisa64r6 mipsisa64r6el mipsn32 mipsn32el \
    mipsn32r6 mipsn32r6el mipsr6 mipsr6el msp430 nvptx nvptx64 powerpc powerpc64 powerpc64le powerpcle powerpcspe ppc \
    ppc32 ppc32le ppc64 ppc64le ppcle ppu r600 renderscript32 renderscript64 riscv32 riscv32be riscv64 riscv64be s390x \
    shave sparc sparc64 sparcel sparcv9 spir spir64 spirv spirv1.5 spirv1.6 spirv32 spirv32v1.2 spirv64 spirv64v1.6 \
    systemz tce tcele thumb thumbeb thumbv6m thumbv7em ve wasm32 wasm64 x86_64 x86_64h xcore xscale xscaleeb xtensa";

const NO_ARCHITECTURES: &str = "x86 x64 riscv riscv64gc amdgpu nvptx32 arm64v arm64_64 armvx armebv7eb thumbv3 aarch64eb \
    bpfx spirv1.4 spirv64v1.7 dxilv1.10 powerpc32 mips32 wasm AMDGCN gfx906 linux amd unknown pe";

const VENDORS: &str = "amd apple csr fsl ibm img intel mesa meta mti nvidia oe pc scei sie suse w64 unknown none foo";

const SYSTEMS: &str = "aix amdhsa amdhsa1.2 amdpal bridgeos cheriotrtos cuda cygwin cygwin1.7 darwin darwin20.1 dragonfly \
    driverkit elfiamcu emscripten freebsd14.1 fuchsia haiku hermit hurd ios ios17.0 kfreebsd linux liteos lv2 macos \
    macosx14.0.0 managarm mesa3d mingw32 mingw64 netbsd nvcl openbsd ps4 ps5 rtems serenity shadermodel shadermodel6.3 \
    shadermodel6.x shadermodel5.1 solaris tvos uefi visionos vulkan1.3 wasi wasip1 wasip2 wasip3 watchos win32 windows \
    xros zos nacl firmware illumos none unknown foo";

const ENVIRONMENTS: &str = "amplification android android21 androideabi androideabi19 anyhit callable closesthit code16 \
    compute coreclr cygnus domain eabi eabihf geometry gnu gnuabi64 gnuabin32 gnueabi gnueabihf gnueabihft64 gnueabit64 \
    gnuf32 gnuf64 gnusf gnut64 gnux32 gnu_ilp32 hull intersection itanium library llvm macabi mesh miss mlibc msvc \
    msvc19.33 mtia musl muslabi64 muslabin32 musleabi musleabihf muslf32 muslsf muslwali muslx32 ohos opencl pauthtest \
    pixel raygeneration rootsignature simulator vertex gnuelf";

/// What may stand in an environment's place and is none.
const NO_ENVIRONMENTS: &str = "coff elf goff macho spirv wasm xcoff fooelf uclibc softfloat unknown none foo";

fn words(list: &str) -> Vec<&str> {
    list.split_ascii_whitespace().collect()
}

/// Lets the bundler write one bundle with all these entries, and returns the IDs that it wrote.
fn written(folder: &Path, ids: &[String]) -> Vec<String> {
    scratch::write(folder.join("targets"), format!("-targets={}", ids.join(",")));
    let mut tool = llvm("clang-offload-bundler");
    tool.current_dir(folder).args(["-type=bc", "-output=bundle", "@targets"]);
    succeed(tool.args(ids.iter().map(|_| "-input=/dev/null")));
    let bundle = fs::read(folder.join("bundle")).unwrap();
    Bundle::parse(&bundle).unwrap().entries().map(|entry| entry.id_str().to_owned()).collect()
}

/// The bundler writes these entries under the IDs that are canonical for us.
fn compare_spellings(name: &str, ids: impl IntoIterator<Item = String>) {
    let folder = scratch::folder(&format!("target-ids-{name}"));
    let distinct: BTreeSet<String> = ids.into_iter().collect();
    let ids: Vec<String> = ["host-x86_64-unknown-linux-gnu".to_owned()].into_iter().chain(distinct).collect();
    let mut differences = Vec::new();
    for batch in ids.chunks(1000) {
        // One host entry in each bundle.
        let batch: Vec<String> = ids[..1].iter().chain(&batch[usize::from(batch[0] == ids[0])..]).cloned().collect();
        let theirs = written(&folder, &batch);
        assert_eq!(theirs.len(), batch.len());
        for (id, theirs) in batch.iter().zip(theirs) {
            let entry = EntryId::parse_strict(id).unwrap();
            assert!(entry.triple().is_known() && entry.is_known_kind(), "{id}: the tool takes it");
            if entry.to_canonical() != theirs && !is_meant_to_differ(id, &entry, &theirs) {
                differences.push(format!("{id}: {} for us, {theirs} for LLVM", entry.to_canonical()));
            }
        }
    }
    assert!(differences.is_empty(), "{} of {}:\n{}", differences.len(), ids.len(), differences.join("\n"));
}

/// docs/llvm-differences.md: `amdhsa` in another's place, and names beside `windows` that LLVM drops.
fn is_meant_to_differ(id: &str, entry: &EntryId, theirs: &str) -> bool {
    let ours = entry.triple();
    let (our_text, third) = (entry.to_canonical(), id.split('-').nth(3).unwrap());
    let up_to_system = |text: &str| text.splitn(5, '-').take(4).collect::<Vec<_>>().join("-");
    let misplaced_amdhsa = ours.is_amdhsa() && !third.starts_with("amdhsa");
    let dropped = ours.os == "windows" && !words(ENVIRONMENTS).contains(&ours.env);
    (misplaced_amdhsa || dropped) && up_to_system(&our_text) == up_to_system(theirs)
}

fn every_known_name_in_its_place() {
    let mut ids = Vec::new();
    for arch in words(ARCHITECTURES) {
        ids.push(format!("openmp-{arch}-unknown-linux-gnu"));
        ids.push(format!("openmp-{arch}---"));
    }
    for vendor in words(VENDORS) {
        ids.push(format!("openmp-x86_64-{vendor}-linux-gnu"));
        ids.push(format!("openmp-x86_64-linux-{vendor}-"));
    }
    for system in words(SYSTEMS) {
        ids.push(format!("openmp-x86_64-pc-{system}-"));
        ids.push(format!("openmp-x86_64-{system}--gnu"));
        ids.push(format!("openmp-dxil--{system}-library"));
    }
    for environment in words(ENVIRONMENTS).into_iter().chain(words(NO_ENVIRONMENTS)) {
        ids.push(format!("openmp-x86_64-pc-linux-{environment}"));
        ids.push(format!("openmp-arm-suse-linux-{environment}"));
        ids.push(format!("openmp-thumbv7em-none-{environment}-"));
    }
    compare_spellings("names", ids);
}

/// Triples whose fields hold what belongs there, or what belongs elsewhere, or nothing.
fn some_triple(random: &mut Random) -> String {
    let fields = [words(VENDORS), words(SYSTEMS), [words(ENVIRONMENTS), words(NO_ENVIRONMENTS)].concat()];
    let mut triple = random.pick(&words(ARCHITECTURES)).to_string();
    for own in &fields {
        let from = if random.below(5) < 3 { own } else { &fields[random.below(3)] };
        triple += "-";
        if random.below(8) > 0 {
            triple += random.pick(from);
        }
    }
    triple
}

fn generated_triples() {
    let mut random = Random::new(1);
    compare_spellings("triples", (0..4000).map(|_| format!("openmp-{}", some_triple(&mut random))));
}

const NVIDIA: &str = "sm_20 sm_21 sm_30 sm_32 sm_35 sm_37 sm_50 sm_52 sm_53 sm_60 sm_61 sm_62 sm_70 sm_72 sm_75 sm_80 sm_86 \
    sm_87 sm_88 sm_89 sm_90 sm_90a sm_100 sm_100a sm_101 sm_101a sm_103 sm_103a sm_110 sm_110a sm_120 sm_120a sm_121 \
    sm_121a";

/// The names that LLVM keeps as the start of a target ID: no other is dropped by us.
fn names_of_gpus() {
    let amd = processors_of_llvm_22().map(|row| format!("hip-amdgcn-amd-amdhsa--{}", row.name));
    let nvidia = words(NVIDIA).into_iter().map(|name| {
        assert_eq!(NvidiaArch::parse(name).unwrap().to_string(), name);
        format!("openmp-nvptx64-nvidia-cuda--{name}")
    });
    let others = [
        "hip-spirv64-amd-amdhsa--amdgcnspirv",
        "openmp-spirv64-intel-unknown--bmg_g21",
        "openmp-x86_64-pc-linux-gnu-graniterapids",
        "openmp-amdgcn-amd-amdhsa--generic",
        "hip-amdgcn-amd-amdpal--gfx90a:xnack+:sramecc-",
    ];
    compare_spellings("gpus", amd.chain(nvidia).chain(others.map(str::to_owned)));
}

/// What is wrong with an ID on the command line, by LLVM's message and by us.
fn what_the_tool_refuses() {
    let folder = scratch::folder("target-ids-refused");
    let mut ids: Vec<String> = words(NO_ARCHITECTURES).iter().map(|arch| format!("hip-{arch}-amd-amdhsa-")).collect();
    ids.extend(
        [
            "",
            "-",
            "---",
            "----",
            "-----",
            "hip",
            "hip-amdgcn-amd-amdhsa",
            "hip-amdgcn-amd-amdhsa-",
            "hip-amdgcn-amd-amdhsa--gfx9-4-generic",
            "host-x86_64-unknown-linux",
            "host-linux-x86_64--",
            "host--x86_64-linux-gnu",
            "-amdgcn-amd-amdhsa-",
            "cuda-nvptx64-nvidia-cuda--sm_70",
            "sycl-spirv64---",
            "hcc-amdgcn-amd-amdhsa--gfx900",
            "HIP-amdgcn-amd-amdhsa--gfx900",
            "hipv5-amdgcn-amd-amdhsa--gfx900",
            "foo-bar-amd-amdhsa--gfx900",
        ]
        .map(str::to_owned),
    );
    for id in ids {
        let mut tool = llvm("clang-offload-bundler");
        tool.current_dir(&folder).args(["-type=bc", "-input=/dev/null", "-output=out"]).arg(format!("-targets={id}"));
        let message = stderr(&tool.output().unwrap());
        let Ok(entry) = EntryId::parse_strict(&id) else {
            assert!(message.contains("Targets need to follow the format"), "{id}: {message}");
            continue;
        };
        assert!(!message.contains("Targets need to follow the format"), "{id}: {message}");
        assert_eq!(message.contains("unknown offloading kind"), !entry.is_known_kind(), "{id}: {message}");
        assert_eq!(message.contains("unknown target triple"), !entry.triple().is_known(), "{id}: {message}");
    }
}

// ------------------------------------------------------------------------------------------------------- compatibility

/// What `-unbundle` says of one target and a bundle with one entry.
fn unbundle(folder: &Path, provided: &str, requested: &str, options: &[&str]) -> bool {
    let mut builder = BundleBuilder::new();
    builder.entry(provided, 1).unwrap_or_else(|error| panic!("{provided}: {error}"));
    scratch::write(folder.join("bundle"), builder.layout().to_vec(&[b"x"]));
    let mut tool = llvm("clang-offload-bundler");
    tool.current_dir(folder).args(["-type=bc", "-unbundle", "-input=bundle", "-output=out"]).args(options);
    let output = tool.arg(format!("-targets={requested}")).output().unwrap();
    let message = stderr(&output);
    assert!(output.status.success() || message.contains("Can't find bundles for"), "{provided} {requested}: {message}");
    output.status.success()
}

fn our_answer(provided: &str, requested: &str, hip_openmp_compatible: bool) -> Compatibility {
    let [provided, requested] = [provided, requested].map(|id| EntryId::parse_strict(id).unwrap());
    provided.provides_for(&requested, hip_openmp_compatible)
}

/// One field exchanged for another that may mean the same.
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
        // What LLVM drops beside `windows` is kept by us; two vendors are the same for it in one direction.
        if [&provided, &requested].iter().any(|it| it.contains("win32") || it.contains("windows"))
            && (groups[3].contains(&"elf") || groups[3].contains(&"foo") || provided.contains("apple"))
        {
            continue;
        }
        let found = unbundle(&folder, &a, &b, &[]);
        let expected = if found { Compatibility::Exact } else { Compatibility::KindOrTriple };
        assert_eq!(our_answer(&a, &b, false), expected, "{a} {b}");
        let [provided, requested] =
            [provided, requested].map(|text| EntryId::parse(&format!("x-{text}")).unwrap().triple().to_string());
        let [provided, requested] = [&provided, &requested].map(|text| TargetTriple::parse(text).unwrap());
        assert_eq!(provided.is_compatible_with(&requested), found);
        assert_eq!(requested.is_compatible_with(&provided), found);
        *answers.entry(found).or_insert(0) += 1;
    }
    assert!(answers[&true] > 50 && answers[&false] > 50, "{answers:?}");
}

fn some_target(random: &mut Random, processors: &[&str]) -> String {
    let mut target = random.pick(processors).to_string();
    let mut features = vec!["sramecc", "xnack", "xnack", "sramecc", "foo"];
    for _ in 0..random.below(3) {
        let feature = features.swap_remove(random.below(features.len()));
        if !target.contains(feature) {
            target += &format!(":{feature}{}", random.pick(&["+", "-"]));
        }
    }
    target
}

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
        let amd = [
            "amdgcn-amd-amdhsa-",
            "amdgcn-amd-amdhsa-",
            "amdgcn-amd-amdhsa-",
            "amdgcn-amd-amdhsa1.2-",
            "amdgcn-amd-amdpal-",
        ];
        let other = ["nvptx64-nvidia-cuda-", "spirv64-amd-amdhsa-"];
        let (triples, processors) = match random.below(8) {
            0 => (&other[..1], &["sm_70", "sm_80", "sm_70"][..]),
            1 => (&other[1..], &["amdgcnspirv", "gfx906"][..]),
            _ => (&amd[..], processors),
        };
        let mut some_id = || {
            let kind = random.pick(&["hip", "hipv4", "hipv4", "openmp"]);
            let target = some_target(&mut random, processors);
            // Features of nothing are no target ID: LLVM drops them, and we refuse to write them.
            let target = if target.starts_with(':') { "" } else { &target };
            format!("{kind}-{}-{target}", random.pick(triples))
        };
        let (provided, requested) = (some_id(), some_id());
        let hip_openmp = random.below(3) == 0;
        let options: &[&str] = if hip_openmp { &["-hip-openmp-compatible"] } else { &[] };
        let ours = our_answer(&provided, &requested, hip_openmp);
        let found = unbundle(&folder, &provided, &requested, options);
        assert_eq!(ours.is_compatible(), found, "{provided} for {requested} {options:?}: {ours}");
        *answers.entry(ours.to_string()).or_insert(0) += 1;
    }
    assert_eq!(answers.len(), 7, "all answers are seen: {answers:?}");
}

// ---------------------------------------------------------------------------------------------------------- composition

/// Whether LLVM has overlooked this conflict: it compares with the first ID only, and in one direction.
fn is_overlooked(first: &str, second: &str) -> bool {
    let [first, second] = [first, second].map(|id| EntryId::parse(id).unwrap().target_id().unwrap());
    second.features().all(|(name, _)| first.features().any(|(other, _)| name == other))
}

fn targets_that_may_not_stand_together() {
    let folder = scratch::folder("target-ids-composition");
    let mut random = Random::new(4);
    let mut answers = BTreeMap::new();
    for _ in 0..300 {
        let mut ids = BTreeSet::new();
        for _ in 0..2 + random.below(3) {
            let kind = random.pick(&["hip", "hip", "hipv4"]);
            ids.insert(format!(
                "{kind}-amdgcn-amd-amdhsa--{}",
                some_target(&mut random, &["gfx906", "gfx906", "gfx90a"])
            ));
        }
        let mut ids: Vec<String> = ids.into_iter().collect();
        random.shuffle(&mut ids);
        let mut tool = llvm("clang-offload-bundler");
        tool.current_dir(&folder).args(["-type=bc", "-output=out"]).arg(format!("-targets={}", ids.join(",")));
        let output = tool.args(ids.iter().map(|_| "-input=/dev/null")).output().unwrap();
        let ours = Composition::find_conflict(ids.iter().map(String::as_str));
        match &ours {
            Some((first, second)) if is_overlooked(first, second) => {}
            Some((first, second)) => {
                let message = format!("Cannot bundle inputs with conflicting targets: '{first}' and '{second}'");
                assert!(stderr(&output).contains(&message), "{ids:?}\n{message}\n{}", stderr(&output));
            }
            None => assert!(output.status.success(), "{ids:?}: {}", stderr(&output)),
        }
        let mut builder = BundleBuilder::new();
        let refused = ids.iter().any(|id| builder.entry(id, 0).is_err());
        // Beside conflicts, two orders of the same features are one ID.
        let two_orders = ids.iter().enumerate().any(|(at, a)| ids[..at].iter().any(|b| same_to_the_last(a, b)));
        assert_eq!(refused, ours.is_some() || two_orders, "{ids:?}");
        *answers.entry((ours.is_some(), output.status.success())).or_insert(0) += 1;
    }
    assert_eq!(answers.len(), 3, "conflicts, overlooked conflicts and none: {answers:?}");
}

fn same_to_the_last(a: &str, b: &str) -> bool {
    let [a, b] = [a, b].map(|id| EntryId::parse(id).unwrap());
    a.kind() == b.kind() && a.target_id().unwrap().to_canonical() == b.target_id().unwrap().to_canonical()
}

/// `-check-input-archive` looks into each member by itself.
fn archives_with_conflicts() {
    let folder = scratch::folder("target-ids-archives");
    let check = |members: &[&[&str]]| -> Output {
        let mut archiver = llvm("llvm-ar");
        archiver.current_dir(&folder).args(["qcS", "lib.a"]);
        let _ = fs::remove_file(folder.join("lib.a"));
        for (number, ids) in members.iter().enumerate() {
            // The tool would not write them together, and neither would we: entries without code objects, one after another.
            let mut bytes = Vec::new();
            bytes.extend_from_slice(b"__CLANG_OFFLOAD_BUNDLE__");
            bytes.extend_from_slice(&(ids.len() as u64).to_le_bytes());
            for id in *ids {
                let id = format!("hip-amdgcn-amd-amdhsa--{id}");
                for field in [24, 0, id.len() as u64] {
                    bytes.extend_from_slice(&field.to_le_bytes());
                }
                bytes.extend_from_slice(id.as_bytes());
            }
            scratch::write(folder.join(format!("m{number}.bc")), bytes);
            archiver.arg(format!("m{number}.bc"));
        }
        succeed(&mut archiver);
        let mut tool = llvm("clang-offload-bundler");
        tool.current_dir(&folder).args(["-type=a", "-unbundle", "-check-input-archive", "-allow-missing-bundles"]);
        tool.args(["-input=lib.a", "-output=out.a", "-targets=hip-amdgcn-amd-amdhsa--gfx906"]).output().unwrap()
    };
    for members in [
        &[&["gfx906", "gfx906:xnack+"][..]][..],
        &[&["gfx906"], &["gfx906:xnack+"]],
        &[&["gfx906"], &["gfx908", "gfx90a:sramecc+", "gfx90a:xnack-", "gfx908:xnack+"]],
        &[&["gfx906:xnack+", "gfx906:xnack-"], &["gfx906"]],
        &[&["gfx9-generic", "gfx9-generic:xnack+"]],
    ] {
        let output = check(members);
        let conflict = members.iter().enumerate().find_map(|(number, ids)| {
            let ids: Vec<String> = ids.iter().map(|id| format!("hip-amdgcn-amd-amdhsa--{id}")).collect();
            let (first, second) = Composition::find_conflict(ids.iter().map(String::as_str))?;
            Some(format!("conflicting TargetIDs [{first}, {second}] found in m{number}.bc of lib.a"))
        });
        match conflict {
            Some(message) => assert!(stderr(&output).contains(&message), "{message}\n{}", stderr(&output)),
            None => assert!(output.status.success(), "{members:?}: {}", stderr(&output)),
        }
    }
}

// ------------------------------------------------------------------------------------------------------------ target IDs

fn processors_of_llvm_22() -> impl Iterator<Item = &'static Processor> {
    PROCESSORS.iter().filter(|row| !matches!(row.name, "gfx940" | "gfx941"))
}

/// What clang makes of a list of targets: the target IDs that it asks the bundler for, or its message.
fn clang(targets: &[String]) -> Result<Vec<String>, String> {
    let mut clang = llvm("clang");
    clang.args(["-###", "-x", "hip", "--target=x86_64-unknown-linux-gnu", "-nogpulib", "-nogpuinc"]);
    clang.args(["--no-offload-new-driver", "-c", "/dev/null"]).arg(format!("--offload-arch={}", targets.join(",")));
    let output = clang.output().unwrap();
    let message = stderr(&output);
    if !output.status.success() {
        return Err(message);
    }
    let (_, list) = message.split_once("\"-targets=").unwrap();
    let (list, _) = list.split_once('"').unwrap();
    Ok(list.split(',').skip(1).map(|id| EntryId::parse(id).unwrap().target().to_owned()).collect())
}

/// All ways to name the features of every processor, by every name of it, in either order.
fn target_ids_that_clang_takes() {
    let form = |features: &[&str], number: usize| -> String {
        let sign = |at: usize| if number >> at & 1 == 0 { "+" } else { "-" };
        let named = features.iter().enumerate().map(|(at, name)| format!(":{name}{}", sign(at)));
        named.collect()
    };
    let orders: [&[&str]; 5] = [&[], &["sramecc"], &["xnack"], &["sramecc", "xnack"], &["xnack", "sramecc"]];
    for order in orders {
        for number in 0..1 << order.len() {
            let mut targets = Vec::new();
            for row in processors_of_llvm_22().filter(|row| order.iter().all(|name| row.features.contains(name))) {
                // Names that mean the same: one of them, another one each time.
                let names: Vec<&str> = [row.name].into_iter().chain(row.aliases.iter().copied()).collect();
                targets.push(format!("{}{}", names[number % names.len()], form(order, number)));
            }
            let mut ours: Vec<String> = targets.iter().map(|id| TargetId::parse(id).unwrap().to_canonical()).collect();
            let mut theirs = clang(&targets).unwrap_or_else(|message| panic!("{targets:?}: {message}"));
            ours.sort();
            theirs.sort();
            assert_eq!(ours, theirs);
            assert!(targets.iter().all(|id| TargetId::parse(id).unwrap().unsupported_feature().is_none()));
        }
    }
    let aliases = processors_of_llvm_22().flat_map(|row| row.aliases.iter().map(move |alias| (row.name, alias)));
    for (name, alias) in aliases {
        assert_eq!(clang(&[(*alias).to_owned()]), Ok(vec![name.to_owned()]));
    }
}

fn target_ids_that_clang_refuses() {
    let mut refused = Vec::new();
    for row in processors_of_llvm_22() {
        for feature in ["sramecc", "xnack", "foo"].into_iter().filter(|name| !row.features.contains(name)) {
            let id = format!("{}:{feature}+", row.name);
            assert_eq!(TargetId::parse(&id).unwrap().unsupported_feature(), Some(feature));
            refused.push(id);
        }
    }
    for id in ["gfx906:xnack", "gfx906:xnack+:xnack-", "gfx906:xnack+:xnack+", "gfx906:xnack+-", "gfx906:+"] {
        assert!(TargetId::parse(id).is_err(), "{id}");
        refused.push(id.to_owned());
    }
    for id in refused {
        let message = clang(std::slice::from_ref(&id)).expect_err(&id);
        assert!(message.contains(&format!("invalid target ID '{id}'")), "{message}");
    }
}
