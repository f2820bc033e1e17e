//! Device code in archives of every kind, including thin and nested archives, compared with LLVM
//! 22's `llvm-objdump`.

use super::inputs::{ALLOC, INPUTS, copied, in_folder, offload_object};
use super::{assert_images_are_listed, bundle_entries, containers, images, objdump_lists, text};
use offload_format::fat_file::Container;
use offload_tests::data::read;
use offload_tests::registry::LLVM;
use offload_tests::scratch;
use offload_tests::tools::{llvm, succeed};

offload_tests::tests! {
    LLVM => [archives_of_every_kind],
}

fn archives_of_every_kind() {
    let folder = scratch::folder("fat-file-archives");
    offload_object(&folder, "first", ALLOC);
    offload_object(&folder, "second_with_a_long_name", ALLOC);
    copied(&INPUTS, &folder, &["a.o"]);
    let names = ["first.o", "second_with_a_long_name.o", "a.o"];
    let archive = |options: &[&str], name: &str, members: &[&str]| {
        succeed(in_folder(llvm("llvm-ar"), &folder).args(options).arg(name).args(members));
        folder.join(name)
    };
    for format in ["gnu", "bsd", "darwin", "coff"] {
        let path = archive(&[&format!("--format={format}"), "crD"], &format!("{format}.a"), &names);
        assert_images_are_listed(&path, 4);
        let file = read(&path);
        let members: Vec<&str> =
            containers(&file).iter().map(|(place, _)| text(place.member)).collect();
        assert_eq!(members, names, "{format}");
        // Compares only the bytes of the entries, since their offsets depend on the member's place
        // in the archive.
        let inside: Vec<Vec<u8>> =
            bundle_entries(&file).into_iter().map(|(.., bytes)| bytes).collect();
        let outside: Vec<Vec<u8>> = bundle_entries(&read(folder.join("a.o")))
            .into_iter()
            .map(|(.., bytes)| bytes)
            .collect();
        assert_eq!(inside, outside, "{format}");
    }

    let inner = archive(&["qcD"], "inner.a", &names);
    assert_images_are_listed(&inner, 4);
    let outer = archive(&["qcD"], "outer.a", &["inner.a", "first.o"]);
    let file = read(&outer);
    assert_eq!(images(&file).len(), 6);
    let members: Vec<&str> =
        containers(&file).iter().map(|(place, _)| text(place.member)).collect();
    assert_eq!(members, [&names[..], &["first.o"]].concat());

    let thin = archive(&["--thin", "qcD"], "thin.a", &names);
    let file = read(&thin);
    let elsewhere: Vec<&str> = containers(&file)
        .iter()
        .map(|(place, container)| match container {
            Container::Elsewhere(path) => {
                assert_eq!(place.member, Some(*path));
                str::from_utf8(path).expect("a path")
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(elsewhere, names);
    let there: Vec<[String; 4]> =
        elsewhere.iter().flat_map(|name| images(&read(folder.join(name)))).collect();
    assert_eq!(there, objdump_lists(&thin));
}
