//! Tests of `cargo offload reach`, which lists the GPUs that a file serves.

use crate::inside::made::{Entry, zip};
use crate::{assert_transcript, corpus_bytes, corpus_path, json, list, offload, string};
use offload_format::target::product::PRODUCTS;
use offload_tests::judges::{cuobjdump_extracts, roc_obj_lists};
use offload_tests::own::run;
use offload_tests::prelude::*;
use offload_tests::published;
use serde_json::Value;
use std::collections::BTreeSet;

offload_tests::tests! {
    NOTHING => [what_people_see, an_archive_serves_what_its_files_serve],
    needs(&[Tool::PublishedCuda, Tool::Cuda]) => [published_libraries_for_cuda],
    needs(&[Tool::PublishedRocm, Tool::RocObj]) => [published_libraries_for_rocm],
}

fn what_people_see() {
    // The modules of the archive are for different modes. The images of `libk.so` are in kernel
    // packs, one for each processor.
    let lines = "
        reach nv_fatbin/group.fatbin
        reach bundle/hip_dev.hipfb image/two.ll
        reach archive/lib.a
        reach kpack/libk.so
        reach nv_fatbin/group.fatbin --require sm_90,sm_121@driver13.0
        reach nv_fatbin/group.fatbin --require sm_90@driver9.0,gfx906
        reach archive/lib.a --require gfx906
        reach kpack/libk.so --json --require MI50
        reach image/saxpy.sm_90.cubin --require compute_90";
    assert_transcript(&corpus_path(""), "reach", lines);
}

/// Files without device code need no image, but an archive of such files alone serves no GPU.
fn an_archive_serves_what_its_files_serve() {
    let folder = scratch::folder("offload-reach-archives");
    let text = Entry::new(b"a.txt", b"text");
    let image = Entry::new(b"image.cubin", &corpus_bytes("image/saxpy.sm_90.cubin"));
    for (name, entries, code) in
        [("none.zip", vec![text.clone()], 1), ("one.zip", vec![text, image], 0)]
    {
        scratch::write(folder.join(name), zip(&entries));
        let ran = offload(&folder, &format!("reach {name} --require sm_90"));
        assert_eq!(ran.code, code, "{ran:?}");
        let is_said = ran.stderr.contains("none.zip: no image for sm_90: there are no images");
        assert_eq!(is_said, code == 1, "{ran:?}");
    }
}

/// Returns the GPUs, without their modes, that run an image of some module in this way.
fn devices(file: &Path, how: &str) -> BTreeSet<String> {
    let ran = run(own::offload(&["reach", "--json"]).arg(file));
    assert_eq!(ran.code, 0, "{ran:?}");
    let document = json(&ran);
    let has = |row: &&Value| list(&row["gets"]).iter().any(|gets| gets["how"] == how);
    let rows = list(&document[0]["devices"]).iter().filter(has);
    let without_modes = |name: &str| name.split(':').next().unwrap_or(name).to_owned();
    rows.map(|row| without_modes(string(&row["device"]))).collect()
}

/// Returns the targets of products among these.
fn with_products<'a>(targets: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    targets
        .filter(|target| PRODUCTS.iter().any(|(known, _)| known == target))
        .map(str::to_owned)
        .collect()
}

fn published_libraries_for_cuda() {
    let mut of_ptx = 0;
    for file in [
        published::BITSANDBYTES_CUDA118,
        published::BITSANDBYTES_CUDA132,
        published::NVJPEG12,
        published::NVJPEG13,
    ] {
        let file = published::path(file);
        let folder = scratch::folder("offload-reach-cuda");
        let images = cuobjdump_extracts(&file, &folder);
        let of_kind = |end: &str| -> Vec<&str> {
            images.iter().filter_map(|(name, _)| name.strip_suffix(end)).collect()
        };
        let listed = with_products(of_kind(".cubin").into_iter());
        assert!(listed.len() > 3, "{}: {listed:?}", file.display());
        assert_eq!(devices(&file, "machine-code"), listed, "{}", file.display());
        // Only GPUs newer than the newest machine code need PTX.
        let needs_ptx = !devices(&file, "compiled").is_empty();
        assert!(!needs_ptx || !of_kind(".ptx").is_empty(), "{}", file.display());
        of_ptx += usize::from(needs_ptx);
    }
    assert!(of_ptx > 0, "a library serves newer GPUs by PTX");
}

fn published_libraries_for_rocm() {
    for file in [published::JAX_ROCM60, published::ROCRAND] {
        let file = published::path(file);
        let listed = roc_obj_lists(&file);
        let processors = listed.iter().filter_map(|(id, ..)| id.rsplit_once("--"));
        let processors = processors.map(|(_, target)| target.split(':').next().unwrap_or(target));
        let listed = with_products(processors);
        assert!(listed.len() > 3, "{}: {listed:?}", file.display());
        assert_eq!(devices(&file, "machine-code"), listed, "{}", file.display());
    }
}
