//! Our bundles have the bytes of LLVM 22's `clang-offload-bundler`, and each side reads the
//! other's.

use super::{ids, target_ids};
use offload_format::bundle::{Bundle, BundleBuilder, HIP_ALIGN, HIP_ENTRY_PREFIX};
use offload_format::target::amdgpu::{PROCESSORS, Processor};
use offload_tests::data::{Random, assert_same_bytes, corpus, read, some_bytes};
use offload_tests::registry::{LLVM, NOTHING};
use offload_tests::scratch;
use offload_tests::tools::{llvm, stdout, succeed};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

offload_tests::tests! {
    LLVM => [bundles_in_the_layout_of_hip, an_alignment_of_0, a_bundle_with_every_processor, bundles_of_llvm_are_read],
    LLVM.slow() => [bundles_with_old_spellings_of_triples, bundles_of_many_alignments_and_orders, random_bundles],
    NOTHING => [ids_without_an_environment],
}

/// Entry IDs in the form of `-targets`, with their code objects.
type BundleEntries = Vec<(String, Vec<u8>)>;

const HOST: &str = "host-x86_64-unknown-linux-gnu";

fn entries(list: &[(&str, usize)]) -> BundleEntries {
    list.iter()
        .enumerate()
        .map(|(number, (id, size))| ((*id).to_owned(), some_bytes(number, *size)))
        .collect()
}

/// Writes one bundle with `clang-offload-bundler` and one with [`BundleBuilder`]. Asserts that the
/// two bundles are equal, and that `clang-offload-bundler` can list and unbundle the bundle that
/// `BundleBuilder` wrote.
fn compare_bundles(folder: &Path, file_type: &str, align: u64, entries: &BundleEntries) {
    let mut builder = BundleBuilder::new();
    builder.align(align);
    for (id, code_object) in entries {
        builder.entry(id, code_object.len() as u64).unwrap_or_else(|error| panic!("{id}: {error}"));
    }
    let payloads: Vec<&[u8]> =
        entries.iter().map(|(_, code_object)| code_object.as_slice()).collect();
    let ours = builder.layout().to_vec(&payloads);

    let mut tool = llvm("clang-offload-bundler");
    tool.current_dir(folder).args([format!("-type={file_type}"), format!("-bundle-align={align}")]);
    tool.arg(format!("-targets={}", joined(entries.iter().map(|(id, _)| id.as_str()))))
        .arg("-output=theirs");
    for (number, code_object) in payloads.iter().enumerate() {
        scratch::write(folder.join(format!("in{number}")), code_object);
        tool.arg(format!("-input=in{number}"));
    }
    succeed(&mut tool);
    let what = format!(
        "align {align}, {:?}",
        entries.iter().map(|(id, bytes)| (id, bytes.len())).collect::<Vec<_>>()
    );
    assert_same_bytes(&ours, &read(folder.join("theirs")), &what);

    scratch::write(folder.join("ours"), &ours);
    assert_eq!(listed_ids(&folder.join("ours")), ids(&ours), "{what}");
    assert_eq!(unbundled(folder, "ours", &ids(&ours)), payloads_by_id(&ours), "{what}");
}

/// Returns the IDs that `-list` prints for a bundle.
pub(super) fn listed_ids(bundle: &Path) -> BTreeSet<String> {
    let mut tool = llvm("clang-offload-bundler");
    let listing =
        succeed(tool.args(["-type=bc", "-list"]).arg(format!("-input={}", bundle.display())));
    stdout(&listing).lines().map(str::to_owned).collect()
}

/// Returns the code objects that `-unbundle` finds for these IDs, in their order.
fn unbundled(folder: &Path, bundle: &str, ids: &BTreeSet<String>) -> Vec<Vec<u8>> {
    let mut tool = llvm("clang-offload-bundler");
    tool.current_dir(folder).args(["-type=bc", "-unbundle"]).arg(format!("-input={bundle}"));
    tool.arg(format!("-targets={}", joined(ids.iter().map(String::as_str))));
    let outputs: Vec<PathBuf> =
        (0..ids.len()).map(|number| folder.join(format!("out{number}"))).collect();
    tool.args(outputs.iter().map(|output| format!("-output={}", output.display())));
    succeed(&mut tool);
    outputs.into_iter().map(read).collect()
}

/// Returns the code objects that our reader finds in a bundle, in the order of their IDs.
fn payloads_by_id(bundle: &[u8]) -> Vec<Vec<u8>> {
    let mut entries: Vec<_> = Bundle::parse(bundle).unwrap().entries().collect();
    entries.sort_by_key(|entry| entry.id_str());
    entries.iter().map(|entry| entry.code_object().to_vec()).collect()
}

