//! Device code, programs and libraries to search, written by clang, the linkers and this library.

use super::containers;
use offload_format::fat_file::Container;
use offload_format::host_object::{self, CargoTarget, Machine};
use offload_format::section::DeviceSection;
use offload_tests::data::read;
use offload_tests::scratch;
use offload_tests::tools::{llvm, succeed};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

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

/// Functions that programs call; no test runs them.
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

/// A folder with `k.hip`, `runtime.o`, and HIP objects with a kernel of the same name and bundles
/// for two GPUs: `a.o`, `b.o`, and compressed `c.o`, `d.o`.
pub(super) static INPUTS: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = scratch::folder("fat-file-inputs");
    scratch::write(folder.join("k.hip"), HIP);
    scratch::write(folder.join("k.cu"), CUDA_SOURCE);
    scratch::write(folder.join("runtime.c"), RUNTIME);
    succeed(in_folder(llvm("clang"), &folder).args(["-fPIC", "-w", "-c", "runtime.c"]));
    for kernel in ["a", "b", "c", "d"] {
        let compress: &[&str] = if kernel > "b" { &["--offload-compress"] } else { &[] };
        hip_object(&folder, kernel, &[&["--no-offload-new-driver"], compress].concat());
    }
    folder
});

pub(super) fn in_folder(mut command: Command, folder: &Path) -> Command {
    command.current_dir(folder);
    command
}

/// Compiles `k.hip` to `<kernel>.o`.
pub(super) fn hip_object(folder: &Path, kernel: &str, options: &[&str]) {
    let mut clang = in_folder(llvm("clang"), folder);
    clang.args(["-x", "hip", "-nogpuinc", "-nogpulib", "--hip-path=/nonexistent", "-O1", "-fPIC"]);
    clang.args(["--offload-arch=gfx906", "--offload-arch=gfx1100", &format!("-DKERNEL={kernel}")]);
    // Sets the ID of the compilation, which is in symbols' names: by default, it depends on the
    // path.
    clang.arg(format!("-cuid={kernel}")).args(options);
    succeed(clang.args(["-c", "k.hip", "-o", &format!("{kernel}.o")]));
}

/// Ways to link a program or library.
pub(super) const LINKS: [&[&str]; 12] = [
    &["-fuse-ld=lld", "-pie"],
    &["-fuse-ld=lld", "-no-pie"],
    &["-fuse-ld=lld", "-shared"],
    &["-fuse-ld=lld", "-pie", "-Wl,--apply-dynamic-relocs"],
    &["-fuse-ld=lld", "-pie", "-Wl,-z,pack-relative-relocs"],
    &["-fuse-ld=lld", "-pie", "-Wl,--emit-relocs"],
    &["-fuse-ld=lld", "-no-pie", "-Wl,--emit-relocs"],
    &["-fuse-ld=bfd", "-pie"],
    &["-fuse-ld=bfd", "-no-pie"],
    &["-fuse-ld=bfd", "-shared"],
    &["-fuse-ld=bfd", "-no-pie", "-Wl,--emit-relocs"],
    &["-fuse-ld=bfd", "-shared", "-s"],
];

/// Links files of a folder and writes the file `program` there.
pub(super) fn link(folder: &Path, how: &[&str], inputs: &[&str]) -> PathBuf {
    let mut clang = in_folder(llvm("clang"), folder);
    // If the folder has no such file, use the file of [`INPUTS`].
    let inputs = inputs
        .iter()
        .map(|name| [folder, &INPUTS].map(|it| it.join(name)).into_iter().find(|it| it.exists()));
    succeed(
        clang
            .args(how)
            .args(inputs.map(|path| path.expect("a file of either folder")))
            .arg(INPUTS.join("runtime.o"))
            .args(["-o", "program"]),
    );
    folder.join("program")
}

pub(super) fn copied(from: &Path, folder: &Path, names: &[&str]) {
    for name in names {
        fs::copy(from.join(name), folder.join(name)).expect("the scratch folder can be written");
    }
}

/// Writes `<name>.bin` with `llvm-offload-binary`, and `<name>.o`, which contains it in `section`.
pub(super) fn offload_object(folder: &Path, name: &str, section: &str) {
    let path = |end: &str| folder.join(format!("{name}{end}"));
    scratch::write(path(".img"), format!("image of {name}"));
    let image = |triple: &str, arch: &str, kind: &str| {
        format!("--image=file={name}.img,triple={triple},arch={arch},kind={kind}")
    };
    let images =
        [image("amdgcn-amd-amdhsa", "gfx906", "hip"), image("nvptx64-nvidia-cuda", name, "cuda")];
    succeed(
        in_folder(llvm("llvm-offload-binary"), folder)
            .args(images)
            .args(["-o", &format!("{name}.bin")]),
    );
    scratch::write(path(".s"), format!(".section {section}\n.p2align 3\n.incbin \"{name}.bin\"\n"));
    succeed(in_folder(llvm("clang"), folder).args(["-c", &format!("{name}.s")]));
}

pub(super) const ALLOC: &str = ".llvm.offloading,\"a\",@llvm_offloading";
pub(super) const LINUX: CargoTarget<'_> =
    CargoTarget { arch: "x86_64", os: "linux", pointer_width: "64", endian: "little" };

/// Returns the object that this library writes for a target, with `payload` in the section.
pub(super) fn our_object(
    target: &CargoTarget<'_>,
    section: DeviceSection,
    symbol: &str,
    payload: &[u8],
) -> Vec<u8> {
    let machine = Machine::of(target).expect("a machine of the table");
    host_object::write(machine, section, symbol, payload.len() as u64)
        .expect("small")
        .to_vec(&[payload])
}

/// Returns a bundle made by clang, as objects contain it.
pub(super) fn a_bundle() -> Vec<u8> {
    let file = read(INPUTS.join("a.o"));
    let found = containers(&file);
    let [(_, Container::Bundles(section))] = found[..] else { panic!("{found:?}") };
    section.to_vec()
}

/// Returns two offload binaries made by LLVM.
pub(super) fn offload_binaries() -> Vec<u8> {
    read(scratch::workspace().join("tests/corpus/offload_binary/multi.bin"))
}

pub(super) const WINDOWS: CargoTarget<'_> =
    CargoTarget { arch: "x86_64", os: "windows", pointer_width: "64", endian: "little" };

pub(super) const USER: &str =
    "extern const char pack_hip[], pack_llvm[]; const char *volatile packs[2]; char zeros[70000];
int entry(void) { packs[0] = pack_hip; packs[1] = pack_llvm; return zeros[5]; }";
