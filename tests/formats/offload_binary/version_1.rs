//! Compares version 1 with LLVM 22's `llvm-offload-binary` and `llvm-objdump`, in cases that
//! versus_llvm/ lacks.

use super::{by_hand, made, objdump, pad};
use crate::properties::check;
use offload_format::offload_binary::{
    OffloadBinary, OffloadBinaryBuilder, OffloadKind, StatedKind, Version,
};
use offload_tests::prelude::*;
use proptest::prelude::{Strategy, any};
use proptest::sample::{Index, subsequence};

#[test(LLVM)]
fn the_last_of_equal_keys_counts() {
    let folder = scratch::folder("offload-binary-equal-keys");
    let strings: &[(&str, &[u8])] = &[("arch", b"a"), ("triple", b"t"), ("arch", b"b")];
    let mut file = by_hand(1, &[made([1, 4], 0, strings, b"image")]);
    pad(&mut file);
    assert_eq!(OffloadBinary::parse(&file).unwrap().images().next().unwrap().arch(), Some("b"));
    let listing = objdump(&folder, &file).expect("LLVM reads version 1");
    assert!(listing.contains("arch            b\n"), "{listing}");
}

/// Tests `file` and `kind` at any position among the keys, and images without `kind`. We must write
/// the same bytes as the tool.
#[test(LLVM.slow())]
fn arguments_in_any_order() {
    let folder = scratch::folder("offload-binary-arguments");
    scratch::write(folder.join("image.o"), "image");
    // Some of these keys share a bucket of LLVM's hash table with `file` or `kind`, or with a key
    // that `file` or `kind` displaced. There are enough keys to make the table grow.
    let keys: Vec<String> = (0..60).map(|number| format!("k{number}")).collect();
    let keys = subsequence(keys, 0..=60).prop_shuffle();
    check(100, (keys, any::<Index>(), any::<Option<Index>>()), |(keys, file_at, kind_at)| {
        let mut arguments: Vec<(&str, &str)> = keys.iter().map(|key| (key.as_str(), "v")).collect();
        arguments.insert(file_at.index(arguments.len() + 1), ("file", "image.o"));
        if let Some(kind_at) = kind_at {
            arguments.insert(kind_at.index(arguments.len() + 1), ("kind", "hip"));
        }
        assert_as_the_tool(&folder, &arguments, kind_at.is_some());
    });
}

fn assert_as_the_tool(folder: &Path, arguments: &[(&str, &str)], hip: bool) {
    let mut builder = OffloadBinaryBuilder::new();
    let kind = if hip { OffloadKind::HIP } else { OffloadKind::NONE };
    let image = builder.image(StatedKind::OBJECT, kind, 5);
    for &(key, value) in arguments {
        match key {
            "file" | "kind" => image.argument(key),
            _ => image.string(key, value),
        };
    }
    let ours = builder.layout(Version::V1).to_vec(&[b"image"]);
    let pairs: Vec<_> = arguments.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let options = format!("-o theirs --image={}", pairs.join(","));
    run(llvm("llvm-offload-binary"), folder, &options);
    assert!(read(folder.join("theirs")) == ours, "{options}");
}
