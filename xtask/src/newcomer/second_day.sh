# The second day, in the package of the first day: what people do next, in the usual order.
commands=0

echo "== A second module, float4, a struct behind a pointer, a folder of headers"
page=/root/offload/docs/guide/src/structs.md
for file in kernels/include/particle.h kernels/particles.cu build.rs Cargo.toml src/main.rs; do copy_out "$file"; done
use_the_checkout
sed -i 's|.file("kernels/particles.cu")|.modules(["kernels/saxpy.cu", "kernels/particles.cu"])|' build.rs
works "cargo run" 2
grep -q 'x = 0.75, cell 75' /tmp/log || stop "the program prints another result"

echo "== Intel's runtime for CPUs"
run "apt-get install -y --no-install-recommends python3-venv" 1
block 'python3 -m venv' docs/guide/src/reference/spirv.md >/tmp/lines
while read -r line; do works "$line" 1; done </tmp/lines
sed -i 's|"cpu"|"spirv64", "cpu"|' build.rs
works "cargo run" 2
grep -q 'opencl:0.*x = 0.75, cell 75' /tmp/log || stop "the program does not run on Intel's runtime"
unset OCL_ICD_VENDORS LD_LIBRARY_PATH OFFLOAD_DEVICE
sed -i 's|"spirv64", ||' build.rs

echo "== sm_90 without CUDA, then in a new shell"
sed -i 's|"compute_80"|"sm_90", "compute_80"|' build.rs
fails "cargo build" 12 "ptxas"
paste_commands
works "env -i HOME=$HOME PATH=$PATH CARGO_HTTP_CAINFO=${CARGO_HTTP_CAINFO:-} bash -c 'cargo build'" 2

echo "== A unit test"
cat >src/lib.rs <<'END'
//! Moves particles.

mod kernels {
    offload_gpu::include_kernels!("particles");
}

use offload_gpu::run::{Buffer, Device, RunError};

/// Returns `a * x + y` for each pair of elements.
pub fn saxpy(device: &Device, a: f32, x: &[f32], y: &[f32]) -> Result<Vec<f32>, RunError> {
    let (count, threads) = (x.len() as i32, 64);
    let (x, mut y): (Buffer<f32>, _) = (device.buffer(x)?, device.buffer(y)?);
    // SAFETY: the kernel touches the first `count` elements of both buffers.
    unsafe { kernels::saxpy::saxpy(count, a, &x, &mut y).launch(device, (count as u32).div_ceil(threads), threads)? };
    y.to_vec()
}

#[cfg(test)]
mod tests {
    use offload_gpu::run::Device;

    #[test]
    fn a_hundred_elements() {
        let y = super::saxpy(&Device::cpu(), 2.0, &[1.0; 100], &[3.0; 100]).unwrap();
        assert_eq!(y, [5.0; 100]);
    }
}
END
cat >src/main.rs <<'END'
use offload_gpu::run::{Device, RunError};

fn main() -> Result<(), RunError> {
    println!("{:?}", saxpy::saxpy(&Device::cpu(), 3.0, &[1.0; 2], &[2.0; 2])?);
    Ok(())
}
END
works "cargo test" 4

echo "== cargo offload test, with two planted bugs"
works "cargo install -q --path ../offload/offload-tools" 2
export PATH="$HOME/.cargo/bin:$PATH"
type_in "cargo offload test" 6
if [ "$status" -ne 0 ]; then
  paste_commands
  works "cargo offload test" 6
fi
cp kernels/saxpy.cu /tmp/right.cu
sed -i 's|if (i < n) ||' kernels/saxpy.cu
fails "cargo offload test" 14 "kernels/saxpy.cu:"
cat >kernels/saxpy.cu <<'END'
extern "C" __global__ void saxpy(int n, float a, const float *x, float *y) {
  __shared__ float tile[64];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < n ? a * x[i] : 0.0f;
  if (i < n) y[i] = tile[(threadIdx.x + 1) % 64 % n] * 0.0f + a * x[i] + y[i];
}
END
fails "cargo offload test" 14 "data race"
cp /tmp/right.cu kernels/saxpy.cu

