//! Device code in files: what clang, linkers, `llvm-ar` and `llvm-lipo` make is searched, and `llvm-readobj`, `llvm-objdump`,
//! `roc-obj-ls` and `cuobjdump` judge what was found, and where. Then files that nobody's tools make.

use offload_format::compressed::{Bundles, Found};
use offload_format::fat_file::{Container, FileKind, Place, Wrapper, WrapperKind, find, wrappers};
use offload_format::host_object::{self, CargoTarget, DeviceSection, Machine};
use offload_format::nv_fatbin::{self, NvFatbins};
use offload_format::offload_binary::{ImageKind, OffloadBinaries, OffloadKind};
use offload_format::{ErrorKind, Result};
use offload_tests::data::{Random, corpus, read};
use offload_tests::judges::{objdump_extracts, readobj_lists, roc_obj_lists, section_ranges};
use offload_tests::registry::{CLANG, COMPILERS, LLVM, NOTHING, Needs, needs};
use offload_tests::scratch;
use offload_tests::tools::{Tool, cuda, llvm, stdout, succeed};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

const ROC_OBJ: Needs = needs(&[Tool::Llvm22, Tool::Gcc, Tool::RocObj]);
const MINGW: Needs = needs(&[Tool::Llvm22, Tool::GnuPe]);

offload_tests::tests! {
    LLVM => [
        hip_objects,
        a_bundle_behind_zeros,
        hip_objects_with_relocatable_device_code,
        the_type_without_the_name_and_the_reverse,
        archives_of_every_kind,
        objects_of_every_size_and_byte_order,
        images_for_windows,
        macos_and_universal_files,
        wrappers_on_windows,
        wrappers_on_macos,
        debug_files_have_nothing,
    ],
    ROC_OBJ => [hip_programs, a_program_with_our_object],
    CLANG => [
        hip_programs_with_compressed_bundles,
        offload_binaries_in_objects_and_programs,
        wrappers_of_programs,
        wrappers_of_the_linker_wrapper,
        wrappers_of_cuda,
    ],
    COMPILERS => [cuda_programs],
    MINGW => [images_of_mingw],
    NOTHING => [
        files_by_themselves,
        every_truncation,
        many_bytes_changed,
        archives_in_archives_end,
        slices_that_are_the_file_itself,
        sections_that_share_their_bytes,
        sections_outside_the_file,
        names_that_share_their_text,
        wrappers_that_share_their_bytes,
        relocations_that_share_their_bytes,
    ],
}

/// What decompression may allocate.
const LIMIT: u64 = 1 << 24;

// ------------------------------------------------------------------------------------------------------ what we find

fn places(file: &[u8]) -> Vec<(Place<'_>, Result<Container<'_>>)> {
    let mut all = Vec::new();
    find(file, |place, container| all.push((place, container)));
    all
}

/// What a file has, none of which is malformed.
#[track_caller]
fn containers(file: &[u8]) -> Vec<(Place<'_>, Container<'_>)> {
    places(file).into_iter().map(|(place, container)| (place, container.expect("a container"))).collect()
}

fn text(bytes: Option<&[u8]>) -> &str {
    str::from_utf8(bytes.unwrap_or(b"-")).expect("a name is text")
}

/// An entry of a bundle: the bundle entry ID, where it starts in the file, its bytes. In compressed bundles the offset
/// counts from the start of the inflated bundle, as LLVM has it.
type BundleEntry = (String, u64, Vec<u8>);

/// The entries of all bundles in a file.
#[track_caller]
fn bundle_entries(file: &[u8]) -> Vec<BundleEntry> {
    let mut all = Vec::new();
    for (place, container) in containers(file) {
        let Container::Bundles(section) = container else { continue };
        assert_is_there(file, &place, section);
        for bundle in Bundles::new(section, LIMIT) {
            let (at, bundle) = bundle.expect("a bundle");
            match bundle {
                Found::Plain(bundle) => all.extend(bundle.entries().map(|entry| {
                    (entry.id_str().to_owned(), place.offset + at + entry.offset(), entry.code_object().to_vec())
                })),
                Found::Compressed(bundle) => {
                    let inflated = bundle.decompress(LIMIT).expect("a stream");
                    let bundle = offload_format::bundle::Bundle::parse(&inflated).expect("a bundle");
                    all.extend(
                        bundle
                            .entries()
                            .map(|entry| (entry.id_str().to_owned(), entry.offset(), entry.code_object().to_vec())),
                    );
                }
            }
        }
    }
    all
}

/// The offset of a place is where the bytes are.
#[track_caller]
fn assert_is_there(file: &[u8], place: &Place<'_>, bytes: &[u8]) {
    assert_eq!(place.offset, offset_in(file, bytes), "{place:?}");
}

fn offset_in(file: &[u8], bytes: &[u8]) -> u64 {
    (bytes.as_ptr() as usize - file.as_ptr() as usize) as u64
}

/// The entries with their sizes, of the hosts none.
fn uris(entries: &[BundleEntry]) -> Vec<(String, u64, u64)> {
    let devices = entries.iter().filter(|(id, ..)| !id.starts_with("host"));
    devices.map(|(id, offset, bytes)| (id.clone(), *offset, bytes.len() as u64)).collect()
}

/// The images of all offload binaries, as `llvm-objdump --offloading` words them.
#[track_caller]
fn images(file: &[u8]) -> Vec<[String; 4]> {
    let mut all = Vec::new();
    for (place, container) in containers(file) {
        let Container::OffloadBinaries(section) = container else { continue };
        assert_is_there(file, &place, section);
        for binary in OffloadBinaries::new(section) {
            let (_, binary) = binary.expect("an offload binary");
            all.extend(binary.images().map(|image| {
                let kind = match image.image_kind() {
                    ImageKind::OBJECT => "elf",
                    ImageKind::BITCODE => "llvm ir",
                    ImageKind::CUBIN => "cubin",
                    ImageKind::FATBINARY => "fatbinary",
                    ImageKind::PTX => "ptx",
                    _ => "<none>",
                };
                let producer = match image.offload_kind() {
                    OffloadKind::OPENMP => "openmp",
                    OffloadKind::CUDA => "cuda",
                    OffloadKind::HIP => "hip",
                    _ => "none",
                };
                [kind, image.arch().unwrap_or(""), image.triple().unwrap_or(""), producer].map(str::to_owned)
            }));
        }
    }
    all
}

// ------------------------------------------------------------------------------------------------------- what they find

/// What `llvm-objdump --offloading` prints of the images in offload binaries.
fn objdump_lists(path: &Path) -> Vec<[String; 4]> {
    // It leaves files in the folder that it was started in.
    let folder = path.parent().expect("a file lies in a folder");
    let output = stdout(&succeed(llvm("llvm-objdump").current_dir(folder).arg("--offloading").arg(path)));
    let value = |block: &str, key: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(key)).expect("each image has all lines");
        line.trim().to_owned()
    };
    let blocks = output.split("OFFLOADING IMAGE").skip(1);
    blocks.map(|block| ["kind", "arch", "triple", "producer"].map(|key| value(block, key))).collect()
}

// ----------------------------------------------------------------------------------------------------------- inputs

const HIP: &str = r#"
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

/// What programs call, which no test runs.
const RUNTIME: &str = "
#define F(name) int name(void) { return 0; }
F(__hipRegisterFatBinary) F(__hipUnregisterFatBinary) F(__hipRegisterFunction) F(__hipRegisterVar)
F(__hipRegisterManagedVar) F(__hipRegisterSurface) F(__hipRegisterTexture)
F(__hipPopCallConfiguration) F(__hipPushCallConfiguration) F(hipLaunchKernel)
F(__cudaRegisterFatBinary) F(__cudaRegisterFatBinaryEnd) F(__cudaUnregisterFatBinary) F(__cudaRegisterFunction)
F(__cudaRegisterVar) F(__cudaRegisterManagedVar) F(__cudaRegisterSurface) F(__cudaRegisterTexture)
F(cudaSetupArgument) F(cudaLaunch)
F(main)
";

