//! Compares the spelling of triples, entry IDs and GPU names, and which of them are refused, with
//! LLVM 22's `clang-offload-bundler`.

use super::{processors_of_llvm_22, words};
use offload_format::bundle::{Bundle, EntryId};
use offload_format::target::NvidiaArch;
use offload_tests::bundler::{bundler, targets};
use offload_tests::prelude::*;

const ARCHITECTURES: &str = "aarch64 aarch64_32 aarch64_be amd64 amdgcn amdil amdil64 arc arm arm64 arm64_32 arm64e \
    arm64ec armeb armebv7 armv4t armv5te armv6 armv6hl armv6m armv7 armv7a armv7aeb armv7k armv7s armv8.1m.main armv8a \
    armv9.6a avr bpf bpf_be bpf_le bpfeb bpfel csky dxil dxilv1.3 dxilv1.9 hexagon hsail hsail64 i386 i486 i586 i686 i786 \
    i886 i986 kalimba kalimba4 lanai loongarch32 loongarch64 m68k mips mips64 mips64eb mips64el mips64r6 mips64r6el \
    mipsallegrex mipsallegrexel mipseb mipsel mipsisa32r6 mipsisa32r6el mipsisa64r6 mipsisa64r6el mipsn32 mipsn32el \
    mipsn32r6 mipsn32r6el mipsr6 mipsr6el msp430 nvptx nvptx64 powerpc powerpc64 powerpc64le powerpcle powerpcspe ppc \
    ppc32 ppc32le ppc64 ppc64le ppcle ppu r600 renderscript32 renderscript64 riscv32 riscv32be riscv64 riscv64be s390x \
    shave sparc sparc64 sparcel sparcv9 spir spir64 spirv spirv1.5 spirv1.6 spirv32 spirv32v1.2 spirv64 spirv64v1.6 \
    systemz tce tcele thumb thumbeb thumbv6m thumbv7em ve wasm32 wasm64 x86_64 x86_64h xcore xscale xscaleeb xtensa";

const NO_ARCHITECTURES: &str = "x86 x64 riscv riscv64gc nvptx32 arm64v arm64_64 armvx armebv7eb thumbv3 aarch64eb \
    bpfx spirv1.4 spirv64v1.7 dxilv1.10 powerpc32 mips32 wasm AMDGCN gfx906 linux amd unknown pe";

const VENDORS: &str =
    "amd apple csr fsl ibm img intel mesa meta mti nvidia oe pc scei sie suse w64 unknown none foo";

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

/// Words that may be in the field of an environment but are not environments.
const NO_ENVIRONMENTS: &str =
    "coff elf goff macho spirv wasm xcoff fooelf uclibc softfloat unknown none foo";

/// Runs the bundler to write one bundle with all these entries. Returns the IDs in the bundle.
fn written(folder: &Path, ids: &[String]) -> Vec<String> {
    scratch::write(folder.join("targets"), targets(ids));
    let mut tool = bundler(folder, "-type=bc -output=bundle @targets");
    succeed(tool.args(ids.iter().map(|_| "-input=/dev/null")));
    let bundle = read(folder.join("bundle"));
    Bundle::parse(&bundle).unwrap().entries().map(|entry| entry.id_str.to_owned()).collect()
}

/// Asserts that the bundler writes these entries under our canonical IDs.
fn compare_spellings(name: &str, ids: impl IntoIterator<Item = String>) {
    let folder = scratch::folder(&format!("target-ids-{name}"));
    let distinct: BTreeSet<String> = ids.into_iter().collect();
    let ids: Vec<String> =
        ["host-x86_64-unknown-linux-gnu".to_owned()].into_iter().chain(distinct).collect();
    let mut differences = Vec::new();
    for batch in ids.chunks(1000) {
        // A bundle may have only one host entry.
        let batch: Vec<String> =
            ids[..1].iter().chain(&batch[usize::from(batch[0] == ids[0])..]).cloned().collect();
        let theirs = written(&folder, &batch);
        assert_eq!(theirs.len(), batch.len());
        for (id, theirs) in batch.iter().zip(theirs) {
            let entry = EntryId::parse_strict(id).unwrap();
            let is_known = (entry.triple().is_known(), entry.is_known_kind());
            assert_eq!(is_known, (true, true), "{id}: the tool accepts this triple and kind");
            if entry.to_canonical() != theirs && !is_meant_to_differ(id, &entry, &theirs) {
                let ours = entry.to_canonical();
                differences.push(format!("{id}: {ours} for us, {theirs} for LLVM"));
            }
        }
    }
    let (count, text) = (differences.len(), differences.join("\n"));
    assert!(differences.is_empty(), "{count} of {}:\n{text}", ids.len());
}

