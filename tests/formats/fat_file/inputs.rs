//! Device code, programs and libraries to search, built by clang, the linkers and this library.

use super::only_container;
use crate::host_object::{named_object, target};
use offload_format::fat_file::{ContainerKind, Content};
use offload_format::section::DeviceSection;
use offload_tests::prelude::*;

pub(super) const HIP: &str = r#"
#define __host__ __attribute__((host))
#define __global__ __attribute__((global))
typedef __SIZE_TYPE__ size_t;
struct dim3 { unsigned x, y, z; };
typedef struct hipStream *hipStream_t;
typedef int hipError_t;
extern "C" hipError_t hipLaunchKernel(const void *, dim3, dim3, void **, size_t, hipStream_t);
__global__ void KERNEL(int *to) { *to = 1; }
"#;

const CUDA_SOURCE: &str = r#"
#define __global__ __attribute__((global))
typedef __SIZE_TYPE__ size_t;
struct dim3 { unsigned x, y, z; };
typedef struct cudaStream *cudaStream_t;
typedef int cudaError_t;
extern "C" cudaError_t cudaConfigureCall(dim3, dim3, size_t = 0, cudaStream_t = 0);
__global__ void KERNEL(int *to) { *to = 1; }
"#;

/// Stubs of the functions that the programs call. No test runs the programs.
pub(super) const RUNTIME: &str = "
#define F(name) int name(void) { return 0; }
F(__hipRegisterFatBinary) F(__hipUnregisterFatBinary) F(__hipRegisterFunction) F(__hipRegisterVar)
F(__hipRegisterManagedVar) F(__hipRegisterSurface) F(__hipRegisterTexture)
F(__hipPopCallConfiguration) F(__hipPushCallConfiguration) F(hipLaunchKernel)
F(__cudaRegisterFatBinary) F(__cudaRegisterFatBinaryEnd) F(__cudaUnregisterFatBinary) F(__cudaRegisterFunction)
F(__cudaRegisterVar) F(__cudaRegisterManagedVar) F(__cudaRegisterSurface) F(__cudaRegisterTexture)
F(cudaSetupArgument) F(cudaLaunch)
F(main)
";

/// A folder with `k.hip`, `runtime.o`, and four HIP objects with bundles for two GPUs. The bundles
/// in `a.o` and `b.o` are uncompressed. Those in `c.o` and `d.o` are compressed.
pub(super) static INPUTS: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = scratch::folder("fat-file-inputs");
    scratch::write(folder.join("k.hip"), HIP);
    scratch::write(folder.join("k.cu"), CUDA_SOURCE);
    scratch::write(folder.join("runtime.c"), RUNTIME);
    run(llvm("clang"), &folder, "-fPIC -w -c runtime.c");
    for kernel in ["a", "b", "c", "d"] {
        let compress = if kernel > "b" { "--offload-compress" } else { "" };
        hip_object(&folder, kernel, &format!("--no-offload-new-driver {compress}"));
    }
    folder
});

pub(super) fn hip_object(folder: &Path, kernel: &str, options: &str) {
    // `-cuid` sets the compilation ID in symbol names. By default, this ID depends on the path.
    let options = format!(
        "-x hip -nogpuinc -nogpulib --hip-path=/nonexistent -O1 -fPIC --offload-arch=gfx906 \
         --offload-arch=gfx1100 -DKERNEL={kernel} -cuid={kernel} {options} -c k.hip -o {kernel}.o"
    );
    run(llvm("clang"), folder, &options);
}

pub(super) const LINKS: [&str; 12] = [
    "-fuse-ld=lld -pie",
    "-fuse-ld=lld -no-pie",
    "-fuse-ld=lld -shared",
    "-fuse-ld=lld -pie -Wl,--apply-dynamic-relocs",
    "-fuse-ld=lld -pie -Wl,-z,pack-relative-relocs",
    "-fuse-ld=lld -pie -Wl,--emit-relocs",
    "-fuse-ld=lld -no-pie -Wl,--emit-relocs",
    "-fuse-ld=bfd -pie",
    "-fuse-ld=bfd -no-pie",
    "-fuse-ld=bfd -shared",
    "-fuse-ld=bfd -no-pie -Wl,--emit-relocs",
    "-fuse-ld=bfd -shared -s",
];

