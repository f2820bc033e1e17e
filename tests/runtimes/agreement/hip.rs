//! Compares our choice of image with that of AMD's HIP runtime 5.2, on GPUs that the runtime
//! supports and our rules distinguish: gfx906 and gfx90a in all their modes, and gfx1030. This
//! runtime accepts only version 4 code objects and does not support generic targets.

use super::{Image, assert_same_choice, ours};
use offload_format::bundle::{BundleBuilder, HIP_ENTRY_PREFIX};
use offload_format::select::DeviceInfo;
use offload_tests::prelude::*;
use offload_tests::stand_ins::hsa::{self, RUNTIME};
use offload_tests::stand_ins::{Staged, compile, described};

pub const CODE_OBJECT_VERSION: u32 = 4;

const DEVICES: [&str; 10] = [
    "gfx906:sramecc+:xnack+",
    "gfx906:sramecc+:xnack-",
    "gfx906:sramecc-:xnack+",
    "gfx906:sramecc-:xnack-",
    "gfx90a:sramecc+:xnack+",
    "gfx90a:sramecc+:xnack-",
    "gfx90a:sramecc-:xnack+",
    "gfx90a:sramecc-:xnack-",
    "gfx1030",
    // No image in these tests is for gfx1031.
    "gfx1031",
];

static LIBRARIES: LazyLock<PathBuf> = LazyLock::new(|| hsa::libraries("agreement-hsa"));

/// The program that passes a file to the runtime.
static LOAD: LazyLock<PathBuf> = LazyLock::new(|| {
    let load = LIBRARIES.join("hip_load");
    compile("hip_load.c", &["-ldl"], &load);
    load
});

/// One code object for every target ID of the devices' processors.
static IMAGES: LazyLock<Vec<Image>> = LazyLock::new(|| {
    let folder = scratch::folder("agreement-hip-images");
    let source = folder.join("saxpy.c");
    scratch::write(
        &source,
        "#include <gpuintrin.h>\n__gpu_kernel void saxpy(float *y) { *y = TARGET; }\n",
    );
    let mut targets = vec!["gfx1030".to_owned()];
    for processor in ["gfx906", "gfx90a"] {
        for sramecc in ["", ":sramecc+", ":sramecc-"] {
            let target = |xnack| format!("{processor}{sramecc}{xnack}");
            targets.extend(["", ":xnack+", ":xnack-"].map(target));
        }
    }
    let compiled = targets.into_iter().enumerate().map(|(number, target)| {
        let file = folder.join(format!("{number}.hsaco"));
        // The stand-in identifies images by their bytes, so no two images may be equal.
        let options = format!(
            "--target=amdgcn-amd-amdhsa -O2 -ffreestanding -nogpulib -nostdlib -mcpu={target} \
             -mcode-object-version={CODE_OBJECT_VERSION} -DTARGET={number} -o"
        );
        succeed(llvm("clang").args(options.split(' ')).arg(&file).arg(&source));
        Image { target, bytes: read(&file) }
    });
    compiled.collect()
});

/// Returns the target of the image that the runtime loads from `file`, which contains `images`.
/// `name` names the run's files, so each test needs a different name.
fn loaded<'i>(file: &[u8], images: &[&'i Image], device: &str, name: &str) -> Option<&'i str> {
    let path = LIBRARIES.join(format!("{name}.file"));
    scratch::write(&path, file);
    let args = [RUNTIME, path.to_str().expect("the target folder's name is UTF-8"), "saxpy"];
    let outcome = Staged::new(&LOAD, &LIBRARIES)
        .with("FAKE_GPU", device)
        .run(&args, &LIBRARIES.join(format!("{name}.log")));
    let found = outcome.log.first().and_then(|line| line.strip_prefix("code object: "));
    let image = found.map(|found| {
        let image = images.iter().find(|image| described(&image.bytes) == found);
        image.unwrap_or_else(|| panic!("{device}: loads what it was not given: {outcome:#?}"))
    });
    // If no image fits, the runtime ends the process or returns an error.
    assert_eq!(outcome.status == Some(0), image.is_some(), "{device}: {outcome:#?}");
    image.map(|image| image.target.as_str())
}

