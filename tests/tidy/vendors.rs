//! Tests who knows vendors and kinds of images: a few folders match on them, and all other code
//! asks questions. So another vendor is a row or an arm in these folders.

use super::sources::{CRATES, code, sources};
use std::collections::BTreeMap;

/// The folders that may match on vendors and on kinds of images.
const ROOMS: [&str; 8] = [
    "offload-format/src/target/",
    "offload-format/src/image/",
    "offload-format/src/select/",
    "offload-pack/src/pack_index/",
    "offload-build/src/toolchain/compilers/",
    "offload-build/src/compile/",
    "offload-build/src/request/",
    "offload-gpu/src/run/",
];

/// The enums of vendors and of kinds of images, with their variants.
const ENUMS: [(&str, &str); 6] = [
    ("Vendor", "Amd Nvidia Intel Cpu"),
    ("OffloadArch", "Amdgpu Nvidia Intel Cpu"),
    ("ImageCode", "Amdgpu Cubin Ptx SpirV Intel Cpu"),
    ("PackImageKind", "CodeObject Cubin Ptx SpirV SharedObject"),
    ("ImageKind", "CodeObject Elf Pe Cubin Ptx Bitcode SpirV Fatbin"),
    ("ImageHeader", "CodeObject Cubin Ptx Fatbin Bitcode SpirV Elf Pe"),
];

/// The other files with such lines, and the number of them. A comment in each file says why.
const EXCEPTIONS: [(&str, usize); 15] = [
    ("offload-build/src/build/decide/mod.rs", 5),
    ("offload-build/src/build/static_library/device_link.rs", 2),
    ("offload-build/src/build/static_library/link.rs", 1),
    ("offload-build/src/build/static_library/objects.rs", 1),
    ("offload-build/src/pack/mod.rs", 1),
    ("offload-build/src/plan/constraints.rs", 1),
    ("offload-build/src/plan/scope.rs", 1),
    ("offload-build/src/plan/supplied/mod.rs", 4),
    ("offload-build/src/targets/foreign_variables.rs", 2),
    ("offload-build/src/targets/native.rs", 3),
    ("offload-embed-macro/src/file/images.rs", 3),
    ("offload-format/src/inventory/containers.rs", 5),
    ("offload-tools/src/offload/size/part.rs", 2),
    ("offload-tools/src/offload/size/tree.rs", 3),
    ("offload-tools/src/offload/verify/wrappers.rs", 1),
];

/// Whether a line names a variant of one of the enums, or imports variants.
fn is_site(line: &str) -> bool {
    ENUMS.iter().any(|(name, variants)| {
        line.match_indices(&format!("{name}::")).any(|(at, path)| {
            let is_whole = !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            let rest = &line[at + path.len()..];
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            let imports = line.trim_start().starts_with("use ") && end == 0;
            is_whole && (imports || variants.split(' ').any(|variant| variant == &rest[..end]))
        })
    })
}

#[test]
fn only_the_listed_places_match_on_vendors_and_kinds_of_images() {
    let mut found = BTreeMap::new();
    for (path, text) in CRATES.iter().flat_map(|name| sources(&format!("{name}/src"))) {
        let count = code(&text).lines().filter(|line| is_site(line)).count();
        let is_room = ROOMS.iter().any(|room| path.starts_with(room));
        if count > 0 && !is_room && !path.ends_with("tests.rs") {
            found.insert(path, count);
        }
    }
    let listed: BTreeMap<String, usize> =
        EXCEPTIONS.into_iter().map(|(path, count)| (path.to_owned(), count)).collect();
    assert_eq!(found, listed, "left: the sources; right: the exceptions that are listed");
    let sum: usize = listed.values().sum();
    assert!(listed.len() <= 15 && sum <= 40, "{sum} exceptions in {} files", listed.len());
}

#[test]
fn what_counts_as_a_site() {
    for line in ["Vendor::Amd => 1,", "if kind == ImageKind::Ptx {", "use Vendor::{Amd, Cpu};"] {
        assert!(is_site(line), "{line}");
    }
    for line in [
        "Vendor::ALL",
        "MyVendor::Amd",
        "ImageKind::PTX",
        "vendor.is_gpu()",
        "ImageHeader::parse(b)",
    ] {
        assert!(!is_site(line), "{line}");
    }
}
