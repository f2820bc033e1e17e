//! Kernels of AMD's code objects, compared with the output of LLVM 22's `llvm-readelf`.

use super::{PUBLISHED_ROCM, compile, corpus, functions, kernels, number, places};
use offload_format::ErrorKind;
use offload_format::image::{Image, Kernels};
use offload_tests::data::read;
use offload_tests::registry::LLVM;
use offload_tests::tools::{llvm, stdout, succeed};
use offload_tests::{published, scratch};
use std::collections::BTreeMap;
use std::path::Path;

offload_tests::tests! {
    LLVM => [code_objects_that_are_not_linked, code_objects_of_old_compilers],
    LLVM.slow() => [kernels_of_code_objects],
    PUBLISHED_ROCM.slow() => [kernels_of_published_code_objects],
}

/// A kernel as `llvm-readelf --notes` prints it.
#[derive(Default)]
struct Noted {
    /// Keys and values; the values of a list are separated by spaces.
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
                kernel
                    .arguments
                    .last_mut()
                    .expect("an argument starts with a dash")
                    .insert(key, value);
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

/// Compares every field of a code object with readelf's output; returns the names of the kernels.
#[track_caller]
pub(super) fn compare_code_object(file: &Path) -> Vec<String> {
    let data = read(file);
    let (ours, theirs, sizes) = (kernels(&data), noted(file), functions(file));
    assert_eq!(ours.len(), theirs.len(), "{}", file.display());
    assert_ne!(theirs.len(), 0, "{}", file.display());
    for (ours, theirs) in ours.iter().zip(&theirs) {
        let value = |key: &str| theirs.values.get(key).map(|value| number(value));
        let list = theirs
            .values
            .get(".reqd_workgroup_size")
            .map(|list| list.split(' ').map(number).collect::<Vec<_>>());
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
        assert_eq!(ours.required_block.map(Vec::from), list);
        assert_eq!(ours.registers, None);
        let ours: Vec<_> = ours.arguments.clone().collect();
        assert_eq!(ours.len(), theirs.arguments.len(), "{}", file.display());
        for (at, (ours, theirs)) in (0..).zip(ours.iter().zip(&theirs.arguments)) {
            assert_eq!(ours.ordinal, at);
            assert_eq!(
                (ours.offset, ours.size),
                (number(&theirs[".offset"]), number(&theirs[".size"]))
            );
            assert_eq!(ours.value_kind, Some(theirs[".value_kind"].as_str()));
            assert_eq!(ours.is_hidden(), theirs[".value_kind"].starts_with("hidden_"));
        }
    }
    let is_linked = data[16] == 3;
    for kernel in &ours {
        assert_eq!(
            kernel.code_size,
            sizes.get(kernel.name).copied().filter(|_| is_linked),
            "{}",
            kernel.name
        );
    }
    ours.iter().map(|kernel| kernel.name.to_owned()).collect()
}

fn kernels_of_code_objects() {
    let folder = scratch::folder("kernels-code-objects");
    let targets = [
        "gfx90a",
        "gfx90a:sramecc+:xnack-",
        "gfx90a:xnack+",
        "gfx1100",
        "gfx942",
        "gfx9-4-generic",
        "gfx803",
    ];
    let (mut spilled, mut hidden, mut agprs) = (false, false, false);
    for target in targets {
        for version in [4, 5, 6] {
            if target.ends_with("generic") && version < 6 {
                continue;
            }
            for optimize in ["-O0", "-O3"] {
                let arch = format!("--offload-arch={target}");
                let version = format!("-mcode-object-version={version}");
                let options = ["-x", "hip", "--no-gpu-bundle-output", &arch, &version, optimize];
                let file = compile(&folder, "image.hsaco", &options);
                let names = compare_code_object(&file);
                let expect = [
                    "scalars",
                    "_Z7structs3Odd5Inner5Outer5Threec7AlignedPf",
                    "nothing",
                    "shares",
                    "stacks",
                    "spills",
                ];
                assert_eq!(names, expect, "{target}");
                let data = read(&file);
                let Ok(Image::CodeObject(header)) = Image::parse(&data) else { panic!("{target}") };
                assert_eq!(header.target_id().as_deref(), Some(target));
                assert_eq!(header.generic_version(), u32::from(target.ends_with("generic")));
                for kernel in kernels(&data) {
                    spilled |= kernel.vgpr_spills > Some(0) || kernel.sgpr_spills > Some(0);
                    agprs |= kernel.agprs > Some(0);
                    hidden |= kernel.arguments.clone().any(|it| it.is_hidden());
                }
            }
        }
    }
    assert_eq!(
        (spilled, hidden, agprs),
        (true, true, true),
        "spills, hidden arguments and AGPRs are among the kernels"
    );
}

fn code_objects_that_are_not_linked() {
    let folder = scratch::folder("kernels-code-objects-relocatable");
    let options = [
        "-x",
        "hip",
        "--no-gpu-bundle-output",
        "--offload-arch=gfx90a",
        "-fgpu-rdc",
        "-O2",
        "-emit-llvm",
        "-c",
    ];
    let bitcode = compile(&folder, "image.bc", &options);
    let object = folder.join("image.o");
    let mut clang = llvm("clang");
    clang
        .args(["--target=amdgcn-amd-amdhsa", "-mcpu=gfx90a", "-nogpulib", "-x", "ir", "-c"])
        .arg(bitcode);
    succeed(clang.arg("-o").arg(&object));
    compare_code_object(&object);

    // A file without its section table can still be loaded; only the sizes of functions are
    // missing.
    let linked = folder.join("linked.hsaco");
    succeed(llvm("ld.lld").arg("-shared").arg(&object).arg("-o").arg(&linked));
    let before = read(&linked);
    succeed(llvm("llvm-strip").arg("--strip-sections").arg(&linked));
    let after = read(&linked);
    assert!(after.len() < before.len());
    for (before, after) in kernels(&before).into_iter().zip(kernels(&after)) {
        assert_eq!(
            (before.name, before.vgprs, places(&before)),
            (after.name, after.vgprs, places(&after))
        );
        assert!(before.code_size.is_some(), "{before:?}");
        assert_eq!(after.code_size, None);
    }
}

fn code_objects_of_old_compilers() {
    assert_eq!(compare_code_object(&corpus("v3.hsaco")), ["one", "two"]);
    let data = read(corpus("v3.hsaco"));
    let Ok(Image::CodeObject(header)) = Image::parse(&data) else { panic!("version 3") };
    assert_eq!(
        (header.version(), header.target_id().as_deref()),
        (3, Some("gfx906:sramecc+:xnack+"))
    );

    let data = read(corpus("v2.hsaco"));
    let Ok(Image::CodeObject(header)) = Image::parse(&data) else { panic!("version 2") };
    assert_eq!((header.version(), header.target_id()), (2, None));
    let error = Kernels::parse(&data).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnsupportedVersion { version: 2 });
    assert!(data[error.offset() as usize..].starts_with(b"---\nVersion"), "{error}");
}

/// Tests code objects of AMD's clang 18 to 23, for 30 GPUs.
fn kernels_of_published_code_objects() {
    let folder = scratch::folder("kernels-published-code-objects");
    let object = folder.join("image.hsaco");
    for name in [published::JAX_ROCM60, published::JAX_ROCM7, published::BITSANDBYTES_ROCM715] {
        let file = read(published::path(name));
        for bundle in published::bundles(&file) {
            for entry in bundle.parsed().entries().filter(|entry| !entry.code_object().is_empty()) {
                scratch::write(&object, entry.code_object());
                compare_code_object(&object);
            }
        }
    }
}