/// Returns a bundle for the section `.hip_fatbin`; `None` if the images may not be in one bundle.
fn bundle(images: &[&Image]) -> Option<Vec<u8>> {
    let mut builder = BundleBuilder::hip();
    for image in images {
        let id = format!("{HIP_ENTRY_PREFIX}{}", image.target);
        builder.entry(&id, image.bytes.len() as u64).ok()?;
    }
    let mut payloads: Vec<&[u8]> = vec![b""];
    payloads.extend(images.iter().map(|image| image.bytes.as_slice()));
    Some(builder.layout().to_vec(&payloads))
}

/// Returns the devices whose processors have an image, and gfx1031, which has none.
fn devices(images: &[&Image]) -> impl Iterator<Item = &'static str> {
    let mut processors: Vec<&str> = images.iter().map(|image| processor(&image.target)).collect();
    processors.push("gfx1031");
    DEVICES.into_iter().filter(move |device| processors.contains(&processor(device)))
}

fn processor(target: &str) -> &str {
    target.split(':').next().unwrap_or(target)
}

#[test(needs(&[Tool::Llvm22, Tool::Hip5, Tool::Gcc]).slow())]
fn alone() {
    let mut fits = 0;
    for image in &*IMAGES {
        let bundle = bundle(&[image]).expect("one image");
        for (form, file) in [("bundle", &bundle), ("code object", &image.bytes)] {
            for device in devices(&[image]) {
                let ours = ours([image], &DeviceInfo::hip(device).unwrap());
                let how = format!("a {form} for {} on {device}", image.target);
                assert_same_choice(ours, loaded(file, &[image], device, "alone"), &how);
                fits += usize::from(ours.is_some());
            }
        }
    }
    assert!(fits > DEVICES.len(), "{fits}");
}

/// Compares the choices for pairs of images for one processor, and for larger bundles in which all
/// images for a processor name the same features.
#[test(needs(&[Tool::Llvm22, Tool::Hip5, Tool::Gcc]).slow())]
fn together() {
    let (mut bundles, mut chosen) = (0, BTreeSet::new());
    let mut sets: Vec<Vec<&Image>> = Vec::new();
    for (number, a) in IMAGES.iter().enumerate() {
        let others = IMAGES[..number].iter();
        let others = others.filter(|b| processor(&a.target) == processor(&b.target));
        sets.extend(others.flat_map(|b| [vec![a, b], vec![b, a]]));
    }
    // All images for a processor in a bundle must name the same features. Combine each set of
    // features for gfx906 with a different one for gfx90a.
    let features = |image: &Image| ["sramecc", "xnack"].map(|name| image.target.contains(name));
    let combinations = [[false, false], [false, true], [true, false], [true, true]];
    for (number, names) in combinations.into_iter().enumerate() {
        let others = combinations[(number + 1) % combinations.len()];
        let wanted = |image: &&Image| match processor(&image.target) {
            "gfx906" => features(image) == names,
            "gfx90a" => features(image) == others,
            _ => true,
        };
        let set: Vec<&Image> = IMAGES.iter().filter(wanted).collect();
        sets.push(set.iter().rev().copied().collect());
        sets.push(set);
    }
    for set in sets {
        let Some(file) = bundle(&set) else { continue };
        bundles += 1;
        let names = set.iter().map(|image| image.target.as_str()).collect::<Vec<_>>().join(", ");
        for device in devices(&set) {
            let ours = ours(set.iter().copied(), &DeviceInfo::hip(device).unwrap());
            let theirs = loaded(&file, &set, device, "together");
            assert_same_choice(ours, theirs, &format!("{names} on {device}"));
            chosen.extend(ours.map(|image| image.target.as_str()));
        }
    }
    assert_eq!((bundles, chosen.len()), (2 * 2 * (1 + 1 + 6) + 2 * 4, IMAGES.len()));
}
