//! Version 1, compared with LLVM 22's `llvm-offload-binary` and `llvm-objdump`: cases that
//! versus_llvm/ lacks.

use super::{by_hand, made, set};
use offload_format::offload_binary::{
    ImageKind, OffloadBinary, OffloadBinaryBuilder, OffloadKind, Version,
};
use offload_tests::registry::LLVM;
use offload_tests::scratch;
use offload_tests::tools::{llvm, stdout, succeed};
use proptest::prelude::{ProptestConfig, Strategy, any};
use proptest::test_runner::TestRunner;
use std::fs;
use std::path::Path;

offload_tests::tests! {
    LLVM => [the_last_of_equal_keys_counts, arguments_in_any_order],
}

fn the_last_of_equal_keys_counts() {
    let folder = scratch::folder("offload-binary-equal-keys");
    let mut file =
        by_hand(1, &[made(1, 4, 0, &[("arch", b"a"), ("triple", b"t"), ("arch", b"b")], b"image")]);
    file.resize(file.len().next_multiple_of(8), 0);
    let size = file.len() as u64;
    set(&mut file, 8, size);
    assert_eq!(OffloadBinary::parse(&file).unwrap().images().next().unwrap().arch(), Some("b"));
    scratch::write(folder.join("file"), file);
    let listing =
        stdout(&succeed(llvm("llvm-objdump").current_dir(&folder).args(["--offloading", "file"])));
    assert!(listing.contains("arch            b\n"), "{listing}");
}

/// Tests `file` and `kind` anywhere among the keys, and images without `kind`: we write the same
/// bytes as the tool.
fn arguments_in_any_order() {
    let folder = scratch::folder("offload-binary-arguments");
    scratch::write(folder.join("image.o"), "image");
    // Some of these keys have the same bucket in LLVM's hash table as `file` or `kind`. Others have
    // the same bucket as a key that `file` or `kind` pushed out of its place. There are so many
    // keys that the table grows.
    let keys: Vec<String> = (0..60).map(|number| format!("k{number}")).collect();
    let strategy = (
        proptest::sample::subsequence(keys, 0..=60).prop_shuffle(),
        any::<proptest::sample::Index>(),
        any::<Option<proptest::sample::Index>>(),
    );
    let config =
        ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() };
    let result = TestRunner::new(config).run(&strategy, |(keys, file_at, kind_at)| {
        let mut arguments: Vec<(String, String)> =
            keys.into_iter().map(|key| (key, "v".to_owned())).collect();
        arguments
            .insert(file_at.index(arguments.len() + 1), ("file".to_owned(), "image.o".to_owned()));
        if let Some(kind_at) = kind_at {
            arguments
                .insert(kind_at.index(arguments.len() + 1), ("kind".to_owned(), "hip".to_owned()));
        }
        assert_as_the_tool(&folder, &arguments, kind_at.is_some());
        Ok(())
    });
    result.unwrap();
}

fn assert_as_the_tool(folder: &Path, arguments: &[(String, String)], hip: bool) {
    let mut builder = OffloadBinaryBuilder::new();
    let image =
        builder.image(ImageKind::OBJECT, if hip { OffloadKind::HIP } else { OffloadKind::NONE }, 5);
    for (key, value) in arguments {
        match key.as_str() {
            "file" | "kind" => image.argument(key),
            _ => image.string(key, value),
        };
    }
    let ours = builder.layout(Version::V1).to_vec(&[b"image"]);
    let pairs: Vec<String> =
        arguments.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let option = format!("--image={}", pairs.join(","));
    succeed(llvm("llvm-offload-binary").current_dir(folder).args(["-o", "theirs", &option]));
    assert!(fs::read(folder.join("theirs")).unwrap() == ours, "{option}");
}
