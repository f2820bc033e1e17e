//! Tests of the output of `cargo offload ls --json`: its fields, and the hashes of images.

use super::{checked_in, extracted, images_of};
use crate::{list, number, string};
use offload_tests::prelude::*;
use serde_json::Value;

#[test]
fn json_has_these_fields() {
    let containers =
        "bundle compressed-bundle text-bundle object-bundle offload-binary fatbin kpack oxart raw";
    let containers: Vec<&str> = containers.split(' ').collect();
    let kinds = ["elf", "cubin", "ptx", "bitcode", "spirv", "empty", "unknown"];
    let or_null = |is_right: bool, value: &Value| is_right || value.is_null();
    let mut seen = Vec::new();
    for document in checked_in().into_iter().flat_map(|(_, records)| records) {
        let file = string(&document["file"]);
        let keys: Vec<&String> = document.as_object().expect("an object").keys().collect();
        assert_eq!(keys.len(), 3, "{keys:?}");
        assert_eq!(number(&document["size"]), corpus_file(file).len() as u64);
        let mut last = 0;
        for image in document["images"].as_array().expect("an array") {
            let fields = image.as_object().expect("an object");
            assert_eq!(fields.len(), 14, "{file}: {image}");
            for (name, value) in fields {
                let is_right = match name.as_str() {
                    "section" | "entry_id" | "module" | "offload_kind" | "triple" | "target_id"
                    | "sha256" | "member" => or_null(value.is_string(), value),
                    "container" => containers.contains(&string(value)),
                    "image_kind" => kinds.contains(&string(value)),
                    "container_index" | "size" => value.is_u64(),
                    "offset" => or_null(value.is_u64(), value),
                    "kernels" => or_null(value.is_array(), value),
                    _ => false,
                };
                assert!(is_right, "{file}: {name} is {value}");
            }
            for kernel in list(&image["kernels"]) {
                assert!(kernel["name"].is_string(), "{file}: {kernel}");
                assert!(kernel.get("code_size").is_some(), "{file}: {kernel}");
            }
            let index = number(&image["container_index"]);
            let follows = index == last || index == last + 1;
            assert!(follows, "{file}: containers count from 0, without gaps");
            last = index;
            seen.push(string(&image["container"]).to_owned());
        }
    }
    let is_seen = |name: &&str| seen.iter().any(|it| it == name);
    assert!(containers.iter().all(is_seen), "the corpus has every container: {seen:?}");
}

#[test]
fn sha256_is_that_of_the_bytes() {
    let folder = scratch::folder("ls-sha256");
    let mut hashes = Vec::new();
    for (file, records) in checked_in() {
        let bytes = corpus_file(&file);
        // The extracted files, in the order of the readable images.
        let all = extracted(&folder.join("out"), &[&file, "--empty"]);
        let mut readable = images_of(&records);
        readable.retain(|image| image["sha256"].is_string());
        assert_eq!(all.len(), readable.len(), "{file}");
        for (image, extracted) in readable.iter().zip(all) {
            let size = number(&image["size"]) as usize;
            if let Some(offset) = image["offset"].as_u64() {
                assert_same_bytes(&extracted, &bytes[offset as usize..][..size], &file);
            }
            assert_eq!(extracted.len(), size, "{file}");
            scratch::write(folder.join(hashes.len().to_string()), &extracted);
            hashes.push(format!("{}  {}", string(&image["sha256"]), hashes.len()));
        }
    }
    assert!(hashes.len() > 100, "{} images", hashes.len());
    let mut sums = Command::new("sha256sum");
    sums.current_dir(&folder).args((0..hashes.len()).map(|number| number.to_string()));
    let sums = stdout(&succeed(&mut sums));
    assert_eq!(sums.lines().collect::<Vec<_>>(), hashes);
}