/// Links files from a folder, or from [`INPUTS`] if the folder lacks them. Writes the file
/// `program` into the folder.
pub(super) fn link(folder: &Path, how: &str, inputs: &[&str]) -> PathBuf {
    let inputs = inputs.iter().chain(&["runtime.o"]).map(|name| {
        let mut paths = [folder, &INPUTS].map(|it| it.join(name)).into_iter();
        paths.find(|path| path.exists()).expect("a file of either folder")
    });
    succeed(in_folder(llvm("clang"), folder, how).args(inputs).args(["-o", "program"]));
    folder.join("program")
}

pub(super) fn copied(from: &Path, folder: &Path, names: &[&str]) {
    for name in names {
        fs::copy(from.join(name), folder.join(name)).expect("the scratch folder can be written");
    }
}

/// Returns the files of the corpus whose names contain a word.
pub(super) fn of_corpus(word: &str) -> Vec<PathBuf> {
    let mut files = corpus("fat_file");
    files.retain(|path| path.file_name().is_some_and(|it| it.to_string_lossy().contains(word)));
    files
}

/// Writes `<name>.bin` with `llvm-offload-binary`, and `<name>.o` with these bytes in `section`.
pub(super) fn offload_object(folder: &Path, name: &str, section: &str) {
    let path = |end: &str| folder.join(format!("{name}{end}"));
    scratch::write(path(".img"), format!("image of {name}"));
    let options = format!(
        "--image=file={name}.img,triple=amdgcn-amd-amdhsa,arch=gfx906,kind=hip \
         --image=file={name}.img,triple=nvptx64-nvidia-cuda,arch={name},kind=cuda -o {name}.bin"
    );
    run(llvm("llvm-offload-binary"), folder, &options);
    scratch::write(path(".s"), format!(".section {section}\n.p2align 3\n.incbin \"{name}.bin\"\n"));
    run(llvm("clang"), folder, &format!("-c {name}.s"));
}

pub(super) const ALLOC: &str = ".llvm.offloading,\"a\",@llvm_offloading";

/// Writes the objects that this library generates for a host: `<prefix>hip.o` with a bundle, and
/// `<prefix>llvm.o` with offload binaries.
pub(super) fn our_objects(folder: &Path, prefix: &str, arch: &'static str, os: &'static str) {
    for (name, section, symbol, payload) in [
        ("hip.o", DeviceSection::HipFatbin, "pack_hip", a_bundle()),
        ("llvm.o", DeviceSection::LlvmOffloading, "pack_llvm", offload_binaries()),
    ] {
        let object = named_object(&target(arch, os), section, symbol, &payload);
        scratch::write(folder.join(format!("{prefix}{name}")), object);
    }
}

/// Returns the bundle that clang wrote into `a.o`.
pub(super) fn a_bundle() -> Vec<u8> {
    let file = read(INPUTS.join("a.o"));
    let (_, Content::Container(ContainerKind::Bundle | ContainerKind::CompressedBundle, section)) =
        only_container(&file)
    else {
        panic!("no bundle")
    };
    section.to_vec()
}

pub(super) fn offload_binaries() -> Vec<u8> {
    corpus_file("offload_binary/multi.bin")
}

/// The source of a program that refers to the packs of [`our_objects`].
pub(super) const USER: &str =
    "extern const char pack_hip[], pack_llvm[]; const char *volatile packs[2]; char zeros[70000];
int entry(void) { packs[0] = pack_hip; packs[1] = pack_llvm; return zeros[5]; }";
