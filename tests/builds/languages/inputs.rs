//! Sources that other projects' tools write: IR, bitcode, assembly, PTX, images, and containers of
//! images.

use offload_format::image::Bitcode;
use offload_tests::prelude::*;

/// A kernel in C, with the builtins from clang's header for GPUs.
pub const C: &str = "#include <gpuintrin.h>\n#include <stdint.h>\n\
                 __gpu_kernel void add(int n, const float *x, float *y) {\n  \
                   int i = __gpu_block_id_x() * __gpu_num_threads_x() + __gpu_thread_id_x();\n  \
                   if (i < n)\n    y[i] += x[i];\n}\n";

const NVIDIA: &str =
    "--target=nvptx64-nvidia-cuda -march=sm_80 -Xclang -target-feature -Xclang +ptx70";

fn amd(processor: &str) -> String {
    format!("--target=amdgcn-amd-amdhsa -mcpu={processor} -nogpulib")
}

/// Compiles `intrin.c` with clang.
fn clang(kernels: &Path, target: &str, options: &str) {
    let usual = "-O2 -ffreestanding -nostdlibinc -x c intrin.c";
    run(llvm("clang"), kernels, &format!("{usual} {target} {options}"));
}

/// Writes all sources that tools generate from the existing file `intrin.c`.
pub fn make_inputs(kernels: &Path) {
    make_ir(kernels);
    make_assembly(kernels);
    make_images(kernels);
    make_containers(kernels);
}

fn make_ir(kernels: &Path) {
    clang(kernels, &amd("gfx90a"), "-emit-llvm -S -o ir.ll");
    // This IR must be for any processor, so remove clang's attributes, which name the processor of
    // the functions.
    let ir = without_lines(kernels, "ir.ll", |line| line.starts_with("attributes "));
    let ir: String = (0..10).fold(ir, |ir, number| ir.replace(&format!(" #{number}"), ""));
    fs::write(kernels.join("ir_amd.ll"), ir).expect("the file can be written");
    run(llvm("llvm-as"), kernels, "ir_amd.ll -o bc_amd.bc");
    clang(kernels, NVIDIA, "-emit-llvm -S -o ir_nvidia.ll");
    clang(kernels, NVIDIA, "-emit-llvm -c -o bc_nvidia.bc");
    for (file, triple) in
        [("bc_amd.bc", "amdgcn-amd-amdhsa"), ("bc_nvidia.bc", "nvptx64-nvidia-cuda")]
    {
        let bytes = read(kernels.join(file));
        assert_eq!(Bitcode::parse(&bytes).expect("clang wrote it").target_triple(), Some(triple));
    }
}

/// Writes AMD assembly, with and without the directive for its target, and PTX.
fn make_assembly(kernels: &Path) {
    clang(kernels, &amd("gfx90a"), "-S -o asm.s");
    clang(kernels, &amd("gfx1100"), "-S -o asm_given.s");
    let text = without_lines(kernels, "asm_given.s", |line| line.contains(".amdgcn_target"));
    fs::write(kernels.join("asm_given.s"), text).expect("the file can be written");
    let target = "--target=nvptx64-nvidia-cuda -march=sm_90 --cuda-feature=+ptx80";
    clang(kernels, target, "-Wno-unknown-cuda-version -nogpulib -S -o text.ptx");
}

/// Returns a file's text without the selected lines.
fn without_lines(kernels: &Path, file: &str, is_one: impl Fn(&str) -> bool) -> String {
    let text =
        fs::read_to_string(kernels.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    text.lines().filter(|line| !is_one(line)).map(|line| format!("{line}\n")).collect()
}

/// Writes `made/gfx90a.hsaco` and `made/gfx1100.hsaco` from `intrin.c`.
pub fn make_code_objects(kernels: &Path) {
    fs::create_dir_all(kernels.join("made")).expect("the folder can be made");
    for target in ["gfx90a", "gfx1100"] {
        clang(kernels, &amd(target), &format!("-o made/{target}.hsaco"));
    }
}

/// Writes code objects and cubins.
fn make_images(kernels: &Path) {
    make_code_objects(kernels);
    clang(kernels, NVIDIA, "-nogpulib -S -o made/80.ptx");
    for (target, ptx) in [("sm_90", "text.ptx"), ("sm_80", "made/80.ptx")] {
        run(cuda("ptxas"), kernels, &format!("-arch={target} {ptx} -o made/{target}.cubin"));
    }
    for (from, to) in
        [("made/gfx90a.hsaco", "ready_hsaco.hsaco"), ("made/sm_80.cubin", "ready_cubin.cubin")]
    {
        fs::copy(kernels.join(from), kernels.join(to)).expect("it can be copied");
    }
}

/// Writes a fatbin, a bundle, an offload binary and an archive, with more images than the build
/// requests.
fn make_containers(kernels: &Path) {
    succeed(cuda("fatbinary").current_dir(kernels).args([
        "--create=ready_fatbin.fatbin",
        // `--compress-mode=speed` selects LZ4, which a build can read without any feature.
        "--compress-mode=speed",
        "-64",
        "--image3=kind=elf,sm=80,file=made/sm_80.cubin",
        "--image3=kind=ptx,sm=90,file=text.ptx",
        // The build does not request this target.
        "--image3=kind=elf,sm=90,file=made/sm_90.cubin",
    ]));
    bundle(kernels, "ready_bundle.hipfb", "", "3");
    succeed(llvm("llvm-offload-binary").current_dir(kernels).args([
        "-o",
        "ready_offload.offload",
        "--image=file=made/gfx90a.hsaco,triple=amdgcn-amd-amdhsa,arch=gfx90a,kind=hip",
        "--image=file=made/sm_80.cubin,triple=nvptx64-nvidia-cuda,arch=sm_80,kind=cuda",
        "--image=file=text.ptx,triple=nvptx64-nvidia-cuda,arch=compute_90,kind=cuda",
        "--image=file=bc_amd.bc,triple=amdgcn-amd-amdhsa,arch=gfx942,kind=openmp",
    ]));
    let members = "ready_bundle.hipfb made/sm_80.cubin intrin.c";
    run(llvm("llvm-ar"), kernels, &format!("rc ready_archive.a {members}"));
}

/// Writes a bundle of the two code objects with clang's bundler. `version` is the format version of
/// a compressed bundle.
pub fn bundle(kernels: &Path, name: &str, options: &str, version: &str) {
    let mut bundler = llvm("clang-offload-bundler");
    bundler.env("COMPRESSED_BUNDLE_FORMAT_VERSION", version).arg(format!("-output={name}"));
    let inputs = "-input=/dev/null -input=made/gfx90a.hsaco -input=made/gfx1100.hsaco";
    let targets = "-targets=host-x86_64-unknown-linux-gnu-,hipv4-amdgcn-amd-amdhsa--gfx90a,\
                   hipv4-amdgcn-amd-amdhsa--gfx1100";
    run(bundler, kernels, &format!("-type=o -bundle-align=4096 {inputs} {targets} {options}"));
}
