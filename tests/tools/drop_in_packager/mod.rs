//! Compares our `llvm-offload-binary` and `clang-offload-packager` with LLVM 22's: output, exit
//! status, and every remaining file.
//!
//! When it writes an archive, LLVM's tool replaces any existing file, even a device. So no case
//! writes an archive to a device.

mod archives;
mod bitcode;
mod command_line;
mod differences;
mod extraction;
mod malformed;
mod next_llvm;
mod packing;

use offload_tests::prelude::*;
use offload_tests::side_by_side::{Case, Ran, Whose};

const TOOL: &str = "llvm-offload-binary";

/// Returns a command line of the tool, split at spaces, with the files that all cases use.
fn case(line: &str) -> Case {
    case_of(TOOL, line.split_whitespace())
}

fn case_of<S: Into<OsString>>(tool: &str, arguments: impl IntoIterator<Item = S>) -> Case {
    let case = Case::new(tool, arguments);
    inputs().into_iter().fold(case, |case, (name, bytes)| case.file(name, bytes))
}

/// Returns a command line that reads the file `in` with these bytes.
fn case_in(bytes: impl Into<Vec<u8>>, options: &str) -> Case {
    case(&format!("in {options}")).file("in", bytes)
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

/// Packs with LLVM's tool, and returns the result.
fn packed(images: &str) -> Vec<u8> {
    case(&format!("-o out {images}")).run(Whose::Llvm).success().file("out").to_vec()
}

fn several() -> Vec<u8> {
    static SEVERAL: LazyLock<Vec<u8>> = LazyLock::new(|| {
        packed(
            "--image=file=one.o,triple=amdgcn-amd-amdhsa,arch=gfx906,kind=hip
            --image=file=two.cubin,triple=nvptx64-nvidia-cuda,arch=sm_80,kind=cuda
            --image=file=three.s,triple=nvptx64-nvidia-cuda,kind=cuda,feature=+ptx80
            --image=file=four.bc,triple=amdgcn-amd-amdhsa,arch=gfx90a:xnack+,kind=openmp
            --image=file=five.fatbin,triple=nvptx64-nvidia-cuda,kind=sycl
            --image=file=six.spv,triple=spirv64
            --image=file=empty,triple=amdgcn-amd-amdhsa,arch=gfx906,kind=hip",
        )
    });
    SEVERAL.clone()
}

/// Returns the names of the files that a run left, except the [`inputs`].
fn names(ran: &Ran) -> Vec<String> {
    let given = inputs().map(|(name, _)| name);
    let names = ran.files.keys().map(|path| path.display().to_string());
    names.filter(|name| !given.contains(&name.as_str())).collect()
}

/// Returns an archive that `llvm-ar` creates from these files.
fn archive(name: &str, options: &str, files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let folder = scratch::folder(&format!("drop_in_packager/{name}"));
    for (name, bytes) in files {
        scratch::write(folder.join(name), bytes);
    }
    let names = files.iter().map(|(name, _)| *name);
    succeed(llvm("llvm-ar").current_dir(&folder).args([options, "lib.a"]).args(names));
    read(folder.join("lib.a"))
}