fn bundles_in_the_layout_of_hip() {
    let folder = scratch::folder("versus-llvm-bundle-hip");
    let targets = [
        "gfx906:sramecc+:xnack-",
        "gfx906:sramecc-:xnack+",
        "gfx90a",
        "gfx1100",
        "gfx9-4-generic:xnack-",
    ];
    let code_objects: Vec<Vec<u8>> =
        (0..targets.len()).map(|number| some_bytes(number, 1000 + 3100 * number)).collect();

    let mut tool = llvm("clang-offload-bundler");
    tool.current_dir(&folder).args([
        "-type=o",
        "-bundle-align=4096",
        "-input=/dev/null",
        "-output=theirs",
    ]);
    let mut builder = BundleBuilder::hip();
    let mut ids = vec![HOST.to_owned()];
    let mut payloads: Vec<&[u8]> = vec![b""];
    for (number, (target, code_object)) in targets.iter().zip(&code_objects).enumerate() {
        let id = format!("{HIP_ENTRY_PREFIX}{target}");
        builder.entry(&id, code_object.len() as u64).unwrap();
        payloads.push(code_object);
        ids.push(id);
        scratch::write(folder.join(format!("in{number}")), code_object);
        tool.arg(format!("-input=in{number}"));
    }
    succeed(tool.arg(format!("-targets={}", joined(ids.iter().map(String::as_str)))));
    let ours = builder.layout().to_vec(&payloads);
    assert_same_bytes(&ours, &read(folder.join("theirs")), "HIP's layout");
    let offsets: Vec<u64> =
        Bundle::parse(&ours).unwrap().entries().map(|entry| entry.offset()).collect();
    assert!(offsets.iter().all(|offset| offset % HIP_ALIGN == 0), "{offsets:?}");
}

fn bundles_of_many_alignments_and_orders() {
    let folder = scratch::folder("versus-llvm-bundle-alignments");
    let (a, b) = ("hip-amdgcn-amd-amdhsa--gfx906:xnack+", "hip-amdgcn-amd-amdhsa--gfx908");
    let cases: [&[(&str, usize)]; 9] = [
        &[(HOST, 8), (a, 9), (b, 6)],
        &[(HOST, 0), (a, 9), (b, 6)],
        &[(a, 9), (HOST, 8)],
        &[(a, 9), (b, 6)],
        &[(a, 1)],
        &[(a, 0)],
        &[(HOST, 0), (a, 0), (b, 0)],
        &[(HOST, 8), (a, 0), (b, 300)],
        &[(a, 5000), (b, 0)],
    ];
    for case in cases {
        for align in [1, 2, 3, 7, 8, 16, 100, 256, 4096] {
            compare_bundles(&folder, "bc", align, &entries(case));
        }
    }
}

/// LLVM divides by the alignment; this library treats 0 as no alignment (`bundle::write::tests`).
fn an_alignment_of_0() {
    let folder = scratch::folder("versus-llvm-bundle-align-0");
    let mut tool = llvm("clang-offload-bundler");
    tool.current_dir(&folder).args([
        "-type=bc",
        "-bundle-align=0",
        "-input=/dev/null",
        "-output=theirs",
    ]);
    let output = tool.arg(format!("-targets={HOST}")).output().unwrap();
    assert!(output.status.code().is_none_or(|code| code > 128), "{output:?}");
}

