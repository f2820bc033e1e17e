//! Compares our `llvm-offload-binary` and `clang-offload-packager` with those of LLVM 22: output,
//! exit status, and every remaining file.
//!
//! LLVM's tool replaces any existing file by an archive, even a device, so no case here names a
//! device for an archive.

mod archives;
mod bitcode;
mod command_line;
mod differences;
mod extraction;
mod faults;
mod malformed;
mod next_llvm;
mod packing;

use offload_format::offload_binary::{ImageKind, OffloadBinaryBuilder, OffloadKind, Version};
use offload_tests::data::some_bytes;
use offload_tests::scratch;
use offload_tests::side_by_side::{Case, Ran, Whose};
use offload_tests::tools::{llvm, succeed};
use std::path::PathBuf;

offload_tests::tests! {
    ;
    packing::tests(),
    command_line::tests(),
    extraction::tests(),
    bitcode::tests(),
    archives::tests(),
    malformed::tests(),
    differences::tests(),
    faults::tests(),
    next_llvm::tests(),
}

const TOOL: &str = "llvm-offload-binary";

/// Returns a command line of the tool, with the files that all cases use.
fn case(arguments: &[&str]) -> Case {
    case_of(TOOL, arguments)
}

fn case_of(tool: &str, arguments: &[&str]) -> Case {
    let mut case = Case::new(tool, arguments);
    for (name, bytes) in inputs() {
        case = case.file(name, bytes);
    }
    case
}

fn inputs() -> [(&'static str, Vec<u8>); 8] {
    [
        ("one.o", b"one".to_vec()),
        ("two.cubin", some_bytes(2, 1000)),
        ("three.s", b".version 8.0\n".to_vec()),
        ("four.bc", some_bytes(4, 8)),
        ("five.fatbin", some_bytes(5, 9)),
        ("six.spv", some_bytes(6, 17)),
        ("bitcode", b"BC\xc0\xderest".to_vec()),
        ("empty", Vec::new()),
    ]
}

/// Returns the result of packing with LLVM's tool.
fn packed(images: &[&str]) -> Vec<u8> {
    let mut arguments = vec!["-o", "out"];
    arguments.extend(images);
    let ran = case(&arguments).run(Whose::Llvm);
    assert!(ran.succeeded(), "{images:?}: {}", ran.stderr);
    ran.file("out").to_vec()
}

/// Returns an offload binary file with several images, two of them for one target.
fn several() -> Vec<u8> {
    packed(&[
        "--image=file=one.o,triple=amdgcn-amd-amdhsa,arch=gfx906,kind=hip",
        "--image=file=two.cubin,triple=nvptx64-nvidia-cuda,arch=sm_80,kind=cuda",
        "--image=file=three.s,triple=nvptx64-nvidia-cuda,kind=cuda,feature=+ptx80",
        "--image=file=four.bc,triple=amdgcn-amd-amdhsa,arch=gfx90a:xnack+,kind=openmp",
        "--image=file=five.fatbin,triple=nvptx64-nvidia-cuda,kind=sycl",
        "--image=file=six.spv,triple=spirv64",
        "--image=file=empty,triple=amdgcn-amd-amdhsa,arch=gfx906,kind=hip",
    ])
}

/// Asserts that both tools end with this message, and leave no new file.
fn assert_fails(case: &Case, message: &str) {
    let ran = case.assert_same();
    assert_eq!((ran.status.as_str(), ran.stderr.as_str()), ("exit status: 1", message));
}

fn names(ran: &Ran) -> Vec<String> {
    let given: Vec<&str> = inputs().map(|(name, _)| name).to_vec();
    let names = ran.files.keys().map(|path| path.display().to_string());
    names.filter(|name| !given.contains(&name.as_str())).collect()
}

/// The kinds, strings and bytes of an image.
type Image<'a> = (ImageKind, OffloadKind, &'a [(&'a str, &'a str)], &'a [u8]);

/// Returns offload binaries with these images: version 1 has a binary for each image, later
/// versions have one for all.
fn binary(version: Version, images: &[Image<'_>]) -> Vec<u8> {
    let mut builder = OffloadBinaryBuilder::new();
    for (image_kind, offload_kind, strings, bytes) in images {
        let image = builder.image(*image_kind, *offload_kind, bytes.len() as u64);
        for (key, value) in *strings {
            image.string(key, value);
        }
    }
    builder
        .layout(version)
        .to_vec(&images.iter().map(|(_, _, _, bytes)| *bytes).collect::<Vec<_>>())
}

/// Returns an archive that `llvm-ar` makes of these files.
fn archive(name: &str, options: &str, files: &[(&str, Vec<u8>)]) -> PathBuf {
    let folder = scratch::folder(&format!("drop_in_packager/{name}"));
    for (name, bytes) in files {
        scratch::write(folder.join(name), bytes);
    }
    let names = files.iter().map(|(name, _)| *name);
    succeed(llvm("llvm-ar").current_dir(&folder).args([options, "lib.a"]).args(names));
    folder.join("lib.a")
}
