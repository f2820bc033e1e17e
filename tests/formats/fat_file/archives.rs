//! Compares device code in archives of every kind, including thin and nested ones, with LLVM 22's
//! `llvm-objdump`.

use super::inputs::{ALLOC, INPUTS, copied, offload_object};
use super::{assert_images_are_listed, bundle_entries, containers, images, members};
use offload_format::fat_file::Content;
use offload_tests::judges::objdump_lists;
use offload_tests::prelude::*;

#[test(LLVM.slow())]
fn archives_of_every_kind() {
    let folder = scratch::folder("fat-file-archives");
    offload_object(&folder, "first", ALLOC);
    offload_object(&folder, "second_with_a_long_name", ALLOC);
    copied(&INPUTS, &folder, &["a.o"]);
    let names = ["first.o", "second_with_a_long_name.o", "a.o"];
    let archive = |options: &str, name: &str, members: &[&str]| {
        run(llvm("llvm-ar"), &folder, &format!("{options} {name} {}", members.join(" ")));
        folder.join(name)
    };
    for format in ["gnu", "bsd", "darwin", "coff"] {
        let path = archive(&format!("--format={format} crD"), &format!("{format}.a"), &names);
        assert_images_are_listed(&path, 4);
        let file = read(&path);
        assert_eq!(members(&file), names, "{format}");
        let outside = bundle_entries(&read(folder.join("a.o")));
        assert_eq!(bundle_entries(&file), outside, "{format}");
    }

    let inner = archive("qcD", "inner.a", &names);
    assert_images_are_listed(&inner, 4);
    let file = read(archive("qcD", "outer.a", &["inner.a", "first.o"]));
    assert_eq!(images(&file).len(), 6);
    assert_eq!(members(&file), [&names[..], &["first.o"]].concat());

    let thin = archive("--thin qcD", "thin.a", &names);
    let file = read(&thin);
    assert_eq!(members(&file), names);
    for (place, container) in containers(&file) {
        let Content::Elsewhere(path) = container else { panic!("{container:?}") };
        assert_eq!(place.member, Some(path));
    }
    let there = names.iter().flat_map(|name| images(&read(folder.join(name))));
    assert_eq!(there.collect::<Vec<_>>(), objdump_lists(&thin));
}
