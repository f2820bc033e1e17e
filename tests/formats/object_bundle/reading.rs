//! Reads object bundles that clang's driver and `clang-offload-bundler` wrote.

use super::{compile, corpus};
use offload_format::object_bundle::{self, ObjectBundle};
use offload_tests::bundler;
use offload_tests::prelude::*;

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
    let object = compile(&folder, llvm("clang"), options, ("k.hip", source));
    let bytes = read(&object);
    let bundle = ObjectBundle::parse(&bytes).unwrap();
    let ids: Vec<&str> = bundle.entries().map(|entry| entry.id_str()).collect();
    let (mut sorted, mut listed) = (ids.clone(), bundler::listed("-type=o", &object));
    sorted.sort_unstable();
    listed.sort_unstable();
    assert_eq!(sorted, listed);
    assert_eq!(ids.len(), 3);
    let host = object_bundle::strip(&bytes).unwrap();
    for (entry, theirs) in bundle.entries().zip(bundler::unbundled("-type=o", &object, &ids)) {
        let ours = if entry.is_host_placeholder() { &host } else { entry.code_object() };
        assert_same_bytes(ours, &theirs, entry.id_str());
    }
}

/// The dumps of `golden` have IDs, offsets and sizes.
fn bundles_of_llvm_are_read() {
    for file in ["fat.o", "fat.obj", "hip_rdc.o"] {
        let bytes = corpus(file);
        for entry in ObjectBundle::parse(&bytes).unwrap().entries() {
            assert!(bytes[entry.offset() as usize..].starts_with(entry.code_object()));
            assert_eq!(entry.id().unwrap().is_host(), entry.is_host_placeholder());
        }
    }
    assert!(ObjectBundle::parse(&corpus("host.o")).unwrap().entries().next().is_none());
    assert!(object_bundle::strip(&corpus("fat.o")).unwrap() == corpus("host.o"));
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