echo "== A release, of a library and a program"
works "cargo build --release" 2
works "target/release/saxpy" 1

echo "== A build without a compiler for GPUs: an editor's check"
works "OFFLOAD_SKIP=1 cargo check" 2

echo "== cargo package, with the crates in a registry"
# Packs the crates as they are published, and puts them into a folder with the vendored dependencies.
pack_crates() {
  (cd ../offload && cargo package -q --no-verify --allow-dirty --target-dir /tmp/packed \
    -p offload-format -p offload-pack -p offload-embed-macro -p offload-gpu -p offload-build) &&
    cargo vendor -q --versioned-dirs /tmp/registry || return
  for crate in /tmp/packed/package/*.crate; do
    tar -xzf "$crate" -C /tmp/registry || return
    echo '{"files":{},"package":null}' >"/tmp/registry/$(basename "$crate" .crate)/.cargo-checksum.json"
  done
}
run pack_crates 2
[ "$status" -eq 0 ] || stop "the crates cannot be packed"
works "cargo package --allow-dirty --config source.crates-io.replace-with=\"'packed'\" --config source.packed.directory=\"'/tmp/registry'\"" 3

echo "== Kernels in Rust, without a compiler for GPUs"
mkdir -p ../rust/kernels/src ../rust/src && cd ../rust || exit 1
page=/root/offload/docs/guide/src/rust.md
for file in kernels/Cargo.toml kernels/src/lib.rs build.rs src/main.rs; do copy_out "$file"; done
block '[patch.crates-io]' docs/guide/src/rust.md >>kernels/Cargo.toml
page=/root/offload/README.md
copy_out Cargo.toml
use_the_checkout
sed -i 's|\.archs(.*)|.arch("cpu")|' build.rs
works "cargo run" 2
grep -q 'y\[999\] = 1$' /tmp/log || stop "the program prints another result"
cd ../saxpy || exit 1

echo "== An older clang"
run "apt-get install -y --no-install-recommends clang-16 lld-16" 1
works "OFFLOAD_CLANG=/usr/bin/clang-16 cargo run" 2

echo "== Buffers of cudarc for a kernel with float4"
mkdir -p ../ported/kernels ../ported/src && cd ../ported || exit 1
copy_out Cargo.toml
block 'offload-gpu = {' docs/guide/src/foreign.md >/tmp/lines
sed -i -e '/^offload-gpu/d' -e '/^\[dependencies\]/r /tmp/lines' Cargo.toml
use_the_checkout
copy_out build.rs
sed -i 's|saxpy|math|g' build.rs
block 'use cudarc::driver::CudaContext;' docs/guide/src/foreign.md >src/main.rs
cat >kernels/math.cu <<'END'
extern "C" __global__ void saxpy(int n, float a, const float4 *x, float4 *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i].w = a * x[i].w + y[i].w;
}
END
fails "cargo build" 20 '`*const float4` (8 bytes): `&CudaSlice<f32>` cannot be passed'
x=$(grep -o '&unsafe [^`]*' /tmp/log | head -n 1) y=$(grep -o '&mut unsafe [^`]*' /tmp/log | head -n 1)
[ -n "$x" ] && [ -n "$y" ] || stop "the message has no cast for both buffers"
sed -i "s|&x, &mut y|${x//&/\\&}, ${y//&/\\&}|" src/main.rs
works "cargo build" 2

echo "== A second crate, which uses the first without clang"
cd ../saxpy && works "OFFLOAD_PREBUILT=update cargo build --release" 1
run "apt-get remove -y 'clang-*' 'lld-*'" 1
mkdir -p ../app/src && cd ../app || exit 1
cat >Cargo.toml <<'END'
[package]
name = "app"
version = "0.1.0"
edition = "2024"

[dependencies]
offload-gpu = "0.1"
saxpy = { path = "../saxpy" }

END
use_the_checkout
cp ../saxpy/src/main.rs src
works "cargo run" 4
grep -q 'gfx90a.* from prebuilt/' /tmp/log || stop "the build does not use the prebuilt set"

echo "newcomer: $commands commands on the second day"
