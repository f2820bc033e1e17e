//! Device code from other projects: published libraries, built with clang 15 (Debian's) to 23
//! (AMD's), and with CUDA 11.8 to 13.5. This library and `cargo offload` must find the same images
//! as LLVM's tools, `roc-obj-ls` and `cuobjdump`. Where one of these tools is wrong or does not
//! support a file, the test uses a different tool.

use offload_format::bundle::Bundle;
use offload_format::fat_file::{ContainerKind, Content, find, wrappers};
use offload_format::image::{ImageHeader, Kernels};
use offload_format::target::TargetId;
use offload_tests::judges::{
    cuobjdump_extracts, objdump_extracts, readobj_lists, roc_obj_lists, section_ranges,
};
use offload_tests::prelude::*;
use offload_tests::published::{self, OneBundle, bundles, fatbin_images, listed, path};
use serde_json::Value;

const ROCM: Needs = needs(&[Tool::PublishedRocm, Tool::Llvm22]);
const ROC_OBJ: Needs = needs(&[Tool::PublishedRocm, Tool::Llvm22, Tool::RocObj]);
const ROCRAND: Needs = needs(&[Tool::PublishedRocrand, Tool::Llvm22, Tool::RocObj]);
const ALL: Needs = needs(&[Tool::PublishedRocm, Tool::PublishedCuda]);
const CUDA: Needs = needs(&[Tool::PublishedCuda, Tool::Llvm22, Tool::Cuda]);

/// Creates a symbolic link to a published file in a test's folder, because `llvm-objdump` writes
/// files next to its input. Returns the link.
fn linked(folder: &Path, file: &str) -> PathBuf {
    let path = path(file);
    let link = folder.join(path.file_name().expect("a file has a name"));
    offload_tests::scratch::symlink(&path, &link).expect("the scratch folder can be written");
    link
}

/// The JSON object that `cargo offload` prints for an image, and the extracted file.
type OfOffload = (Value, PathBuf);

/// Returns the images that `cargo offload ls --json` and `cargo offload extract` find in a file.
/// The extracted bytes must have the listed sizes, hashes and offsets.
fn by_offload(folder: &Path, path: &Path, file: &[u8]) -> Vec<OfOffload> {
    let offload = || Command::new(own::cargo_offload());
    let listing = succeed(offload().args(["ls", "--json"]).arg(path));
    let mut listing: Value = serde_json::from_slice(&listing.stdout).expect("JSON");
    assert_eq!(listing["size"], file.len(), "{}", path.display());
    let Value::Array(images) = listing["images"].take() else { panic!("no array of images") };
    let ours = folder.join("ours");
    let mut extract = offload();
    extract.args(["extract", "--empty", "-o"]).args([&ours, path]);
    let extracted = stdout(&succeed(&mut extract));
    let extracted: Vec<PathBuf> = extracted.lines().map(PathBuf::from).collect();
    assert_eq!(images.len(), extracted.len(), "{}", path.display());
    let sums = stdout(&succeed(Command::new("sha256sum").args(&extracted)));
    for ((image, extracted), sum) in images.iter().zip(&extracted).zip(sums.lines()) {
        let bytes = read(extracted);
        assert_eq!(image["size"], bytes.len(), "{image}");
        assert_eq!(image["sha256"].as_str(), sum.split(' ').next(), "{image}");
        if let Some(offset) = image["offset"].as_u64() {
            assert_same_bytes(&file[offset as usize..][..bytes.len()], &bytes, &image.to_string());
        }
    }
    images.into_iter().zip(extracted).collect()
}

fn containers(images: &[OfOffload]) -> Vec<String> {
    let key = |image: &Value| {
        [&image["section"], &image["container"]].map(|it| it.as_str().unwrap_or("-")).join(" ")
    };
    let containers: BTreeSet<_> =
        images.iter().map(|(image, _)| (image["container_index"].as_u64(), key(image))).collect();
    containers.into_iter().map(|(_, key)| key).collect()
}

