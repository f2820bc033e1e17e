//! Reads object bundles that clang's driver and `clang-offload-bundler` wrote.

use super::{compile, corpus};
use offload_format::object_bundle::{self, ObjectBundle};
use offload_tests::data::{assert_same_bytes, read};
use offload_tests::registry::{LLVM, NOTHING};
use offload_tests::scratch;
use offload_tests::tools::{llvm, stdout, succeed};

offload_tests::tests! {
    LLVM => [objects_of_clangs_hip_driver],
    NOTHING => [bundles_of_llvm_are_read, objects_at_any_address],
}

/// Tests objects that clang's old driver for HIP writes for device code that is linked later.
fn objects_of_clangs_hip_driver() {
    let folder = scratch::folder("object-bundle-hip");
    let source = r#"
        typedef struct S *hipStream_t; struct dim3 { unsigned x, y, z; };
        extern "C" int hipLaunchKernel(const void *, dim3, dim3, void **, unsigned long, hipStream_t);
        __attribute__((global)) void k(int *p) { *p = 1; }
        __attribute__((device)) int v = 3;
        int main() { return 0; }
    "#;
    let options = "-x hip --offload-arch=gfx906 --offload-arch=gfx1100 -nogpuinc -nogpulib --hip-path=/nonexistent -O1 \
        --no-offload-new-driver -fgpu-rdc";
    let object = compile(&folder, llvm("clang"), source, "k.hip", options, "fat.o");
    let bytes = read(&object);
    let bundle = ObjectBundle::parse(&bytes).unwrap();
    let listing = succeed(
        llvm("clang-offload-bundler")
            .args(["-type=o", "-list"])
            .arg(format!("-input={}", object.display())),
    );
    let mut ids: Vec<&str> = bundle.entries().map(|entry| entry.id_str()).collect();
    let listing = stdout(&listing);
    let mut listed: Vec<&str> = listing.lines().collect();
    ids.sort_unstable();
    listed.sort_unstable();
    assert_eq!(ids, listed);
    assert_eq!(ids.len(), 3);
    for entry in bundle.entries() {
        succeed(
            llvm("clang-offload-bundler")
                .current_dir(&folder)
                .args(["-type=o", "-unbundle", "-input=fat.o", "-output=entry"])
                .arg(format!("-targets={}", entry.id_str())),
        );
        let theirs = read(folder.join("entry"));
        if entry.is_host_placeholder() {
            assert_same_bytes(&object_bundle::strip(&bytes).unwrap(), &theirs, entry.id_str())
        } else {
            assert_same_bytes(entry.code_object(), &theirs, entry.id_str())
        }
    }
}

/// The expected entries: ID, offset, size, and whether the entry represents the host.
type Expected<'a> = &'a [(&'a str, u64, usize, bool)];

fn bundles_of_llvm_are_read() {
    let table: [(&str, Expected); 4] = [
        ("host.o", &[]),
        (
            "fat.o",
            &[
                ("host-x86_64-unknown-linux-gnu-", 624, 1, true),
                ("hip-amdgcn-amd-amdhsa--gfx906", 625, 9, false),
                ("hip-amdgcn-amd-amdhsa--gfx908", 634, 0, false),
            ],
        ),
        (
            "fat.obj",
            &[
                ("host-x86_64-pc-windows-msvc-", 554, 1, true),
                ("hip-amdgcn-amd-amdhsa--gfx906", 555, 9, false),
            ],
        ),
        (
            "hip_rdc.o",
            &[
                ("hip-amdgcn-amd-amdhsa--gfx906", 2406, 4040, false),
                ("host-x86_64-pc-linux-gnu-", 6446, 1, true),
            ],
        ),
    ];
    for (file, expected) in table {
        let bytes = corpus(file);
        let bundle = ObjectBundle::parse(&bytes).unwrap();
        let found: Vec<_> = bundle
            .entries()
            .map(|it| (it.id_str(), it.offset(), it.code_object().len(), it.is_host_placeholder()))
            .collect();
        assert_eq!(found, expected, "{file}");
        for entry in bundle.entries() {
            let offset = entry.offset() as usize;
            assert_eq!(entry.code_object(), &bytes[offset..offset + entry.code_object().len()]);
            assert_eq!(entry.id().unwrap().is_host(), entry.is_host_placeholder());
        }
    }
    let fat = corpus("fat.o");
    assert_eq!(
        ObjectBundle::parse(&fat).unwrap().entries().nth(1).unwrap().code_object(),
        b"DEV1DATA1"
    );
    // The bundle can also be removed again.
    assert!(object_bundle::strip(&fat).unwrap() == corpus("host.o"));
}

/// Tests objects at even addresses, as in archives, and at any address, as in other files.
fn objects_at_any_address() {
    for file in ["fat.o", "fat.obj", "hip_rdc.o"] {
        let bytes = corpus(file);
        let expected = format!("{:?}", ObjectBundle::parse(&bytes).unwrap());
        let mut shifted = bytes.clone();
        for _ in 0..8 {
            shifted.insert(0, 0);
            let object = &shifted[shifted.len() - bytes.len()..];
            assert_eq!(format!("{:?}", ObjectBundle::parse(object).unwrap()), expected);
            assert!(object_bundle::strip(object).unwrap() == object_bundle::strip(&bytes).unwrap());
        }
    }
}
