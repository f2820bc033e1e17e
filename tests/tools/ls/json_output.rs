//! Tests of the output of `cargo offload ls --json`: its fields, and the hashes of images.

use super::{extracted, images, json, number, offload, records, string};
use crate::corpus_bytes;
use offload_tests::data::{assert_same_bytes, corpus_files};
use offload_tests::registry::NOTHING;
use offload_tests::scratch;
use offload_tests::tools::{stdout, succeed};
use serde_json::Value;
use std::fs;
use std::process::Command;

offload_tests::tests! {
    NOTHING => [json_has_these_fields, json_of_several_files_is_an_array, sha256_is_that_of_the_bytes],
}

/// A check of whether a field's value is valid.
type IsRight<'a> = &'a dyn Fn(&Value) -> bool;

fn json_has_these_fields() {
    let is_text_or_null = |value: &Value| value.is_string() || value.is_null();
    let one_of = |names: &'static [&str]| move |value: &Value| names.contains(&string(value));
    let containers: &[&str] = &[
        "bundle",
        "compressed-bundle",
        "text-bundle",
        "object-bundle",
        "offload-binary",
        "fatbin",
        "kpack",
        "raw",
    ];
    let kinds: &[&str] = &["elf", "cubin", "ptx", "bitcode", "spirv", "empty", "unknown"];
    let mut seen = Vec::new();
    let documents =
        corpus_files().into_iter().flat_map(|file| records(&file)).collect::<Vec<Value>>();
    for document in &documents {
        let file = string(&document["file"]);
        let keys: Vec<&String> = document.as_object().expect("an object").keys().collect();
        assert_eq!(keys.len(), 3, "{keys:?}");
        assert_eq!(number(&document["size"]), corpus_bytes(file).len() as u64);
        let mut last = 0;
        for image in document["images"].as_array().expect("an array") {
            let fields: [(&str, IsRight<'_>); 14] = [
                ("section", &is_text_or_null),
                ("container", &one_of(containers)),
                ("container_index", &Value::is_u64),
                ("entry_id", &is_text_or_null),
                ("module", &is_text_or_null),
                ("offload_kind", &is_text_or_null),
                ("triple", &is_text_or_null),
                ("target_id", &is_text_or_null),
                ("image_kind", &one_of(kinds)),
                ("offset", &|value| value.is_u64() || value.is_null()),
                ("size", &Value::is_u64),
                ("sha256", &is_text_or_null),
                ("kernels", &|value| value.is_null() || value.is_array()),
                ("member", &is_text_or_null),
            ];
            for (name, is_right) in fields {
                assert!(
                    image.get(name).is_some_and(is_right),
                    "{file}: {name} is {:?}",
                    image.get(name)
                );
            }
            assert_eq!(image.as_object().map(|object| object.len()), Some(fields.len()), "{file}");
            for kernel in image["kernels"].as_array().into_iter().flatten() {
                assert!(kernel["name"].is_string(), "{file}: {kernel}");
                assert!(kernel.get("code_size").is_some(), "{file}: {kernel}");
            }
            let index = number(&image["container_index"]);
            assert!(
                index == last || index == last + 1,
                "{file}: containers count from 0, without gaps"
            );
            last = index;
            seen.push(string(&image["container"]).to_owned());
        }
    }
    assert!(
        containers.iter().all(|name| seen.iter().any(|it| it == name)),
        "the corpus has every container: {seen:?}"
    );
}

fn json_of_several_files_is_an_array() {
    let files = ["bundle/basic.bc", "image/saxpy.gfx90a.hsaco"];
    let run = offload(&["ls", "--json", files[0], files[1]]);
    let array: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(array.as_array().map(Vec::len), Some(2));
    for (document, file) in array.as_array().expect("an array").iter().zip(files) {
        assert_eq!(*document, json(file));
    }
    // A missing file does not hide the others.
    let run = offload(&["ls", "--json", files[0], "nowhere"]);
    let array: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!((array.as_array().map(Vec::len), run.code), (Some(1), 1));
    assert_eq!(run.stderr, "error: cannot read nowhere: No such file or directory\n");
}

fn sha256_is_that_of_the_bytes() {
    let folder = scratch::folder("ls-sha256");
    let mut compared = 0;
    for file in corpus_files() {
        let bytes = corpus_bytes(&file);
        // The extracted files, in the order of the images that can be read.
        let all = extracted(&folder.join("out"), &[&file, "--empty"]);
        let readable: Vec<Value> =
            images(&file).into_iter().filter(|image| image["sha256"].is_string()).collect();
        assert_eq!(all.len(), readable.len(), "{file}");
        for (image, extracted) in readable.iter().zip(all) {
            let size = number(&image["size"]) as usize;
            if let Some(offset) = image["offset"].as_u64() {
                assert_same_bytes(&extracted, &bytes[offset as usize..][..size], &file);
            }
            assert_eq!(extracted.len(), size, "{file}");
            fs::write(folder.join("image"), &extracted).expect("the target folder can be written");
            let output = stdout(&succeed(Command::new("sha256sum").arg(folder.join("image"))));
            assert_eq!(output.split(' ').next(), image["sha256"].as_str(), "{file}");
            compared += 1;
        }
    }
    assert!(compared > 100, "{compared} images");
}