/// Asserts that another tool and `cargo offload` extracted the same bundle entries, in this order.
/// Removes the files that `cargo offload` extracted.
#[track_caller]
fn assert_same_entries(
    bundles: &[OneBundle<'_>],
    mut theirs: impl Iterator<Item = (String, Vec<u8>)>,
    by_offload: Vec<OfOffload>,
) {
    let mut by_offload = by_offload.into_iter();
    let parsed: Vec<_> = bundles.iter().map(OneBundle::parsed).collect();
    for ours in parsed.iter().flat_map(Bundle::entries) {
        let (id, theirs) = theirs.next().expect("as many entries");
        assert_eq!(ours.id_str, id);
        assert_same_bytes(ours.code_object, &theirs, &id);
        let (image, extracted) = by_offload.next().expect("as many images");
        assert_eq!(image["entry_id"], *id);
        assert_same_bytes(&read(&extracted), &theirs, &id);
        fs::remove_file(extracted).expect("what was written can be removed");
    }
    assert!(theirs.next().is_none() && by_offload.next().is_none(), "more images");
}

#[test(ROC_OBJ.slow())]
fn plain_bundles() {
    let folder = scratch::folder("real-files-plain");
    assert_plain_bundles(&folder, published::ONNXRUNTIME, 95, 9);
    assert_plain_bundles(&folder, published::JAX_ROCM60, 1, 12);
}

#[test(ROCRAND.slow())]
fn targets_with_features() {
    let folder = scratch::folder("real-files-features");
    assert_plain_bundles(&folder, published::ROCRAND, 1, 8);
    assert_code_objects_are_for_their_targets(published::ROCRAND);
}

fn assert_plain_bundles(folder: &Path, name: &str, count: usize, entries: usize) {
    let path = linked(folder, name);
    let file = read(&path);
    let bundles = bundles(&file);
    assert_eq!(bundles.len(), count, "{name}");
    for bundle in &bundles {
        assert_eq!((bundle.version, bundle.parsed().entries().count()), (None, entries), "{name}");
    }
    let ours = listed(&bundles);
    assert_eq!(ours.len(), count * (entries - 1), "{name}");
    assert_eq!(ours, readobj_lists(&path), "{name}");
    assert_eq!(ours, roc_obj_lists(&path), "{name}");
    let by_offload = by_offload(folder, &path, &file);
    assert_eq!(containers(&by_offload), vec![".hip_fatbin bundle"; count], "{name}");
    // Remove the extracted files, which total half a gigabyte.
    let theirs = objdump_extracts(&path).into_iter().map(|(id, extracted)| {
        let bytes = read(&extracted);
        fs::remove_file(&extracted).expect("what was written can be removed");
        (id, bytes)
    });
    assert_same_entries(&bundles, theirs, by_offload);
}

/// For compressed bundles, `llvm-objdump` writes wrong bytes. So the reference is
/// `clang-offload-bundler`, which reads each bundle separately.
#[test(ROCM.slow())]
fn compressed_bundles() {
    let folder = scratch::folder("real-files-compressed");
    let files = [
        (published::BITSANDBYTES_ROCM64, 2, 15),
        (published::BITSANDBYTES_ROCM715, 3, 26),
        (published::JAX_ROCM7, 3, 28),
    ];
    for (name, version, entries) in files {
        let path = linked(&folder, name);
        let file = read(&path);
        let bundles = bundles(&file);
        assert_eq!(bundles.len(), 2, "{name}");
        assert!(bundles.iter().all(|it| it.version == Some(version)), "{name}");
        assert!(bundles.iter().all(|it| it.parsed().entries().count() == entries), "{name}");
        assert_eq!(listed(&bundles), readobj_lists(&path), "{name}");
        assert_are_unbundled(&folder, &path, &bundles);
        // llvm-objdump extracts the file's bytes at the code objects' offsets in the decompressed
        // bundle.
        let mut extracted = objdump_extracts(&path);
        extracted.retain(|(id, _)| !id.starts_with("host"));
        for ((id, offset, size), (theirs, extracted)) in listed(&bundles).into_iter().zip(extracted)
        {
            assert_eq!(id, theirs, "{name}");
            let [start, end] = [offset, offset + size].map(|at| (at as usize).min(file.len()));
            let extracted = &read(extracted)[..end - start];
            assert_same_bytes(&file[start..end], extracted, &format!("{name}, {id}, llvm-objdump"));
        }
    }
}

/// No installed tool finds bundles in a DLL. So the test checks that the bundles are inside the
/// section, and unbundles each bundle separately.
#[test(ROCM)]
fn bundles_in_a_dll() {
    let folder = scratch::folder("real-files-dll");
    let path = path(published::BITSANDBYTES_ROCM72_DLL);
    let file = read(&path);
    let bundles = bundles(&file);
    assert_eq!(bundles.len(), 2);
    for bundle in &bundles {
        assert_eq!((bundle.version, bundle.parsed().entries().count()), (Some(3), 8));
    }
    let ranges = section_ranges(&path, ".hip_fat", "PointerToRawData:", "RawDataSize:");
    let [(start, size)] = ranges[..] else { panic!("{ranges:?}") };
    assert_eq!(bundles[0].range.start as u64, start);
    assert!(bundles[1].range.end as u64 <= start + size);
    assert_are_unbundled(&folder, &path, &bundles);
}

/// Copies each compressed bundle from a file, and asserts that `clang-offload-bundler` finds the
/// same entries in it.
fn assert_are_unbundled(folder: &Path, path: &Path, bundles: &[OneBundle<'_>]) {
    let file = read(path);
    let by_offload = by_offload(folder, path, &file);
    let section = if is_dll(path) { ".hip_fat" } else { ".hip_fatbin" };
    let expected = vec![format!("{section} compressed-bundle"); bundles.len()];
    assert_eq!(containers(&by_offload), expected);
    let unbundled = |bundle: &OneBundle<'_>| {
        scratch::write(folder.join("bundle"), &file[bundle.range.clone()]);
        let parsed = bundle.parsed();
        let ids: Vec<String> = parsed.entries().map(|entry| entry.id_str.to_owned()).collect();
        let options = "-type=o -input=bundle";
        let listing = run(llvm("clang-offload-bundler"), folder, &format!("{options} -list"));
        let theirs: BTreeSet<&str> = listing.lines().collect();
        assert_eq!(ids.iter().map(String::as_str).collect::<BTreeSet<_>>(), theirs);
        let mut unbundle = llvm("clang-offload-bundler");
        unbundle.args((0..ids.len()).map(|number| format!("-output=entry-{number}")));
        run(unbundle, folder, &format!("{options} -unbundle -targets={}", ids.join(",")));
        let entry = |number: usize| read(folder.join(format!("entry-{number}")));
        ids.into_iter().enumerate().map(|(number, id)| (id, entry(number))).collect::<Vec<_>>()
    };
    assert_same_entries(bundles, bundles.iter().flat_map(unbundled), by_offload);
}

fn is_dll(path: &Path) -> bool {
    path.extension().is_some_and(|it| it == "dll")
}

/// Tests that the targets in the code objects' headers fit the entries' IDs, and that all kernels
/// can be read.
#[test(ROCM)]
fn code_objects_are_for_the_targets_that_bundles_name() {
    for name in published::ROCM {
        assert_code_objects_are_for_their_targets(name);
    }
}

fn assert_code_objects_are_for_their_targets(name: &str) {
    let file = read(path(name));
    let mut kernels = 0;
    for bundle in bundles(&file) {
        for entry in bundle.parsed().entries().filter(|entry| !entry.code_object.is_empty()) {
            let image = ImageHeader::parse(entry.code_object).expect("an image");
            let ImageHeader::CodeObject(header) = image else { panic!("{name}: {image:?}") };
            let own = header.target_id().expect("a target ID");
            let (_, target) = entry.id_str.rsplit_once("--").expect("a target ID");
            let target = TargetId::parse(target).expect("a target ID");
            assert!(own.provides_for(&target), "{name}: {own} under {target}");
            kernels += Kernels::parse(entry.code_object).expect("kernels").count();
        }
    }
    assert!(kernels > 0, "{name}");
}

type NamedImages = Vec<(String, Vec<u8>)>;

/// Asserts that both lists contain the same images, by name and bytes, in any order. Up to 7 zeros
/// may follow an uncompressed image.
#[track_caller]
fn assert_same_images(mut ours: NamedImages, mut theirs: NamedImages, what: &str) {
    ours.sort();
    theirs.sort();
    let names = |images: &NamedImages| images.iter().map(|it| it.0.clone()).collect::<Vec<_>>();
    assert_eq!(names(&ours), names(&theirs), "{what}");
    for ((name, ours), (_, theirs)) in ours.iter().zip(&theirs) {
        let (common, zeros) = ours.split_at_checked(theirs.len()).unwrap_or((ours, b"1"));
        assert_same_bytes(common, theirs, &format!("{what}, {name}"));
        let is_padding = zeros.len() < 8 && zeros.iter().all(|&byte| byte == 0);
        assert!(is_padding, "{what}, {name}: {zeros:?}");
    }
}

/// Returns the images that `cargo offload` extracts, under `cuobjdump`'s names. Asserts that
/// `.nv_fatbin` and `__nv_relfatbin` contain this many fatbins.
fn images_by_offload(folder: &Path, path: &Path, file: &[u8], counts: [usize; 2]) -> NamedImages {
    let images = by_offload(folder, path, file);
    let sections =
        if is_dll(path) { [".nv_fatb", "__nv_rel"] } else { [".nv_fatbin", "__nv_relfatbin"] };
    for (section, count) in sections.into_iter().zip(counts) {
        let mut found = containers(&images);
        found.retain(|it| *it == format!("{section} fatbin"));
        assert_eq!(found.len(), count, "{section}");
    }
    assert_eq!(containers(&images).len(), counts.iter().sum::<usize>());
    let image = |(image, extracted): OfOffload| {
        let [arch, kind] =
            ["target_id", "image_kind"].map(|key| image[key].as_str().expect("a name").to_owned());
        (format!("{}.{kind}", arch.replace("compute", "sm")), read(extracted))
    };
    let images = images.into_iter().map(image).collect();
    fs::remove_dir_all(folder.join("ours")).expect("what was written can be removed");
    images
}

#[test(CUDA.slow())]
fn fatbins() {
    let folder = scratch::folder("real-files-fatbins");
    let files = [
        (published::BITSANDBYTES_CUDA118, [1, 6], 7 * 7 + 6),
        (published::BITSANDBYTES_CUDA132, [1, 6], 7 * 7 + 6),
        (published::NVJPEG12, [11, 0], 11 * 15 + 10),
        (published::NVJPEG13, [10, 0], 10 * 11),
        (published::CUDADEVRT, [0, 1], 12),
    ];
    for (name, fatbins, count) in files {
        let path = path(name);
        let file = read(&path);
        let (ours, starts) = fatbin_images(&file);
        assert_eq!((starts.len(), ours.len()), (fatbins.iter().sum(), count), "{name}");
        let theirs = cuobjdump_extracts(&path, &folder);
        assert_same_images(ours, theirs.clone(), name);
        assert_same_images(images_by_offload(&folder, &path, &file, fatbins), theirs, name);
    }
}

/// On Linux, `cuobjdump` finds nothing in a DLL, so pass each section to it as a file.
#[test(CUDA.slow())]
fn fatbins_in_a_dll() {
    const NAME: &str = published::BITSANDBYTES_CUDA132_DLL;
    let folder = scratch::folder("real-files-fatbins-dll");
    let dll = path(NAME);
    let file = read(&dll);
    let (ours, starts) = fatbin_images(&file);
    assert_eq!((starts.len(), ours.len()), (7, 7 * 7 + 6));
    let mut theirs = Vec::new();
    for section in [".nv_fatb", "__nv_rel"] {
        let dumped = folder.join("section.fatbin");
        let argument = format!("--dump-section={section}={}", dumped.display());
        succeed(llvm("llvm-objcopy").arg(argument).arg(&dll).arg(folder.join("rest")));
        theirs.extend(cuobjdump_extracts(&dumped, &folder));
    }
    assert_same_images(ours, theirs.clone(), NAME);
    assert_same_images(images_by_offload(&folder, &dll, &file, [1, 6]), theirs, NAME);
}

/// Tests `cargo offload size`. `tools/verify.rs` and `tools/inside` test two more commands with the
/// same files.
#[test(ALL.slow())]
fn size_takes_all() {
    for name in published::ROCM.into_iter().chain(published::CUDA) {
        let output = succeed(Command::new(own::cargo_offload()).arg("size").arg(path(name)));
        assert!(!output.stdout.is_empty() && output.stderr.is_empty(), "{name}: {output:?}");
    }
}

/// Returns the start of each wrapper's image. Asserts that the wrappers fill their section, whose
/// size `llvm-readobj` reports, and that the file contains containers of these kinds only.
fn wrapped(name: &str, file: &[u8], section: &str, kinds: &[ContainerKind]) -> BTreeSet<u64> {
    find(file, |place, container| match container {
        Ok(Content::Container(kind, _)) if kinds.contains(&kind) => {}
        other => panic!("{place:?}: {other:?}"),
    });
    let mut starts = BTreeSet::new();
    let mut count = 0;
    wrappers(file, |wrapper| {
        let image = wrapper.image.expect("an image");
        starts.insert((image.as_ptr() as usize - file.as_ptr() as usize) as u64);
        count += 1;
    });
    let path = path(name);
    let (section, size) =
        if is_dll(&path) { (&section[..8], "VirtualSize:") } else { (section, "Size:") };
    let ranges = section_ranges(&path, section, size, size);
    assert_eq!(ranges, [(count * 24, count * 24)], "{name}: one section");
    starts
}

#[test(ROCM)]
fn wrappers_point_to_the_bundles() {
    for name in published::ROCM {
        let file = read(path(name));
        let starts = bundles(&file).iter().map(|bundle| bundle.range.start as u64).collect();
        let kinds = [ContainerKind::Bundle, ContainerKind::CompressedBundle];
        assert_eq!(wrapped(name, &file, ".hipFatBinSegment", &kinds), starts, "{name}");
    }
}

/// The wrappers point to all fatbins except one in nvJPEG 12, whose cubins have no kernels.
#[test(CUDA)]
fn wrappers_point_to_the_fatbins() {
    for name in published::CUDA.into_iter().filter(|name| !name.ends_with(".a")) {
        let file = read(path(name));
        let (_, starts) = fatbin_images(&file);
        let left_out = usize::from(name == published::NVJPEG12);
        let starts = starts.into_iter().skip(left_out).collect();
        let kinds = [ContainerKind::Fatbin];
        assert_eq!(wrapped(name, &file, ".nvFatBinSegment", &kinds), starts, "{name}");
    }
}
