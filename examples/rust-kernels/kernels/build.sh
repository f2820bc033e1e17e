#!/bin/sh
# Compiles the kernels to images/, which build.rs packs. Needs a nightly Rust with the component rust-src (or, with
# RUSTC_BOOTSTRAP=1, a release with its sources), and ld.lld of LLVM for AMD's code object.
set -eu
cd "$(dirname "$0")"
images=../images
target=${CARGO_TARGET_DIR:-$PWD/target}
mkdir -p "$images"

# TARGET PROCESSOR WHAT EXTENSION
compile() {
  rm -f "$target/$1/release/deps/kernels"*."$4"
  RUSTFLAGS="-C target-cpu=$2" ${CARGO:-cargo} rustc --quiet --release -Zbuild-std=core --target "$1" \
    -- --emit="$3" -C codegen-units=1
}

compile nvptx64-nvidia-cuda sm_80 asm s
cp "$target/nvptx64-nvidia-cuda/release/deps/kernels"*.s "$images/saxpy.compute_80.ptx"

compile amdgcn-amd-amdhsa gfx90a obj o
"${LLD:-ld.lld}" -shared "$target/amdgcn-amd-amdhsa/release/deps/kernels"*.o -o "$images/saxpy.gfx90a.hsaco"
