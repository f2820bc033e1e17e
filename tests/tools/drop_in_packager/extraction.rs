//! Tests that extract images from offload binaries, and from files that contain offload binaries.

use super::{case, case_in, names, several};
use crate::containers::binary;
use offload_format::offload_binary::{OffloadKind, StatedKind, Version};
use offload_tests::prelude::*;

#[test(LLVM)]
fn images_are_extracted() {
    let ran = case("in.bin --image=").file("in.bin", several()).assert_same().success();
    let expected = [
        "in-amdgcn-amd-amdhsa-gfx906.0.o",
        "in-amdgcn-amd-amdhsa-gfx906.6.",
        "in-amdgcn-amd-amdhsa-gfx90a:xnack+.3.bc",
        "in-nvptx64-nvidia-cuda-.2.s",
        "in-nvptx64-nvidia-cuda-.4.fatbin",
        "in-nvptx64-nvidia-cuda-sm_80.1.cubin",
        "in-spirv64-.5.",
        "in.bin",
    ];
    assert_eq!(names(&ran), expected);
    assert_eq!(ran.file("in-amdgcn-amd-amdhsa-gfx906.6."), b"");
    for name in ["in", "in.", ".bin", "in.a.b", "dir/in.o", "dir.d/in"] {
        let ran = case(&format!("{name} --image=kind=cuda")).file(name, several()).assert_same();
        assert_eq!(names(&ran).len(), 3, "{name}");
    }
    // An existing file must be replaced.
    let name = "in-amdgcn-amd-amdhsa-gfx90a:xnack+.0.bc";
    let ran = case_in(several(), "--image=kind=openmp").file(name, [0; 100]).assert_same();
    assert_eq!(ran.file(name), some_bytes(4, 8));
    // Test images of known kinds, and images with the unassigned kind numbers 7 and 100.
    let images = [0, 1, 2, 3, 4, 5, 7, 100]
        .map(|kind| (StatedKind(kind), OffloadKind::HIP, &[("arch", "a")][..], &b"bytes"[..]));
    case_in(binary(Version::V1, &images), "--image=").assert_same().success();
}

#[test(LLVM.slow())]
fn what_is_asked_for() {
    const IMAGES: &str = "kind=hip kind=cuda kind=openmp kind=sycl kind=none kind=bogus kind kind= \
        kind=cuda,kind=cuda triple=amdgcn-amd-amdhsa triple=amdgcn-amd-amdhsa,arch=gfx906 \
        triple=amdgcn-amd-amdhsa,arch=gfx90a arch=gfx90a:xnack+ arch= arch triple= feature=+ptx80 \
        feature= arch=sm_80,triple=nvptx64-nvidia-cuda,kind=cuda arch=sm_80,kind=hip other=x \
        other= arch=sm_* = =x ,, Kind=hip";
    let mut with_files = String::new();
    for (number, image) in IMAGES.split(' ').enumerate() {
        case_in(several(), &format!("--image={image}")).assert_same().success();
        with_files += &format!("--image={image},file=out{number} ");
    }
    case_in(several(), &with_files).assert_same().success();
    // Each `--image` numbers its files separately, from 0.
    let three = "--image=kind=hip --image=kind=cuda --image=kind=hip,file=x";
    assert_eq!(names(&case_in(several(), three).assert_same()).len(), 6);
}

#[test(LLVM)]
fn one_file_for_several_images() {
    let case = |images: &str| case_in(several(), images).file("folder/x", b"");
    let warning = "llvm-offload-binary: warning: Multiple inputs match to a single file, 'out'\n";
    let ran = case("--image=file=out,kind=cuda").assert_same();
    assert_eq!((ran.stderr.as_str(), ran.file("out")), (warning, b".version 8.0\n".as_slice()));
    // The tools join the values of a repeated key with commas, so the output's name is `a,b`.
    let ran = case("--image=file=a,file=b,arch=sm_80").assert_same();
    assert_eq!(names(&ran), ["a,b", "folder/x", "in"]);
    case("--image=file=folder/out,arch=sm_80").assert_same().success();
    for file in ["nowhere/out", "", "folder"] {
        case(&format!("--image=file={file},arch=sm_80")).assert_same().failure("");
    }
    let ran = case("--image=file=out,arch=sm_80 --image=file=nowhere/x").assert_same().failure("");
    assert_eq!(ran.file("out").len(), 1000);
}

#[test(LLVM.slow())]
fn files_that_have_offload_binaries_in_them() {
    for file in ["offload_binary", "fat_file"].iter().flat_map(|folder| corpus(folder)) {
        let name = file.file_name().unwrap().to_str().unwrap();
        for options in ["--image=", "--archive --image=file=lib.a", "--image=kind=hip"] {
            case(&format!("{name} {options}")).file(name, read(&file)).assert_same();
        }
    }
    // A shared object keeps the section with the images.
    let folder = scratch::folder("drop_in_packager/shared");
    scratch::write(folder.join("images"), several());
    let source = "__attribute__((section(\".llvm.offloading\"), used, aligned(8))) static const char images[] = {\n\
                  #embed \"images\"\n};\nint f(void) { return 0; }\n";
    scratch::write(folder.join("a.c"), source);
    let options = "-shared -fPIC -nostdlib -fuse-ld=lld a.c -o a.so".split(' ');
    succeed(llvm("clang").current_dir(&folder).args(options));
    let ran = case_in(read(folder.join("a.so")), "--image=").assert_same();
    assert_eq!(names(&ran).len(), 8);
}

#[test(LLVM.slow())]
fn files_that_have_none() {
    for folder in ["bundle", "compressed", "image", "nv_fatbin", "object_bundle", "text_bundle"] {
        for file in corpus(folder) {
            let ran = case_in(read(&file), "--image=").assert_same().success();
            assert_eq!(names(&ran), ["in"], "{}", file.display());
        }
    }
    for bytes in [b"".as_slice(), b"text\n", b"\x10\xff\x10", b"\x7fEL", &[0; 100]] {
        case_in(bytes, "--image=").assert_same().success();
    }
    let missing = "llvm-offload-binary: error: 'none': No such file or directory\n";
    case("none --image=").assert_same_error(missing);
    case("none").assert_same_error(missing);
    let is_folder = "llvm-offload-binary: error: 'folder': Is a directory\n";
    case("folder --image=").file("folder/x", b"").assert_same_error(is_folder);
    case("one.o/x --image=").assert_same();
}