/// A folder with `k.hip`, `runtime.o`, and HIP objects with a kernel of the same name and bundles for two GPUs: `a.o`,
/// `b.o`, and compressed `c.o`, `d.o`.
static INPUTS: LazyLock<PathBuf> = LazyLock::new(|| {
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

fn in_folder(mut command: Command, folder: &Path) -> Command {
    command.current_dir(folder);
    command
}

/// Compiles `k.hip` to `<kernel>.o`.
fn hip_object(folder: &Path, kernel: &str, options: &[&str]) {
    let mut clang = in_folder(llvm("clang"), folder);
    clang.args(["-x", "hip", "-nogpuinc", "-nogpulib", "--hip-path=/nonexistent", "-O1", "-fPIC"]);
    clang.args(["--offload-arch=gfx906", "--offload-arch=gfx1100", &format!("-DKERNEL={kernel}")]);
    // By default the ID of the compilation, which is in symbols' names, is made of the path.
    clang.arg(format!("-cuid={kernel}")).args(options);
    succeed(clang.args(["-c", "k.hip", "-o", &format!("{kernel}.o")]));
}

/// Ways to link a program or library.
const LINKS: [&[&str]; 12] = [
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

/// Links files of a folder to its file `program`.
fn link(folder: &Path, how: &[&str], inputs: &[&str]) -> PathBuf {
    let mut clang = in_folder(llvm("clang"), folder);
    // Where the folder has no such file, it is one of [`INPUTS`].
    let inputs = inputs.iter().map(|name| [folder, &INPUTS].map(|it| it.join(name)).into_iter().find(|it| it.exists()));
    succeed(
        clang
            .args(how)
            .args(inputs.map(|path| path.expect("a file of either folder")))
            .arg(INPUTS.join("runtime.o"))
            .args(["-o", "program"]),
    );
    folder.join("program")
}

fn copied(from: &Path, folder: &Path, names: &[&str]) {
    for name in names {
        fs::copy(from.join(name), folder.join(name)).expect("the scratch folder can be written");
    }
}

// ------------------------------------------------------------------------------------------------------------ HIP, ELF

fn assert_bundles_are_listed(path: &Path, count: usize) {
    let file = read(path);
    let entries = bundle_entries(&file);
    assert_eq!(uris(&entries), readobj_lists(path), "{}", path.display());
    assert_eq!(uris(&entries).len(), count, "{}", path.display());
}

/// Of compressed bundles `llvm-objdump` extracts what stands in the file where the inflated bundle has its code objects.
fn assert_bundles_are_extracted(path: &Path, count: usize) {
    assert_bundles_are_listed(path, count);
    let ours: Vec<_> = bundle_entries(&read(path)).into_iter().map(|(id, _, bytes)| (id, bytes)).collect();
    let theirs: Vec<_> = objdump_extracts(path).into_iter().map(|(id, file)| (id, read(file))).collect();
    assert!(theirs == ours, "{}: llvm-objdump extracts other bytes", path.display());
}

fn hip_objects() {
    let folder = scratch::folder("fat-file-hip-objects");
    let names = ["a.o", "b.o", "c.o", "d.o"];
    copied(&INPUTS, &folder, &names);
    for name in names {
        if name < "c" {
            assert_bundles_are_extracted(&folder.join(name), 2);
        } else {
            assert_bundles_are_listed(&folder.join(name), 2);
        }
        let file = read(folder.join(name));
        let found = containers(&file);
        let [(place, Container::Bundles(_))] = &found[..] else { panic!("{name}: {found:?}") };
        assert_eq!((text(place.section), place.member, place.slice), (".hip_fatbin", None, None));
    }
    // Without compression the same code objects come out.
    scratch::write(folder.join("plain/k.hip"), HIP);
    hip_object(&folder.join("plain"), "c", &["--no-offload-new-driver"]);
    let [compressed, plain] = ["c.o", "plain/c.o"].map(|name| bundle_entries(&read(folder.join(name))));
    let bytes =
        |entries: &[BundleEntry]| entries.iter().map(|(id, _, bytes)| (id.clone(), bytes.clone())).collect::<Vec<_>>();
    assert!(bytes(&compressed) == bytes(&plain), "the code objects differ");
    for path in corpus("fat_file").iter().filter(|path| path.display().to_string().contains("nordc")) {
        let name = path.file_name().expect("a file has a name");
        fs::copy(path, folder.join(name)).expect("the scratch folder can be written");
        let count = if name.to_string_lossy().contains("compressed") { 2 } else { 1 };
        assert_bundles_are_listed(&folder.join(name), count);
    }
}

fn hip_programs() {
    let folder = scratch::folder("fat-file-hip-programs");
    for how in LINKS {
        let program = link(&folder, how, &["a.o", "b.o"]);
        assert_bundles_are_extracted(&program, 4);
        assert_eq!(uris(&bundle_entries(&read(&program))), roc_obj_lists(&program), "{how:?}");
    }
}

fn hip_programs_with_compressed_bundles() {
    let folder = scratch::folder("fat-file-hip-compressed");
    for how in LINKS {
        assert_bundles_are_listed(&link(&folder, how, &["c.o", "d.o"]), 4);
        // LLVM's tools go on with the kind that came first only.
        let mixed = link(&folder, how, &["a.o", "c.o", "b.o", "d.o"]);
        let ours = uris(&bundle_entries(&read(&mixed)));
        let theirs = readobj_lists(&mixed);
        assert_eq!((ours.len(), theirs.len()), (8, 4), "{how:?}");
        assert!(theirs.iter().all(|entry| ours.contains(entry)), "{how:?}");
    }
}

/// As a linker leaves them that puts something small in front.
fn a_bundle_behind_zeros() {
    let folder = scratch::folder("fat-file-zeros");
    scratch::write(folder.join("bundle"), a_bundle());
    for (zeros, for_llvm) in [(0, 2), (4096, 0)] {
        let source = format!(".section .hip_fatbin,\"a\"\n.p2align 12\n.zero {zeros}\n.incbin \"bundle\"\n");
        scratch::write(folder.join("fat.s"), source);
        let clang = ["-c", "fat.s", "-o", "fat.o", "--target=x86_64-unknown-linux-gnu"];
        succeed(in_folder(llvm("clang"), &folder).args(clang));
        let entries = bundle_entries(&read(folder.join("fat.o")));
        assert_eq!(uris(&entries).len(), 2, "{zeros}");
        assert_eq!(readobj_lists(&folder.join("fat.o")).len(), for_llvm, "{zeros}");
    }
}

fn hip_objects_with_relocatable_device_code() {
    let folder = scratch::folder("fat-file-rdc");
    copied(&INPUTS, &folder, &["k.hip"]);
    hip_object(&folder, "old", &["-fgpu-rdc", "--no-offload-new-driver"]);
    let file = read(folder.join("old.o"));
    let found = containers(&file);
    let [(place, Container::ObjectBundle(bundle))] = &found[..] else { panic!("{found:?}") };
    assert_eq!((place.offset, place.section), (0, None));
    let ids: Vec<&str> = bundle.entries().map(|entry| entry.id_str()).collect();
    let listing = succeed(in_folder(llvm("clang-offload-bundler"), &folder).args(["-type=o", "-list", "-input=old.o"]));
    let mut listed: Vec<String> = stdout(&listing).lines().map(str::to_owned).collect();
    listed.sort();
    let mut sorted = ids.clone();
    sorted.sort();
    assert_eq!(sorted, listed);
    assert_eq!(ids.len(), 3);
    for entry in bundle.entries() {
        let section = format!("__CLANG_OFFLOAD_BUNDLE__{}", entry.id_str());
        assert_eq!(
            section_ranges(&folder.join("old.o"), &section, "Offset:", "Size:"),
            [(entry.offset(), entry.code_object().len() as u64)]
        );
        assert_eq!(offset_in(&file, entry.code_object()), entry.offset());
    }

    hip_object(&folder, "fresh", &["-fgpu-rdc", "--offload-new-driver"]);
    let file = read(folder.join("fresh.o"));
    assert_eq!(images(&file), objdump_lists(&folder.join("fresh.o")));
    assert_eq!(images(&file).len(), 2);
    // The old driver puts a wrapper into each object, the new one leaves it to the link.
    for name in ["old.o", "fresh.o"] {
        let mut count = 0;
        wrappers(&read(folder.join(name)), |_| count += 1);
        assert_eq!(count, if name == "old.o" { 1 } else { 0 }, "{name}");
    }
}

// --------------------------------------------------------------------------------------------------- offload binaries

/// Writes `<name>.bin` with `llvm-offload-binary`, and `<name>.o`, which has it in `section`.
fn offload_object(folder: &Path, name: &str, section: &str) {
    let path = |end: &str| folder.join(format!("{name}{end}"));
    scratch::write(path(".img"), format!("image of {name}"));
    let image = |triple: &str, arch: &str, kind: &str| {
        format!("--image=file={name}.img,triple={triple},arch={arch},kind={kind}")
    };
    let images = [image("amdgcn-amd-amdhsa", "gfx906", "hip"), image("nvptx64-nvidia-cuda", name, "cuda")];
    succeed(in_folder(llvm("llvm-offload-binary"), folder).args(images).args(["-o", &format!("{name}.bin")]));
    scratch::write(path(".s"), format!(".section {section}\n.p2align 3\n.incbin \"{name}.bin\"\n"));
    succeed(in_folder(llvm("clang"), folder).args(["-c", &format!("{name}.s")]));
}

const ALLOC: &str = ".llvm.offloading,\"a\",@llvm_offloading";

fn assert_images_are_listed(path: &Path, count: usize) {
    let file = read(path);
    assert_eq!(images(&file), objdump_lists(path), "{}", path.display());
    assert_eq!(images(&file).len(), count, "{}", path.display());
}

fn offload_binaries_in_objects_and_programs() {
    let folder = scratch::folder("fat-file-offloading");
    offload_object(&folder, "a", ALLOC);
    offload_object(&folder, "b", ALLOC);
    offload_object(&folder, "excluded", ".llvm.offloading,\"e\",@llvm_offloading");
    for path in corpus("fat_file").iter().filter(|path| path.display().to_string().contains("offloading.o")) {
        assert_images_are_listed(path, 2);
    }
    for how in LINKS {
        let program = link(&folder, how, &["a.o", "b.o", "excluded.o"]);
        assert_images_are_listed(&program, 4);
        let file = read(&program);
        let (place, _) = containers(&file)[0];
        assert_eq!(text(place.section), ".llvm.offloading");
        let ranges = section_ranges(&program, ".llvm.offloading", "Offset:", "Size:");
        assert_eq!(ranges.iter().map(|(offset, _)| *offset).collect::<Vec<_>>(), [place.offset]);
    }
    for linker in ["lld", "bfd"] {
        let mut clang = in_folder(llvm("clang"), &folder);
        succeed(clang.args([
            &format!("-fuse-ld={linker}"),
            "-r",
            "-nostdlib",
            "a.o",
            "excluded.o",
            "b.o",
            "-o",
            "r.o",
        ]));
        assert_images_are_listed(&folder.join("r.o"), 6);
    }
}

fn the_type_without_the_name_and_the_reverse() {
    let folder = scratch::folder("fat-file-type");
    offload_object(&folder, "typed", ".foo,\"a\",@llvm_offloading");
    assert_images_are_listed(&folder.join("typed.o"), 2);
    offload_object(&folder, "named", ".llvm.offloading,\"a\",@progbits");
    assert_eq!(images(&read(folder.join("named.o"))).len(), 2);
    assert!(objdump_lists(&folder.join("named.o")).is_empty());
    offload_object(&folder, "neither", ".foo,\"a\",@progbits");
    assert_eq!(images(&read(folder.join("neither.o"))).len(), 2);
    assert!(objdump_lists(&folder.join("neither.o")).is_empty());

    scratch::write(folder.join("hip.bin"), a_bundle());
    scratch::write(folder.join("zeros.s"), ".section .hip_fatbin,\"a\"\n.zero 4096\n.incbin \"hip.bin\"\n");
    succeed(in_folder(llvm("clang"), &folder).args(["-c", "zeros.s"]));
    assert_eq!(uris(&bundle_entries(&read(folder.join("zeros.o")))).len(), 2);
    assert!(readobj_lists(&folder.join("zeros.o")).is_empty());

    offload_object(&folder, "neither", ".foo,\"a\",@progbits");
    assert_eq!(images(&read(folder.join("neither.o"))).len(), 2);
    assert!(objdump_lists(&folder.join("neither.o")).is_empty());

    // No section has a name: the field that says where they are is zero.
    let mut nameless = read(folder.join("typed.o"));
    nameless[62..64].fill(0);
    scratch::write(folder.join("nameless.o"), nameless);
    assert_images_are_listed(&folder.join("nameless.o"), 2);
}

/// Objects of 32 bits, of big-endian machines, and with more sections than COFF's first header can count.
fn objects_of_every_size_and_byte_order() {
    let folder = scratch::folder("fat-file-sizes");
    scratch::write(folder.join("multi.bin"), offload_binaries());
    let assemble = |target: &str, text: &str| {
        scratch::write(folder.join("a.s"), text);
        let mut clang = in_folder(llvm("clang"), &folder);
        succeed(clang.args([&format!("--target={target}"), "-c", "a.s", "-o", "a.o"]));
        folder.join("a.o")
    };
    for target in ["i686-linux-gnu", "powerpc-linux-gnu", "powerpc64-linux-gnu", "s390x-linux-gnu", "aarch64-linux-gnu"]
    {
        let path = assemble(target, &format!(".section {ALLOC}\n.p2align 3\n.incbin \"multi.bin\"\n"));
        assert_images_are_listed(&path, 2);
    }
    let many: String = (0..66_000).map(|number| format!(".section .s{number},\"dr\"\n.byte 1\n")).collect();
    for (text, magic) in [("", [0x64, 0x86]), (&*many, [0, 0])] {
        let text = format!("{text}.section .llvm.offloading,\"n\"\n.p2align 3\n.incbin \"multi.bin\"\n");
        let path = assemble("x86_64-pc-windows-msvc", &text);
        assert!(read(&path).starts_with(&magic));
        assert_images_are_listed(&path, 2);
    }
    for target in ["i386-apple-macosx10.12", "x86_64-apple-macosx10.12", "arm64-apple-macosx11"] {
        let text =
            ".section __OFFLOAD,__offloading\n.p2align 3\n.incbin \"multi.bin\"\n.zerofill __DATA,__bss,_z,70000\n";
        let path = assemble(target, text);
        let file = read(&path);
        let [(place, Container::OffloadBinaries(bytes))] = containers(&file)[..] else { panic!("{target}") };
        let ranges = section_ranges(&path, "__offloading", "Offset:", "Size:");
        assert_eq!(ranges, [(place.offset, bytes.len() as u64)], "{target}");
        assert_eq!(images(&file), images(&offload_binaries()), "{target}");
    }
}

fn archives_of_every_kind() {
    let folder = scratch::folder("fat-file-archives");
    offload_object(&folder, "first", ALLOC);
    offload_object(&folder, "second_with_a_long_name", ALLOC);
    copied(&INPUTS, &folder, &["a.o"]);
    let names = ["first.o", "second_with_a_long_name.o", "a.o"];
    let archive = |options: &[&str], name: &str, members: &[&str]| {
        succeed(in_folder(llvm("llvm-ar"), &folder).args(options).arg(name).args(members));
        folder.join(name)
    };
    for format in ["gnu", "bsd", "darwin", "coff"] {
        let path = archive(&[&format!("--format={format}"), "crD"], &format!("{format}.a"), &names);
        assert_images_are_listed(&path, 4);
        let file = read(&path);
        let members: Vec<&str> = containers(&file).iter().map(|(place, _)| text(place.member)).collect();
        assert_eq!(members, names, "{format}");
        // Only offsets say where in an archive: what is in the member is in the object.
        let inside: Vec<Vec<u8>> = bundle_entries(&file).into_iter().map(|(.., bytes)| bytes).collect();
        let outside: Vec<Vec<u8>> =
            bundle_entries(&read(folder.join("a.o"))).into_iter().map(|(.., bytes)| bytes).collect();
        assert_eq!(inside, outside, "{format}");
    }

    let inner = archive(&["qcD"], "inner.a", &names);
    assert_images_are_listed(&inner, 4);
    let outer = archive(&["qcD"], "outer.a", &["inner.a", "first.o"]);
    let file = read(&outer);
    assert_eq!(images(&file).len(), 6);
    let members: Vec<&str> = containers(&file).iter().map(|(place, _)| text(place.member)).collect();
    assert_eq!(members, [&names[..], &["first.o"]].concat());

    let thin = archive(&["--thin", "qcD"], "thin.a", &names);
    let file = read(&thin);
    let elsewhere: Vec<&str> = containers(&file)
        .iter()
        .map(|(place, container)| match container {
            Container::Elsewhere(path) => {
                assert_eq!(place.member, Some(*path));
                str::from_utf8(path).expect("a path")
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(elsewhere, names);
    let there: Vec<[String; 4]> = elsewhere.iter().flat_map(|name| images(&read(folder.join(name)))).collect();
    assert_eq!(there, objdump_lists(&thin));
}

const LINUX: CargoTarget<'_> = CargoTarget { arch: "x86_64", os: "linux", pointer_width: "64", endian: "little" };

/// Our object for a target, around these bytes.
fn our_object(target: &CargoTarget<'_>, section: DeviceSection, symbol: &str, payload: &[u8]) -> Vec<u8> {
    let machine = Machine::of(target).expect("a machine of the table");
    host_object::write(machine, section, symbol, payload.len() as u64).expect("small").to_vec(&[payload])
}

/// A bundle of clang's, as it stands in an object.
fn a_bundle() -> Vec<u8> {
    let file = read(INPUTS.join("a.o"));
    let found = containers(&file);
    let [(_, Container::Bundles(section))] = found[..] else { panic!("{found:?}") };
    section.to_vec()
}

/// Two offload binaries of LLVM's.
fn offload_binaries() -> Vec<u8> {
    read(scratch::workspace().join("tests/corpus/offload_binary/multi.bin"))
}

fn a_program_with_our_object() {
    let folder = scratch::folder("fat-file-ours");
    scratch::write(folder.join("hip.o"), our_object(&LINUX, DeviceSection::HipFatbin, "pack_hip", &a_bundle()));
    scratch::write(
        folder.join("llvm.o"),
        our_object(&LINUX, DeviceSection::LlvmOffloading, "pack_llvm", &offload_binaries()),
    );
    scratch::write(
        folder.join("user.c"),
        "extern const char pack_hip[], pack_llvm[]; const char *volatile packs[2];
         void use(void) { packs[0] = pack_hip; packs[1] = pack_llvm; }",
    );
    succeed(in_folder(llvm("clang"), &folder).args(["-fPIC", "-c", "user.c"]));
    for name in ["hip.o", "llvm.o"] {
        assert_eq!(FileKind::identify(&read(folder.join(name))), Some(FileKind::Host));
    }
    assert_bundles_are_extracted(&folder.join("hip.o"), 2);
    assert_images_are_listed(&folder.join("llvm.o"), 2);
    for how in LINKS {
        let program = link(&folder, how, &["user.o", "hip.o", "llvm.o"]);
        assert_bundles_are_extracted(&program, 2);
        assert_images_are_listed(&program, 2);
        assert_eq!(uris(&bundle_entries(&read(&program))), roc_obj_lists(&program), "{how:?}");
    }
}

// ------------------------------------------------------------------------------------------------------------- NVIDIA

fn cuda_programs() {
    let folder = scratch::folder("fat-file-cuda");
    let fatbins = corpus("nv_fatbin").into_iter().filter(|path| !path.ends_with("relocatable_ptx.fatbin"));
    let text: String = fatbins
        .map(|path| format!(".p2align 3\n.incbin \"{}\"\n", path.display()))
        .collect::<Vec<_>>()
        .join(".p2align 6\n");
    for section in [".nv_fatbin", "__nv_relfatbin"] {
        // Zeros before the first, between, and behind the last, as linkers put them.
        let text = format!(".section {section},\"a\"\n.zero 16\n{text}.zero 24\n");
        scratch::write(folder.join("fatbins.s"), text);
        succeed(in_folder(llvm("clang"), &folder).args(["-c", "fatbins.s"]));
        let mut files = vec![folder.join("fatbins.o")];
        for (number, how) in LINKS.into_iter().enumerate() {
            files.push(folder.join(format!("program{number}")));
            fs::rename(link(&folder, how, &["fatbins.o"]), &files[number + 1]).expect("the folder can be written");
        }
        for path in files {
            let file = read(&path);
            let mut ours = [0, 0];
            for (place, container) in containers(&file) {
                let Container::NvFatbins(fatbins) = container else { panic!("{place:?}: {container:?}") };
                assert_is_there(&file, &place, fatbins);
                assert_eq!(self::text(place.section), section);
                for fatbin in NvFatbins::new(fatbins) {
                    let (_, fatbin) = fatbin.expect("a fatbin");
                    let images = fatbin.entries().flat_map(|entry| entry.images());
                    for image in images.filter(|image| image.kind() != nv_fatbin::ImageKind::LTO_IR) {
                        ours[usize::from(image.kind().is_ptx())] += 1;
                    }
                }
            }
            let listing = stdout(&succeed(cuda("cuobjdump").args(["-lelf", "-lptx"]).arg(&path)));
            let theirs =
                ["ELF file", "PTX file"].map(|kind| listing.lines().filter(|line| line.starts_with(kind)).count());
            assert!(theirs[0] > 1 && theirs[1] > 1, "{listing}");
            assert_eq!(ours, theirs, "{}: {listing}", path.display());
        }
    }
}

// ----------------------------------------------------------------------------------------------------- Windows, macOS

const WINDOWS: CargoTarget<'_> = CargoTarget { arch: "x86_64", os: "windows", pointer_width: "64", endian: "little" };

const USER: &str = "extern const char pack_hip[], pack_llvm[]; const char *volatile packs[2]; char zeros[70000];
int entry(void) { packs[0] = pack_hip; packs[1] = pack_llvm; return zeros[5]; }";

/// Writes `hip.obj` and `llvm.obj`, ours, and `user.obj` and `embedded.obj`, clang's.
fn windows_objects(folder: &Path, environment: &str) {
    scratch::write(folder.join("hip.obj"), our_object(&WINDOWS, DeviceSection::HipFatbin, "pack_hip", &a_bundle()));
    let llvm_object = our_object(&WINDOWS, DeviceSection::LlvmOffloading, "pack_llvm", &offload_binaries());
    scratch::write(folder.join("llvm.obj"), llvm_object);
    scratch::write(folder.join("multi.bin"), offload_binaries());
    scratch::write(folder.join("user.c"), USER);
    scratch::write(folder.join("embedded.c"), "int embedded;");
    let target = format!("--target=x86_64-pc-windows-{environment}");
    for (name, embed) in [("user", false), ("embedded", true)] {
        let mut clang = in_folder(llvm("clang"), folder);
        clang.args([&target, "-ffreestanding", "-fno-stack-protector", "-O1", "-c", &format!("{name}.c")]);
        if embed {
            clang.args(["-Xclang", "-fembed-offload-object=multi.bin"]);
        }
        succeed(clang.args(["-o", &format!("{name}.obj")]));
    }
}

/// Our bundles and offload binaries are in a file, in sections that llvm-readobj knows under these names, which lie there.
#[track_caller]
fn assert_both_are_there(path: &Path, hip: &str, offloading: &str, offset: &str, size: &str) {
    let file = read(path);
    let found = containers(&file);
    let sections: Vec<&str> = found.iter().map(|(place, _)| text(place.section)).collect();
    let mut expected = [hip, offloading];
    expected.sort_by_key(|name| sections.iter().position(|found| found == name));
    assert_eq!(sections, expected, "{}", path.display());
    for (place, container) in &found {
        let (Container::Bundles(bytes) | Container::OffloadBinaries(bytes)) = container else {
            panic!("{container:?}")
        };
        assert_is_there(&file, place, bytes);
        let ranges = section_ranges(path, text(place.section), offset, size);
        assert_eq!(ranges, [(place.offset, bytes.len() as u64)], "{}: {place:?}", path.display());
    }
    assert_eq!(
        bundle_entries(&file).iter().map(|(id, _, bytes)| (id, bytes)).collect::<Vec<_>>(),
        bundle_entries(&a_bundle()).iter().map(|(id, _, bytes)| (id, bytes)).collect::<Vec<_>>()
    );
    assert_eq!(images(&file), images(&offload_binaries()));
}

fn images_for_windows() {
    let folder = scratch::folder("fat-file-windows");
    windows_objects(&folder, "msvc");
    for name in ["embedded.obj", "llvm.obj"] {
        assert_images_are_listed(&folder.join(name), 2);
        let file = read(folder.join(name));
        let ranges = section_ranges(&folder.join(name), ".llvm.offloading", "PointerToRawData:", "RawDataSize:");
        let [(place, Container::OffloadBinaries(bytes))] = containers(&file)[..] else { panic!("{name}") };
        assert_eq!(ranges, [(place.offset, bytes.len() as u64)]);
        assert_eq!(text(place.section), ".llvm.offloading");
    }
    let hip = read(folder.join("hip.obj"));
    assert_eq!(text(containers(&hip)[0].0.section), ".hip_fatbin");
    assert_eq!(bundle_entries(&hip).len(), 3);

    for options in [&[][..], &["/debug"], &["/opt:ref"], &["/lldmingw"]] {
        let mut lld = in_folder(llvm("lld-link"), &folder);
        lld.args(["/dll", "/noentry", "/out:image.dll", "/export:entry"]).args(options);
        succeed(lld.args(["user.obj", "embedded.obj", "hip.obj", "llvm.obj"]));
        // The linker leaves out what is in `embedded.obj`.
        assert_both_are_there(&folder.join("image.dll"), ".hip_fat", ".llvm", "PointerToRawData:", "VirtualSize:");
    }
}

fn images_of_mingw() {
    let folder = scratch::folder("fat-file-mingw");
    windows_objects(&folder, "gnu");
    let long = &["--enable-long-section-names"][..];
    for (options, hip, offloading) in [(&[][..], ".hip_fat", ".llvm.of"), (long, ".hip_fatbin", ".llvm.offloading")] {
        let mut ld = in_folder(Command::new("ld.bfd"), &folder);
        ld.args(["-m", "i386pep", "-shared", "-e", "0", "-o", "image.dll"]).args(options);
        succeed(ld.args(["user.obj", "hip.obj", "llvm.obj"]));
        assert_both_are_there(&folder.join("image.dll"), hip, offloading, "PointerToRawData:", "VirtualSize:");
    }
}

fn macos_and_universal_files() {
    let folder = scratch::folder("fat-file-macos");
    scratch::write(folder.join("user.c"), USER);
    let hosts = [("x86_64", "x86_64", "10.12", 0x0100_0007), ("aarch64", "arm64", "11.0", 0x0100_000c)];
    for (arch, name, version, _) in hosts {
        let target = CargoTarget { arch, os: "macos", pointer_width: "64", endian: "little" };
        let file = |end: &str| folder.join(format!("{name}{end}"));
        scratch::write(file(".hip.o"), our_object(&target, DeviceSection::HipFatbin, "pack_hip", &a_bundle()));
        let llvm_object = our_object(&target, DeviceSection::LlvmOffloading, "pack_llvm", &offload_binaries());
        scratch::write(file(".llvm.o"), llvm_object);
        let mut clang = in_folder(llvm("clang"), &folder);
        clang.arg(format!("--target={name}-apple-macosx{version}")).args(["-ffreestanding", "-c", "user.c", "-o"]);
        succeed(clang.arg(file(".user.o")));
        let mut ar = in_folder(llvm("llvm-ar"), &folder);
        succeed(ar.args(["--format=darwin", "crD"]).arg(file(".a")).args([file(".hip.o"), file(".llvm.o")]));
        let mut lld = in_folder(llvm("ld64.lld"), &folder);
        lld.args(["-arch", name, "-platform_version", "macos", version, version, "-dylib"]);
        succeed(lld.args([file(".user.o"), file(".hip.o"), file(".llvm.o")]).arg("-o").arg(file(".dylib")));
        assert_both_are_there(&file(".dylib"), "__hip_fatbin", "__offloading", "Offset:", "Size:");
    }
    for (end, members) in [(".dylib", [None, None]), (".a", [Some("hip.o"), Some("llvm.o")])] {
        let universal = folder.join(format!("universal{end}"));
        let thin = |name: &str| folder.join(format!("{name}{end}"));
        succeed(llvm("llvm-lipo").arg("-create").args(hosts.map(|host| thin(host.1))).arg("-output").arg(&universal));
        let file = read(&universal);
        assert_eq!(FileKind::identify(&file), Some(FileKind::Universal));
        let listing = stdout(&succeed(llvm("llvm-objdump").args(["--macho", "--universal-headers"]).arg(&universal)));
        let found = containers(&file);
        assert_eq!(found.len(), 4);
        for (_, name, _, processor) in hosts {
            let (_, block) = listing.split_once(&format!("architecture {name}\n")).expect("the slice is listed");
            let offset = block.lines().find_map(|line| line.trim().strip_prefix("offset ")).expect("an offset");
            let offset: u64 = offset.trim().parse().expect("a number");
            let slice = read(thin(name));
            for ((place, container), (alone, _)) in
                found.iter().filter(|(place, _)| place.slice == Some(processor)).zip(containers(&slice))
            {
                assert_eq!((place.offset, place.section), (offset + alone.offset, alone.section), "{name}");
                let (Container::Bundles(bytes) | Container::OffloadBinaries(bytes)) = container else { panic!() };
                assert_is_there(&file, place, bytes);
                assert_eq!(place.member.is_some(), members[0].is_some());
            }
        }
        assert_eq!(images(&file).len(), 4);
        assert_eq!(bundle_entries(&file).len(), 6);
    }
}

fn debug_files_have_nothing() {
    let folder = scratch::folder("fat-file-debug");
    scratch::write(folder.join("user.c"), USER);
    let target = CargoTarget { arch: "aarch64", os: "macos", pointer_width: "64", endian: "little" };
    scratch::write(folder.join("hip.o"), our_object(&target, DeviceSection::HipFatbin, "pack_hip", &a_bundle()));
    let llvm_object = our_object(&target, DeviceSection::LlvmOffloading, "pack_llvm", &offload_binaries());
    scratch::write(folder.join("llvm.o"), llvm_object);
    let mut clang = in_folder(llvm("clang"), &folder);
    succeed(clang.args(["--target=arm64-apple-macosx11", "-ffreestanding", "-g", "-c", "user.c", "-o", "user.o"]));
    let mut lld = in_folder(llvm("ld64.lld"), &folder);
    lld.args(["-arch", "arm64", "-platform_version", "macos", "11.0", "11.0", "-dylib", "-o", "image"]);
    succeed(lld.args(["user.o", "hip.o", "llvm.o"]));
    succeed(in_folder(llvm("dsymutil"), &folder).args(["--flat", "image", "-o", "image.dwarf"]));
    assert_eq!(containers(&read(folder.join("image"))).len(), 2);
    assert!(containers(&read(folder.join("image.dwarf"))).is_empty());

    copied(&INPUTS, &folder, &["a.o"]);
    let mut objcopy = in_folder(llvm("llvm-objcopy"), &folder);
    succeed(objcopy.args(["--only-keep-debug", "a.o", "a.debug"]));
    assert!(containers(&read(folder.join("a.debug"))).is_empty());
}

// ----------------------------------------------------------------------------------------------------------- wrappers

/// A file has so many wrappers of this kind, and each points to a container that [`find`] knows.
#[track_caller]
fn assert_wrappers(file: &[u8], kind: WrapperKind, count: usize, what: &str) {
    let mut starts = Vec::new();
    for (place, container) in containers(file) {
        match container {
            Container::Bundles(section) => {
                starts.extend(Bundles::new(section, LIMIT).map(|bundle| place.offset + bundle.expect("a bundle").0));
            }
            Container::NvFatbins(section) => {
                starts.extend(NvFatbins::new(section).map(|fatbin| place.offset + fatbin.expect("a fatbin").0));
            }
            _ => {}
        }
    }
    let mut images = Vec::new();
    wrappers(file, |wrapper: Wrapper<'_>| {
        assert_eq!((wrapper.kind(), wrapper.version()), (kind, 1), "{what}");
        assert_eq!(wrapper.offset(), 24 * images.len() as u64, "{what}");
        images.push(offset_in(file, wrapper.image().unwrap_or_else(|| panic!("{what}: a wrapper without an image"))));
    });
    images.sort();
    assert_eq!((images.len(), &images), (count, &starts), "{what}");
}

fn wrappers_of_programs() {
    let folder = scratch::folder("fat-file-wrappers");
    for name in ["a.o", "c.o"] {
        assert_wrappers(&read(INPUTS.join(name)), WrapperKind::Hip, 1, name);
    }
    for path in corpus("fat_file").iter().filter(|path| path.display().to_string().contains("nordc")) {
        assert_wrappers(&read(path), WrapperKind::Hip, 1, &path.display().to_string());
    }
    for how in LINKS {
        let program = link(&folder, how, &["a.o", "c.o", "b.o"]);
        assert_wrappers(&read(program), WrapperKind::Hip, 3, &format!("{how:?}"));
    }
    for linker in ["lld", "bfd"] {
        let mut clang = in_folder(llvm("clang"), &INPUTS);
        clang.args([&format!("-fuse-ld={linker}"), "-r", "-nostdlib", "a.o", "c.o", "b.o", "-o"]);
        succeed(clang.arg(folder.join("r.o")));
        assert_wrappers(&read(folder.join("r.o")), WrapperKind::Hip, 3, linker);
    }

    // With relocatable device code, the bundle is in an object that the driver writes when it links.
    copied(&INPUTS, &folder, &["k.hip"]);
    hip_object(&folder, "rdc", &["-fgpu-rdc", "--no-offload-new-driver"]);
    let mut wrapper_without_image = 0;
    wrappers(&read(folder.join("rdc.o")), |wrapper| {
        assert!(wrapper.image().is_none());
        wrapper_without_image += 1;
    });
    assert_eq!(wrapper_without_image, 1);
    let symbols = stdout(&succeed(in_folder(llvm("llvm-nm"), &folder).args(["--undefined-only", "rdc.o"])));
    let symbol = symbols.split_whitespace().find(|word| word.starts_with("__hip_fatbin")).expect("the bundle's symbol");
    scratch::write(folder.join("bundle.bin"), a_bundle());
    let handle = symbol.replace("__hip_fatbin", "__hip_gpubin_handle");
    let text = format!(
        ".section .hip_fatbin,\"a\"\n.globl {symbol}\n.p2align 12\n{symbol}:\n.incbin \"bundle.bin\"\n.hidden {handle}\n.comm {handle},8\n"
    );
    scratch::write(folder.join("bundle.s"), text);
    succeed(in_folder(llvm("clang"), &folder).args(["-c", "bundle.s"]));
    for how in LINKS {
        let program = link(&folder, how, &["rdc.o", "bundle.o"]);
        assert_wrappers(&read(program), WrapperKind::Hip, 1, &format!("relocatable device code, {how:?}"));
    }
}

fn wrappers_of_the_linker_wrapper() {
    let folder = scratch::folder("fat-file-offload-wrapper");
    scratch::write(folder.join("hip.bin"), a_bundle());
    copied(&scratch::workspace().join("tests/corpus/nv_fatbin"), &folder, &["group.fatbin"]);
    for (kind, image, expected) in [("hip", "hip.bin", WrapperKind::Hip), ("cuda", "group.fatbin", WrapperKind::Cuda)] {
        let mut wrapper = in_folder(llvm("llvm-offload-wrapper"), &folder);
        wrapper.args(["--triple=x86_64-unknown-linux-gnu", &format!("--kind={kind}"), "-o", "wrapper.bc", image]);
        succeed(&mut wrapper);
        succeed(in_folder(llvm("clang"), &folder).args(["-w", "-fPIC", "-c", "wrapper.bc"]));
        assert_wrappers(&read(folder.join("wrapper.o")), expected, 1, kind);
        for how in LINKS {
            let program = link(&folder, how, &["wrapper.o"]);
            assert_wrappers(&read(program), expected, 1, &format!("{kind}, {how:?}"));
        }
    }
}

/// Options with which clang compiles for the host alone, and puts a file in the device code's place.
fn with_image(command: &mut Command, language: &str, file: &str) {
    command.args(["-x", language, "--cuda-host-only", "-O1", "-Xclang", "-fcuda-include-gpubinary", "-Xclang", file]);
}

fn wrappers_on_windows() {
    let folder = scratch::folder("fat-file-wrappers-windows");
    copied(&INPUTS, &folder, &["k.hip"]);
    scratch::write(folder.join("hip.bin"), a_bundle());
    scratch::write(folder.join("runtime.c"), RUNTIME.replace("F(main)", "F(atexit)"));
    let target = "--target=x86_64-pc-windows-msvc";
    succeed(in_folder(llvm("clang"), &folder).args([
        target,
        "-w",
        "-ffreestanding",
        "-c",
        "runtime.c",
        "-o",
        "runtime.obj",
    ]));
    for kernel in ["a", "b"] {
        let mut clang = in_folder(llvm("clang"), &folder);
        with_image(clang.args([target, "-nogpuinc", "--hip-path=/nonexistent"]), "hip", "hip.bin");
        succeed(clang.args(["-c", "k.hip", &format!("-DKERNEL={kernel}"), "-o", &format!("{kernel}.obj")]));
        assert_wrappers(&read(folder.join(format!("{kernel}.obj"))), WrapperKind::Hip, 1, kernel);
    }
    for options in [&[][..], &["/dynamicbase:no"]] {
        let mut lld = in_folder(llvm("lld-link"), &folder);
        lld.args(["/dll", "/noentry", "/nodefaultlib", "/out:image.dll"]).args(options);
        succeed(lld.args(["a.obj", "b.obj", "runtime.obj"]));
        assert_wrappers(&read(folder.join("image.dll")), WrapperKind::Hip, 2, "image.dll");
    }
}

fn wrappers_on_macos() {
    let folder = scratch::folder("fat-file-wrappers-macos");
    scratch::write(folder.join("hip.bin"), a_bundle());
    // What LLVM's main branch calls the sections; clang 22 has no names for them.
    let text = |name: &str| {
        format!(
            ".section __HIP,__hip_fatbin\n.p2align 12\nL_image:\n.incbin \"hip.bin\"\n.section __HIP,__fatbin\n\
             .p2align 3\n.globl {name}\n{name}:\n.long 0x48495046, 1\n.quad L_image\n.quad 0\n"
        )
    };
    for (arch, version) in [("x86_64", "10.12"), ("x86_64", "13.0"), ("arm64", "11.0"), ("arm64", "13.0")] {
        for name in ["_a", "_b"] {
            scratch::write(folder.join("w.s"), text(name));
            let mut clang = in_folder(llvm("clang"), &folder);
            clang.arg(format!("--target={arch}-apple-macosx{version}"));
            succeed(clang.args(["-c", "w.s", "-o", &format!("{name}.o")]));
            assert_wrappers(&read(folder.join(format!("{name}.o"))), WrapperKind::Hip, 1, name);
        }
        for (fixups, dylib) in [("-no_fixup_chains", true), ("-fixup_chains", true), ("-fixup_chains", false)] {
            let mut lld = in_folder(llvm("ld64.lld"), &folder);
            lld.args(["-arch", arch, "-platform_version", "macos", version, version, fixups, "-o", "image"]);
            // A program's entry is never run here.
            succeed(lld.args(if dylib { &["-dylib"][..] } else { &["-e", "_a"] }).args(["_a.o", "_b.o"]));
            let what = format!("{arch} {version} {fixups}, dylib: {dylib}");
            assert_wrappers(&read(folder.join("image")), WrapperKind::Hip, 2, &what);
        }
    }
}

fn wrappers_of_cuda() {
    let folder = scratch::folder("fat-file-wrappers-cuda");
    copied(&INPUTS, &folder, &["k.cu"]);
    copied(&scratch::workspace().join("tests/corpus/nv_fatbin"), &folder, &["group.fatbin"]);
    for kernel in ["a", "b"] {
        let mut clang = in_folder(llvm("clang"), &folder);
        with_image(clang.args(["-nocudainc", "-nocudalib", "-fPIC"]), "cuda", "group.fatbin");
        succeed(clang.args(["-c", "k.cu", &format!("-DKERNEL={kernel}"), "-o", &format!("{kernel}.o")]));
        assert_wrappers(&read(folder.join(format!("{kernel}.o"))), WrapperKind::Cuda, 1, kernel);
    }
    for how in LINKS {
        let program = link(&folder, how, &["a.o", "b.o"]);
        assert_wrappers(&read(program), WrapperKind::Cuda, 2, &format!("{how:?}"));
    }
}

// ------------------------------------------------------------------------------------------- files without a host file

fn files_by_themselves() {
    let of = |folder: &str, name: &str| read(scratch::workspace().join(folder).join(name));
    let cases = [
        (of("tests/corpus/bundle", "concat.bc"), FileKind::Bundle),
        (of("tests/corpus/compressed", "concat_padded.ccob"), FileKind::CompressedBundle),
        (of("tests/corpus/offload_binary", "multi.bin"), FileKind::OffloadBinary),
        (of("tests/corpus/nv_fatbin", "group.fatbin"), FileKind::NvFatbin),
        (of("tests/corpus/text_bundle", "basic.ll"), FileKind::TextBundle),
        (of("examples/saxpy/prebuilt", "saxpy.sm_80.cubin"), FileKind::Image),
        (of("examples/saxpy/prebuilt", "saxpy.compute_80.ptx"), FileKind::Image),
        (b"BC\xc0\xde\x35\x14\0\0".to_vec(), FileKind::Image),
    ];
    for (file, kind) in cases {
        assert_eq!(FileKind::identify(&file), Some(kind));
        let found = containers(&file);
        let [(place, container)] = &found[..] else { panic!("{kind:?}: {found:?}") };
        assert_eq!((place.slice, place.member, place.section, place.offset), (None, None, None, 0));
        let is_it = match container {
            Container::Bundles(bytes) => {
                matches!(kind, FileKind::Bundle | FileKind::CompressedBundle) && *bytes == file
            }
            Container::OffloadBinaries(bytes) => kind == FileKind::OffloadBinary && *bytes == file,
            Container::NvFatbins(bytes) => kind == FileKind::NvFatbin && *bytes == file,
            Container::TextBundle(bundle) => kind == FileKind::TextBundle && bundle.entries().count() == 3,
            Container::Image(bytes) => kind == FileKind::Image && *bytes == file,
            _ => false,
        };
        assert!(is_it, "{kind:?}: {container:?}");
    }
    for nothing in [&b""[..], b"text", b"\x7fELF", b"!<arch>", b"MZ", &[0; 100]] {
        assert!(places(nothing).iter().all(|(_, container)| container.is_err()), "{nothing:?}");
        wrappers(nothing, |wrapper| panic!("{wrapper:?}"));
    }
}

// ------------------------------------------------------------------------------------------------------ hostile files

fn bytes_of(numbers: impl IntoIterator<Item = u32>) -> Vec<u8> {
    numbers.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// A universal file: a table of slices, each (offset, size), and then bytes.
fn universal(slices: &[(u32, u32)], rest: &[u8]) -> Vec<u8> {
    let table = slices.iter().flat_map(|&(offset, size)| [0x0100_0007, 3, offset, size, 0]);
    let header = [0xcafe_babe, slices.len() as u32].into_iter().chain(table);
    header.flat_map(u32::to_be_bytes).chain(rest.iter().copied()).collect()
}

/// A GNU archive of members called `m`.
fn archive<'a>(members: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut file = b"!<arch>\n".to_vec();
    for member in members {
        file.extend(format!("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", "m/", 0, 0, 0, 644, member.len()).bytes());
        file.extend(member);
        file.resize(file.len().next_multiple_of(2), b'\n');
    }
    file
}

/// A PE image for x86-64 with two sections: these bytes, and zeros that are not in the file.
fn pe_image(bytes: &[u8]) -> Vec<u8> {
    let mut file = b"MZ".to_vec();
    file.resize(60, 0);
    file.extend(bytes_of([64]));
    file.extend(b"PE\0\0");
    file.extend(bytes_of([0x0002_8664, 0, 0, 0, 0x2022_00f0]));
    let optional = file.len();
    file.extend(bytes_of([0x20b]));
    file.resize(optional + 24, 0);
    file.extend(0x1_8000_0000u64.to_le_bytes());
    file.resize(optional + 108, 0);
    file.extend(bytes_of([16]));
    file.resize(optional + 240, 0);
    let sections = [(b".hip_fat", bytes.len() as u32, 1024, 0x4000_0040), (b".bss\0\0\0\0", 1 << 20, 0, 0xc000_0080)];
    for (name, size, offset, characteristics) in sections {
        file.extend(name);
        file.extend(bytes_of([size, 0x1000, size, offset, 0, 0, 0, characteristics]));
    }
    file.resize(1024, 0);
    file.extend(bytes);
    file
}

/// A section header of [`elf_file`].
#[derive(Clone, Copy)]
struct Header {
    name: u32,
    kind: u32,
    address: u64,
    offset: u64,
    size: u64,
    link: u32,
}

const PROGBITS: u32 = 1;
const RELA: u32 = 4;
const DYNSYM: u32 = 11;
const EXECUTABLE: u16 = 2;
/// Where the bytes of [`elf_file`] start.
const BODY: u64 = 64;

/// An ELF file for x86-64: bytes, then names, then the section table, in which the names' section is the last.
fn elf_file(kind: u16, body: &[u8], names: &[u8], sections: &[Header]) -> Vec<u8> {
    let names_at = BODY + body.len() as u64;
    let table_at = (names_at + names.len() as u64).next_multiple_of(8);
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    file.extend([kind, 62].map(u16::to_le_bytes).concat());
    file.extend(bytes_of([1]));
    file.extend([0, 0, table_at].map(u64::to_le_bytes).concat());
    let count = sections.len() as u16 + 2;
    file.extend([0, 0, 64, 56, 0, 64, count, count - 1].map(u16::to_le_bytes).concat());
    file.extend(body);
    file.extend(names);
    file.resize(table_at as usize, 0);
    let none = Header { name: 0, kind: 0, address: 0, offset: 0, size: 0, link: 0 };
    let of_names = Header { kind: 3, offset: names_at, size: names.len() as u64, ..none };
    for it in [&[none], sections, &[of_names]].concat() {
        file.extend(bytes_of([it.name, it.kind]));
        file.extend([0, it.address, it.offset, it.size].map(u64::to_le_bytes).concat());
        file.extend(bytes_of([it.link, 0]));
        file.extend([8, 24].map(u64::to_le_bytes).concat());
    }
    file
}

/// Wrappers of HIP with this address in place.
fn hip_wrappers(count: usize, address: u64) -> Vec<u8> {
    let wrapper = [&bytes_of([0x4849_5046, 1])[..], &address.to_le_bytes(), &[0; 8]].concat();
    wrapper.repeat(count)
}

/// Small files of every kind.
fn seeds() -> Vec<(String, Vec<u8>)> {
    let mut all: Vec<_> = corpus("fat_file").iter().map(|path| (path.display().to_string(), read(path))).collect();
    let bundle = read(scratch::workspace().join("tests/corpus/bundle/basic.bc"));
    for (arch, os) in [("x86_64", "windows"), ("aarch64", "macos"), ("riscv64", "linux")] {
        let target = CargoTarget { arch, os, pointer_width: "64", endian: "little" };
        all.push((os.to_owned(), our_object(&target, DeviceSection::HipFatbin, "pack", &bundle)));
        all.push((os.to_owned(), our_object(&target, DeviceSection::LlvmOffloading, "pack", &offload_binaries())));
    }
    let sizes = [bundle.len() as u32, offload_binaries().len() as u32];
    let both = [&bundle[..], &offload_binaries()].concat();
    all.push(("universal".to_owned(), universal(&[(48, sizes[0]), (48 + sizes[0], sizes[1])], &both)));
    all.push(("archive".to_owned(), archive([&bundle[..], &archive([&offload_binaries()[..]])])));
    all.push(("PE".to_owned(), pe_image(&bundle)));
    let section = Header { name: 1, kind: PROGBITS, address: 0x1000, offset: BODY, size: 48, link: 0 };
    let image = hip_wrappers(2, 0x1000);
    all.push(("wrappers".to_owned(), elf_file(EXECUTABLE, &image, b"\0.hipFatBinSegment\0", &[section])));
    all
}

/// Searches a file, reads what is found, and returns how much was reported.
fn examine(file: &[u8]) -> usize {
    let size = file.len() as u64;
    let mut visits = 0;
    find(file, |place, container| {
        visits += 1;
        assert!(place.offset <= size, "{place:?}");
        let bytes = match container {
            Err(error) => {
                assert!(error.offset() <= size && !error.to_string().is_empty(), "{error}");
                return;
            }
            Ok(Container::Bundles(bytes)) => {
                assert!(Bundles::new(bytes, 1 << 16).count() <= bytes.len());
                bytes
            }
            Ok(Container::OffloadBinaries(bytes)) => {
                assert!(OffloadBinaries::new(bytes).count() <= bytes.len());
                bytes
            }
            Ok(Container::NvFatbins(bytes) | Container::Image(bytes)) => bytes,
            Ok(Container::ObjectBundle(bundle)) => return assert!(bundle.entries().count() <= file.len()),
            Ok(_) => return,
        };
        assert_is_there(file, &place, bytes);
    });
    let mut count = 0;
    wrappers(file, |_| count += 1);
    assert!(count <= file.len() / 8);
    visits
}

fn every_truncation() {
    for (name, file) in seeds() {
        assert!(examine(&file) > 0 || name == "wrappers", "{name} has something");
        // All of the small ones; of the others what has headers, and steps that meet every alignment.
        let cuts = (0..file.len()).filter(|cut| file.len() < 3000 || *cut < 300 || cut % 7 == 0);
        for cut in cuts {
            assert!(examine(&file[..cut]) <= 16, "{name} cut to {cut}");
        }
    }
}

fn many_bytes_changed() {
    let mut random = Random::new(22);
    for (name, file) in seeds() {
        for round in 0..2000 {
            let mut changed = file.clone();
            for _ in 0..=random.below(3) {
                // Headers are at the start, tables at the end.
                let at = match round % 3 {
                    0 => random.below(file.len()),
                    1 => random.below(file.len().min(400)),
                    _ => file.len() - 1 - random.below(file.len().min(1600)),
                };
                changed[at] = [0, 1, 0x7f, 0xff, random.below(256) as u8][random.below(5)];
            }
            assert!(examine(&changed) <= 64, "{name}, round {round}");
        }
    }
}

fn archives_in_archives_end() {
    let mut file = offload_binaries();
    for depth in 0..40 {
        let found = places(&file);
        let [(place, container)] = &found[..] else { panic!("{found:?}") };
        match container {
            Ok(Container::OffloadBinaries(bytes)) if depth < 8 => assert_is_there(&file, place, bytes),
            Err(error) if depth >= 8 => {
                assert_eq!(error.kind(), ErrorKind::Malformed);
                assert_eq!(error.offset(), 8 * 68, "of the archive that is too deep");
            }
            other => panic!("depth {depth}: {other:?}"),
        }
        file = archive([&file[..]]);
    }
    // What is wrong in one member is said there, and the next is searched.
    let broken = read(&corpus("fat_file")[0]);
    let file =
        archive([&offload_binaries()[..], &broken[..broken.len() / 2], b"!<arch>\nno header", &offload_binaries()]);
    let found = places(&file);
    let good: Vec<bool> = found.iter().map(|(_, container)| container.is_ok()).collect();
    assert_eq!(good, [true, false, false, true]);
    for (place, container) in &found {
        if let Err(error) = container {
            assert!(error.offset() >= place.offset && error.offset() <= file.len() as u64, "{error}");
        }
    }
}

fn slices_that_are_the_file_itself() {
    let itself = universal(&[(0, 8 + 29 * 20); 29], &[]);
    let found = places(&itself);
    assert!(found.iter().all(|(_, container)| container.is_err()));
    assert!(found.len() <= 64 * 29, "{}", found.len());

    let itself = universal(&[(0, 8 + 29 * 20 + 5); 29], &[&archive([&b"BC\xc0\xde"[..]])[..], &[0; 3]].concat());
    assert!(places(&itself).len() <= 64 * 29);

    // A slice outside the file is an error; those behind it are searched.
    let outside = universal(&[(0, u32::MAX), (48, 200)], &offload_binaries());
    let good: Vec<bool> = places(&outside).iter().map(|(_, container)| container.is_ok()).collect();
    assert_eq!(good, [false, true]);
}

fn sections_that_share_their_bytes() {
    let names = b"\0.hip_fatbin\0__CLANG_OFFLOAD_BUNDLE__x\0";
    for name in [1, 13] {
        let section = Header { name, kind: PROGBITS, address: 0, offset: 0, size: 100_000, link: 0 };
        let file = elf_file(EXECUTABLE, &[0; 100_000], names, &[section; 10_000]);
        let found = places(&file);
        assert!(found.len() <= 65 * file.len() / 100_000, "{}", found.len());
        assert_eq!(
            found.last().and_then(|(_, last)| last.as_ref().err()).map(|it| it.kind()),
            Some(ErrorKind::Malformed)
        );
    }
}

fn sections_outside_the_file() {
    let names = b"\0.hip_fatbin\0.debug\0__CLANG_OFFLOAD_BUNDLE__x\0";
    let bundle = read(scratch::workspace().join("tests/corpus/bundle/basic.bc"));
    let good = Header { name: 1, kind: PROGBITS, address: 0, offset: BODY, size: bundle.len() as u64, link: 0 };
    let outside = [(13, u64::MAX, 1), (1, BODY, 1 << 40), (20, 1 << 40, 1)];
    let outside = outside.map(|(name, offset, size)| Header { name, offset, size, ..good });
    let [first, second, third] = outside;
    let file = elf_file(EXECUTABLE, &bundle, names, &[first, good, second, third]);
    let table = file.len() as u64 - 6 * 64;
    let found = places(&file);
    let errors: Vec<_> =
        found.iter().filter_map(|(place, it)| Some((text(place.section), it.as_ref().err()?.offset()))).collect();
    let header = |index: u64| table + index * 64;
    assert_eq!(errors, [(".debug", header(1)), (".hip_fatbin", header(3)), ("__CLANG_OFFLOAD_BUNDLE__x", header(4))]);
    assert_eq!(found.iter().filter(|(place, it)| it.is_ok() && place.offset == BODY).count(), 1);
    // What is not initialized has a size, and nothing in the file.
    assert_eq!(containers(&pe_image(&bundle)).len(), 1);
    // In a member of an archive, offsets count from the start of the archive.
    let in_archive = archive([&file[..]]);
    let shifted = places(&in_archive);
    for ((_, one), (_, other)) in found.iter().zip(&shifted) {
        let offset = |it: &Result<Container<'_>>| it.as_ref().err().map(|error| error.offset());
        assert_eq!(offset(one).map(|offset| offset + 68), offset(other));
    }
}

fn names_that_share_their_text() {
    let names = [&b"\0"[..], &[b'n'; 100_000], b"\0"].concat();
    let headers: Vec<Header> = (0..10_000)
        .map(|number| Header { name: 1 + number, kind: PROGBITS, address: 0, offset: 0, size: 0, link: 0 })
        .collect();
    let file = elf_file(EXECUTABLE, b"", &names, &headers);
    let found = places(&file);
    let [(_, Err(error))] = &found[..] else { panic!("{found:?}") };
    assert_eq!(error.kind(), ErrorKind::Malformed);
    wrappers(&file, |wrapper| panic!("{wrapper:?}"));
}

fn wrappers_that_share_their_bytes() {
    const SECTIONS: usize = 1000;
    let section = Header { name: 1, kind: PROGBITS, address: 0x1000, offset: BODY, size: 240_000, link: 0 };
    // No section has the address: every one is asked.
    let body = hip_wrappers(10_000, 1 << 40);
    let file = elf_file(EXECUTABLE, &body, b"\0.hipFatBinSegment\0", &[section; SECTIONS]);
    let mut visits = 0;
    wrappers(&file, |wrapper| {
        assert!(wrapper.image().is_none());
        visits += 1;
    });
    assert!(visits > 1000 && visits <= 64 * file.len() / SECTIONS, "{visits}");
}

fn relocations_that_share_their_bytes() {
    const TABLES: usize = 1000;
    const RELATIVE: u64 = 8;
    let wrapper = Header { name: 1, kind: PROGBITS, address: 0x1000, offset: BODY, size: 24, link: 0 };
    let symbols = Header { name: 0, kind: DYNSYM, address: 0, offset: BODY, size: 24, link: 0 };
    let table = Header { name: 0, kind: RELA, address: 0, offset: BODY + 24, size: 240_000, link: 2 };
    let relocation = [0x1008, RELATIVE, 0x1000].map(u64::to_le_bytes).concat();
    let body = [hip_wrappers(1, 0), relocation.repeat(10_000)].concat();
    let names = b"\0.hipFatBinSegment\0";
    let once = elf_file(EXECUTABLE, &body, names, &[wrapper, symbols, Header { size: 24, ..table }]);
    let mut images = Vec::new();
    wrappers(&once, |wrapper| images.push(wrapper.image().map(<[u8]>::len)));
    assert_eq!(images, [Some(24)]);

    let file = elf_file(EXECUTABLE, &body, names, &[&[wrapper, symbols][..], &[table; TABLES]].concat());
    let mut visits = 0;
    wrappers(&file, |_| visits += 1);
    assert!(visits > 1000 && visits <= 64 * file.len() / TABLES, "{visits}");
}