/// Tests spellings that LLVM 22 changes to another form; it loses none of these names.
fn bundles_with_old_spellings_of_triples() {
    let folder = scratch::folder("versus-llvm-bundle-spellings");
    let hosts = [
        "host-x86_64-unknown-linux-gnu-",
        "host-x86_64--linux-gnu",
        "host-x86_64-unknown-linux-",
        "host-x86_64---",
        "host-x86_64-suse-linux-gnu",
        "host-x86_64-pc-linux-gnu-gfx906",
        "host-arm64-apple-darwin-",
        "host-arm64-apple-macosx14.0.0-",
        "host-armv7-unknown-linux-gnueabihf",
        "host-aarch64-unknown-linux-android21",
        "host-riscv64-unknown-linux-musl",
        "host-x86_64-unknown-freebsd14.1-",
        "host-x86_64-pc-windows-msvc19.33",
        "host-x86_64-pc-windows-",
        "host-x86_64-pc-win32-",
        "host-x86_64-pc-win32-msvc",
        "host-i686-pc-win32-gnu",
        "host-x86_64-w64-mingw32-",
        "host-x86_64-w64-windows-gnu",
        "host-x86_64-pc-cygwin-",
    ];
    let devices = [
        "hip-amdgcn-amd-amdhsa--gfx906",
        "hip-amdgcn-amd-amdhsa-unknown-gfx906",
        "hip-amdgcn-amd-amdhsa-llvm-gfx906",
        "hip-amdgcn--amdhsa--gfx906",
        "hip-amdgcn-amd-amdhsa1.2--gfx906",
        "hip-amdgcn-amd-amdhsa-",
        "hip-amdgcn-amd-amdhsa--",
        "hip-amdgcn---",
        "hip-amdgcn-amd-amdpal--gfx906",
        "hipv4-amdgcn-mesa-mesa3d--gfx906",
        "hipv4-amdgcn-unknown-amdhsa--gfx90a:xnack+",
        "hipv4-amdgcn-amd-amdhsa--gfx9-4-generic:sramecc+:xnack-",
        "hip-spirv64-amd-amdhsa-unknown-amdgcnspirv",
        "openmp-nvptx64-nvidia-cuda--sm_70",
        "openmp-nvptx64-nvidia-cuda--sm_90a",
        "openmp-x86_64-pc-linux-gnu-",
        "openmp-spirv64-intel-unknown--bmg_g21",
    ];
    for host in hosts {
        compare_bundles(&folder, "bc", 1, &entries(&[(host, 5), (devices[0], 6)]));
    }
    for device in devices {
        compare_bundles(&folder, "bc", 1, &entries(&[(HOST, 5), (device, 6)]));
    }
}

/// Returns the processors whose names LLVM 22's bundler keeps.
fn processors_of_llvm_22() -> impl Iterator<Item = &'static Processor> {
    PROCESSORS.iter().filter(|row| !matches!(row.name, "gfx940" | "gfx941"))
}

fn a_bundle_with_every_processor() {
    let folder = scratch::folder("versus-llvm-bundle-many");
    let mut many = vec![(HOST.to_owned(), vec![])];
    for row in processors_of_llvm_22() {
        for id in target_ids(row, row.features) {
            many.push((format!("{HIP_ENTRY_PREFIX}{id}"), some_bytes(many.len(), many.len() % 13)));
        }
    }
    assert!(many.len() > 60, "{} entries", many.len());
    for count in [60, many.len()] {
        compare_bundles(&folder, "bc", 1, &many[..count].to_vec());
        compare_bundles(&folder, "bc", 64, &many[..count].to_vec());
    }
}

fn random_bundles() {
    let folder = scratch::folder("versus-llvm-bundle-random");
    let mut random = Random::new(1);
    for _ in 0..60 {
        let mut all = Vec::new();
        for row in processors_of_llvm_22() {
            // All entries for a processor name the same features; otherwise the tool refuses the
            // bundle.
            let features: Vec<&str> =
                row.features.iter().copied().filter(|_| random.below(2) == 0).collect();
            for id in target_ids(row, &features) {
                if random.below(8) == 0 {
                    let prefix = ["hip-amdgcn-amd-amdhsa--", HIP_ENTRY_PREFIX][row.name.len() % 2];
                    all.push((
                        format!("{prefix}{id}"),
                        some_bytes(random.below(99), random.below(300)),
                    ));
                }
            }
        }
        random.shuffle(&mut all);
        all.insert(
            random.below(all.len() + 1),
            (HOST.to_owned(), some_bytes(99, random.below(2) * 50)),
        );
        compare_bundles(&folder, "bc", 1 + random.below(40) as u64, &all);
    }
}

fn bundles_of_llvm_are_read() {
    for file in corpus("bundle") {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let folder = scratch::folder(&format!("versus-llvm-read-{name}"));
        let bytes = read(&file);
        scratch::write(folder.join("bundle"), &bytes);
        assert_eq!(ids(&bytes), listed_ids(&file), "{name}");
        assert_eq!(payloads_by_id(&bytes), unbundled(&folder, "bundle", &ids(&bytes)), "{name}");
    }
}

/// LLVM 22 treats the target ID after a triple of three fields as an environment, and writes a dash
/// after it.
fn ids_without_an_environment() {
    let bytes = read(Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/bundle/nvptx4.bc"));
    let entry = Bundle::parse(&bytes).unwrap().entries().nth(1).unwrap();
    assert_eq!(entry.id_str(), "openmp-nvptx64-nvidia-cuda-sm_70-");
    let id = entry.id().unwrap();
    assert_eq!((id.kind(), id.triple().env, id.target()), ("openmp", "", "sm_70"));
}

fn joined<'a>(ids: impl Iterator<Item = &'a str>) -> String {
    ids.collect::<Vec<_>>().join(",")
}