/// Whether docs/llvm-differences.md lists this difference: `amdhsa` in the wrong field, or a name
/// next to `windows`, which LLVM drops.
fn is_meant_to_differ(id: &str, entry: &EntryId, theirs: &str) -> bool {
    let ours = entry.triple();
    let (our_text, third) = (entry.to_canonical(), id.split('-').nth(3).unwrap());
    let up_to_system = |text: &str| text.splitn(5, '-').take(4).collect::<Vec<_>>().join("-");
    let misplaced_amdhsa = ours.is_amdhsa() && !third.starts_with("amdhsa");
    let dropped = ours.os == "windows" && !words(ENVIRONMENTS).contains(&ours.env);
    (misplaced_amdhsa || dropped) && up_to_system(&our_text) == up_to_system(theirs)
}

#[test(LLVM)]
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

/// Returns a triple whose fields contain suitable values, values of other fields, or nothing.
fn some_triple(random: &mut Random) -> String {
    let fields =
        [words(VENDORS), words(SYSTEMS), [words(ENVIRONMENTS), words(NO_ENVIRONMENTS)].concat()];
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

#[test(LLVM)]
fn generated_triples() {
    let mut random = Random::new(1);
    compare_spellings("triples", (0..4000).map(|_| format!("openmp-{}", some_triple(&mut random))));
}

const NVIDIA: &str = "sm_20 sm_21 sm_30 sm_32 sm_35 sm_37 sm_50 sm_52 sm_53 sm_60 sm_61 sm_62 sm_70 sm_72 sm_75 sm_80 sm_86 \
    sm_87 sm_88 sm_89 sm_90 sm_90a sm_100 sm_100a sm_101 sm_101a sm_103 sm_103a sm_110 sm_110a sm_120 sm_120a sm_121 \
    sm_121a";

/// Tests the GPU names that LLVM keeps as the start of a target ID. This library must write them in
/// the same way.
#[test(LLVM)]
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

/// Compares LLVM's message for invalid IDs on the command line with ours.
#[test(LLVM)]
fn what_the_tool_refuses() {
    let folder = scratch::folder("target-ids-refused");
    let mut ids: Vec<String> =
        words(NO_ARCHITECTURES).iter().map(|arch| format!("hip-{arch}-amd-amdhsa-")).collect();
    let others = "- --- ---- ----- hip hip-amdgcn-amd-amdhsa hip-amdgcn-amd-amdhsa- \
        hip-amdgcn-amd-amdhsa--gfx9-4-generic host-x86_64-unknown-linux host-linux-x86_64-- \
        host--x86_64-linux-gnu -amdgcn-amd-amdhsa- cuda-nvptx64-nvidia-cuda--sm_70 sycl-spirv64--- \
        hcc-amdgcn-amd-amdhsa--gfx900 HIP-amdgcn-amd-amdhsa--gfx900 \
        hipv5-amdgcn-amd-amdhsa--gfx900 foo-bar-amd-amdhsa--gfx900";
    ids.extend([""].into_iter().chain(words(others)).map(str::to_owned));
    for id in ids {
        let mut tool = bundler(&folder, "-type=bc -input=/dev/null -output=out");
        let message = stderr(&tool.arg(targets([&id])).output().unwrap());
        let has = |text: &str| message.contains(text);
        let Ok(entry) = EntryId::parse_strict(&id) else {
            assert!(has("Targets need to follow the format"), "{id}: {message}");
            continue;
        };
        assert!(!has("Targets need to follow the format"), "{id}: {message}");
        assert_eq!(has("unknown offloading kind"), !entry.is_known_kind(), "{id}: {message}");
        assert_eq!(has("unknown target triple"), !entry.triple().is_known(), "{id}: {message}");
    }
}
