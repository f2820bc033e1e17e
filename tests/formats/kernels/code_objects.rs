//! Kernels of AMD's code objects, compared with the output of LLVM 22's `llvm-readelf`.

use super::{PUBLISHED_ROCM, compile, kernels, places};
use offload_format::ErrorKind;
use offload_format::image::{ImageHeader, Kernel, Kernels};
use offload_tests::judges::{functions, number};
use offload_tests::prelude::*;
use offload_tests::published;

/// A kernel as `llvm-readelf --notes` prints it.
#[derive(Default)]
struct Noted {
    /// Keys and values. The values of a list are separated by spaces.
    values: BTreeMap<String, String>,
    arguments: Vec<BTreeMap<String, String>>,
}

/// Reads the YAML that `llvm-readelf --notes` prints: kernels are indented by 2, their lists by 6.
fn noted(file: &Path) -> Vec<Noted> {
    let text = stdout(&succeed(llvm("llvm-readelf").arg("--notes").arg(file)));
    let mut kernels: Vec<Noted> = Vec::new();
    let mut list = String::new();
    let lines = text.lines().skip_while(|line| *line != "amdhsa.kernels:").skip(1);
    for line in lines.take_while(|line| line.starts_with(' ')) {
        if line.starts_with("  - ") {
            kernels.push(Noted::default());
        }
        let kernel = kernels.last_mut().expect("a kernel starts with a dash");
        let (indent, item) = line.split_at(line.len() - line.trim_start_matches([' ', '-']).len());
        let pair =
            item.split_once(':').map(|(key, value)| (key.to_owned(), value.trim().to_owned()));
        match (indent.len(), pair) {
            (4, Some((key, value))) => {
                list.clone_from(&key);
                kernel.values.insert(key, value);
            }
            (8, Some((key, value))) => {
                if indent.contains('-') {
                    kernel.arguments.push(BTreeMap::new());
                }
                let argument = kernel.arguments.last_mut();
                argument.expect("an argument starts with a dash").insert(key, value);
            }
            (8, None) => {
                let values = kernel.values.get_mut(&list).expect("a list has a key");
                *values = format!("{values} {item}").trim().to_owned();
            }
            _ => panic!("{line:?} in\n{text}"),
        }
    }
    kernels
}

/// Compares all fields of a code object's kernels with readelf's output. Returns the kernels'
/// names.
#[track_caller]
pub(super) fn compare_code_object(file: &Path) -> Vec<String> {
    let data = read(file);
    let (ours, theirs, sizes) = (kernels(&data), noted(file), functions(file));
    assert_eq!(ours.len(), theirs.len(), "{}", file.display());
    assert_ne!(theirs.len(), 0, "{}", file.display());
    let is_linked = data[16] == 3;
    for (ours, theirs) in ours.iter().zip(&theirs) {
        let value = |key: &str| theirs.values.get(key).map(|value| number(value));
        assert_eq!(ours.name, theirs.values[".name"]);
        for (ours, key) in [
            (ours.arguments_size, ".kernarg_segment_size"),
            (ours.vgprs, ".vgpr_count"),
            (ours.agprs, ".agpr_count"),
            (ours.sgprs, ".sgpr_count"),
            (ours.vgpr_spills, ".vgpr_spill_count"),
            (ours.sgpr_spills, ".sgpr_spill_count"),
            (ours.shared_memory, ".group_segment_fixed_size"),
            (ours.private_memory, ".private_segment_fixed_size"),
            (ours.wavefront_size, ".wavefront_size"),
            (ours.max_threads, ".max_flat_workgroup_size"),
        ] {
            assert_eq!(ours, value(key), "{key} in {}", file.display());
        }
        let block = theirs.values.get(".reqd_workgroup_size");
        let block = block.map(|list| list.split(' ').map(number).collect::<Vec<_>>());
        assert_eq!(ours.required_block.map(Vec::from), block);
        assert_eq!(ours.registers, None);
        let size = sizes.get(ours.name).copied().filter(|_| is_linked);
        assert_eq!(ours.code_size, size, "{}", ours.name);
        let passed = ours.arguments.clone().map(|it| {
            assert_eq!(it.is_hidden(), it.value_kind.is_some_and(|it| it.starts_with("hidden_")));
            (it.ordinal, it.offset, it.size, it.value_kind)
        });
        let expected = (0..).zip(&theirs.arguments).map(|(at, it)| {
            let kind = Some(it[".value_kind"].as_str());
            (at, number(&it[".offset"]), number(&it[".size"]), kind)
        });
        let (passed, expected): (Vec<_>, Vec<_>) = (passed.collect(), expected.collect());
        assert_eq!(passed, expected, "{}", file.display());
    }
    ours.iter().map(|kernel| kernel.name.to_owned()).collect()
}

#[test(LLVM.slow())]
fn kernels_of_code_objects() {
    const KERNELS: &str =
        "scalars _Z7structs3Odd5Inner5Outer5Threec7AlignedPf nothing shares stacks spills";
    const TARGETS: &str =
        "gfx90a gfx90a:sramecc+:xnack- gfx90a:xnack+ gfx1100 gfx942 gfx9-4-generic gfx803";
    let folder = scratch::folder("kernels-code-objects");
    let (mut spilled, mut hidden, mut agprs) = (false, false, false);
    for target in TARGETS.split(' ') {
        let versions = if target.ends_with("generic") { &[6][..] } else { &[4, 5, 6] };
        for (version, optimize) in versions.iter().flat_map(|it| [(it, "-O0"), (it, "-O3")]) {
            let options = format!(
                "-x hip --no-gpu-bundle-output --offload-arch={target} \
                 -mcode-object-version={version} {optimize}"
            );
            let file = compile(&folder, "image.hsaco", &options);
            assert_eq!(compare_code_object(&file).join(" "), KERNELS, "{target}");
            let data = read(&file);
            let Ok(ImageHeader::CodeObject(header)) = ImageHeader::parse(&data) else {
                panic!("{target}")
            };
            assert_eq!(header.target_id().expect("a target ID").to_string(), target);
            assert_eq!(header.generic_version(), u32::from(target.ends_with("generic")));
            for kernel in kernels(&data) {
                spilled |= kernel.vgpr_spills > Some(0) || kernel.sgpr_spills > Some(0);
                agprs |= kernel.agprs > Some(0);
                hidden |= kernel.arguments.clone().any(|it| it.is_hidden());
            }
        }
    }
    assert!(spilled && hidden && agprs, "kernels with spills, hidden arguments and AGPRs");
}

/// Tests that the work does not grow with the square of the number of kernels.
#[test(LLVM.slow())]
fn code_objects_of_a_thousand_kernels() {
    let folder = scratch::folder("kernels-many-code-objects");
    let kernel = |n| {
        let head = "extern \"C\" __attribute__((device_kernel)) void";
        format!("{head} kernel_{n}(int *x, char c) {{ *x = c + {n}; }}\n")
    };
    scratch::write(folder.join("many.c"), (0..1000).map(kernel).collect::<String>());
    let options = "--target=amdgcn-amd-amdhsa -mcpu=gfx90a -O1 -ffreestanding -nogpulib -nostdlib";
    run(llvm("clang"), &folder, &format!("{options} -x c++ many.c -o many.hsaco"));
    assert_eq!(compare_code_object(&folder.join("many.hsaco")).len(), 1000);
}

#[test(LLVM)]
fn code_objects_that_are_not_linked() {
    let folder = scratch::folder("kernels-code-objects-relocatable");
    let options = "--no-gpu-bundle-output --offload-arch=gfx90a -fgpu-rdc -O2 -emit-llvm -c";
    compile(&folder, "image.bc", &format!("-x hip {options}"));
    let target = "--target=amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib";
    run(llvm("clang"), &folder, &format!("{target} -x ir -c image.bc -o image.o"));
    compare_code_object(&folder.join("image.o"));

    // Without its section table, a file can be loaded as before. Only the sizes of functions are
    // unknown.
    run(llvm("ld.lld"), &folder, "-shared image.o -o linked.hsaco");
    let before = read(folder.join("linked.hsaco"));
    run(llvm("llvm-strip"), &folder, "--strip-sections linked.hsaco");
    let after = read(folder.join("linked.hsaco"));
    assert!(after.len() < before.len());
    for (before, after) in kernels(&before).into_iter().zip(kernels(&after)) {
        let same = |it: &Kernel<'_>| (it.name.to_owned(), it.vgprs, places(it));
        assert_eq!(same(&before), same(&after));
        assert!(before.code_size.is_some(), "{before:?}");
        assert_eq!(after.code_size, None);
    }
}

#[test(LLVM)]
fn code_objects_of_the_corpus() {
    assert_eq!(compare_code_object(&corpus_path("image/v3.hsaco")), ["one", "two"]);
    assert_eq!(compare_code_object(&corpus_path("image/saxpy.gfx90a.hsaco")), ["saxpy"]);
    let data = read(corpus_path("image/v2.hsaco"));
    let error = Kernels::parse(&data).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedVersion { version: 2 });
    assert!(data[error.offset() as usize..].starts_with(b"---\nVersion"), "{error}");
}

/// Tests code objects of AMD's clang 18 to 23, for 30 GPUs.
#[test(PUBLISHED_ROCM.slow())]
fn kernels_of_published_code_objects() {
    let folder = scratch::folder("kernels-published-code-objects");
    let object = folder.join("image.hsaco");
    for name in [published::JAX_ROCM60, published::JAX_ROCM7, published::BITSANDBYTES_ROCM715] {
        let file = read(published::path(name));
        for bundle in published::bundles(&file) {
            for entry in bundle.parsed().entries().filter(|entry| !entry.code_object.is_empty()) {
                scratch::write(&object, entry.code_object);
                compare_code_object(&object);
            }
        }
    }
}
